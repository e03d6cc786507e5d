// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package blank encodes the objects of a world by forms: objects that were encoded beforehand, with
// places of fixed width, which are filled in when an object is sent. A server that sends 150,000
// pods of 7 KB has some thousands of forms, and copies bytes for each pod.
//
// The form of an object is its encoding by apimachinery with marks instead of variable texts and
// times; the places are where the marks are found. Frames and lists are apimachinery's, too.
//
//	form     "name":"app-C00~~"   with place{at: 12, field: suffix, part: 0}
//	object   "name":"app-x7k2p"
package blank

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	goruntime "runtime"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/cache/test/bench/internal/world"
)

// Config configures a Set.
type Config struct {
	Deployments int
	Seed        uint64
	MediaType   string
	// Only are the resources of a still world, whose pods have two shapes; nil means all
	// resources.
	Only []world.Resource
}

// Set has the forms of all resources. Its methods may be called concurrently.
type Set struct {
	config     Config
	serializer runtime.SerializerInfo
	protobuf   bool
	kinds      [world.Resources]kind
}

// kind is a resource with its forms, by shape, or by deployment and shape.
type kind struct {
	of     Resource
	shapes int
	each   bool // whether each deployment has its own forms
	forms  []form
}

// form is an encoded object with places to fill in, without its kind. around has the bytes before and
// after it in a frame of each kind of change; they are constant, as all objects of a form have the
// same length.
type form struct {
	inner  []byte
	places []place
	around [len(changeNames)][2][]byte
}

// append appends an object.
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
	world.ReplicaSets: int(world.SetShapes), world.Nodes: int(world.NodeShapes),
}

func (c Config) resources() []world.Resource {
	if c.Only != nil {
		return c.Only
	}
	return world.All()
}

// NewSet makes all forms, using all cores.
func NewSet(c Config) (*Set, error) {
	info, known := runtime.SerializerInfoForMediaType(Codecs.SupportedMediaTypes(), c.MediaType)
	if !known {
		return nil, fmt.Errorf("blank: no serializer for %q", c.MediaType)
	}
	s := &Set{config: c, serializer: info, protobuf: c.MediaType == Protobuf}
	for _, r := range c.resources() {
		k := &s.kinds[r]
		*k = kind{of: Of(r), shapes: shapesOf[r], each: r == world.Pods || r == world.ReplicaSets || r == world.Slices}
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
	stride := goruntime.GOMAXPROCS(0)
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

// make makes the forms of a deployment. For the first one, it also makes those without a deployment.
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
			f, err := s.newForm(r, m.object(r, world.Shape(shape)))
			if err != nil {
				return fmt.Errorf("%s: %w", r, err)
			}
			k.forms[deployment*k.shapes+shape] = f
		}
	}
	return nil
}

// partsOf returns the maximum number of fields of the same kind in an object.
func partsOf(r world.Resource) int {
	if r == world.Slices {
		return world.PodsPerDeployment
	}
	return 3
}

// form returns the form of an object.
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
	f := s.form(r, &c.Object)
	around := &f.around[c.Kind]
	return append(f.append(append(to, around[0]...), r, &c.Object, s.protobuf), around[1]...)
}

// AppendBookmark appends a bookmark, annotated as the end of the initial events if endOfInitial.
func (s *Set) AppendBookmark(to []byte, r world.Resource, version uint64, endOfInitial bool) ([]byte, error) {
	object := Of(r).New()
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, fmt.Errorf("blank: %w", err)
	}
	accessor.SetResourceVersion(world.FormatVersion(version))
	if endOfInitial {
		accessor.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return s.appendOther(to, "BOOKMARK", object, Of(r).GroupVersion())
}

// AppendGone appends the error event of a watch from a version that is too old.
func (s *Set) AppendGone(to []byte) ([]byte, error) {
	return s.appendOther(to, "ERROR", &metav1.Status{
		Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: http.StatusGone,
		Message: "too old resource version",
	}, schema.GroupVersion{Version: "v1"})
}

func (s *Set) appendOther(to []byte, name string, object runtime.Object, version schema.GroupVersion) ([]byte, error) {
	encoded, err := s.encode(object, version)
	if err != nil {
		return nil, err
	}
	frame, err := s.frame(name, encoded)
	return append(to, frame...), err
}

var changeNames = [...]string{world.Added: "ADDED", world.Modified: "MODIFIED", world.Deleted: "DELETED"}

// encode encodes an object as API servers do.
func (s *Set) encode(object runtime.Object, version schema.GroupVersion) ([]byte, error) {
	return runtime.Encode(Codecs.EncoderForVersion(s.serializer.Serializer, version), object)
}

// frame returns a frame of a watch.
func (s *Set) frame(kind string, object []byte) ([]byte, error) {
	var b bytes.Buffer
	event := &metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: object}}
	err := s.serializer.StreamSerializer.Encode(event, s.serializer.StreamSerializer.NewFrameWriter(&b))
	return b.Bytes(), err
}

// newForm makes the form of an object.
func (s *Set) newForm(r world.Resource, object runtime.Object) (f form, err error) {
	if s.protobuf {
		f.inner, err = object.(interface{ Marshal() ([]byte, error) }).Marshal()
	} else if f.inner, err = json.Marshal(object); err == nil {
		f.inner = f.inner[1:] // the kind comes after the brace
	}
	if err != nil {
		return f, err
	}
	f.places = places(f.inner, s.protobuf, partsOf(r))
	encoded, err := s.encode(object, Of(r).GroupVersion())
	for kind, name := range changeNames {
		if err != nil {
			return f, err
		}
		var frame []byte
		frame, err = s.frame(name, encoded)
		before, after, found := bytes.Cut(frame, f.inner)
		if f.around[kind] = [2][]byte{before, after}; !found {
			return f, fmt.Errorf("blank: the frame of %s does not have the object", r)
		}
	}
	return f, err
}

// List returns an encoded list.
func (s *Set) List(r world.Resource, items []world.Object, version uint64) ([]byte, error) {
	kind := Of(r).GroupVersionKind
	kind.Kind += "List"
	list, err := Scheme.New(kind)
	if err != nil {
		return nil, err
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	accessor.SetResourceVersion(world.FormatVersion(version))
	empty, err := s.encode(list, kind.GroupVersion())
	if err != nil || s.protobuf {
		return s.listProtobuf(empty, r, items, err)
	}
	before, after, _ := bytes.Cut(empty, []byte("null"))
	to := append(before, '[')
	for i := range items {
		if i > 0 {
			to = append(to, ',')
		}
		to = s.form(r, &items[i]).append(append(to, '{'), r, &items[i], false)
	}
	return append(append(to, ']'), after...), nil
}

// listProtobuf adds items, which are fields of number 2, to a list in an envelope.
func (s *Set) listProtobuf(empty []byte, r world.Resource, items []world.Object, err error) ([]byte, error) {
	const magic = "k8s\x00"
	var envelope runtime.Unknown
	if err == nil {
		err = envelope.Unmarshal(empty[len(magic):])
	}
	if err != nil {
		return nil, err
	}
	for i := range items {
		f := s.form(r, &items[i])
		envelope.Raw = f.append(binary.AppendUvarint(append(envelope.Raw, 2<<3|2), uint64(len(f.inner))), r, &items[i], true)
	}
	encoded, err := envelope.Marshal()
	return append([]byte(magic), encoded...), err
}
