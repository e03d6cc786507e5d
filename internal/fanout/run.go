// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"fmt"
	"hash/maphash"
	"sync/atomic"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
)

// run is a number of changes that were taken together: changes[next:end], or that range of a bulk
// record.
type run struct {
	changes   []event.Change // without bulk records, in memory that keeps no other changes alive
	bulk      *event.Change  // a bulk record, or nil
	next, end int32
	settled   int32 // up to where it is counted
	upTo      int64 // where the consumer is when all is counted, if it reads no further ahead
	calls     int32 // not counted yet
	began     int64 // when the first of these was made
	initial   bool  // the current call belongs to the initial list
	panicked  bool  // the last call did
	quick     bool  // the last calls were quick: what follows need not be timed one by one
	plain     bool  // all of changes are for this consumer and bounded, or all of bulk is for it
}

// more reports whether some of what was taken is not delivered.
func (r *run) more() bool {
	return r.next < r.end || r.bulk != nil && int(r.next) < r.bulk.Many.Len()
}

// oldest returns the change that is delivered next, or the bulk record that it belongs to.
func (r *run) oldest() *event.Change {
	if r.bulk != nil {
		return r.bulk
	}
	return &r.changes[r.next]
}

// former returns the object of the Add that was delivered last.
func (r *run) former() any {
	if r.bulk != nil {
		return r.bulk.Many.At(int(r.next - 1))
	}
	return r.changes[r.next-1].New
}

// boundedSince returns how many of the changes from that one on were delivered and are bounded.
func (r *run) boundedSince(from int32) (n int) {
	switch {
	case r.bulk != nil:
		return 0
	case r.plain:
		return int(r.next - from)
	}
	for i := from; i < r.next; i++ {
		if isBounded(&r.changes[i]) {
			n++
		}
	}
	return n
}

// deliver makes the calls, until closed is set. Where the run is not plain, only those are made
// that belong to own; a nil own is all.
func (r *run) deliver(handler clientgo.ResourceEventHandler, closed *atomic.Bool, own *share) {
	if r.plain && r.bulk == nil { // nearly always
		for r.next < r.end && !closed.Load() {
			one := &r.changes[r.next]
			r.next++
			r.calls++
			call(one, handler)
		}
		return
	}
	for r.next < r.end && !closed.Load() {
		i := r.next
		r.next++
		switch {
		case r.plain:
			r.calls++
			r.initial = r.bulk.Initial
			callAt(r.bulk, int(i), handler)
			r.initial = false
		case r.bulk == nil:
			r.deliverOne(&r.changes[i], handler, own)
		default:
			one := r.bulk.Single(int(i))
			r.deliverOne(&one, handler, own)
		}
	}
}

func (r *run) deliverOne(one *event.Change, handler clientgo.ResourceEventHandler, own *share) {
	if own != nil && !own.wants(one) {
		return
	}
	r.calls++
	r.initial = one.Initial
	call(one, handler)
	r.initial = false
}

// call calls the handler's method for a change that is no bulk record.
func call(c *event.Change, handler clientgo.ResourceEventHandler) {
	switch c.Kind {
	case event.ChangeAdd:
		handler.OnAdd(c.New, c.Initial)
	case event.ChangeUpdate:
		handler.OnUpdate(c.Old, c.New)
	case event.ChangeDelete:
		handler.OnDelete(c.Old)
	}
}

// callAt calls the handler's method for the i-th of the changes that a bulk record stands for.
func callAt(c *event.Change, i int, handler clientgo.ResourceEventHandler) {
	object := c.Many.At(i)
	switch {
	case c.Kind == event.ChangeAdd:
		handler.OnAdd(object, c.Initial)
	case c.Many.Formers != nil:
		handler.OnUpdate(c.Many.Formers[i], object)
	default:
		handler.OnUpdate(object, object)
	}
}

// CallIsolated makes all calls that a change stands for, for a caller without a Processor, who goes on
// after a panic of the handler.
func CallIsolated(c *event.Change, handler clientgo.ResourceEventHandler) {
	if c.Many == nil {
		callOneIsolated(c, handler)
		return
	}
	for i := range c.Many.Len() {
		one := c.Single(i)
		callOneIsolated(&one, handler)
	}
}

func callOneIsolated(c *event.Change, handler clientgo.ResourceEventHandler) {
	defer utilruntime.HandleCrash()
	call(c, handler)
}

// isBounded reports whether a change counts against Options.Max: it is a notification, no part of an
// initial list or a resync.
func isBounded(c *event.Change) bool { return !c.Initial && !c.Resync && c.Many == nil }

// lostCall is a call of an initial list that did not return.
type lostCall struct {
	obj      any
	panicked bool // else it has ended its goroutine
}

func (c *lostCall) error() error {
	what, how := "an object", "ended its goroutine"
	if key, err := clientgo.MetaNamespaceKeyFunc(c.obj); err == nil {
		what = key
	}
	if c.panicked {
		how = "panicked"
	}
	return fmt.Errorf("OnAdd of %s, which belongs to its initial list, %s", what, how)
}

// share is which changes are for one of the consumers of a handler.
type share struct {
	id       uint64 // of the consumer, among all of the processor so far; set before others see it
	number   uint32 // of the consumer, among those of the handler
	parallel uint32 // how many consumers the handler has
}

// all reports whether the keys of all objects belong to the share.
func (s *share) all() bool { return s.parallel == 1 }

// wants reports whether a change, or for a bulk record some of it, belongs to the share.
func (s *share) wants(c *event.Change) bool {
	if c.Resync && c.Round.Excludes(s.id) {
		return false
	}
	return s.all() || c.Many != nil || maphash.String(shareSeed, c.Key)%uint64(s.parallel) == uint64(s.number)
}

// wantsAny reports whether any of the changes belongs to the share. It may be wrong to say yes.
func (s *share) wantsAny(changes []event.Change) bool {
	for i := range changes {
		if changes[i].Many != nil && !changes[i].Resync || s.wants(&changes[i]) {
			return true
		}
	}
	return false
}

var shareSeed = maphash.MakeSeed()
