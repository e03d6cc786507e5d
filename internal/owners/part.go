// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package owners

import (
	"slices"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/identical"
	"github.com/kinformer/cache/internal/store"
	"github.com/kinformer/cache/internal/table"
)

// partState is a full list of one of several sources of a store. It is applied as one transaction.
type partState struct {
	session       *Session
	items         []partItem
	at            map[string]int          // index in items by key
	untransformed map[string]event.Origin // of objects, by key, whose last state could not be transformed or decoded: their cached version stays
	staging       event.Staging
	gone          bool // the source is removed
}

// partItem is an object of the list. The zero value is an object that was removed again.
type partItem struct {
	key     string
	version string // as received
	object  any
	altered *event.Origin
}

// NewGone returns a record that removes a source: an empty list.
func NewGone(session *Session) event.Record {
	return event.Record{Type: clientgo.ReplacedAll, State: &partState{session: session, gone: true}}
}

// NewEnd returns a record that marks the end of a source's records. done is called when all earlier
// records are in the store and were passed to the handlers.
func NewEnd(done func()) event.Record {
	return event.Record{Type: clientgo.ReplacedAll, State: ending(done)}
}

type ending func()

func (e ending) ReplaceIn(a *store.Applier, changes []event.Change, _ string, _ bool) []event.Change {
	o := a.Sharing.(*owners)
	o.stored = append(o.stored, e)
	return changes
}

// ReplaceIn makes the list the whole content of its source. Objects that no other source has are
// deleted with a tombstone; new ones are an initial list if the source had no list before.
// Unchanged objects are a resync if the session has listed before, as for an informer of one
// source; the first list of a session does not report them.
func (p *partState) ReplaceIn(a *store.Applier, changes []event.Change, version string, _ bool) []event.Change {
	s, o := p.session.Source, a.Sharing.(*owners)
	if s.applied != nil && p.session.Number < s.applied.Number {
		return changes // the source was replaced or removed meanwhile
	}
	if p.isFromBefore(version) {
		o.call(p.session.Relist)
		return changes
	}
	first, repeated := s.applied == nil, s.applied == p.session
	if o.provesRestart(p, version) {
		o.restart(s)
	}
	p.session.begin(o.restarts)
	o.enter(s, len(p.items))
	write := partWrite{partChanges: partChanges{changes: changes, initial: first}, part: p}
	write.removals(a, o, s)
	write.additions(o, s, !repeated || p.staging.Asked == "")
	a.Contents.Apply(write.operations, func(held string) string { return held })
	write.collect(a, repeated && !p.staging.Distrust)
	p.session.note(clientgo.ReplacedAll, version)
	p.session.publish()
	o.leave(s)
	p.staging.IsStored()
	if p.session.Stored != nil {
		o.stored = append(o.stored, p.session.Stored)
	}
	return stamp(write.all(), len(changes), &event.Change{Source: &s.Name, Cause: p.cause(first)})
}

// provesRestart reports whether a list at version proves that the versions of its server began again: it
// is older than what its own session had, or has an object older than in its session, although it was not
// allowed to be of any age. The first list after a restart proves nothing more.
func (o *owners) provesRestart(p *partState, version string) bool {
	s := p.session
	if s.applied != s || s.lapsed || p.gone || p.staging.Asked == "0" {
		return false
	}
	if order(version, s.newest) < 0 {
		return true
	}
	return len(o.shared) > 0 && slices.ContainsFunc(p.items, func(item partItem) bool {
		return item.object != nil && slices.ContainsFunc(o.shared[item.key], func(c claim) bool {
			return c.by == s.Source && order(item.version, c.version) < 0
		})
	})
}

// isFromBefore reports whether a list of a lapsed session may be of the time before the restart: it is
// neither of the server's most recent state nor older than what the session had, so it may have been under
// way. Then it does not count, and another one is asked for.
func (p *partState) isFromBefore(version string) bool {
	s := p.session
	return s.lapsed && s.applied == s && p.staging.Asked != "" && order(version, s.former) >= 0
}

// stamp sets source and cause of the changes from index from on. An update never has CauseInitial,
// because its object was already in the store, from another source.
func stamp(changes []event.Change, from int, of *event.Change) []event.Change {
	for i := range changes[from:] {
		c := &changes[from+i]
		c.Source, c.Cause = of.Source, of.Cause
		if c.Kind == event.ChangeUpdate && c.Cause == event.CauseInitial {
			c.Cause = event.CauseRelist
		}
	}
	return changes
}

