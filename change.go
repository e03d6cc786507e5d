// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// changeKind is what a change means to a handler.
type changeKind uint8

const (
	changeAdd changeKind = iota
	changeUpdate
	changeDelete
)

// change is one notification, or many alike: what the store has already applied and the handlers have still to hear.
type change struct {
	kind    changeKind
	initial bool   // Adds that belong to the initial list
	resync  bool   // Updates that say nothing new: for handlers whose resync is due
	key     string // of the object; "" for a bulk record

	old, new any // old: Update and Delete (then perhaps a DeletedFinalStateUnknown); new: Add and Update

	// many makes this a bulk record: an Add of each of these objects, or an Update to itself. old and new are nil.
	many *snapshot

	// Filled in by sharedProcessor.distribute.
	round resyncRound // for a resync: whom it is not for
	at    int64       // when it was distributed, in nanoseconds on the processor's clock
}

// snapshot is a set of objects at one time, in one order. It does not change, and any number of handlers share it.
type snapshot struct{ objects []any }

func newSnapshot(objects []any) *snapshot { return &snapshot{objects} }

func (s *snapshot) len() int     { return len(s.objects) }
func (s *snapshot) at(i int) any { return s.objects[i] }

// size is how many calls of a handler the change stands for.
func (c *change) size() int {
	if c.many != nil {
		return c.many.len()
	}
	return 1
}

// bounded tells whether the change counts against Delivery.Max: it is a notification, no part of an initial list or a
// resync.
func (c *change) bounded() bool { return !c.initial && !c.resync && c.many == nil }

// single returns the i-th of the changes that a bulk record stands for, without its key.
func (c *change) single(i int) change {
	one := change{kind: c.kind, initial: c.initial, resync: c.resync, new: c.many.at(i), round: c.round, at: c.at}
	if c.kind == changeUpdate {
		one.old = one.new
	}
	return one
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

// deliverIsolated makes all calls of the change for a caller that goes on after a panic of the handler.
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
