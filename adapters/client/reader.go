// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	cache  cache.Cache
	scheme *runtime.Scheme
	open   openLists
}

// NewReader returns a Reader of a cache, which the caller must start. scheme must have the cache's
// types.
func NewReader(c cache.Cache, scheme *runtime.Scheme) *Reader {
	return &Reader{cache: c, scheme: scheme}
}

// SortBy is an option of Reader.List. It reports whether a comes before b, and must be a strict
// weak order. Objects that are equal in it are ordered by key, namespace/name. Other readers ignore
// it.
type SortBy func(a, b client.Object) bool

// ApplyToList does nothing: ListOptions have no field for an order.
func (SortBy) ApplyToList(*client.ListOptions) {}

// Get calls the Get of the cache.
func (r *Reader) Get(ctx context.Context, key client.ObjectKey, out client.Object, options ...client.GetOption) error {
	return r.cache.Get(ctx, key, out, options...)
}

// List differs from the cache's List as follows.
//
// A field selector may have any number of fields, each of which needs an index (IndexField). Only
// the objects with the rarest of the values are read.
//
// With a limit or SortBy the objects are sorted, by default by key, namespace/name. With a limit,
// the returned list has a continue token. All pages of a list are from one snapshot of the cache.
// The snapshot is kept until the last page, for KeptFor after each page, and while there are fewer
// than MaxKept later lists. Afterwards the token leads to an error for which
// apierrors.IsResourceExpired is true; start the list again. The options other than Continue and
// Limit, and the type of out, must be the same for each page, and a token is valid only for this
// Reader.
//
// Objects are copied unless the options of the call say otherwise; those of the cache have no
// effect.
func (r *Reader) List(ctx context.Context, out client.ObjectList, options ...client.ListOption) error {
	kind, example, err := r.kindOf(out)
	if err != nil {
		return err
	}
	// Getting an object costs a lookup, and returns the cache's errors about the kind: the cache
	// may not be started, or may refuse kinds that it does not have.
	if err := r.cache.Get(ctx, client.ObjectKey{}, example.DeepCopyObject().(client.Object)); err != nil && !apierrors.IsNotFound(err) {
		return r.cache.List(ctx, out, options...)
	}
	informer, err := r.cache.GetInformer(ctx, example)
	if err != nil {
		return err
	}
	snapshot, err := view.Of(informer)
	switch {
	case errors.Is(err, inspect.ErrForeign) && slices.ContainsFunc(options, isSortBy):
		return fmt.Errorf("SortBy needs one informer of package cache for all namespaces: %w", err)
	case errors.Is(err, inspect.ErrForeign):
		return r.cache.List(ctx, out, options...)
	case err != nil:
		return err
	}
	asked, err := newRequest(kind, snapshot, options)
	if err != nil {
		snapshot.Close()
		return err
	}
	return r.answer(asked, out)
}

func isSortBy(option client.ListOption) bool {
	_, is := option.(SortBy)
	return is
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
	less     func(a, b entry) bool // nil if no order is requested
}

type entry = view.Entry[client.Object]

func newRequest(kind schema.GroupVersionKind, snapshot *view.Snapshot, options []client.ListOption) (*request, error) {
	q := &request{kind: kind, snapshot: snapshot}
	q.options.ApplyOptions(options)
	if q.options.Limit > 0 || q.options.Continue != "" {
		q.less = view.ByKey[client.Object]
	}
	for _, option := range options {
		if sort, is := option.(SortBy); is {
			q.less = func(a, b entry) bool { return sort(a.Object, b.Object) }
		}
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
