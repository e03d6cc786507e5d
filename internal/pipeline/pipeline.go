// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pipeline connects the engines of an informer.
package pipeline

import (
	"cmp"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/provider"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/store"
)

// Pipeline is the way of a change through an informer: from the reflector, whose sink it is,
// through the queue into the store and on to the handlers.
//
//	reflector ──▶ Put ──▶ reader ──▶ queue ──▶ Handle ──▶ applier ──▶ deliver
//	          ──▶ Stage ──────────────▲
//
// An idle queue hands a batch straight on to HandleNow, in the reflector's goroutine; otherwise the
// controller's takes it.
type Pipeline struct {
	Options
	Applier *store.Applier
	Queue   *queue.Queue // nil until it is opened

	// Delivery is held while a batch goes into the store and on to the handlers, so that a handler
	// that joins sees each change either in its initial list or as a notification, never in both
	// and never in neither.
	Delivery sync.Mutex

	pending func() int // Queue.Pending
}

// Options are what a pipeline leads to.
type Options struct {
	Contents *store.Contents // of the store
	Failures *queue.Failures
	// Deliver tells the handlers; the changes are the pipeline's again afterwards.
	Deliver func([]event.Change)
	// Room is what the handlers have room for, see fanout.Processor.Room; nil: always enough.
	Room func(inFlight func() int) (events int, freed <-chan struct{})
}

// New returns a pipeline that is closed yet.
func New(o Options) *Pipeline {
	return &Pipeline{Options: o, Applier: store.NewApplier(o.Contents)}
}

// Put takes changes of a watch.
func (p *Pipeline) Put(changes []event.Record) (refused []event.Refused) {
	return p.Queue.PutBatch(changes)
}

// Stage returns the next state of the store. It gets into the store by way of the queue.
func (p *Pipeline) Stage(size int, streamed bool) reflector.Stage {
	stored := p.Contents.Table.Len()
	if streamed {
		size = stored
	}
	return store.NewStage(&p.Queue.Reader, p.Contents, size, stored > 0 && store.MemoryIsScarce(), p.Queue.PutState)
}

// Resync brings up again all that is in the store.
func (p *Pipeline) Resync() error { return p.Queue.SyncAll() }

// Room is what both the queue and the handlers have room for.
func (p *Pipeline) Room() (changes int, freed <-chan struct{}) {
	changes, freed = p.Queue.Room()
	if freed != nil || p.Options.Room == nil {
		return changes, freed
	}
	most, freed := p.Options.Room(p.pending)
	return min(changes, most), freed
}

// Handle brings a batch into the store and then to the handlers.
func (p *Pipeline) Handle(batch []event.Record, isInInitialList bool) error {
	p.Delivery.Lock()
	defer p.Delivery.Unlock()
	p.handleLocked(batch, isInInitialList, true)
	return nil
}

// HandleNow is Handle in the reflector's goroutine, while the controller's is idle: the batch need
// not wake another goroutine. It refuses where it would have to wait: for a handler that joins, for
// another writer of the store, or for slow index functions. A panic is reported like one of the
// controller's goroutine.
func (p *Pipeline) HandleNow(batch []event.Record, isInInitialList bool) (done bool) {
	if !p.Delivery.TryLock() {
		return false
	}
	defer utilruntime.HandleCrash()
	defer p.Delivery.Unlock()
	done = true // also after a panic: the batch is not tried again
	done = p.handleLocked(batch, isInInitialList, false)
	return done
}

// handleLocked returns false, and has done nothing, if it may not wait for other writers and would
// have to.
func (p *Pipeline) handleLocked(batch []event.Record, isInInitialList, mayWait bool) (done bool) {
	defer p.reportPanic(batch)
	defer p.Applier.Done()
	var changes []event.Change
	if mayWait {
		changes = p.Applier.Apply(batch, isInInitialList)
	} else if changes, done = p.Applier.TryApply(batch, isInInitialList); !done {
		return false
	}
	p.Deliver(changes)
	return true
}

// reportPanic is deferred. It reports a panic, with what was processed, and lets it go on.
func (p *Pipeline) reportPanic(batch []event.Record) {
	if thrown := recover(); thrown != nil {
		p.Failures.ReportPanic(event.Name(batch), thrown)
		panic(thrown)
	}
}

// Open makes the queue: changes in order of arrival, a whole state as one. The options say what is
// the informer's; resource is what it is called. Nil metrics are those of the process.
func (p *Pipeline) Open(resource string, metrics clientgo.InformerMetricsProvider, o queue.Options) {
	o.Name = cmp.Or(o.Identifier.Name(), "RealFIFO "+resource)
	o.UsualKey, o.Opens, o.Stored, o.Bookmarks, o.Unlocked = true, event.OpensDeltas, p.Contents.Table, true, true
	o.Depth, o.Latency = provider.OfQueue(o.Identifier, metrics)
	p.Queue = queue.New(o)
	p.pending = p.Queue.Pending
}
