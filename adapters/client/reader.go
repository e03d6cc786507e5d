// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerclient

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	kinformercache "github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/view"
)

// Reader is a client.Reader of a cache. It may be used by any number of goroutines. Only
// NewReader returns a usable Reader.
type Reader struct {
	cache   cache.Cache
	scheme  *runtime.Scheme
	open    *openLists                   // shared with the Readers that Sorted returns
	compare func(a, b client.Object) int // nil: by key, where there is an order
}

// NewReader returns a Reader of a cache, which the caller must start. scheme must have the cache's
// types.
func NewReader(c cache.Cache, scheme *runtime.Scheme) *Reader {
	return &Reader{cache: c, scheme: scheme, open: &openLists{reader: newReaderName()}}
}

// Sorted returns a Reader of the same cache whose lists are in the order of compare, which is as for
// slices.SortFunc. Objects that are equal in it are ordered by key, namespace/name. The continue tokens of
// r and of all Readers that Sorted returns are those of one Reader. A nil compare asks for no order: the
// Reader is as that of NewReader.
func (r *Reader) Sorted(compare func(a, b client.Object) int) *Reader {
	return &Reader{r.cache, r.scheme, r.open, compare}
}

// Get calls the Get of the cache.
func (r *Reader) Get(ctx context.Context, key client.ObjectKey, out client.Object, options ...client.GetOption) error {
	return r.cache.Get(ctx, key, out, options...)
}

// List differs from the cache's List as follows.
//
// A field selector may have any number of fields, each of which needs an index (IndexField). Only
// the objects with the rarest of the values are read.
//
// With a limit the objects are sorted by key, namespace/name, and those of a Reader that Sorted
// returned in its order. With a limit, the returned list has a continue token. All pages of a list
// are from one snapshot of the cache, which keeps objects in memory that were replaced or deleted
// since the first page. It is kept until the last page, for a minute after each page, and while
// there are fewer than 64 later lists. Afterwards the token leads to an error for which
// apierrors.IsResourceExpired is true; start the list again. The error for a token of another
// Reader is the same, so that clients start again after a restart, or at another replica.
//
// Each page must be requested with the selectors, the namespace, the order and the type of out of
// the first page. The error is apierrors.IsBadRequest if they differ, or if the token cannot be
// parsed; two different functions of Sorted are not noticed.
//
// Objects are copied unless the options of the call say otherwise; those of the cache have no
// effect.
//
// Unless the cache has one informer of this module for all objects of the kind, the cache's own List
// is called; Sorted, Limit and Continue are then refused with inspect.ErrForeign. The documentation
// of the package says which caches have one.
func (r *Reader) List(ctx context.Context, out client.ObjectList, options ...client.ListOption) error {
	kind, example, err := r.kindOf(out)
	if err != nil {
		return err
	}
	// Getting an object costs a lookup, and returns the cache's errors about the kind: the cache
	// may not be started, or may refuse kinds that it does not have. A cache of several namespaces
	// always returns an error, because it does not have the namespace of the key.
	if err := r.cache.Get(ctx, client.ObjectKey{}, example.DeepCopyObject().(client.Object)); err != nil && !apierrors.IsNotFound(err) {
		return r.passOn(ctx, out, options)
	}
	informer, err := r.cache.GetInformer(ctx, example)
	if err != nil {
		return err
	}
	snapshot, err := view.Of(informer)
	if errors.Is(err, inspect.ErrForeign) {
		return r.passOn(ctx, out, options)
	}
	if err != nil {
		return err
	}
	asked, err := r.newRequest(kind, snapshot, options)
	if err != nil {
		snapshot.Close()
		return err
	}
	return r.answer(asked, out)
}

