// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	kinformer "github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/test/bench/internal/measure"
)

// row is one workload of the benchmark.
type row struct {
	group string // heading in the report
	name  string // the name for -run
	title string // a short description
	// light selects light objects (workload.Config.Light).
	light bool
	// rounds limits the number of rounds of the row; 0 means no limit.
	rounds int
	// setup creates the objects, events and full stores that both sides share.
	setup func(ctx context.Context, e *env) (trial, error)
}

// trial runs one round of a row on one side. The sides must end in the same state, as reported by
// their checks.
type trial func(ctx context.Context, s side) (outcome, error)

// outcome is the result of one round.
type outcome struct {
	samples []sample
	check   check
}

// sample is one figure; less is better.
type sample struct {
	name, unit string
	value      float64
}

// check is the state that must be equal on both sides after each round: the counts of handler calls
// or reads, and the digest of the store (see stateOf).
type check struct {
	Adds, Updates, Deletes, Reads int64
	Objects                       int
	State, Index                  uint64
}

// errDiffer is the error of a round whose sides did not end alike.
var errDiffer = errors.New("the sides delivered different events or hold different states")

// side is one of the two implementations, as constructors. The constructors return the same types
// on both sides, because this library's interfaces are aliases of client-go's.
type side struct {
	// index is the side's place in every pair of results.
	index int
	name  string
	// module is the path whose version is shown.
	module string

	newIndexer             func(clientgo.KeyFunc, clientgo.Indexers) clientgo.Indexer
	newSharedIndexInformer func(clientgo.ListerWatcher, runtime.Object, time.Duration, clientgo.Indexers) clientgo.SharedIndexInformer
	// status returns the status of an informer. It is nil for client-go.
	status func(clientgo.SharedIndexInformer) (inspect.Status, error)
}

// sides are client-go and this library, in this order everywhere.
func sides() [2]side { return [2]side{clientGo(0, "client-go"), ours(1)} }

// controlSides are client-go twice. Differences between them are noise.
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
