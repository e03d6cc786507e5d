// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer

import (
	"cmp"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/fanout"
)

// Delivery says how an informer calls a handler; see Deliver and Options.Delivery. The zero value is
// the default: the handler is called for everything, in order, one call at a time, and what waits
// for it stays in memory without a bound.
type Delivery struct {
	// Name is the name of the handler in logs, in inspect.Handler and in the registration's
	// DoneChecker. The default is its type, in short, or, for functions, their file and line. Of handlers
	// with one name an informer calls the second name#2, and so on.
	Name string

	// Overflow says what happens when changes come faster than the handler returns.
	Overflow Overflow

	// Max is for OverflowBlock and OverflowDisconnect only: how many notifications may wait for the
	// handler, the current one included. Adds of an initial list and resyncs do not count. 0 means
	// 1024.
	Max int

	// OnDisconnect, for OverflowDisconnect only, is called once, in a goroutine of its own, when
	// the handler has been removed because too much waited for it. The error names the handler and
	// wraps ErrDisconnected. The handler's last call may still be running then. OnDisconnect may
	// add handlers, this one included.
	OnDisconnect func(err error)

	// Parallel is the number of goroutines that call the handler, at most 1024. If it is more than
	// one, the handler must be safe for concurrent use. Calls about the same object stay in order
	// and do not overlap. 0 means 1.
	Parallel int
}

// Overflow says what happens when changes come faster than a handler returns.
type Overflow string

const (
	// OverflowLossless keeps in memory, without a bound, everything that the handler has not been
	// called for. Nothing else waits. It is the default, and what client-go does.
	OverflowLossless Overflow = ""

	// OverflowBlock stops the informer from reading its watch while Delivery.Max notifications wait
	// or are on their way. The store and all other handlers of the informer stand still as well,
	// and the server sees a client that does not read. Lists are delivered as a whole, resyncs go
	// on, and the informer can be stopped. The wait ends when a call of the handler returns, when
	// it is removed, and when the informer ends. The handler must not wait in a call for the
	// informer to go on.
	OverflowBlock Overflow = "block"

	// OverflowCoalesce merges what waits by object: memory grows with the objects that change, not
	// with their changes. Nothing else waits. The handler sees each object's last state, and never
	// an Update without an Add before, or anything but an Add after a Delete:
	//
	//   - Add and Update become an Add, of the initial list if the first was; Update and Update
	//     become one, from the first old to the last new state; Update and Delete become a Delete;
	//     Add and Delete become nothing, which counts as delivered for HasSynced;
	//   - Delete and Add stay apart, and an Update to an object with another UID becomes a Delete,
	//     with a DeletedFinalStateUnknown, and an Add. An empty UID equals all;
	//   - a resync becomes part of whatever waits for the object;
	//   - the call that is running stays as it is.
	OverflowCoalesce Overflow = "coalesce"

	// OverflowDisconnect removes the handler as soon as more than Delivery.Max notifications wait.
	// Its ShutdownChan is closed when the running call has returned, Delivery.OnDisconnect is
	// called, and HasSynced keeps its last value.
	OverflowDisconnect Overflow = "disconnect"
)

// maxParallel bounds Delivery.Parallel: each of them looks at every notification, so that more of
// them get slower.
const maxParallel = 1024

// defaultMax bounds OverflowBlock and OverflowDisconnect if the user names no number: about a
// second of a busy watch, and 100 KB.
const defaultMax = 1024

// ErrDisconnected is what OnDisconnect gets, wrapped in an error that says how far the handler was
// behind.
var ErrDisconnected = fanout.ErrDisconnected

// Deliver returns the handler together with a Delivery, which replaces that of the informer's
// Options. The shared informers of this package follow it if Deliver's wrapper is the
// outermost one. AddEventHandler fails for an invalid Delivery, and for a wrapper of Deliver's
// inside another one, or inside a FilteringResourceEventHandler: Deliver the filter. Informers of
// NewInformer*, which call their one handler themselves, do not run with such a handler. Those of
// other packages just call the handler.
func Deliver(handler cache.ResourceEventHandler, delivery Delivery) cache.ResourceEventHandler {
	var bad door.Faults
	delivery.check(&bad, "")
	return fanout.Delivered{ResourceEventHandler: handler, Options: delivery.options(), Err: bad.As(fanout.ErrBadDelivery)}
}

var overflows = map[Overflow]fanout.Overflow{
	OverflowLossless:   fanout.Lossless,
	OverflowBlock:      fanout.Block,
	OverflowCoalesce:   fanout.Coalesce,
	OverflowDisconnect: fanout.Disconnect,
}

// options translates a Delivery. One that makes no sense is refused elsewhere.
func (d Delivery) options() fanout.Options {
	return fanout.Options{
		Name:         d.Name,
		Overflow:     overflows[d.Overflow],
		Max:          cmp.Or(d.Max, defaultMax),
		Parallel:     d.Parallel,
		OnDisconnect: d.OnDisconnect,
	}
}

// asStandard returns how an informer serves all handlers that have no Delivery of their own, and notes
// what is wrong with that.
func (d Delivery) asStandard(bad *door.Faults) fanout.Delivered {
	var own door.Faults
	d.check(&own, "Options.Delivery: ")
	if d.Name != "" {
		own.Add("Options.Delivery: Name is %q, which is for one handler: name that by Deliver", d.Name)
	}
	*bad = append(*bad, own...)
	return fanout.Delivered{Options: d.options(), Err: own.As(fanout.ErrBadDelivery)}
}

// check notes the fields that say nothing that can be had. Each fault begins with where.
func (d Delivery) check(bad *door.Faults, where string) {
	if _, known := overflows[d.Overflow]; !known {
		bad.Add("%sOverflow: there is no %q: use OverflowLossless, OverflowBlock, OverflowCoalesce or OverflowDisconnect",
			where, d.Overflow)
	}
	switch {
	case d.Max < 0:
		bad.Add("%sMax is %d: use a positive number, or 0 for %d", where, d.Max, defaultMax)
	case d.Max > 0 && (d.Overflow == OverflowLossless || d.Overflow == OverflowCoalesce):
		bad.Add("%sMax is %d, which is for OverflowBlock and OverflowDisconnect, and Overflow is %q",
			where, d.Max, d.Overflow)
	}
	if d.OnDisconnect != nil && d.Overflow != OverflowDisconnect {
		bad.Add("%sOnDisconnect is set, which is for OverflowDisconnect, and Overflow is %q", where, d.Overflow)
	}
	if d.Parallel < 0 || d.Parallel > maxParallel {
		bad.Add("%sParallel is %d: use a number up to %d, or 0 for 1", where, d.Parallel, maxParallel)
	}
}

// DeliverTyped is Deliver for a typed handler. What it returns goes to AddEventHandler or
// AddEventHandlerWithOptions, also of a typed informer. client-go's AddTypedEventHandler takes only
// typed handlers and hides them inside of a wrapper of its own, so that no Delivery can come with
// them.
//
// A call panics for an object that is no T, as one of AddTypedEventHandler does.
func DeliverTyped[T cache.Object](handler cache.TypedResourceEventHandler[T], delivery Delivery) cache.ResourceEventHandler {
	if handler == nil {
		return Deliver(nil, delivery)
	}
	return Deliver(fanout.Typed[T]{Handler: handler}, delivery)
}
