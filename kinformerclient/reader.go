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

// Reader is a client.Reader of a cache. Any number of goroutines may use it.
type Reader struct {
	cache  cache.Cache
	scheme *runtime.Scheme
	kept   kept
}

// NewReader returns a Reader of a cache, which the caller starts; scheme has its types.
func NewReader(c cache.Cache, scheme *runtime.Scheme) *Reader {
	return &Reader{cache: c, scheme: scheme}
}

// SortBy is an option of Reader.List: it tells whether a comes before b, and has to be a strict order.
// Objects that it does not tell apart are in the order of keys, namespace/name. Other readers ignore it.
type SortBy func(a, b client.Object) bool

// ApplyToList does nothing: ListOptions have no place for an order.
func (SortBy) ApplyToList(*client.ListOptions) {}

// Get is the cache's.
func (r *Reader) Get(ctx context.Context, key client.ObjectKey, out client.Object, options ...client.GetOption) error {
	return r.cache.Get(ctx, key, out, options...)
}

// List is the cache's with these differences.
//
// A field selector may have any number of fields, each of which has an index (IndexField); the objects
// that are looked at are those with the rarest of all the values.
//
// With a limit or SortBy the objects are in order, by default of keys, namespace/name. With a limit, the
// list that is returned says how to continue. All pages of a list are of one snapshot of the cache, which
// is kept up to the last page, for KeptFor after each page, and as long as there are fewer than MaxKept
// later ones. After that, to continue fails with an error that apierrors.IsResourceExpired knows: begin
// anew. The options other than Continue and Limit must be the same for each page, as must the type of out,
// and each token is for this Reader.
//
// Objects are copied, unless the options of the call say otherwise; those of the cache do not count.
func (r *Reader) List(ctx context.Context, out client.ObjectList, options ...client.ListOption) error {
	kind, example, err := r.kindOf(out)
	if err != nil {
		return err
	}
	// To ask for an object tells, at the cost of a lookup, what the cache says of the kind: it may not be
	// started, or not be asked for kinds that it does not have.
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

// kindOf returns what a list is of, and an object of that kind.
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

// request is a List of an informer of ours.
type request struct {
	kind     schema.GroupVersionKind
	snapshot *view.Snapshot // the present one
	options  client.ListOptions
	query    view.Query
	less     func(a, b entry) bool // nil: no order is asked for
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

// terms returns the conditions for a namespace, "" for all, and fields. controller-runtime's index of a
// field has the values of objects of a namespace behind its name, and those of all behind another.
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
			return nil, fmt.Errorf("field %s: a cache has values to be equal to, and not %q: have an index of the answer by IndexField, and ask for that",
				field.Field, field.Operator)
		}
		list = append(list, view.Term{Index: "field:" + field.Field, Value: scope + "/" + field.Value})
	}
	return list, nil
}
