// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package blank

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kinformer/cache/test/bench/internal/world"
)

// field is the kind of a variable text or time of a form.
type field uint8

const (
	version   field = iota // the resource version
	due                    // the time when the change was due, in nanoseconds since 1970
	suffix                 // the suffix of a name, from the serial number
	uid                    // the UID of the object
	node                   // the number of the node
	address                // the IP address of a pod or its host
	container              // the ID of a container
	template               // the hash of a replica set, from deployment and revision
	owner                  // the UID of the replica set
	created                // the time when the object was made
	changed                // the time when the change was due, in seconds
	renewed                // the same in microseconds
	fields
)

// widths are the widths of texts in bytes. A time has the width of its encoding.
var widths = [fields]int{version: 10, due: 19, suffix: 5, uid: 36, node: 5, address: 14, container: 64, template: 8, owner: 36}

// mark returns the text that stands for a field in the object of a form. Part distinguishes fields
// of the same kind.
func mark(f field, part int) string {
	text := fmt.Sprintf("%c%02d~", 'A'+f, part)
	return text + strings.Repeat("~", widths[f]-len(text))
}

// timeMark returns the time that stands for a field in the object of a form.
func timeMark(f field) time.Time {
	return time.Date(2099, time.January, 1, 0, 0, int(f), 999_999_000, time.UTC)
}

// place is the position of a field in an encoding.
type place struct {
	at    int32
	field field
	part  uint8
}

// places finds the fields in an encoding.
func places(encoded []byte, protobuf bool, parts int) []place {
	var all []place
	find := func(f field, part int, text []byte) {
		for from := 0; ; {
			i := bytes.Index(encoded[from:], text)
			if i < 0 {
				return
			}
			all = append(all, place{int32(from + i), f, uint8(part)})
			from += i + len(text)
		}
	}
	for f := range created {
		for part := range parts {
			find(f, part, []byte(mark(f, part)))
		}
	}
	for f := created; f < fields; f++ {
		find(f, 0, appendTime(nil, f, timeMark(f), protobuf))
	}
	return all
}

const (
	secondsLayout = "2006-01-02T15:04:05Z"
	microLayout   = "2006-01-02T15:04:05.000000Z"
	// least is the smallest number of nanoseconds that takes five bytes in protobuf.
	least = 1 << 28
)

// appendTime appends the encoding of a time, whose length depends only on f and protobuf.
func appendTime(to []byte, f field, t time.Time, protobuf bool) []byte {
	switch {
	case !protobuf && f == renewed:
		return t.UTC().AppendFormat(to, microLayout)
	case !protobuf:
		return t.UTC().AppendFormat(to, secondsLayout)
	}
	to = binary.AppendUvarint(append(to, 1<<3), uint64(t.Unix()))
	if f == renewed {
		to = binary.AppendUvarint(append(to, 2<<3), uint64(t.Nanosecond()/1000*1000))
	}
	return to
}

// birth is the creation time of the first object; each object is a second younger than the one
// before.
var birth = time.Date(2026, time.January, 5, 8, 0, 0, 0, time.UTC)

// timeOf returns a time of an object. Its nanoseconds are more than least, unless f is created.
func timeOf(f field, o *world.Object) time.Time {
	if f == created {
		return birth.Add(time.Duration(o.Serial) * time.Second)
	}
	t := time.Unix(0, max(o.Due, birth.UnixNano()))
	return t.Truncate(time.Second).Add(time.Duration(least+t.Nanosecond()%(1e9-least-1000)).Truncate(time.Microsecond) + time.Microsecond)
}

