// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package embedded

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
)

// newStorage returns the handlers of r and of its subresources by path.
func newStorage(r resource, getter generic.RESTOptionsGetter) (map[string]rest.Storage, error) {
	store, err := newStore(r, getter)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.plural, err)
	}
	storage := map[string]rest.Storage{r.plural: store}
	if r.status {
		storage[r.plural+"/status"] = newStatusStore(store, r)
	}
	return storage, nil
}

func newStore(r resource, getter generic.RESTOptionsGetter) (*registry.Store, error) {
	s := strategy{ObjectTyper: builtin, NameGenerator: names.SimpleNameGenerator, namespaced: r.namespaced}
	store := &registry.Store{
		NewFunc:                   r.newObject,
		NewListFunc:               r.newList,
		DefaultQualifiedResource:  r.groupResource(),
		SingularQualifiedResource: schema.GroupResource{Group: r.version.Group, Resource: r.singular()},
		CreateStrategy:            s,
		UpdateStrategy:            s,
		DeleteStrategy:            s,
		TableConvertor:            rest.NewDefaultTableConvertor(r.groupResource()),
	}
	err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: getter, AttrFunc: r.attributes})
	return store, err
}

// attributes returns what label and field selectors of r look at.
func (r resource) attributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, nil, err
	}
	selectable := fields.Set{"metadata.name": m.GetName()}
	if r.namespaced {
		selectable["metadata.namespace"] = m.GetNamespace()
	}
	for label, get := range r.fields {
		selectable[label] = get(obj)
	}
	return m.GetLabels(), selectable, nil
}

// strategy accepts every object whose metadata is valid, as it is.
type strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
	namespaced bool
}

func (s strategy) NamespaceScoped() bool                                   { return s.namespaced }
func (strategy) PrepareForCreate(context.Context, runtime.Object)          {}
func (strategy) PrepareForUpdate(_ context.Context, _, _ runtime.Object)   {}
func (strategy) Canonicalize(runtime.Object)                               {}
func (strategy) AllowCreateOnUpdate(context.Context) bool                  { return false }
func (strategy) AllowUnconditionalUpdate(context.Context) bool             { return true }
func (strategy) WarningsOnCreate(context.Context, runtime.Object) []string { return nil }

func (strategy) WarningsOnUpdate(_ context.Context, _, _ runtime.Object) []string { return nil }

func (strategy) Validate(context.Context, runtime.Object) field.ErrorList { return nil }

func (strategy) ValidateUpdate(_ context.Context, _, _ runtime.Object) field.ErrorList { return nil }

// DefaultGarbageCollectionPolicy says that propagation policies of deletes are
// ignored: without a garbage collector, nobody would remove the finalizers by
// which they work.
func (strategy) DefaultGarbageCollectionPolicy(context.Context) rest.GarbageCollectionPolicy {
	return rest.Unsupported
}

// statusStore serves the status subresource of a store.
type statusStore struct{ store *registry.Store }

func newStatusStore(store *registry.Store, r resource) *statusStore {
	ofStatus := *store
	ofStatus.UpdateStrategy = statusStrategy{store.UpdateStrategy.(strategy)}
	return &statusStore{store: &ofStatus}
}

// New implements rest.Storage.
func (s *statusStore) New() runtime.Object { return s.store.New() }

// Destroy implements rest.Storage. The main store owns the storage.
func (s *statusStore) Destroy() {}

// Get implements rest.Getter.
func (s *statusStore) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return s.store.Get(ctx, name, options)
}

// Update implements rest.Updater. A status is never created by itself.
func (s *statusStore) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	return s.store.Update(ctx, name, info, create, update, false, options)
}

// statusStrategy keeps everything of the stored object except its status and
// the record of who manages which field.
type statusStrategy struct{ strategy }

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (statusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	updated, stored := reflect.ValueOf(obj).Elem(), reflect.ValueOf(old.DeepCopyObject()).Elem()
	stored.FieldByName("Status").Set(updated.FieldByName("Status"))
	newMeta := updated.FieldByName("ObjectMeta").Interface().(metav1.ObjectMeta)
	storedMeta := stored.FieldByName("ObjectMeta").Addr().Interface().(*metav1.ObjectMeta)
	storedMeta.ManagedFields = newMeta.ManagedFields
	storedMeta.ResourceVersion = newMeta.ResourceVersion
	updated.Set(stored)
}