// passOn lets the cache list, which has no order: with a limit it returns any objects. Options that
// need one are refused, unless the cache cannot list at all, for instance before its start.
func (r *Reader) passOn(ctx context.Context, out client.ObjectList, options []client.ListOption) error {
	refused := r.needsOrder(options)
	if refused == "" {
		return r.cache.List(ctx, out, options...)
	}
	if err := r.cache.List(ctx, out.DeepCopyObject().(client.ObjectList), client.Limit(1)); err != nil {
		return err
	}
	return fmt.Errorf("%s needs one informer of this module for all objects of a %T: set NewInformer of the cache's options to kinformer.Constructor(...), "+
		"with factory.Namespaces in place of DefaultNamespaces and ByObject.Namespaces; or list without Sorted, Limit and Continue: %w",
		refused, out, inspect.ErrForeign)
}

// needsOrder returns the name of what needs an order, or "".
func (r *Reader) needsOrder(options []client.ListOption) string {
	var list client.ListOptions
	list.ApplyOptions(options)
	switch {
	case r.compare != nil:
		return "Sorted"
	case list.Continue != "":
		return "Continue"
	case list.Limit > 0:
		return "Limit"
	default:
		return ""
	}
}

// kindOf returns the kind of a list's items, and an object of that kind.
func (r *Reader) kindOf(list client.ObjectList) (schema.GroupVersionKind, client.Object, error) {
	kind, err := apiutil.GVKForObject(list, r.scheme)
	if err != nil {
		return kind, nil, err
	}
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	var example client.Object
	switch list.(type) {
	case runtime.Unstructured:
		example = &unstructured.Unstructured{}
	case *metav1.PartialObjectMetadataList:
		example = &metav1.PartialObjectMetadata{}
	default:
		created, err := r.scheme.New(kind)
		if err != nil {
			return kind, nil, err
		}
		object, is := created.(client.Object)
		if !is {
			return kind, nil, fmt.Errorf("a %T has no metadata", created)
		}
		return kind, object, nil
	}
	example.GetObjectKind().SetGroupVersionKind(kind)
	return kind, example, nil
}

// request is a List of an informer of this module.
type request struct {
	kind     schema.GroupVersionKind
	snapshot *view.Snapshot // the present state
	options  client.ListOptions
	query    view.Query
	compare  func(a, b entry) int // nil if no order is requested
	sorted   bool                 // with the order of Sorted
}

type entry = view.Entry[client.Object]

func (r *Reader) newRequest(kind schema.GroupVersionKind, snapshot *view.Snapshot, options []client.ListOption) (*request, error) {
	q := &request{kind: kind, snapshot: snapshot, sorted: r.compare != nil}
	q.options.ApplyOptions(options)
	switch {
	case q.sorted:
		q.compare = func(a, b entry) int { return r.compare(a.Object, b.Object) }
	case q.options.Limit > 0 || q.options.Continue != "":
		q.compare = view.ByKey[client.Object]
	}
	q.query.Labels = q.options.LabelSelector
	var err error
	q.query.Where, err = terms(q.options.Namespace, q.options.FieldSelector)
	return q, err
}

// terms returns the conditions for a namespace, where "" means all, and for fields. An index of
// controller-runtime for a field prefixes each value with the object's namespace, and also with a
// name that stands for all namespaces.
func terms(namespace string, selector fields.Selector) (list []view.Term, err error) {
	if selector == nil || selector.Empty() {
		if namespace != "" {
			list = append(list, view.Term{Index: kinformercache.NamespaceIndex, Value: namespace})
		}
		return list, nil
	}
	scope := namespace
	if scope == "" {
		scope = "__all_namespaces"
	}
	requirements := selector.Requirements()
	if len(requirements) == 0 {
		return nil, fmt.Errorf("field selector %q: it has no fields, and selects no objects", selector)
	}
	for _, field := range requirements {
		if field.Operator != selection.Equals && field.Operator != selection.DoubleEquals {
			return nil, fmt.Errorf("field %s: a cache supports only equality, not %q: index the result of the comparison by IndexField, and select that",
				field.Field, field.Operator)
		}
		list = append(list, view.Term{Index: "field:" + field.Field, Value: scope + "/" + field.Value})
	}
	return list, nil
}
