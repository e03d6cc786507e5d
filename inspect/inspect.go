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
// Inspection adds no work to the delivery of events: each Run registers its informer once, and
// everything else is read on request.
package inspect

import (
	"iter"
	"reflect"
	"sort"
	"time"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/reflector"
)

// All yields the informers and controllers of package cache that run in the process, including
// those of factories and frameworks, in the order of their start. A shared informer is yielded as a
// cache.SharedIndexInformer, without the wrapper of a factory. Each is included from the call of
// its Run until Run returns, and is not retained afterwards. A loop covers the informers that ran
// when it began, and delays none of them. Do not call Run of a yielded informer: it is running.
func All() iter.Seq[clientgo.Controller] {
	return func(yield func(clientgo.Controller) bool) {
		for _, informer := range door.Running.All() {
			if !yield(informer) {
				return
			}
		}
	}
}

// Of describes an informer or controller. It accepts the same values as StatusOf; for others the
// error is ErrForeign. It may be called at any time, and delays neither events nor handlers. It
// takes tens of microseconds, more for each source, each handler, each value of an index and, with
// kinformer.Decoding.Whole, each object, and occasionally takes a sample, for which it reads cached
// objects: see Memory. It races with a program that modifies cached objects, which is forbidden.
func Of(informer Syncer) (Inspection, error) {
	own := door.Of(informer)
	if own == nil {
		return Inspection{}, ErrForeign
	}
	all := Inspection{
		ID: own.Observed.Number.Load(), Name: own.Resource, Type: reflector.Describe(own.Example),
		InformerName: own.Identity.Name(),
		Handlers:     handlersOf(own),
	}
	if own.Processor != nil {
		all.Disconnected = own.Processor.Disconnected()
	}
	if own.Parts == nil {
		all.Status, all.Queue, all.Audits = statusOfOne(own), queueOf(own), auditsOf(own)
		all.addHistory(own.Report.History())
	} else {
		all.Status = statusOfAll(own, func(parts map[string]*door.Informer, sources []Source) {
			all.Queue, all.Audits, all.Sources = queueOf(own), auditsOf(own), sources
			done := own.Report.History()
			all.addParts(parts, &done)
			all.addHistory(done)
		})
	}
	if own.Table != nil {
		all.addContents(own)
	}
	return all, nil
}

// auditsOf returns the audit counts of an informer or of a source. The caller owns the maps.
func auditsOf(own *door.Informer) (stats AuditStats) {
	if audits, ok := own.Observed.Audits.Load().(interface{ Stats() AuditStats }); ok {
		stats = audits.Stats()
	}
	return stats
}

// addHistory adds the history of a reflector.
func (all *Inspection) addHistory(h reflector.History) {
	all.Lists, all.Streams, all.Watches = RequestStats(h.Lists), RequestStats(h.Streams), RequestStats(h.Watches)
	all.Unopened = h.Unopened
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

// sampling is the budget of the process for the samples of all informers.
var sampling = newBudget()

// addContents adds the indices and the estimates of memory.
func (all *Inspection) addContents(own *door.Informer) {
	survey, memory := own.Table.Survey(), &all.Memory
	for _, ix := range survey.Indexes {
		all.Indices = append(all.Indices, IndexStats(ix))
		memory.Indices += ix.Bytes
	}
	sort.Slice(all.Indices, func(i, j int) bool { return all.Indices[i].Name < all.Indices[j].Name })
	own.Observed.Memo.CompareAndSwap(nil, &sample{})
	mean := own.Observed.Memo.Load().(*sample).of(sampling, time.Now(), own.Table.Sample)
	n := float64(all.Status.Objects)
	memory.Sampled, memory.SampledAt = mean.sampled, mean.at
	memory.Objects = int64(n * mean.object)
	memory.Store = survey.Bytes + int64(n*mean.key)
	all.Snapshots = Snapshots(own.Table.Snapshots())
	memory.Snapshots = int64(float64(all.Snapshots.Kept) * mean.object)
	memory.Queue = int64(float64(all.Queue.Depth) * (mean.object + float64(reflect.TypeFor[event.Record]().Size())))
	behind := 0
	for h := range all.Handlers {
		behind = max(behind, all.Handlers[h].Pending)
	}
	memory.Handlers = int64(float64(behind) * (mean.object + float64(reflect.TypeFor[event.Change]().Size())))
}
