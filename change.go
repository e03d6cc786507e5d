// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"maps"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// changeKind is what a change means to a handler.
type changeKind uint8

const (
	changeAdd changeKind = iota
	changeUpdate
	changeDelete
)

// change is one notification, or many alike: what the store has already applied and the handlers
// have still to hear.
type change struct {
	kind    changeKind
	initial bool   // Adds that belong to the initial list
	resync  bool   // Updates that say nothing new: for handlers whose resync is due
	key     string // of the object in the store; "" for a bulk record

	old, new any // old: Update and Delete (then perhaps a DeletedFinalStateUnknown); new: Add and Update

	// many makes this a bulk record: an Add of each of these objects, or an Update, to itself or as
	// many says. old and new are nil.
	many *snapshot

	// Filled in when it is distributed.
	round resyncRound // for a resync: whom it is not for
	at    int64       // when it was distributed, in nanoseconds on the processor's clock
}

// resyncRound is the outcome of one look at who is due for a resync: the numbers of the receivers
// that were not due. Everything that counts as a resync is for all others, among them those that
// were not there yet, until the next look; before the first look it is for everybody, as in
// client-go. A round does not change, and keeps no receiver alive.
type resyncRound map[uint64]struct{}

func (r resyncRound) excludes(receiver uint64) bool {
	_, excluded := r[receiver]
	return excluded
}

// without returns the round without those receivers, too.
func (r resyncRound) without(receivers []uint64) resyncRound {
	if len(receivers) == 0 {
		return r
	}
	smaller := make(resyncRound, len(r)+len(receivers))
	maps.Copy(smaller, r)
	for _, receiver := range receivers {
		smaller[receiver] = struct{}{}
	}
	return smaller
}

// snapshot is a set of objects at one time, in one order, with their keys in the store. It does not
// change, and any number of handlers share it. One of the store costs nothing until the first of
// them reads it.
type snapshot struct {
	n       int
	keys    []string // once read, of each object; nil if no handler needs them
	objects []any    // once read
	formers []any    // for updates: what the objects replace; nil: themselves
	stored  lister   // until read; nil for a snapshot of given objects
	keyed   bool     // some handler needs the keys of stored; set before anybody reads
	read    sync.Once
}

// keyedSnapshot is a snapshot of given objects, under these keys.
func keyedSnapshot(keys []string, objects []any) *snapshot {
	return &snapshot{n: len(objects), keys: keys, objects: objects}
}

// lister is what a store holds at one time. It is closed when it is not needed any more.
type lister interface {
	Len() int
	List() []any
	ListKeys() []string // in the order of List
	Close()
}

// storedSnapshot returns what a store holds. It is the cheaper way to a list of it for a caller
// that holds locks.
func storedSnapshot(stored lister) *snapshot {
	s := &snapshot{n: stored.Len(), stored: stored}
	if s.n == 0 {
		s.release()
	}
	return s
}

func (s *snapshot) len() int { return s.n }

func (s *snapshot) at(i int) any {
	s.read.Do(func() {
		if s.stored == nil {
			return
		}
		if s.objects = s.stored.List(); s.keyed {
			s.keys = s.stored.ListKeys() // in the same order
		}
		s.stored.Close()
		s.stored = nil
	})
	return s.objects[i]
}

// key returns the key of the i-th object, after it was read, and "" without keys.
func (s *snapshot) key(i int) string {
	if s.keys == nil {
		return ""
	}
	return s.keys[i]
}

// release lets go of a snapshot that will not be read. One that is not released is closed by the
// garbage collector.
func (s *snapshot) release() {
	s.read.Do(func() {
		if s.stored != nil {
			s.stored.Close()
			s.stored = nil
		}
	})
}

// size is how many calls of a handler the change stands for.
func (c *change) size() int {
	if c.many != nil {
		return c.many.len()
	}
	return 1
}

// everything reports whether the change is a resync of all that the store has.
func (c *change) everything() bool { return c.resync && c.many != nil && c.many.formers == nil }

// bounded reports whether the change counts against Delivery.Max: it is a notification, no part of
// an initial list or a resync.
func (c *change) bounded() bool { return !c.initial && !c.resync && c.many == nil }

// single returns the i-th of the changes that a bulk record stands for.
func (c *change) single(i int) change {
	one := change{kind: c.kind, initial: c.initial, resync: c.resync, new: c.many.at(i), round: c.round, at: c.at}
	one.key = c.many.key(i)
	switch {
	case c.many.formers != nil:
		one.old = c.many.formers[i]
	case c.kind == changeUpdate:
		one.old = one.new
	}
	return one
}

// deliverAt calls the handler's method for the i-th of the changes that a bulk record stands for.
func (c *change) deliverAt(i int, handler ResourceEventHandler) {
	object := c.many.at(i)
	switch {
	case c.kind == changeAdd:
		handler.OnAdd(object, c.initial)
	case c.many.formers != nil:
		handler.OnUpdate(c.many.formers[i], object)
	default:
		handler.OnUpdate(object, object)
	}
}

// deliver calls the handler's method for a change that is no bulk record.
func (c *change) deliver(handler ResourceEventHandler) {
	switch c.kind {
	case changeAdd:
		handler.OnAdd(c.new, c.initial)
	case changeUpdate:
		handler.OnUpdate(c.old, c.new)
	case changeDelete:
		handler.OnDelete(c.old)
	}
}

// deliverIsolated makes all calls of the change for a caller that goes on after a panic of the
// handler.
func (c *change) deliverIsolated(handler ResourceEventHandler) {
	if c.many == nil {
		c.deliverOneIsolated(handler)
		return
	}
	for i := range c.many.len() {
		one := c.single(i)
		one.deliverOneIsolated(handler)
	}
}

func (c *change) deliverOneIsolated(handler ResourceEventHandler) {
	defer utilruntime.HandleCrash()
	c.deliver(handler)
}
