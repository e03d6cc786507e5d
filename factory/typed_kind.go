// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory

import (
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/event"
)

// typedKind describes a type that client-go has a generated informer for.
type typedKind struct {
	gvr        schema.GroupVersionResource
	metric     string // the resource's name in client-go's metrics, for example "networkpolicys"
	namespaced bool   // whether its objects have a namespace
	example    runtime.Object
	listWatch  func(client kubernetes.Interface, namespace string) *cache.ListWatch
}

// identity returns the identity of the kind for name, which may be nil.
func (k typedKind) identity(name *cache.InformerName) cache.InformerNameAndResource {
	return name.WithResource(k.gvr.GroupVersion().WithResource(k.metric))
}

// groupKind returns the group and kind of the objects.
func (k typedKind) groupKind() schema.GroupKind {
	return schema.GroupKind{Group: k.gvr.Group, Kind: reflect.TypeOf(k.example).Elem().Name()}
}

// typedIndex finds kinds by their type and by their resource.
type typedIndex struct {
	byType     map[reflect.Type]typedKind
	byResource map[schema.GroupVersionResource]typedKind

	// The resources and kinds, in any version, whose objects have no namespace.
	clusterResources map[schema.GroupResource]bool
	clusterKinds     map[schema.GroupKind]bool
}

// typedKinds is typedTable, indexed on first use.
var typedKinds = sync.OnceValue(func() typedIndex {
	index := typedIndex{
		map[reflect.Type]typedKind{}, map[schema.GroupVersionResource]typedKind{},
		map[schema.GroupResource]bool{}, map[schema.GroupKind]bool{},
	}
	for _, kind := range typedTable() {
		index.byType[reflect.TypeOf(kind.example)] = kind
		index.byResource[kind.gvr] = kind
		if !kind.namespaced {
			index.clusterResources[kind.gvr.GroupResource()] = true
			index.clusterKinds[kind.groupKind()] = true
		}
	}
	return index
})

// clusterScoped reports whether objects like example are known to have no namespace. The kind of an
// example of a type that is not in the table is that of its metadata.
func clusterScoped(example runtime.Object) bool {
	if event.IsNil(example) {
		return false
	}
	if kind, ok := typedKinds().byType[reflect.TypeOf(example)]; ok {
		return !kind.namespaced
	}
	return typedKinds().clusterKinds[example.GetObjectKind().GroupVersionKind().GroupKind()]
}
