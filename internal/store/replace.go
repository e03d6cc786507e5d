// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"maps"
	"slices"
	"time"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/identical"
	"github.com/kinformer/cache/internal/table"
)

// nextState is a full list that becomes the content of an informer's store. It is filled as the
// objects arrive, while the store remains in use, so that little work is left when it replaces the
// former content.
type nextState struct {
	draft *table.Draft
	news  table.Places // places of objects that the store lacks, or has in another version

	received      Received // versions and UIDs of the draft's objects
	staging       event.Staging
	untransformed map[string]event.Origin // listed objects that cannot be transformed, by key: see keepCached

	contents *Contents     // the store's content
	excess   time.Duration // that the index functions have taken longer than usual ones lately

	former [table.BlockLen]string // scratch memory of file
	isNews [table.BlockLen]bool   // the same
}

func newNextState(c *Contents, o event.Staging) *nextState {
	return &nextState{draft: c.Table.Draft(o.Size), received: Received{}, untransformed: map[string]event.Origin{}, staging: o, contents: c}
}

// file adds a block of objects that the draft has looked up. versions are their versions as
// received, altered the origins of those that no longer show them.
func (n *nextState) file(b *table.Block, versions []string, altered []*event.Origin) {
	for i, former := range b.Former[:b.N] {
		if former != nil {
			n.former[i], _ = event.VersionOf(former)
		}
	}
	for i := range b.N {
		n.isNews[i] = b.Former[i] == nil || n.former[i] != versions[i]
	}
	clear(n.former[:b.N])
	n.put(b)
	for i, place := range b.Places[:b.N] {
		n.news.Put(place, n.isNews[i])
		n.received.Note(b.Keys[i], altered[i])
	}
}

const (
	// slowIndexing is the average duration of storing and filing an object, with all index
	// functions, above which they count as slow. It is above the cost of usual functions
	// (make bench BENCH_FLAGS="-run size/.*/update"), and below that of decoding most objects
	// (-run http/json-list).
	slowIndexing = 20 * time.Microsecond

	// pauseOfOthers is the excess that is allowed, because other goroutines may occupy the processors.
	pauseOfOthers = 2 * time.Millisecond
)

// put adds a block to the draft, which runs the index functions. If the user's prove slow, the rest is
// left to ReplaceIn, in the goroutine of the queue's consumer. So slow functions delay reading by no more
// than pauseOfOthers and the calls of a block, 32 at most, however quick they were before.
func (n *nextState) put(b *table.Block) {
	if !n.contents.slow.Load() {
		n.draft.Put(b)
		return
	}
	began := time.Now()
	if filed := n.draft.Put(b); !filed {
		return
	}
	n.excess = max(0, n.excess+time.Since(began)-time.Duration(b.N)*slowIndexing)
	if n.excess > pauseOfOthers {
		n.draft.Postpone()
	}
}

// remove removes an object again.
func (n *nextState) remove(key string) {
	if place, ok := n.draft.Remove(key); ok {
		n.news.Put(place, false)
		delete(n.received, key)
	}
}

// ReplaceIn makes n the content of the applier's store. The deletions come first in changes, then
// the objects in the order of the list. An object that is listed twice counts once, in its last
// state.
func (n *nextState) ReplaceIn(a *Applier, changes []event.Change, version string, isInInitialList bool) []event.Change {
	kept := n.keepCached(a)
	n.draft.Complete()
	current := n.draft.Current()
	if !current {
		n.draft.Renew()
	}
	for key, obj := range n.draft.Missing {
		changes = append(changes, event.Change{Kind: event.ChangeDelete, Key: key, Old: clientgo.DeletedFinalStateUnknown{Key: key, Obj: obj}, Cause: event.CauseRelist})
	}
	list := listChanges{changes: changes, next: n, kept: kept, initial: isInInitialList}
	isNews := func(_ uint32, item *table.Item) bool {
		return item.Former == nil || a.Received.Version(item.Key, item.Former) != n.received.Version(item.Key, item.Object)
	}
	if current && len(a.Received) == 0 {
		isNews = func(place uint32, _ *table.Item) bool { return n.news.Has(place) }
	}
	if n.contents.Table.Len() == 0 {
		list.addAll()
	} else {
		list.all(func(place uint32, item *table.Item) meaning {
			switch {
			case isNews(place, item), n.staging.Distrust && !identical.Objects(item.Former, item.Object):
				return news
			case n.staging.Distrust && a.isSame(n, item):
				return nothing
			default:
				return resync
			}
		})
	}
	n.contents.install(n.draft, version)
	for key := range n.untransformed {
		if origin, altered := a.Received[key]; altered {
			n.received[key] = origin
		}
	}
	a.Received = n.received
	n.staging.IsStored()
	return list.changes
}

