// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package clienttest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kinformer/cache/cachetest"
)

// tracker is the ObjectTracker of sources. It has no state of its own.
type tracker struct {
	scheme  *runtime.Scheme
	sources map[schema.GroupVersionResource]*cachetest.Source
}

// NewTracker returns a tracker for WithObjectTracker of controller-runtime's fake client, with one
// source for each type of object. scheme is the client's. A source must have objects of the Go type of its
// key. For other types, the client returns meta.NoResourceMatchError, as for a CRD that is not installed.
// NewTracker panics if scheme lacks a type.
func NewTracker(scheme *runtime.Scheme, sources map[client.Object]*cachetest.Source) testing.ObjectTracker {
	t := &tracker{scheme, map[schema.GroupVersionResource]*cachetest.Source{}}
	for example, source := range sources {
		gvr, err := t.resourceOf(example)
		if err != nil {
			panic(err)
		}
		t.sources[gvr] = source
	}
	return t
}

// resourceOf returns the resource that the fake client uses for objects of the type of obj.
func (t *tracker) resourceOf(obj runtime.Object) (schema.GroupVersionResource, error) {
	gvk, err := apiutil.GVKForObject(obj, t.scheme)
	gvr, _ := meta.UnsafeGuessKindToResource(gvk)
	return gvr, err
}

func (t *tracker) source(gvr schema.GroupVersionResource) (*cachetest.Source, error) {
	if source := t.sources[gvr]; source != nil {
		return source, nil
	}
	return nil, &meta.NoResourceMatchError{PartialResource: gvr}
}

// Add creates an object of the builder. The fake client has split lists.
func (t *tracker) Add(obj runtime.Object) error {
	gvr, err := t.resourceOf(obj)
	if err != nil {
		return err
	}
	return t.Create(gvr, obj, "")
}

// Create stores obj, and sets its version, UID and creation time.
func (t *tracker) Create(gvr schema.GroupVersionResource, obj runtime.Object, _ string, _ ...metav1.CreateOptions) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	return t.write(gvr, m.GetName(), func(source *cachetest.Source) error {
		stored, err := meta.Accessor(source.Create(obj))
		if err != nil {
			return err
		}
		m.SetResourceVersion(stored.GetResourceVersion())
		m.SetUID(stored.GetUID())
		m.SetCreationTimestamp(stored.GetCreationTimestamp())
		return nil
	})
}

// Update stores obj and sets its version. The fake client has added 1 to the version that it read.
func (t *tracker) Update(gvr schema.GroupVersionResource, obj runtime.Object, ns string, _ ...metav1.UpdateOptions) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	next, err := strconv.ParseUint(m.GetResourceVersion(), 10, 64)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	read := strconv.FormatUint(next-1, 10)
	return t.write(gvr, m.GetName(), func(source *cachetest.Source) (err error) {
		stored := source.Patch(ns, m.GetName(), func(current runtime.Object) { err = replace(current, obj, read) })
		if errors.Is(err, errModified) {
			return apierrors.NewConflict(gvr.GroupResource(), m.GetName(), err)
		}
		if err == nil {
			m.SetResourceVersion(stored.(metav1.Object).GetResourceVersion())
		}
		return err
	})
}

var errModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// replace copies obj to current if current has the version read.
func replace(current, obj runtime.Object, read string) error {
	if current.(metav1.Object).GetResourceVersion() != read {
		return errModified
	}
	to, from := reflect.ValueOf(current).Elem(), reflect.ValueOf(obj.DeepCopyObject()).Elem()
	if to.Type() != from.Type() {
		return fmt.Errorf("clienttest: the source has objects of type %T, and this one is a %T", current, obj)
	}
	kind := current.GetObjectKind().GroupVersionKind() // typed objects of informers have none
	to.Set(from)
	current.GetObjectKind().SetGroupVersionKind(kind)
	return nil
}

// Patch is Update: the fake client has applied the patch.
func (t *tracker) Patch(gvr schema.GroupVersionResource, obj runtime.Object, ns string, _ ...metav1.PatchOptions) error {
	return t.Update(gvr, obj, ns)
}

