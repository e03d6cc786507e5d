// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pipeline connects the engines of an informer.
package pipeline

import (
	"cmp"
	"context"
	"sync"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/provider"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/store"
)

// Pipeline passes changes through an informer: from the reflector, whose sink it is, through the
// queue to the store and the handlers.
//
//	reflector ──▶ Put ──▶ reader ──▶ queue ──▶ Handle ──▶ applier ──▶ deliver
//	          ──▶ Stage ──────────────▲
//
// The controller's goroutine takes all that waits from the queue, and calls Handle.
type Pipeline struct {
	Options
	Applier *store.Applier
	Queue   *queue.Queue // nil before Open

	// Delivery is held while a batch is written to the store and passed to the handlers. A handler
	// that is added thus sees each change exactly once: in its initial list or as a notification.
	Delivery sync.Mutex

	pending func() int // Queue.Pending
}

// Options are the parts that a Pipeline connects.
type Options struct {
	Contents *store.Contents // of the store
	Failures *queue.Failures
	// Deliver calls the handlers. It must not keep changes.
	Deliver func([]event.Change)
	// Room returns the room of the handlers, see fanout.Processor.Room; nil means unlimited.
	Room func(inFlight func() int) (events int, freed <-chan struct{})
}

// New returns a Pipeline that has no queue yet; see Open.
func New(o Options) *Pipeline {
	return &Pipeline{Options: o, Applier: store.NewApplier(o.Contents)}
}

// Put passes changes of a watch to the queue.
func (p *Pipeline) Put(changes []event.Record) (refused []event.Refused) {
	return p.Queue.PutBatch(changes)
}

// Stage returns a stage for the next state of the store, which passes through the queue.
func (p *Pipeline) Stage(o event.Staging) reflector.Stage {
	stored := p.Contents.Table.Len()
	if o.Streamed {
		o.Size = stored
	}
	return store.NewStage(&p.Queue.Reader, p.Contents, o, stored > 0 && store.MemoryIsScarce(), p.Queue.PutState)
}

// Settle blocks until the changes and states so far are in the store, or ctx ends.
func (p *Pipeline) Settle(ctx context.Context) { p.Queue.Settle(ctx) }

// Resync queues all objects of the store again.
func (p *Pipeline) Resync() error { return p.Queue.SyncAll() }

// Room returns the smaller of the queue's and the handlers' room.
func (p *Pipeline) Room() (changes int, freed <-chan struct{}) {
	changes, freed = p.Queue.Room()
	if freed != nil || p.Options.Room == nil {
		return changes, freed
	}
	most, freed := p.Options.Room(p.pending)
	return min(changes, most), freed
}

// Handle writes a batch to the store and then delivers its changes to the handlers.
func (p *Pipeline) Handle(batch []event.Record, isInInitialList bool) error {
	defer p.reportPanic(batch) // without the lock: OnError may add handlers
	p.Delivery.Lock()
	defer p.Delivery.Unlock()
	defer p.Applier.Done()
	p.Deliver(p.Applier.Apply(batch, isInInitialList))
	return nil
}

// reportPanic reports a panic with the name of the batch, and panics again. It must be deferred.
func (p *Pipeline) reportPanic(batch []event.Record) {
	if thrown := recover(); thrown != nil {
		p.Failures.ReportPanic(event.Name(batch), thrown)
		panic(thrown)
	}
}

// Open makes the queue, which has changes in order of arrival and a state as one record. o has the
// informer's options, resource names its objects, and nil metrics are those of the process.
func (p *Pipeline) Open(resource string, metrics clientgo.InformerMetricsProvider, o queue.Options) {
	o.Name = cmp.Or(o.Identifier.Name(), "RealFIFO "+resource)
	o.UsualKey, o.Opens, o.Stored, o.Bookmarks, o.Unlocked = true, event.OpensDeltas, p.Contents.Table, true, true
	o.Depth, o.Latency = provider.OfQueue(o.Identifier, metrics)
	p.Queue = queue.New(o)
	p.pending = p.Queue.Pending
}
