// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

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

// expectation is the condition for objects of lists and watches that a reflector admits. It also
// trims the admitted ones. Other objects are reported, counted and left out. Objects of other
// shards (shard.ErrOther) are left out without a report, because a server may send them.
type expectation struct {
	typ       reflect.Type             // nil admits any
	gvk       *schema.GroupVersionKind // for unstructured objects only; nil admits any
	namespace string                   // "" admits any
	part      *shard.Range             // nil admits any; objects of other shards are left out without a report
	usable    bool                     // whether every object of typ has the requested kind
	decoding  *tap.Options             // how admitted objects are trimmed; nil if they are not
}

// unstructuredKind returns the kind of an unstructured example, or nil.
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

// dropped is the reason why an object was left out.
type dropped struct {
	kind string // a metric label: one of a few words
	text string
}

func (d *dropped) Error() string { return d.text }

func droppedFor(kind, format string, args ...any) error {
	return &dropped{kind, fmt.Sprintf(format, args...)}
}

// dropRefused is the kind for changes that the sink refuses.
const dropRefused = "refused"

// dropKind returns the kind of a reason.
func dropKind(reason error) string {
	if d := (*dropped)(nil); errors.As(reason, &d) {
		return d.kind
	}
	return "other"
}

var errNoObject = droppedFor("no-object", "no object")

// admit returns nil if the type of obj is expected, and otherwise the reason for leaving obj out.
func (e expectation) admit(obj runtime.Object) error {
	if event.IsNil(obj) {
		return errNoObject
	}
	if _, undecodable := obj.(*event.Undecodable); undecodable {
		return nil // it stands for an expected object
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

// admitItem is admit for an item of a list, and also checks its namespace and shard and trims it.
// An item without a kind has the list's kind: servers and clients set it, some fakes do not.
func (e expectation) admitItem(item runtime.Object, pruned bool) error {
	if e.gvk != nil && !event.IsNil(item) && item.GetObjectKind().GroupVersionKind().Empty() {
		e.gvk = nil
	}
	if err := e.admit(item); err != nil {
		return err
	}
	if e.namespace != "" || e.part != nil { // else the object is not read: its memory is likely not in the CPU cache
		accessor, err := meta.Accessor(item)
		if err != nil {
			return nil // the key function fails, too, and then the list is refused
		}
		if err := e.admitPlace(accessor); err != nil {
			return err
		}
	}
	e.decoding.Trim(item, pruned)
	return nil
}

// admitPlace returns an error if an object belongs to another namespace or shard. An object without
// a namespace belongs to a cluster-scoped resource, or comes from a fake.
func (e expectation) admitPlace(obj metav1.Object) error {
	if !e.part.Has(obj) {
		return shard.ErrOther
	}
	if got := obj.GetNamespace(); e.namespace != "" && got != "" && got != e.namespace {
		return droppedFor("namespace", "object is of namespace %q, not %q", event.Shortened(got), e.namespace)
	}
	return nil
}

// unusableKind reports whether obj is an unstructured answer other than the requested objects: a
// Table, which a server sends to clients that accept it, or a Status.
func unusableKind(obj runtime.Object) (schema.GroupVersionKind, bool) {
	if _, ok := obj.(runtime.Unstructured); !ok {
		return schema.GroupVersionKind{}, false
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	list, isList := obj.(*unstructured.UnstructuredList)
	switch gvk {
	case metav1.SchemeGroupVersion.WithKind("Table"), metav1beta1.SchemeGroupVersion.WithKind("Table"):
		return gvk, true
	case schema.GroupVersionKind{Version: "v1", Kind: "Status"}:
		return gvk, !isList || len(list.Items) == 0
	default:
		return gvk, isList && isNoList(list)
	}
}

// isNoList reports whether a list is what client-go's dynamic client makes of a document that is no list:
// one without items that has a name, as a single object does, or neither a version nor a kind of lists.
func isNoList(list *unstructured.UnstructuredList) bool {
	if len(list.Items) > 0 {
		return false
	}
	name, _, _ := unstructured.NestedString(list.Object, "metadata", "name")
	kind := list.GetKind()
	return name != "" || list.GetResourceVersion() == "" && kind != "" && !strings.HasSuffix(kind, "List")
}

// watchChange is a valid watch event: Added, Modified, Deleted or Bookmark, with an object that has
// metadata.
type watchChange struct {
	kind watch.EventType
	obj  runtime.Object
	meta metav1.Object
}

// endsInitialEvents reports whether the change is the mark at the end of a watch-list.
func (c watchChange) endsInitialEvents() bool {
	return c.kind == watch.Bookmark && c.meta.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

// vet returns the change of a watch event, or the reason for leaving the event out. pruned is that of tap.Options.Trim.
func (e expectation) vet(got watch.Event, pruned bool) (watchChange, error) {
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
	case watch.Bookmark: // has no namespace
	default:
		return watchChange{}, droppedFor("event-type", "unknown type of event for %v", klog.KObj(accessor))
	}
	e.decoding.Trim(obj, pruned || got.Type == watch.Bookmark)
	return watchChange{kind: got.Type, obj: obj, meta: accessor}, nil
}

// foreignItems counts items that are not among the expected objects.
type foreignItems struct {
	n     int64
	first error            // the reason for the first one
	kinds map[string]int64 // the number by kind of reason
}

func (f *foreignItems) note(reason error) {
	f.add(foreignItems{1, reason, map[string]int64{dropKind(reason): 1}})
}

func (f *foreignItems) add(more foreignItems) {
	if f.n += more.n; f.first == nil {
		f.first = more.first
	}
	addCounts(&f.kinds, more.kinds)
}