// Apply has client-go's tracker apply the configuration to the stored object, and stores the result.
func (t *tracker) Apply(gvr schema.GroupVersionResource, config runtime.Object, ns string, opts ...metav1.PatchOptions) error {
	m, err := meta.Accessor(config)
	if err != nil {
		return err
	}
	one := testing.NewFieldManagedObjectTracker(t.scheme, nil, managedfields.NewDeducedTypeConverter())
	was, err := t.Get(gvr, ns, m.GetName())
	exists := err == nil
	if exists {
		err = one.Add(was)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err := one.Apply(gvr, config, ns, opts...); err != nil {
		return err
	}
	applied, err := one.Get(gvr, ns, m.GetName())
	if err != nil {
		return err
	}
	if !exists {
		return t.Create(gvr, applied, ns)
	}
	return t.Update(gvr, applied, ns)
}

// Delete removes an object at once. The fake client has honored its finalizers.
func (t *tracker) Delete(gvr schema.GroupVersionResource, ns, name string, _ ...metav1.DeleteOptions) error {
	return t.write(gvr, name, func(source *cachetest.Source) error {
		source.Delete(ns, name)
		return nil
	})
}

// write calls a function that writes an object, and returns a refusal of the source, which is a panic, as an
// error about the resource.
func (t *tracker) write(gvr schema.GroupVersionResource, name string, by func(*cachetest.Source) error) (err error) {
	source, err := t.source(gvr)
	if err != nil {
		return err
	}
	defer func() {
		refusal := recover()
		switch cause, _ := refusal.(error); {
		case refusal == nil:
		case apierrors.IsNotFound(cause):
			err = apierrors.NewNotFound(gvr.GroupResource(), name)
		case apierrors.IsAlreadyExists(cause):
			err = apierrors.NewAlreadyExists(gvr.GroupResource(), name)
		default:
			panic(refusal)
		}
	}()
	return by(source)
}

// Get returns the stored object.
func (t *tracker) Get(gvr schema.GroupVersionResource, ns, name string, _ ...metav1.GetOptions) (runtime.Object, error) {
	source, err := t.source(gvr)
	if err != nil {
		return nil, err
	}
	if obj := source.Get(ns, name); obj != nil {
		return obj, nil
	}
	return nil, apierrors.NewNotFound(gvr.GroupResource(), name)
}

// List returns the objects of a namespace, or all if ns is empty, ordered by key, at one version.
func (t *tracker) List(gvr schema.GroupVersionResource, _ schema.GroupVersionKind, ns string, _ ...metav1.ListOptions) (runtime.Object, error) {
	source, err := t.source(gvr)
	if err != nil {
		return nil, err
	}
	for {
		version, list := source.ResourceVersion(), &metav1.List{}
		for _, key := range slices.Sorted(maps.Keys(source.Versions())) {
			name, err := cache.ParseObjectName(key)
			if err != nil {
				return nil, err
			}
			if obj := source.Get(name.Namespace, name.Name); obj != nil && (ns == "" || ns == name.Namespace) {
				list.Items = append(list.Items, runtime.RawExtension{Object: obj})
			}
		}
		if source.ResourceVersion() == version { // nothing was written meanwhile
			list.ResourceVersion = strconv.FormatUint(version, 10)
			return list, nil
		}
	}
}

// Watch watches later writes, as a request to the source.
func (t *tracker) Watch(gvr schema.GroupVersionResource, ns string, _ ...metav1.ListOptions) (watch.Interface, error) {
	source, err := t.source(gvr)
	if err != nil {
		return nil, err
	}
	options := metav1.ListOptions{ResourceVersion: strconv.FormatUint(source.ResourceVersion(), 10)}
	if ns != "" {
		options.FieldSelector = fields.OneTermEqualSelector("metadata.namespace", ns).String()
	}
	return source.WatchWithContext(context.Background(), options)
}
