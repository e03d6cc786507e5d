// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"time"

	clientgo "k8s.io/client-go/tools/cache"
)

// RunReflector keeps store equal, eventually, to the collection behind lw until ctx ends. It runs this package's own
// reflector, the one of the informers, on any store; NewReflector gives client-go's.
//
// expectedType is an example of the objects to admit, nil for any; see NewReflectorWithOptions. The zero value of
// options works. The store's methods are called by one goroutine at a time, in the order of the server's events; a
// store that implements ReflectorBookmarkStore or ResourceVersionUpdater is called for these too.
//
// Errors of requests are handed to DefaultWatchErrorHandler, which logs them, and retried with backoff. RunReflector
// returns at once when ctx ends, even if lw ignores its context, with the cause of the end (context.Cause, never nil).
// Before anything else it returns an error if lw or store is nil, or a backoff has no delays.
func RunReflector(ctx context.Context, lw ListerWatcher, expectedType any, store ReflectorStore, options ReflectorOptions) error {
	if isNil(lw) {
		return errors.New("RunReflector needs a ListerWatcher")
	}
	if isNil(store) {
		return errors.New("RunReflector needs a store")
	}
	if options.Backoff != nil {
		var bad faults
		checkBackoff("ReflectorOptions.Backoff", *options.Backoff, &bad)
		if err := bad.as(errBadOptions); err != nil {
			return err
		}
	}
	newReflector(configFrom(lw, expectedType, store, options)).run(ctx)
	return context.Cause(ctx)
}

// configFrom translates the options that client-go knows.
func configFrom(lw ListerWatcher, expectedType any, store ReflectorStore, options ReflectorOptions) reflectorConfig {
	return reflectorConfig{
		name:            options.Name,
		typeDescription: options.TypeDescription,
		listerWatcher:   lw,
		expectedType:    expectedType,
		sink:            sinkOf(store),
		resyncPeriod:    options.ResyncPeriod,
		minWatchTimeout: options.MinWatchTimeout,
		backoff:         options.Backoff,
		clock:           options.Clock,
		logger:          options.Logger,
	}
}

// sinkOf returns a store as a sink. What our own queues take beyond a ReflectorStore is known by their types themselves: a
// user's type that embeds one has these methods too, and may override those that they would pass by.
func sinkOf(store ReflectorStore) sink {
	switch own := store.(type) {
	case *RealFIFO:
		return queueSink{own, &own.recordQueue}
	case *DeltaFIFO:
		return queueSink{own, &own.recordQueue}
	default:
		return newForeignSink(store)
	}
}

// queueSink is a queue of ours on its own as a sink.
type queueSink struct {
	store ReflectorStore
	queue *recordQueue
}

func (s queueSink) put(changes []record) []refusedRecord { return s.queue.putBatch(changes) }

func (s queueSink) stage(size int, streamed bool) stage {
	return newCollectedStage(size, streamed, s.store.Replace)
}

func (s queueSink) resync() error { return s.store.Resync() }

func (s queueSink) room() (int, <-chan struct{}) { return s.queue.room() }

// NewReflector returns client-go's Reflector, which runs client-go's loop, not this package's; RunReflector runs ours.
// Its name is the file:line of the nearest caller outside of this package and of client-go's. See
// NewReflectorWithOptions.
func NewReflector(lw ListerWatcher, expectedType any, store ReflectorStore, resyncPeriod time.Duration) *Reflector {
	return NewReflectorWithOptions(lw, expectedType, store, ReflectorOptions{ResyncPeriod: resyncPeriod})
}

// NewNamedReflector is NewReflector with a name.
func NewNamedReflector(name string, lw ListerWatcher, expectedType any, store ReflectorStore, resyncPeriod time.Duration) *Reflector {
	return NewReflectorWithOptions(lw, expectedType, store, ReflectorOptions{Name: name, ResyncPeriod: resyncPeriod})
}

// NewReflectorWithOptions returns client-go's Reflector, which runs client-go's loop, not this package's; RunReflector
// runs ours. It is here for code that holds a *Reflector. Only objects of the type of expectedType reach the store; an
// unstructured example with apiVersion and kind narrows that to this kind, nil admits everything. An empty
// options.Name becomes the file:line of the nearest caller outside of this package and of client-go's.
func NewReflectorWithOptions(lw ListerWatcher, expectedType any, store ReflectorStore, options ReflectorOptions) *Reflector {
	if options.Name == "" {
		options.Name = callsiteName()
	}
	return clientgo.NewReflectorWithOptions(lw, expectedType, store, options)
}

// NewNamespaceKeyedIndexerAndReflector returns an Indexer of this package that is indexed by namespace, and a Reflector
// as from NewReflector that fills it once it runs.
func NewNamespaceKeyedIndexerAndReflector(lw ListerWatcher, expectedType any, resyncPeriod time.Duration) (indexer Indexer, reflector *Reflector) {
	indexer = NewIndexer(MetaNamespaceKeyFunc, Indexers{NamespaceIndex: MetaNamespaceIndexFunc})
	return indexer, NewReflector(lw, expectedType, indexer, resyncPeriod)
}
