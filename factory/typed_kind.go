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
)

// typedKind describes a type that client-go has a generated informer for.
type typedKind struct {
	gvr       schema.GroupVersionResource
	metric    string // the resource's name in client-go's metrics, for example "networkpolicys"
	example   runtime.Object
	listWatch func(client kubernetes.Interface, namespace string) *cache.ListWatch
}

// identity returns the identity of the kind for name, which may be nil.
func (k typedKind) identity(name *cache.InformerName) cache.InformerNameAndResource {
	return name.WithResource(k.gvr.GroupVersion().WithResource(k.metric))
}

// typedIndex finds kinds by their type and by their resource.
type typedIndex struct {
	byType     map[reflect.Type]typedKind
	byResource map[schema.GroupVersionResource]typedKind
}

// typedKinds is typedTable, indexed on first use.
var typedKinds = sync.OnceValue(func() typedIndex {
	index := typedIndex{byType: map[reflect.Type]typedKind{}, byResource: map[schema.GroupVersionResource]typedKind{}}
	for _, kind := range typedTable() {
		index.byType[reflect.TypeOf(kind.example)] = kind
		index.byResource[kind.gvr] = kind
	}
	return index
})
