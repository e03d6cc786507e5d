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
	"github.com/kinformer/cache/bench/internal/measure"
	"github.com/kinformer/cache/inspect"
)

// row is one workload of the benchmark.
type row struct {
	group string // heading in the report
	name  string // what -run selects
	title string // what is done, in a few words
	// light asks for light objects (workload.Config.Light).
	light bool
	// slow rows are left out of a quick run, unless -run names rows.
	slow bool
	// objects is how many objects the row is about, if not as many as the run
	// has: a run with fewer has no such row.
	objects int
	// waits says that most of a round is a wait for a backoff or a period: a
	// quick run does two rounds only.
	waits bool
	// rounds is how many rounds are enough, if not as many as the run has.
	rounds int
	// setup makes what both sides share: objects, events, full stores.
	setup func(ctx context.Context, e *env) (trial, error)
}

// trial runs one round of a row on one side. It leaves the side in the same
// state as the other side's trial of the same round, and says so by its check.
type trial func(ctx context.Context, s side) (outcome, error)

// outcome is what one round gave.
type outcome struct {
	samples []sample
	check   check
}

// sample is one figure; less is better.
type sample struct {
	name, unit string
	value      float64
}

// check is what must be equal on both sides after each round: what handlers or
// readers were given, and what the store holds (see stateOf).
type check struct {
	Adds, Updates, Deletes, Reads int64
	Objects                       int
	State, Index                  uint64
}

// errDiffer is the error of a round whose sides did not end alike.
var errDiffer = errors.New("the sides delivered different events or hold different states")

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
	// status tells what an informer of the side does; nil where there is no such thing.
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
