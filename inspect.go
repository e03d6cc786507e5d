// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"maps"
	"sync/atomic"

	"github.com/kinformer/cache/internal/audited"
	"github.com/kinformer/cache/internal/observe"
)

// observed is what an informer has for those who look at it.
type observed struct {
	number atomic.Uint64 // among all that ran; 0 before Run
	memo   atomic.Value  // of package inspect
	audits atomic.Value  // of package audit
}

// enter begins a time in which the informer runs, leave ends it.
func (o *observed) enter(informer Controller) (leave func()) {
	number := observe.Informers.Enter(informer)
	o.number.Store(number)
	return func() { observe.Informers.Leave(number) }
}

// HandlersOf returns the statistics of each handler of a shared informer of this package, however
// it is handed out (see StatusOf), in the order in which they were added. It is for programs that
// do not have the registrations, because a framework keeps them. Handlers that were removed, also
// by OverflowDisconnect, are not included; after Run has returned, none is. Controllers have none,
// since they call their handler, or process function, themselves. The error is ErrNotSupported for
// informers of other packages. It may be called at any time, waits for no call, and costs some
// microseconds for each handler.
func HandlersOf(informer interface{ HasSyncedChecker() DoneChecker }) ([]HandlerStats, error) {
	own := subjectOf(informer)
	if own == nil {
		return nil, ErrNotSupported
	}
	return own.handlers(), nil
}

func (i *subject) handlers() (handlers []HandlerStats) {
	if i.processor == nil {
		return nil
	}
	known := i.processor.Figures()
	handlers = make([]HandlerStats, len(known))
	for at := range known {
		handlers[at] = statisticsOf(known[at])
	}
	return handlers
}

func init() { observe.Of, audited.Of = observedOf, auditedOf }

// observedOf returns what package inspect has to know of an informer; nil for what is not of this
// package.
func observedOf(informer any) *observe.Subject {
	own := subjectOf(informer)
	if own == nil {
		return nil
	}
	o := &observe.Subject{
		Informer: own.Controller, Number: own.observed.number.Load(), Resource: own.resource, Example: own.example, Identity: own.identity,
		Report: own.report, Audits: &own.observed.audits, Memo: &own.observed.memo,
	}
	if own.store != nil {
		o.Table = own.store.objects.table
	}
	if own.processor != nil {
		o.Disconnected = own.processor.Disconnected
	}
	return o
}

// auditedOf returns what package audit has to know of an informer.
func auditedOf(informer any) (*audited.Informer, error) {
	own := subjectOf(informer)
	if own == nil || own.pipeline == nil {
		return nil, ErrNotSupported
	}
	known := &audited.Informer{
		Name: own.resource, History: &own.observed.audits, Ended: own.report.Ended, State: own.auditedState, Relist: own.relistNewest,
		Version: own.pipeline.contents.Table.RV, Refused: own.transform.Behind,
	}
	if own.runs != nil {
		requests := own.runs.reflectorOptions()
		known.Requests = &requests
	}
	if transform := own.transform; transform != nil && transform.Function != nil {
		known.Transform = transform.Call
	}
	return known, nil
}

// auditedState returns the state of the store between two batches.
func (i *subject) auditedState() (audited.State, error) {
	p := i.pipeline
	switch {
	case i.report.HasEnded():
		return audited.State{}, audited.ErrEnded
	case i.runs == nil, !i.HasSynced():
		return audited.State{}, audited.ErrUnsynced
	case !p.delivery.TryLock():
		return audited.State{}, audited.ErrBusy
	}
	defer p.delivery.Unlock()
	if rv := p.contents.Table.RV(); !p.applier.Vouched() || rv == "" || rv == "0" { // as after a write to the store
		return audited.State{}, audited.ErrUnvouched
	}
	return audited.State{Snapshot: storeSnapshot{p.contents.Table.Snapshot()}, Received: maps.Clone(p.applier.Received)}, nil
}
