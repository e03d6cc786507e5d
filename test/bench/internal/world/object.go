// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import "strconv"

// Resource is the resource of an object.
type Resource uint8

// The resources, in the order of their share of the events.
const (
	Leases Resource = iota
	Pods
	Slices
	Events
	ReplicaSets
	Nodes
	Resources // the number of resources
)

var resourceNames = [Resources]string{"leases", "pods", "endpointslices", "events", "replicasets", "nodes"}

// String returns the resource's name, in the plural as in paths.
func (r Resource) String() string { return resourceNames[r] }

// All returns the resources of a cluster.
func All() []Resource { return []Resource{Leases, Pods, Slices, Events, ReplicaSets, Nodes} }

// Shape selects the content of an object, except names, numbers and times. Resources without
// shapes below have one shape, 0.
type Shape uint8

// The shapes of pods, in the order of their lives. A pod that flaps changes from Ready to Starting
// and back.
const (
	Pending Shape = iota
	Scheduled
	Starting
	Ready
	Terminating
	PodShapes // the number of shapes
)

// The shapes of replica sets.
const (
	Full Shape = iota
	Scaling
	Empty
	SetShapes
)

// The shapes of nodes.
const (
	Healthy Shape = iota
	Pressed
	NodeShapes
)

// EventShapes is the number of shapes of events, one for each reason.
const EventShapes Shape = 5

// Object is an object at a version.
type Object struct {
	// Serial identifies the object among those of its resource, and is not used again.
	Serial uint32
	// Owner is the number of the deployment; of leases and nodes, that of the node. Node is the
	// number of the node that runs a pod, and of the node or pod that an event is about.
	Owner, Node uint32
	// Revision is the revision of the replica set, also of its pods.
	Revision uint32
	// Changes is the number of changes of the object.
	Changes uint32
	Shape   Shape
	// Version is the resource version; 0 marks a free slot.
	Version uint64
	// Due is the time when the last change was due, in nanoseconds since 1970.
	Due int64
}

// Kind is the kind of a change.
type Kind uint8

// The kinds of changes.
const (
	Added Kind = iota
	Modified
	Deleted
)

// Change is an event of a watch. Object is the object after the change; if Deleted, the object
// before, with the version of the deletion.
type Change struct {
	Kind   Kind
	Object Object
}

// UID returns the UID of an object, 36 bytes.
func UID(r Resource, serial uint32) string { return string(AppendUID(nil, r, serial)) }

// AppendUID appends the UID of an object.
func AppendUID(to []byte, r Resource, serial uint32) []byte {
	high, low := Mix(uint64(r)<<40|uint64(serial)), Mix(uint64(r)<<41|uint64(serial)|1<<60)
	to = AppendHex(to, high>>32, 8)
	to = AppendHex(append(to, '-'), high>>16, 4)
	to = AppendHex(append(to, "-4"...), high, 3)
	to = AppendHex(append(to, "-8"...), low>>48, 3)
	return AppendHex(append(to, '-'), low, 12)
}

const hexDigits = "0123456789abcdef"

// AppendHex appends the last hexadecimal digits of n.
func AppendHex(to []byte, n uint64, digits int) []byte {
	for d := digits - 1; d >= 0; d-- {
		to = append(to, hexDigits[n>>(4*d)&15])
	}
	return to
}

// Mix maps similar numbers to dissimilar ones, as splitmix64 does.
func Mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// State is a digest of objects and their versions, regardless of order.
type State struct {
	Objects int    `json:"objects"`
	Digest  uint64 `json:"digest,string"`
}

// Add adds an object.
func (s *State) Add(uid string, version uint64) { s.AddHash(Hash(uid), version) }

// AddHash is Add with the Hash of the UID.
func (s *State) AddHash(uid, version uint64) {
	s.Objects++
	s.Digest += Mix(uid ^ Mix(version))
}

// Hash returns the 64-bit FNV-1a hash of a text.
func Hash(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}

// FormatVersion returns a version in decimal: ten digits, see [FirstVersion].
func FormatVersion(version uint64) string { return strconv.FormatUint(version, 10) }
