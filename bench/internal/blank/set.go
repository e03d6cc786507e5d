// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package blank

import (
	"fmt"
	"net/http"
	"runtime"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/cache/bench/internal/world"
)

// Config says what forms are made.
type Config struct {
	Deployments int
	Seed        uint64
	MediaType   string
	// Only is the resource of a world that stands, whose pods have two shapes; nil for all.
	Only *world.Resource
}

// Set has the forms of all resources. Its methods may be called by several goroutines.
type Set struct {
	config   Config
	protobuf bool
	kinds    [world.Resources]kind
}

// kind is a resource: forms by shape, or by deployment and shape.
type kind struct {
	of             Resource
	brackets, list brackets
	item           []byte // what an item begins with in JSON: for custom resources, their kind
	shapes         int
	each           bool // deployment has forms of its own
	forms          []form
}

// form is an encoded object with places to fill in: what is within the brackets of the kind.
type form struct {
	inner  []byte
	places []place
}

// append appends the bytes of an object.
func (f *form) append(to []byte, r world.Resource, o *world.Object, protobuf bool) []byte {
	begin := len(to)
	to = append(to, f.inner...)
	for _, p := range f.places {
		p.fill(to[begin+int(p.at):], r, o, protobuf)
	}
	return to
}

var shapesOf = [world.Resources]int{
	world.Leases: 1, world.Pods: int(world.PodShapes), world.Slices: 1, world.Events: int(world.EventShapes),
	world.ReplicaSets: int(world.SetShapes), world.Nodes: int(world.NodeShapes), world.Certificates: 1,
}

func (c Config) resources() []world.Resource {
	if c.Only != nil {
		return []world.Resource{*c.Only}
	}
	return world.All()
}

// NewSet makes the forms, on all cores.
func NewSet(c Config) (*Set, error) {
	s := &Set{config: c, protobuf: c.MediaType == Protobuf}
	for _, r := range c.resources() {
		k := &s.kinds[r]
		*k = kind{of: Of(r), shapes: shapesOf[r], each: r == world.Pods || r == world.ReplicaSets || r == world.Slices, item: []byte("{")}
		var err, err2 error
		k.brackets, err = bracketsOf(k.of.GroupVersionKind, s.protobuf)
		k.list, err2 = bracketsOf(k.of.GroupVersion().WithKind(k.of.Kind+"List"), s.protobuf)
		if err != nil || err2 != nil || c.MediaType != JSON && (c.MediaType != Protobuf || r == world.Certificates) {
			return nil, fmt.Errorf("blank: %s in %q: %w, %w", r, c.MediaType, err, err2)
		}
		if r == world.Certificates {
			k.item = k.brackets.begin
		}
		n := k.shapes
		if k.each {
			n *= c.Deployments
		}
		k.forms = make([]form, n)
	}
	return s, s.fill()
}

func (s *Set) fill() error {
	var workers sync.WaitGroup
	stride := runtime.GOMAXPROCS(0)
	failed := make(chan error, stride)
	for worker := range stride {
		workers.Go(func() {
			var err error
			for d := worker; d < s.config.Deployments && err == nil; d += stride {
				err = s.make(newMaker(s.config, d), d)
			}
			failed <- err
		})
	}
	workers.Wait()
	for range stride {
		if err := <-failed; err != nil {
			return err
		}
	}
	return nil
}

// make makes the forms of a deployment; with the first one those that are not of any.
func (s *Set) make(m *maker, deployment int) error {
	for _, r := range s.config.resources() {
		k := &s.kinds[r]
		if !k.each && deployment > 0 {
			continue
		}
		for shape := range k.shapes {
			if s.config.Only != nil && r == world.Pods && shape != int(world.Ready) && shape != int(world.Starting) {
				continue
			}
			inner, err := innerOf(m.object(r, world.Shape(shape)), s.protobuf)
			if err != nil {
				return fmt.Errorf("%s: %w", r, err)
			}
			k.forms[deployment*k.shapes+shape] = form{inner, places(inner, s.protobuf, partsOf(r))}
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

// AppendEvent appends a frame of a watch.
func (s *Set) AppendEvent(to []byte, r world.Resource, c *world.Change) []byte {
	f, b := s.form(r, &c.Object), &s.kinds[r].brackets
	to = appendFrame(to, s.protobuf, changeNames[c.Kind], b.size(len(f.inner)))
	to = f.append(b.open(to, len(f.inner)), r, &c.Object, s.protobuf)
	return closeFrame(append(to, b.end...), s.protobuf)
}

// AppendBookmark appends a bookmark; that which ends the initial events says so.
func (s *Set) AppendBookmark(to []byte, r world.Resource, version uint64, endOfInitial bool) ([]byte, error) {
	k := &s.kinds[r]
	object := any(&certificate{})
	if r != world.Certificates {
		object = k.of.New()
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, fmt.Errorf("blank: %w", err)
	}
	accessor.SetResourceVersion(world.FormatVersion(version))
	if endOfInitial {
		accessor.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	encoded, err := k.brackets.whole(object)
	return s.appendOther(to, "BOOKMARK", encoded), err
}

// AppendGone appends the error that ends the watch of a version that is too old.
func (s *Set) AppendGone(to []byte) ([]byte, error) {
	b, err := bracketsOf(schema.GroupVersionKind{Version: "v1", Kind: "Status"}, s.protobuf)
	if err != nil {
		return nil, err
	}
	encoded, err := b.whole(&metav1.Status{
		Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: http.StatusGone,
		Message: "too old resource version",
	})
	return s.appendOther(to, "ERROR", encoded), err
}

func (s *Set) appendOther(to []byte, name string, encoded []byte) []byte {
	return closeFrame(append(appendFrame(to, s.protobuf, name, len(encoded)), encoded...), s.protobuf)
}

// AppendListBegin appends what comes before the items of a list.
func (s *Set) AppendListBegin(to []byte, r world.Resource, items []world.Object, version uint64) ([]byte, error) {
	before, err := listBefore(world.FormatVersion(version), s.protobuf)
	size := len(before)
	for i := range items {
		n := len(s.form(r, &items[i]).inner)
		size += 1 + uvarintLen(n) + n
	}
	return append(s.kinds[r].list.open(to, size), before...), err
}

// AppendItem appends an item of a list.
func (s *Set) AppendItem(to []byte, r world.Resource, o *world.Object, first bool) []byte {
	f := s.form(r, o)
	if s.protobuf {
		return f.append(appendLength(to, 2, len(f.inner)), r, o, true)
	}
	if !first {
		to = append(to, ',')
	}
	return f.append(append(to, s.kinds[r].item...), r, o, false)
}

// AppendListEnd appends what comes after the items.
func (s *Set) AppendListEnd(to []byte, r world.Resource) []byte {
	if s.protobuf {
		return append(to, s.kinds[r].list.end...)
	}
	return append(to, "]}\n"...)
}