// fill writes the value of a field over the beginning of to.
func (p place) fill(to []byte, r world.Resource, o *world.Object, protobuf bool) {
	to = to[:0]
	switch p.field {
	case version:
		_ = appendDecimal(to, o.Version, widths[version])
	case due:
		_ = appendDecimal(to, uint64(o.Due), widths[due])
	case node:
		_ = appendDecimal(to, uint64(p.number(o, uint64(o.Node))%100_000), widths[node])
	case suffix:
		_ = appendName(to, p.number(o, uint64(o.Serial)))
	case uid:
		_ = world.AppendUID(to, r+world.Resource(p.part), uint32(p.number(o, uint64(o.Serial))))
	case address:
		_ = appendAddress(to, world.Mix(p.number(o, uint64(o.Serial))))
	case container:
		for i := range uint64(4) {
			to = world.AppendHex(to, world.Mix(uint64(o.Serial)<<8|uint64(p.part)<<2|i), 16)
		}
	case template:
		_ = world.AppendHex(to, world.Mix(uint64(o.Owner)<<20|uint64(o.Revision)), widths[template])
	case owner:
		_ = world.AppendUID(to, world.Resources, o.Owner<<12|o.Revision&0xfff)
	default:
		var beside [32]byte // AppendFormat may write beyond the width of the field
		copy(to[:cap(to)], appendTime(beside[:0], p.field, timeOf(p.field, o), protobuf))
	}
}

// number returns the number that a field is computed from: own for part 0. The numbers of the other
// parts, such as the endpoints of a slice, change in turn, at most one with each change of the object.
func (p place) number(o *world.Object, own uint64) uint64 {
	if p.part == 0 {
		return own
	}
	turns := (uint64(o.Changes) + world.PodsPerDeployment - uint64(p.part)) / world.PodsPerDeployment
	return world.Mix(uint64(o.Serial)<<32|uint64(p.part)<<24|turns) & 0x1ffffff
}

func appendDecimal(to []byte, n uint64, width int) []byte {
	to = to[:width]
	for i := width - 1; i >= 0; i-- {
		to[i] = byte('0' + n%10)
		n /= 10
	}
	return to
}

// letters are the letters of generated names.
const letters = "bcdfghjklmnpqrstvwxz2456789"

func appendName(to []byte, n uint64) []byte {
	for range widths[suffix] {
		to = append(to, letters[n%uint64(len(letters))])
		n /= uint64(len(letters))
	}
	return to
}

func appendAddress(to []byte, n uint64) []byte {
	to = append(to, "10"...)
	for range 3 {
		octet := 100 + n%156
		to = append(to, '.', byte('0'+octet/100), byte('0'+octet/10%10), byte('0'+octet%10))
		n >>= 8
	}
	return to
}

// DueAnnotation is the annotation with the time when the change was due, in nanoseconds since 1970.
const DueAnnotation = "bench.kinformer/due"

// Scheme has the types of the objects.
var Scheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, coordinationv1.AddToScheme, discoveryv1.AddToScheme, appsv1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return scheme
}()

// Codecs encode and decode the types of Scheme.
var Codecs = serializer.NewCodecFactory(Scheme)

// The media types of servers.
const (
	JSON     = runtime.ContentTypeJSON
	Protobuf = runtime.ContentTypeProtobuf
)

// Resource is a resource of the API: its kind and its name.
type Resource struct {
	schema.GroupVersionKind
	Name string
}

var kinds = [world.Resources]schema.GroupVersionKind{
	world.Leases: coordinationv1.SchemeGroupVersion.WithKind("Lease"), world.Pods: corev1.SchemeGroupVersion.WithKind("Pod"),
	world.Slices: discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), world.Events: corev1.SchemeGroupVersion.WithKind("Event"),
	world.ReplicaSets: appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), world.Nodes: corev1.SchemeGroupVersion.WithKind("Node"),
}

// Of returns the Resource of a resource of a world.
func Of(r world.Resource) Resource { return Resource{kinds[r], r.String()} }

// New makes an empty object.
func (r Resource) New() runtime.Object {
	made, err := Scheme.New(r.GroupVersionKind)
	if err != nil {
		panic(err) // Scheme has all kinds
	}
	return made
}

// APIPath returns the root of the paths of the resource's group.
func (r Resource) APIPath() string {
	if r.Group == "" {
		return "/api"
	}
	return "/apis"
}

// Path returns the path of all objects in all namespaces.
func (r Resource) Path() string { return r.APIPath() + "/" + r.GroupVersion().String() + "/" + r.Name }