func (p *partState) cause(first bool) event.Cause {
	switch {
	case p.gone:
		return event.CauseGone
	case first:
		return event.CauseInitial
	default:
		return event.CauseRelist
	}
}

// partWrite is a partState that is being applied.
type partWrite struct {
	partChanges
	part       *partState
	operations []table.Op
	items      []*partItem // the item of each operation; nil for deletions
}

// removals adds operations for the objects that the source no longer has.
func (w *partWrite) removals(a *store.Applier, o *owners, s *Source) {
	for key := range s.keys {
		_, listed := w.part.at[key]
		refused, untransformed := w.part.untransformed[key]
		if listed || untransformed && !a.HasAnother(key, refused) {
			continue
		}
		if o.remove(s, key) {
			w.operations, w.items = append(w.operations, table.Op{Key: key, Delete: true}), append(w.items, nil)
		}
	}
}

// additions adds operations for the objects of the list, except those of which the store has a
// newer version. ends is that of owners.add: no earlier list of the session could prove that the versions
// began again, or the list is of the most recent state, as a repair asks for. Any other list may be late.
func (w *partWrite) additions(o *owners, s *Source, ends bool) {
	w.operations = slices.Grow(w.operations, len(w.part.items))
	for i := range w.part.items {
		item := &w.part.items[i]
		if item.object == nil {
			continue
		}
		if o.add(s, item.key, item.version, true, ends) {
			w.operations = append(w.operations, table.Op{Key: item.key, Object: item.object})
			w.items = append(w.items, item)
		}
	}
}

// collect collects the changes that the operations have made. resyncs reports whether unchanged
// objects are reported.
func (w *partWrite) collect(a *store.Applier, resyncs bool) {
	for i := range w.operations {
		op, item := &w.operations[i], w.items[i]
		switch {
		case op.Delete:
			if delete(a.Received, op.Key); op.Had {
				w.delete(op)
			}
		case !op.Had:
			a.Received.Note(op.Key, item.altered)
			w.adds.put(op)
		default:
			same := w.part.isSame(a, item, op.Old)
			a.Received.Note(op.Key, item.altered)
			if !same {
				w.update(op)
			} else if resyncs {
				w.resyncs.put(op)
			}
		}
	}
}

// isSame reports whether an object equals the cached one. If the version is missing or not trusted,
// the contents are compared.
func (p *partState) isSame(a *store.Applier, item *partItem, cached any) bool {
	if a.Received.Version(item.key, cached) != item.version {
		return false
	}
	return item.version != "" && !p.staging.Distrust || identical.Objects(cached, item.object)
}

// partChanges collects the changes of a list: deletions, additions, updates and resyncs.
type partChanges struct {
	changes       []event.Change // deletions, after the changes of earlier records
	updates       []event.Change
	adds, resyncs bulk
	initial       bool
}

func (c *partChanges) delete(op *table.Op) {
	last := clientgo.DeletedFinalStateUnknown{Key: op.Key, Obj: op.Old}
	c.changes = append(c.changes, event.Change{Kind: event.ChangeDelete, Key: op.Key, Old: last})
}

func (c *partChanges) update(op *table.Op) {
	c.updates = append(c.updates, event.Change{Kind: event.ChangeUpdate, Key: op.Key, Old: op.Old, New: op.Object})
}

func (c *partChanges) all() []event.Change {
	if added := c.adds.snapshot(); added != nil {
		c.changes = append(c.changes, event.Change{Kind: event.ChangeAdd, Many: added, Initial: c.initial})
	}
	c.changes = append(c.changes, c.updates...)
	if same := c.resyncs.snapshot(); same != nil {
		same.Formers = c.resyncs.formers
		c.changes = append(c.changes, event.Change{Kind: event.ChangeUpdate, Many: same, Resync: true})
	}
	return c.changes
}

// bulk collects the objects of one bulk record.
type bulk struct {
	keys             []string
	objects, formers []any
}

func (b *bulk) put(op *table.Op) {
	b.keys, b.objects, b.formers = append(b.keys, op.Key), append(b.objects, op.Object), append(b.formers, op.Old)
}

func (b *bulk) snapshot() *event.Snapshot {
	if len(b.keys) == 0 {
		return nil
	}
	return event.KeyedSnapshot(b.keys, b.objects)
}
