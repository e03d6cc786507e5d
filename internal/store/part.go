// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/identical"
	"github.com/kinformer/cache/internal/table"
)

// partState is a whole state of one of several sources: all that the source has, and not all that
// the store has. It goes into the store as one transaction.
type partState struct {
	session  *Session
	items    []partItem
	at       map[string]int      // key → place in items
	kept     map[string]struct{} // keys of objects whose last state cannot be transformed: what is before it stays
	distrust bool                // the versions of cached objects
	stored   func()              // called when the state is in the store
	gone     bool                // the source was removed
}

// partItem is an object of the state; the zero value is one that was removed again.
type partItem struct {
	key     string
	version string // as received
	object  any
	altered *event.Origin
}

// NewGone returns the record of a state without objects: for a source that is removed.
func NewGone(session *Session) event.Record {
	return event.Record{Type: clientgo.ReplacedAll, State: &partState{session: session, stored: func() {}, gone: true}}
}

// NewEnd returns a record that says that a source brings no more. done is called when all before it is
// in the store and was given to the handlers.
func NewEnd(done func()) event.Record {
	return event.Record{Type: clientgo.ReplacedAll, State: ending(done)}
}

type ending func()

func (e ending) replaceIn(a *Applier, changes []event.Change, _ string, _ bool) []event.Change {
	o := a.sharing.(*owners)
	o.stored = append(o.stored, e)
	return changes
}

// replaceIn makes the state all that its source has. Objects that no other source has leave with a
// tombstone; those that come are an initial list if the source had no state before. Of the objects
// in the version of the store, a state that is asked for again tells as of a resync, as for an
// informer of one source; the first state of a session tells nothing.
func (p *partState) replaceIn(a *Applier, changes []event.Change, version string, _ bool) []event.Change {
	s, o := p.session.Source, a.sharing.(*owners)
	if p.session.Number < s.session {
		return changes // the source was replaced or removed meanwhile
	}
	first, repeated := s.session == 0, s.session == p.session.Number
	s.session = p.session.Number
	o.enter(s, len(p.items))
	write := partWrite{partChanges: partChanges{changes: changes, initial: first}, part: p}
	write.lose(o, s)
	write.gain(o, s)
	a.contents.Apply(write.operations, func(held string) string { return held })
	write.tell(a, repeated && !p.distrust)
	s.note(clientgo.ReplacedAll, version)
	s.publish()
	o.leave(s)
	p.stored()
	if p.session.Stored != nil {
		o.stored = append(o.stored, p.session.Stored)
	}
	return told(write.all(), len(changes), &event.Change{Source: &s.Name, Cause: p.cause(first)})
}

// told gives the changes from one on their source and cause. An update is of no first list: its object was
// in the store, from another source.
func told(changes []event.Change, from int, of *event.Change) []event.Change {
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

// partWrite is a partState on its way into the store.
type partWrite struct {
	partChanges
	part       *partState
	operations []table.Op
	items      []*partItem // of the operations; nil for deletions
}

// lose makes operations of what the source has lost.
func (w *partWrite) lose(o *owners, s *Source) {
	for key := range s.keys {
		_, listed := w.part.at[key]
		_, kept := w.part.kept[key]
		if listed || kept {
			continue
		}
		if o.lose(s, key) {
			w.operations, w.items = append(w.operations, table.Op{Key: key, Delete: true}), append(w.items, nil)
		}
	}
}

// gain makes operations of what the source has, as far as the store has nothing newer.
func (w *partWrite) gain(o *owners, s *Source) {
	w.operations = slices.Grow(w.operations, len(w.part.items))
	for i := range w.part.items {
		item := &w.part.items[i]
		if item.object == nil {
			continue
		}
		if o.gain(s, item.key, item.version, true) {
			w.operations = append(w.operations, table.Op{Key: item.key, Object: item.object})
			w.items = append(w.items, item)
		}
	}
}

// tell says what the operations meant. resyncs says whether handlers hear of objects that are as
// they were.
func (w *partWrite) tell(a *Applier, resyncs bool) {
	for i := range w.operations {
		op, item := &w.operations[i], w.items[i]
		switch {
		case op.Delete:
			delete(a.Received, op.Key)
			w.delete(op)
		case !op.Had:
			a.Received.note(op.Key, item.altered)
			w.adds.put(op)
		default:
			same := w.part.isSame(a, item, op.Old)
			a.Received.note(op.Key, item.altered)
			if !same {
				w.update(op)
			} else if resyncs {
				w.resyncs.put(op)
			}
		}
	}
}

// isSame reports whether an object says nothing that the cached one does not. Without a version, or
// if that is not to be trusted, the contents tell.
func (p *partState) isSame(a *Applier, item *partItem, cached any) bool {
	if a.Received.of(item.key, cached) != item.version {
		return false
	}
	return item.version != "" && !p.distrust || identical.Objects(cached, item.object)
}

// partChanges collects what a state means to handlers: what leaves, what comes, what is different,
// and what is as it was.
type partChanges struct {
	changes       []event.Change // deletions, after those of the records before
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

// bulk are objects of which one record tells.
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
