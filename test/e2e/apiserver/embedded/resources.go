// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package embedded

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
)

// resource describes one built-in resource.
type resource struct {
	version    schema.GroupVersion
	kind       string
	plural     string
	namespaced bool
	status     bool // whether it has a status subresource

	// fields maps the field selectors other than metadata.name and metadata.namespace to functions that
	// return their values.
	fields map[string]func(runtime.Object) string
}

func (r resource) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.version.Group, Resource: r.plural}
}

func (r resource) singular() string { return strings.ToLower(r.kind) }

func (r resource) newObject() runtime.Object { return made(r.version.WithKind(r.kind)) }
func (r resource) newList() runtime.Object   { return made(r.version.WithKind(r.kind + "List")) }

func made(kind schema.GroupVersionKind) runtime.Object {
	obj, err := builtin.New(kind)
	if err != nil {
		panic(err)
	}
	return obj
}

// convertFieldLabel accepts only the field selectors of r.
func (r resource) convertFieldLabel(label, value string) (string, string, error) {
	if _, known := r.fields[label]; known || label == "metadata.name" || label == "metadata.namespace" {
		return label, value, nil
	}
	return "", "", fmt.Errorf("%q is not a field selector of %s", label, r.plural)
}

// getter adapts a function of a Go type to resource.fields.
func getter[T runtime.Object](get func(T) string) func(runtime.Object) string {
	return func(obj runtime.Object) string { return get(obj.(T)) }
}

type getters = map[string]func(runtime.Object) string

// resources lists the built-in resources of the server.
var resources = []resource{
	{corev1.SchemeGroupVersion, "Pod", "pods", true, true, getters{
		"spec.nodeName": getter(func(p *corev1.Pod) string { return p.Spec.NodeName }),
		"status.phase":  getter(func(p *corev1.Pod) string { return string(p.Status.Phase) }),
	}},
	{corev1.SchemeGroupVersion, "Node", "nodes", false, true, nil},
	{corev1.SchemeGroupVersion, "ConfigMap", "configmaps", true, false, nil},
	{corev1.SchemeGroupVersion, "ServiceAccount", "serviceaccounts", true, false, nil},
	{corev1.SchemeGroupVersion, "Secret", "secrets", true, false, nil},
	{corev1.SchemeGroupVersion, "Service", "services", true, true, nil},
	{corev1.SchemeGroupVersion, "Namespace", "namespaces", false, true, nil},
	{corev1.SchemeGroupVersion, "Event", "events", true, false, nil},
	{appsv1.SchemeGroupVersion, "Deployment", "deployments", true, true, nil},
	{appsv1.SchemeGroupVersion, "ReplicaSet", "replicasets", true, true, nil},
	{coordinationv1.SchemeGroupVersion, "Lease", "leases", true, false, nil},
	{eventsv1.SchemeGroupVersion, "Event", "events", true, false, nil},
	{rbacv1.SchemeGroupVersion, "Role", "roles", true, false, nil},
	{rbacv1.SchemeGroupVersion, "RoleBinding", "rolebindings", true, false, nil},
	{rbacv1.SchemeGroupVersion, "ClusterRole", "clusterroles", false, false, nil},
	{rbacv1.SchemeGroupVersion, "ClusterRoleBinding", "clusterrolebindings", false, false, nil},
}

// groupVersions lists the versions of the built-in types, one per group.
var groupVersions = []schema.GroupVersion{
	corev1.SchemeGroupVersion,
	appsv1.SchemeGroupVersion,
	coordinationv1.SchemeGroupVersion,
	eventsv1.SchemeGroupVersion,
	rbacv1.SchemeGroupVersion,
}

// builtin is the scheme of the built-in types, builtinCodecs has its codecs. Neither changes after
// initialization.
//
// The registry requires internal versions, whose Go types exist only in k8s.io/kubernetes. Each v1 type
// is therefore registered again as the internal version of its kind, and every conversion is the
// identity.
var (
	builtin       = newScheme()
	builtinCodecs = serializer.NewCodecFactory(builtin)
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(s))
	utilruntime.Must(appsv1.AddToScheme(s))
	utilruntime.Must(coordinationv1.AddToScheme(s))
	utilruntime.Must(eventsv1.AddToScheme(s))
	utilruntime.Must(rbacv1.AddToScheme(s))
	for _, gv := range groupVersions {
		registerInternal(s, gv)
		utilruntime.Must(s.SetVersionPriority(gv))
	}
	for _, r := range resources {
		if len(r.fields) > 0 {
			gvk := r.version.WithKind(r.kind)
			utilruntime.Must(s.AddFieldLabelConversionFunc(gvk, r.convertFieldLabel))
		}
	}
	return s
}

// registerInternal registers the types of gv as internal types too, except types of the meta group,
// which all versions share.
func registerInternal(s *runtime.Scheme, gv schema.GroupVersion) {
	internal := schema.GroupVersion{Group: gv.Group, Version: runtime.APIVersionInternal}
	for kind, t := range s.KnownTypes(gv) {
		if strings.HasSuffix(t.PkgPath(), "/apis/meta/v1") {
			continue
		}
		obj := reflect.New(t).Interface().(runtime.Object)
		s.AddKnownTypeWithName(internal.WithKind(kind), obj)
	}
}

// storageCodec returns the codec of built-in objects in etcd, which encodes each object in the version
// of its group.
func storageCodec() (runtime.Codec, runtime.GroupVersioner) {
	info, ok := runtime.SerializerInfoForMediaType(builtinCodecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if !ok {
		panic("no serializer for protobuf")
	}
	versions := schema.GroupVersions(groupVersions)
	return builtinCodecs.CodecForVersions(info.Serializer, builtinCodecs.UniversalDeserializer(), versions, runtime.InternalGroupVersioner), versions
}

// newStorage returns the storage of r and of its subresources by path.
func newStorage(r resource, getter generic.RESTOptionsGetter) (map[string]rest.Storage, error) {
	store, err := newStore(r, getter)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.plural, err)
	}
	storage := map[string]rest.Storage{r.plural: store}
	if r.status {
		storage[r.plural+"/status"] = newStatusStore(store)
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

// attributes returns the labels and fields of obj for selectors.
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

// strategy stores every object with valid metadata unchanged.
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

// DefaultGarbageCollectionPolicy makes the server ignore propagation policies of deletes: there is no
// garbage collector to remove the finalizers that they set.
func (strategy) DefaultGarbageCollectionPolicy(context.Context) rest.GarbageCollectionPolicy {
	return rest.Unsupported
}

// statusStore serves the status subresource of a store.
type statusStore struct{ store *registry.Store }

func newStatusStore(store *registry.Store) *statusStore {
	ofStatus := *store
	ofStatus.UpdateStrategy = statusStrategy{store.UpdateStrategy.(strategy)}
	return &statusStore{store: &ofStatus}
}

// New implements rest.Storage.
func (s *statusStore) New() runtime.Object { return s.store.New() }

// Destroy implements rest.Storage. It does nothing: the main store owns the storage.
func (s *statusStore) Destroy() {}

// Get implements rest.Getter.
func (s *statusStore) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return s.store.Get(ctx, name, options)
}

// Update implements rest.Updater. It never creates an object.
func (s *statusStore) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	return s.store.Update(ctx, name, info, create, update, false, options)
}

// statusStrategy updates only the status and the managed fields of the stored object.
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
