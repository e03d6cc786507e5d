// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package minor

import clientgo "k8s.io/client-go/tools/cache"

type (
	// Object is client-go's type.
	Object = clientgo.Object

	// DeletedObject is client-go's type.
	DeletedObject[T Object] = clientgo.DeletedObject[T]

	// TypedResourceEventHandler is client-go's type.
	TypedResourceEventHandler[T Object] = clientgo.TypedResourceEventHandler[T]

	// TypedResourceEventHandlerFuncs is client-go's type.
	TypedResourceEventHandlerFuncs[T Object] = clientgo.TypedResourceEventHandlerFuncs[T]

	// TypedResourceEventHandlerDetailedFuncs is client-go's type.
	TypedResourceEventHandlerDetailedFuncs[T Object] = clientgo.TypedResourceEventHandlerDetailedFuncs[T]

	// TypedFilteringResourceEventHandler is client-go's type.
	TypedFilteringResourceEventHandler[T Object] = clientgo.TypedFilteringResourceEventHandler[T]

	// TypedSharedIndexInformer is client-go's type.
	TypedSharedIndexInformer[T Object] = clientgo.TypedSharedIndexInformer[T]

	// TypedIndexer is client-go's type.
	TypedIndexer[T any] = clientgo.TypedIndexer[T]

	// TypedIndexFunc is client-go's type.
	TypedIndexFunc[T any] = clientgo.TypedIndexFunc[T]

	// TypedIndexers is client-go's type.
	TypedIndexers[T any] = clientgo.TypedIndexers[T]
)

// NewTypedSharedIndexInformer calls client-go's function.
func NewTypedSharedIndexInformer[T Object](informer clientgo.SharedIndexInformer) TypedSharedIndexInformer[T] {
	return clientgo.NewTypedSharedIndexInformer[T](informer)
}

// TypedIndexerFuncToIndexerFunc calls client-go's function.
func TypedIndexerFuncToIndexerFunc[T any](indexer TypedIndexFunc[T]) clientgo.IndexFunc {
	return clientgo.TypedIndexerFuncToIndexerFunc(indexer)
}

// TypedIndexersToIndexers calls client-go's function.
func TypedIndexersToIndexers[T any](indexers TypedIndexers[T]) clientgo.Indexers {
	return clientgo.TypedIndexersToIndexers(indexers)
}

// ShutDownEventHandler calls client-go's function.
func ShutDownEventHandler(informer clientgo.SharedInformer, handle clientgo.ResourceEventHandlerRegistration) error {
	return clientgo.ShutDownEventHandler(informer, handle)
}
