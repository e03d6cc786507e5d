// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/shard"
	"github.com/kinformer/cache/internal/tap"
)

// expectation says which objects a reflector admits, of lists and of watches, and trims these. The
// others are reported, counted and left out, but for those of other shards (shard.ErrOther): a server
// may send them.
type expectation struct {
	typ       reflect.Type             // nil: any
	gvk       *schema.GroupVersionKind // only for unstructured objects; nil: any
	namespace string                   // "": any
	part      *shard.Range             // nil: any; objects of others are left out without a word
	usable    bool                     // every object of typ is an object of the kind asked for
	decoding  *tap.Options             // what admitted objects are trimmed by; nil: nothing is
}

// unstructuredKind is the kind that an unstructured example carries, nil if there is none.
func unstructuredKind(example any) *schema.GroupVersionKind {
	obj, ok := example.(*unstructured.Unstructured)
	if !ok || obj == nil {
		return nil
	}
	gvk := obj.GroupVersionKind()
	if gvk.Empty() {
		return nil
	}
	return &gvk
}

// dropped is why something is none of the expected objects.
type dropped struct {
	kind string // of reason: one of few words
	text string
}

func (d *dropped) Error() string { return d.text }

func droppedFor(kind, format string, args ...any) error {
	return &dropped{kind, fmt.Sprintf(format, args...)}
}

// dropRefused is the kind of what the sink refuses.
const dropRefused = "refused"

// dropKind returns the kind of a reason.
func dropKind(reason error) string {
	if d := (*dropped)(nil); errors.As(reason, &d) {
		return d.kind
	}
	return "other"
}

var errNoObject = droppedFor("no-object", "no object")

// admit says why obj is none of the expected objects, as far as its type tells, and nothing if it
// is one.
func (e expectation) admit(obj runtime.Object) error {
	if event.IsNil(obj) {
		return errNoObject
	}
	if got := reflect.TypeOf(obj); e.typ != nil && e.typ != got {
		return droppedFor("type", "object has type %v, not %v", got, e.typ)
	}
	if e.gvk != nil {
		if got := obj.GetObjectKind().GroupVersionKind(); got != *e.gvk {
			return droppedFor("kind", "object is of kind %v, not %v", event.Shortened(got.String()), *e.gvk)
		}
	}
	if e.usable {
		return nil
	}
	if gvk, bad := unusableKind(obj); bad {
		return droppedFor("kind", "objects of kind %v cannot be cached", gvk)
	}
	return nil
}

// admitItem is admit for an item of a list, which is of the list's kind where it names none:
// servers and clients fill it in, some fakes do not.
func (e expectation) admitItem(item runtime.Object) error {
	if e.gvk != nil && !event.IsNil(item) && item.GetObjectKind().GroupVersionKind().Empty() {
		e.gvk = nil
	}
	if err := e.admit(item); err != nil {
		return err
	}
	if e.namespace != "" || e.part != nil { // else without a look at the object, which may be far away in memory
		accessor, err := meta.Accessor(item)
		if err != nil {
			return nil // the key function says the same, and then the list is not taken
		}
		if err := e.admitPlace(accessor); err != nil {
			return err
		}
	}
	e.decoding.Trim(item)
	return nil
}

// admitPlace says if an object is of another namespace or shard. One of no namespace is that of a
// cluster-scoped resource, or of a fake.
func (e expectation) admitPlace(obj metav1.Object) error {
	if !e.part.Has(obj) {
		return shard.ErrOther
	}
	if got := obj.GetNamespace(); e.namespace != "" && got != "" && got != e.namespace {
		return droppedFor("namespace", "object is of namespace %q, not %q", event.Shortened(got), e.namespace)
	}
	return nil
}

// unusableKind tells unstructured objects that answer a request without being the objects asked
// for: tables, which a server sends to clients that accept them, and statuses.
func unusableKind(obj runtime.Object) (schema.GroupVersionKind, bool) {
	if _, ok := obj.(runtime.Unstructured); !ok {
		return schema.GroupVersionKind{}, false
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	switch gvk {
	case metav1.SchemeGroupVersion.WithKind("Table"), metav1beta1.SchemeGroupVersion.WithKind("Table"):
		return gvk, true
	case schema.GroupVersionKind{Version: "v1", Kind: "Status"}:
		_, single := obj.(*unstructured.Unstructured)
		return gvk, single
	default:
		return gvk, false
	}
}

// watchChange is a watch event that passed all checks: Added, Modified, Deleted or Bookmark, with
// an object that has metadata.
type watchChange struct {
	kind watch.EventType
	obj  runtime.Object
	meta metav1.Object
}

// endsInitialEvents reports whether the change is the mark at the end of a watch-list.
func (c watchChange) endsInitialEvents() bool {
	return c.kind == watch.Bookmark && c.meta.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

// vet makes a change of an event, or says why it is none.
func (e expectation) vet(got watch.Event) (watchChange, error) {
	obj := got.Object
	if err := e.admit(obj); err != nil {
		return watchChange{}, err
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return watchChange{}, droppedFor("no-metadata", "object of type %T has no metadata: %v", obj, err)
	}
	switch got.Type {
	case watch.Added, watch.Modified, watch.Deleted:
		if err := e.admitPlace(accessor); err != nil {
			return watchChange{}, err
		}
	case watch.Bookmark: // which is of no namespace
	default:
		return watchChange{}, droppedFor("event-type", "unknown type of event for %v", klog.KObj(accessor))
	}
	e.decoding.Trim(obj)
	return watchChange{kind: got.Type, obj: obj, meta: accessor}, nil
}

// foreignItems are items that are none of the expected objects.
type foreignItems struct {
	n     int64
	first error            // why the first is none
	kinds map[string]int64 // how many there are of each kind of reason
}

func (f *foreignItems) note(reason error) {
	f.add(foreignItems{1, reason, map[string]int64{dropKind(reason): 1}})
}

func (f *foreignItems) add(more foreignItems) {
	if f.n += more.n; f.first == nil {
		f.first = more.first
	}
	for kind, n := range more.kinds {
		count(&f.kinds, kind, n)
	}
}