// isSame reports whether an object in n has the same version and UID as the cached one.
func (a *Applier) isSame(n *nextState, item *table.Item) bool {
	now := n.received.Origin(item.Key, item.Object)
	return now.Version != "" && now == a.Received.Origin(item.Key, item.Former)
}

// keepCached adds the cached objects whose listed state cannot be transformed, unless that is known to be of
// another object, and returns their places.
func (n *nextState) keepCached(a *Applier) (places table.Places) {
	for _, key := range slices.Sorted(maps.Keys(n.untransformed)) {
		cached, exists := n.contents.Table.Get(key)
		if !exists || n.draft.Has(key) || a.HasAnother(key, n.untransformed[key]) {
			delete(n.untransformed, key)
			continue
		}
		block := &table.Block{N: 1}
		block.Keys[0], block.Objects[0], block.Former[0] = key, cached, cached
		n.draft.Put(block)
		places.Put(block.Places[0], true)
	}
	return places
}

// listChanges collects the changes of a list, in its order. Successive resyncs are one bulk record.
type listChanges struct {
	changes []event.Change
	next    *nextState
	kept    table.Places
	initial bool

	// keys, objects and formers are the resyncs so far. Those from first on are in no record yet.
	keys             []string
	objects, formers []any
	first            int
}

// addAll adds all objects as new, in one bulk record.
func (l *listChanges) addAll() {
	n := l.next.draft.Len()
	keys, objects := make([]string, 0, n), make([]any, 0, n)
	for key, obj := range l.next.draft.Objects {
		keys, objects = append(keys, key), append(objects, obj)
	}
	if len(objects) > 0 {
		l.changes = append(l.changes, event.Change{Kind: event.ChangeAdd, Many: event.KeyedSnapshot(keys, objects), Initial: l.initial, Cause: causeOfList(l.initial)})
	}
}

// meaning is the kind of change that an object of a list is for handlers.
type meaning uint8

const (
	news    meaning = iota
	resync          // the cached object in its cached version
	nothing         // the same, in a list requested because the cache is in doubt
)

// all adds the changes of all objects.
func (l *listChanges) all(meaningOf func(place uint32, item *table.Item) meaning) {
	n := l.next.draft.Len()
	l.keys, l.objects, l.formers = make([]string, 0, n), make([]any, 0, n), make([]any, 0, n)
	for place, item := range l.next.draft.All {
		if l.kept.Has(place) {
			continue
		}
		switch meaningOf(place, &item) {
		case resync:
			l.keys, l.objects, l.formers = append(l.keys, item.Key), append(l.objects, item.Object), append(l.formers, item.Former)
		case news:
			l.endRun()
			l.changes = append(l.changes, newsOf(&item, l.initial))
		}
	}
	l.endRun()
}

func newsOf(item *table.Item, initial bool) event.Change {
	if item.Former == nil {
		return event.Change{Kind: event.ChangeAdd, Key: item.Key, New: item.Object, Initial: initial, Cause: causeOfList(initial)}
	}
	return event.Change{Kind: event.ChangeUpdate, Key: item.Key, Old: item.Former, New: item.Object, Cause: event.CauseRelist}
}

func causeOfList(initial bool) event.Cause {
	if initial {
		return event.CauseInitial
	}
	return event.CauseRelist
}

// endRun makes a bulk record of the pending resyncs.
func (l *listChanges) endRun() {
	first, end := l.first, len(l.objects)
	if first == end {
		return
	}
	run := event.KeyedSnapshot(l.keys[first:end:end], l.objects[first:end:end])
	run.Formers = l.formers[first:end:end]
	l.changes = append(l.changes, event.Change{Kind: event.ChangeUpdate, Many: run, Resync: true, Cause: event.CauseRelist})
	l.first = end
}
