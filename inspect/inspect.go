// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inspect shows the informers of a process, and checks whether they are ready:
//
//	for informer := range inspect.All() {
//		inspection, err := inspect.Of(informer)
//		...
//	}
//	mux.Handle("GET /readyz", inspect.Ready(inspect.ReadyOptions{All: true}))
//
// Nothing is done for it while events go their way: who runs is entered once for each Run, and the
// rest is found out when somebody asks.
package inspect

import (
	"cmp"
	"iter"
	"slices"
	"time"
	"unsafe"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/reflector"
)

// All yields the informers and controllers of package cache that run in the process, those of
// factories and frameworks included, in the order of their start. A shared informer is yielded as a
// cache.SharedIndexInformer, without the wrapper of a factory. Each is included from the call of its
// Run until that returns; nothing of it is kept afterwards. A loop covers those that ran when it
// began, and delays none of them. Do not run what it yields: it is running.
func All() iter.Seq[clientgo.Controller] {
	return func(yield func(clientgo.Controller) bool) {
		for _, informer := range door.Running.All() {
			if !yield(informer) {
				return
			}
		}
	}
}

// Of describes an informer or controller. It accepts what StatusOf accepts; for others the error is
// ErrForeign. It may be called at any time, and delays neither events nor handlers. It takes tens of
// microseconds, more for each handler and each value of an index, and now and then a sample, for which
// it reads cached objects: see Memory. It races with a program that writes to cached objects, which is
// forbidden.
func Of(informer Syncer) (Inspection, error) {
	own := door.Of(informer)
	if own == nil {
		return Inspection{}, ErrForeign
	}
	all := Inspection{
		ID: own.Observed.Number.Load(), Name: own.Resource, Type: reflector.Describe(own.Example),
		InformerName: own.Identity.Name(),
		Status:       statusOf(own), Queue: queueOf(own), Handlers: handlersOf(own), Audits: auditsOf(own),
	}
	if own.Processor != nil {
		all.Disconnected = own.Processor.Disconnected()
	}
	done := own.Report.History()
	if own.Parts != nil {
		all.addParts(own.Parts(), &done)
	}
	all.addHistory(done)
	if own.Table != nil {
		all.addContents(own)
	}
	return all, nil
}

// auditsOf returns what audits of one informer, or of one source, have found, in maps of the caller's own.
func auditsOf(own *door.Informer) (stats AuditStats) {
	if audits, ok := own.Observed.Audits.Load().(interface{ Stats() AuditStats }); ok {
		stats = audits.Stats()
	}
	return stats
}

// addHistory adds what the reflector has done.
func (all *Inspection) addHistory(h reflector.History) {
	all.Lists, all.Streams, all.Watches = RequestStats(h.Lists), RequestStats(h.Streams), RequestStats(h.Watches)
	all.Events, all.Relists, all.WatchEnds, all.Drops = h.Events, h.Relists, h.WatchEnds, h.Drops
	all.ListBytes, all.WatchBytes, all.FailingSince = h.ListBytes, h.WatchBytes, h.FailingSince
	for _, r := range h.Past {
		all.Requests = append(all.Requests, Request(r))
	}
	for _, e := range h.Errors {
		all.Errors = append(all.Errors, Error(e))
	}
	for _, o := range h.Outages {
		all.Outages = append(all.Outages, Outage(o))
	}
}

// sampling is what the inspections of all informers may cost the process.
var sampling = newBudget()

// addContents adds the indices, and what all takes.
func (all *Inspection) addContents(own *door.Informer) {
	survey, memory := own.Table.Survey(), &all.Memory
	for _, ix := range survey.Indexes {
		all.Indices = append(all.Indices, IndexStats(ix))
		memory.Indices += ix.Bytes
	}
	slices.SortFunc(all.Indices, func(a, b IndexStats) int { return cmp.Compare(a.Name, b.Name) })
	own.Observed.Memo.CompareAndSwap(nil, &sample{})
	mean := own.Observed.Memo.Load().(*sample).of(sampling, time.Now(), own.Table.Sample)
	n := float64(all.Status.Objects)
	memory.Sampled, memory.SampledAt = mean.sampled, mean.at
	memory.Objects = int64(n * mean.object)
	memory.Store = survey.Bytes + int64(n*mean.key)
	all.Snapshots = Snapshots(own.Table.Snapshots())
	memory.Snapshots = int64(float64(all.Snapshots.Kept) * mean.object)
	memory.Queue = int64(float64(all.Queue.Depth) * (mean.object + float64(unsafe.Sizeof(event.Record{}))))
	behind := 0
	for h := range all.Handlers {
		behind = max(behind, all.Handlers[h].Pending)
	}
	memory.Handlers = int64(float64(behind) * (mean.object + float64(unsafe.Sizeof(event.Change{}))))
}
