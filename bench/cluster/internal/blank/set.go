// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package blank

import (
	"bytes"
	"fmt"
	"net/http"
	"runtime"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/bench/cluster/internal/world"
	"github.com/kinformer/cache/bench/internal/wire"
)

// Config says what forms are made.
type Config struct {
	Deployments int
	Seed        uint64
	MediaType   string
}

// Set has the forms of all resources. Its methods may be called by several goroutines.
type Set struct {
	config Config
	kinds  [world.Resources]kind
}

// kind is a resource: forms by shape, or by deployment and shape.
type kind struct {
	of       Resource
	encoder  encoder
	brackets brackets
	shapes   int
	each     bool // deployment has forms of its own
	forms    []form
}

// NewSet makes the forms, on all cores.
func NewSet(c Config) (*Set, error) {
	s := &Set{config: c}
	for _, r := range world.All() {
		k := &s.kinds[r]
		*k = kind{of: Of(r), shapes: shapesOf[r], each: r == world.Pods || r == world.ReplicaSets || r == world.Slices}
		var err error
		if k.encoder, err = newEncoder(k.of, c.MediaType); err != nil {
			return nil, err
		}
		n := k.shapes
		if k.each {
			n *= c.Deployments
		}
		k.forms = make([]form, n)
	}
	return s, s.fill()
}

var shapesOf = [world.Resources]int{
	world.Leases: 1, world.Pods: int(world.PodShapes), world.Slices: 1, world.Events: int(world.EventShapes),
	world.ReplicaSets: int(world.SetShapes), world.Nodes: int(world.NodeShapes),
}

func (s *Set) fill() error {
	var workers sync.WaitGroup
	stride := runtime.GOMAXPROCS(0)
	failed := make([]error, stride)
	for worker := range stride {
		workers.Go(func() {
			for d := worker; d < s.config.Deployments && failed[worker] == nil; d += stride {
				failed[worker] = s.make(newMaker(s.config, d), d)
			}
		})
	}
	workers.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

// make makes the forms of a deployment; with the first one those that are not of any.
func (s *Set) make(m *maker, deployment int) error {
	for _, r := range world.All() {
		k := &s.kinds[r]
		if !k.each && deployment > 0 {
			continue
		}
		for shape := range k.shapes {
			f, b, err := k.encoder.form(m.object(r, world.Shape(shape)), partsOf(r))
			if err != nil {
				return fmt.Errorf("%s: %w", r, err)
			}
			k.forms[deployment*k.shapes+shape] = f
			if deployment == 0 && shape == 0 {
				k.brackets = brackets{b.protobuf, bytes.Clone(b.begin), bytes.Clone(b.end)}
			}
		}
	}
	return nil
}

// partsOf is how many fields of a kind an object has.
func partsOf(r world.Resource) int {
	if r == world.Slices {
		return world.PodsPerDeployment
	}
	return 3
}

// form is that of an object.
func (s *Set) form(r world.Resource, o *world.Object) *form {
	k := &s.kinds[r]
	i := int(o.Shape)
	if k.each {
		i += int(o.Owner) * k.shapes
	}
	return &k.forms[i]
}

func (s *Set) protobuf() bool { return s.config.MediaType == wire.Protobuf }

// Size is how many bytes of forms there are.
func (s *Set) Size() int {
	total := 0
	for i := range s.kinds {
		for _, f := range s.kinds[i].forms {
			total += len(f.inner)
		}
	}
	return total
}

// AppendEvent appends a frame of a watch.
func (s *Set) AppendEvent(to []byte, r world.Resource, c *world.Change) []byte {
	f, b := s.form(r, &c.Object), &s.kinds[r].brackets
	to = appendFrame(to, b.protobuf, kindNames[c.Kind], b.size(len(f.inner)))
	to = f.append(b.open(to, len(f.inner)), r, &c.Object, b.protobuf)
	return closeFrame(append(to, b.end...), b.protobuf)
}

// AppendBookmark appends a bookmark; that which ends the initial events says so.
func (s *Set) AppendBookmark(to []byte, r world.Resource, version uint64, endOfInitial bool) ([]byte, error) {
	k := &s.kinds[r]
	encoded, err := k.encoder.bookmark(k.of.New(), world.FormatVersion(version), endOfInitial)
	return k.appendOther(to, "BOOKMARK", encoded), err
}

// AppendGone appends the error that ends the watch of a version that is too old.
func (s *Set) AppendGone(to []byte, r world.Resource) ([]byte, error) {
	k := &s.kinds[r]
	status := &metav1.Status{
		Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: http.StatusGone,
		Message: "too old resource version",
	}
	encoded, err := apiruntime.Encode(k.encoder, status)
	return k.appendOther(to, "ERROR", encoded), err
}

func (k *kind) appendOther(to []byte, name string, encoded []byte) []byte {
	protobuf := k.brackets.protobuf
	encoded = bytes.TrimSuffix(encoded, []byte("\n"))
	return closeFrame(append(appendFrame(to, protobuf, name, len(encoded)), encoded...), protobuf)
}

// List is a page of a list: Before, the items, After.
type List struct {
	Before, After []byte
}

// List returns what is around the items of a page. next is the token of the page that follows, if
// any, and remaining how many items that and others have.
func (s *Set) List(r world.Resource, items []world.Object, version uint64, next string, remaining int) (List, error) {
	k := &s.kinds[r]
	inner, after, b, err := k.encoder.list(k.of.NewList(), world.FormatVersion(version), next, int64(remaining))
	if err != nil {
		return List{}, err
	}
	size := len(inner)
	for i := range items {
		n := len(s.form(r, &items[i]).inner)
		size += 1 + uvarintLen(n) + n
	}
	return List{Before: append(b.open(nil, size), inner...), After: append(after, b.end...)}, nil
}

// AppendItem appends an item of a list.
func (s *Set) AppendItem(to []byte, r world.Resource, o *world.Object, first bool) []byte {
	f := s.form(r, o)
	if s.protobuf() {
		return f.append(appendLength(to, 2, len(f.inner)), r, o, true)
	}
	if !first {
		to = append(to, ',')
	}
	return f.append(append(to, '{'), r, o, false)
}
