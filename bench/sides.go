// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	kinformer "github.com/kinformer/cache"
	"github.com/kinformer/cache/bench/internal/measure"
	"github.com/kinformer/cache/inspect"
)

// side is one of the two implementations. All that a workload knows of it are
// these constructors: the types that they return are the same on both sides,
// because this library's interfaces are aliases of client-go's.
type side struct {
	// index is the side's place in every pair of results.
	index int
	name  string
	// module is the path whose version is shown.
	module string

	newIndexer             func(clientgo.KeyFunc, clientgo.Indexers) clientgo.Indexer
	newSharedIndexInformer func(clientgo.ListerWatcher, runtime.Object, time.Duration, clientgo.Indexers) clientgo.SharedIndexInformer
	// status tells what an informer of the side does; nil where there is no such
	// thing.
	status func(clientgo.SharedIndexInformer) (inspect.Status, error)
}

// sides are client-go and this library, in this order everywhere.
func sides() [2]side { return [2]side{clientGo(0, "client-go"), ours(1)} }

// controlSides are client-go twice. What differs between them is noise.
func controlSides() [2]side { return [2]side{clientGo(0, "client-go"), clientGo(1, "client-go again")} }

func clientGo(index int, name string) side {
	return side{
		index: index, name: name, module: measure.ClientGo,
		newIndexer: func(key clientgo.KeyFunc, indexers clientgo.Indexers) clientgo.Indexer {
			return clientgo.NewIndexer(key, indexers)
		},
		newSharedIndexInformer: clientgo.NewSharedIndexInformer,
	}
}

func ours(index int) side {
	return side{
		index: index, name: "kinformer", module: measure.Kinformer,
		newIndexer: func(key clientgo.KeyFunc, indexers clientgo.Indexers) clientgo.Indexer {
			return kinformer.NewIndexer(key, indexers)
		},
		newSharedIndexInformer: kinformer.NewSharedIndexInformer,
		status:                 func(i clientgo.SharedIndexInformer) (inspect.Status, error) { return inspect.StatusOf(i) },
	}
}
