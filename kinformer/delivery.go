// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer

import (
	"cmp"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/fanout"
)

// Delivery configures how an informer calls a handler; see Deliver and Options.Delivery. The zero value
// is the default: the handler is called for every change, in order, one call at a time, and pending
// changes stay in memory without a bound.
type Delivery struct {
	// Name is the name of the handler in logs, in inspect.Handler and in the registration's
	// DoneChecker. The default is the short name of its type or, for functions, their file and line. If
	// several handlers of an informer have the same name, the second is called name#2, and so on.
	Name string

	// Overflow is the policy for changes that arrive faster than the handler returns.
	Overflow Overflow

	// Max is the maximum number of pending notifications of the handler, including the current one, for
	// OverflowBlock and OverflowDisconnect only. Adds of an initial list, of a list into an empty store, and
	// of lists of several sources, resyncs, and updates to unchanged objects of a relist do not count. Several
	// sources may exceed the Max of OverflowBlock: see docs/sources.md. 0 means 1024.
	Max int

	// OnDisconnect, for OverflowDisconnect only, is called once, in its own goroutine, when the handler
	// was removed because more than Max notifications were pending. The error names the handler and
	// wraps ErrDisconnected. The handler's last call may still be running. OnDisconnect may add
	// handlers, including this one.
	OnDisconnect func(err error)

	// Parallel is the number of goroutines that call the handler, at most 1024. If it is more than one,
	// the handler must be safe for concurrent use. Calls for the same object stay in order and do not
	// overlap. 0 means 1.
	Parallel int
}

// Overflow is a policy for changes that arrive faster than a handler returns.
type Overflow string

const (
	// OverflowLossless keeps all pending notifications of the handler in memory, without a bound.
	// Neither the informer nor other handlers wait. It is the default, and client-go's behavior.
	OverflowLossless Overflow = ""

	// OverflowBlock stops the informer from reading its watch while Delivery.Max notifications are
	// pending or on their way to the handler. The store and all other handlers of the informer stop as
	// well, and the server sees a client that does not read. Lists are delivered completely, resyncs
	// continue, and the informer can be stopped. The informer continues when a call of the handler
	// returns, when the handler is removed, and when the informer ends. The handler must not wait for
	// the informer's progress during a call.
	OverflowBlock Overflow = "block"

	// OverflowCoalesce merges pending notifications by object: memory grows with the number of changed
	// objects, not of changes. Neither the informer nor other handlers wait. The handler receives the
	// last state of each object. It never receives an Update without an earlier Add, and after a Delete
	// only an Add:
	//
	//   - Add and Update become an Add, of the initial list if the first was; Update and Update
	//     become one, from the first old to the last new state; Update and Delete become a Delete;
	//     Add and Delete cancel each other out, which counts as delivered for HasSynced;
	//   - Delete and Add stay separate, and an Update to an object with another UID becomes a Delete,
	//     with a DeletedFinalStateUnknown, and an Add. An empty UID equals all UIDs;
	//   - a resync is merged into the pending notification of the object;
	//   - a running call is not affected.
	OverflowCoalesce Overflow = "coalesce"

	// OverflowDisconnect removes the handler as soon as more than Delivery.Max notifications are
	// pending. Its ShutdownChan is closed when the running call has returned, Delivery.OnDisconnect is
	// called, and HasSynced keeps its last value.
	OverflowDisconnect Overflow = "disconnect"
)

// maxParallel bounds Delivery.Parallel. Each goroutine examines every notification, so a higher number
// is slower.
const maxParallel = 1024

// defaultMax bounds OverflowBlock and OverflowDisconnect if Delivery.Max is 0: about a second of a busy
// watch, and 100 KB.
const defaultMax = 1024

// ErrDisconnected is wrapped by the error of OnDisconnect, whose text states how far behind the handler
// was.
var ErrDisconnected = fanout.ErrDisconnected

// Deliver returns the handler with a Delivery, which replaces that of the informer's Options. Deliver
// must be the outermost wrapper. It is for the shared informers of this module: their AddEventHandler
// fails for an invalid Delivery, and for a wrapper of Deliver inside another wrapper of Deliver or
// inside a FilteringResourceEventHandler (pass the filter to Deliver instead). Informers of
// NewInformer*, which call their handler themselves, do not run with such a handler. Informers of other
// packages call the handler and ignore the Delivery.
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

// options converts a Delivery, which may be invalid: check reports that.
func (d Delivery) options() fanout.Options {
	return fanout.Options{
		Name:         d.Name,
		Overflow:     overflows[d.Overflow],
		Max:          cmp.Or(d.Max, defaultMax),
		Parallel:     d.Parallel,
		OnDisconnect: d.OnDisconnect,
	}
}

// asStandard returns the delivery of all handlers that have no Delivery of their own, and adds its
// faults to bad.
func (d Delivery) asStandard(bad *door.Faults) fanout.Delivered {
	var own door.Faults
	d.check(&own, "Options.Delivery: ")
	if d.Name != "" {
		own.Add("Options.Delivery: Name is %q, which is for one handler: name that by Deliver", d.Name)
	}
	*bad = append(*bad, own...)
	return fanout.Delivered{Options: d.options(), Err: own.As(fanout.ErrBadDelivery)}
}

// check adds the invalid fields to bad. Each message begins with where.
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

// DeliverTyped is Deliver for a typed handler. Its result can be passed to AddEventHandler and
// AddEventHandlerWithOptions, also of a typed informer, but not to client-go's AddTypedEventHandler,
// which takes only typed handlers and wraps them, so that the Delivery is not seen.
//
// A call panics for an object that is not a T, as it does with AddTypedEventHandler.
func DeliverTyped[T cache.Object](handler cache.TypedResourceEventHandler[T], delivery Delivery) cache.ResourceEventHandler {
	if handler == nil {
		return Deliver(nil, delivery)
	}
	return Deliver(fanout.Typed[T]{Handler: handler}, delivery)
}
