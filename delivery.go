// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/kinformer/cache/internal/fanout"
)

// Delivery says how an informer calls a handler; see Deliver and WithDelivery. The zero value is
// the default: the handler is called for everything, in order, one call at a time, and what waits
// for it stays in memory without a bound.
type Delivery struct {
	// Name is the name of the handler in logs, in inspect.Handler and in the registration's
	// DoneChecker. The default is its type or, for functions, their file and line.
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
type Overflow uint8

const (
	// OverflowLossless keeps in memory, without a bound, everything that the handler has not been
	// called for. Nothing else waits. It is the default, and what client-go does.
	OverflowLossless Overflow = iota

	// OverflowBlock stops the informer from reading its watch while Delivery.Max notifications wait
	// or are on their way. The store and all other handlers of the informer stand still as well,
	// and the server sees a client that does not read. Lists are delivered as a whole, resyncs go
	// on, and the informer can be stopped. The wait ends when a call of the handler returns, when
	// it is removed, and when the informer ends. The handler must not wait in a call for the
	// informer to go on.
	OverflowBlock

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
	OverflowCoalesce

	// OverflowDisconnect removes the handler as soon as more than Delivery.Max notifications wait.
	// Its ShutdownChan is closed when the running call has returned, Delivery.OnDisconnect is
	// called, and HasSynced keeps its last value.
	OverflowDisconnect
)

var overflowNames = [...]string{"OverflowLossless", "OverflowBlock", "OverflowCoalesce", "OverflowDisconnect"}

// String returns the name of the constant.
func (o Overflow) String() string {
	if int(o) < len(overflowNames) {
		return overflowNames[o]
	}
	return fmt.Sprintf("Overflow(%d)", uint8(o))
}

// maxParallel bounds Delivery.Parallel: each of them looks at every notification, so that more of
// them get slower.
const maxParallel = 1024

// defaultMax bounds OverflowBlock and OverflowDisconnect if the user names no number: about a
// second of a busy watch, and 100 KB.
const defaultMax = 1024

// ErrDisconnected is what OnDisconnect gets, wrapped in an error that says how far the handler was
// behind.
var ErrDisconnected = fanout.ErrDisconnected

var errBadDelivery = errors.New("invalid Delivery")

// Deliver returns the handler together with a Delivery, which replaces that of the informer's
// WithDelivery. The shared informers of this package follow it if Deliver's wrapper is the
// outermost one. AddEventHandler fails for an invalid Delivery, and for a wrapper of Deliver's
// inside another one, or inside a FilteringResourceEventHandler: Deliver the filter. Informers of
// NewInformer*, which call their one handler themselves, do not run with such a handler. Those of
// other packages just call the handler.
func Deliver(handler ResourceEventHandler, delivery Delivery) ResourceEventHandler {
	var bad faults
	delivery.check(&bad, "")
	return fanout.Delivered{ResourceEventHandler: handler, Options: delivery.options(), Err: bad.as(errBadDelivery)}
}

// WithDelivery sets the Delivery of all handlers that are added without Deliver, for instance by a
// framework. It does not apply to handlers that are added with Deliver. Each handler keeps its own
// name, so a Delivery with a Name is invalid here. With an invalid Delivery the informer does not
// run, and refuses handlers without Deliver. The default is the zero Delivery.
func WithDelivery(delivery Delivery) Option {
	return func(c *informerConfig) { c.delivery = delivery }
}

// unwrapDelivery returns a handler without Deliver's wrapper, and how it is to be served: as
// standard says, if it has no such wrapper.
func unwrapDelivery(handler ResourceEventHandler, standard Delivery) (ResourceEventHandler, fanout.Options, error) {
	name := fanout.NameOf(handler)
	wrapped, ok := handler.(fanout.Delivered)
	if !ok {
		var bad faults
		standard.checkAsStandard(&bad)
		wrapped = fanout.Delivered{ResourceEventHandler: handler, Options: standard.options(), Err: bad.as(errBadDelivery)}
	}
	switch handler = wrapped.ResourceEventHandler; {
	case handler == nil:
		return nil, fanout.Options{}, errNilHandler
	case fanout.HasDelivered(handler):
		wrapped.Err = errNestedDelivery
	}
	if wrapped.Err != nil {
		return nil, fanout.Options{}, fmt.Errorf("handler %s: %w", name, wrapped.Err)
	}
	wrapped.Options.Name = name
	return handler, wrapped.Options, nil
}

var errNestedDelivery = fmt.Errorf("%w: Deliver is inside of another wrapper, where nobody sees it: "+
	"have one Delivery, and its wrapper outermost; instead of a handler in a FilteringResourceEventHandler, Deliver the filter", errBadDelivery)

// options translates a Delivery. One that makes no sense is refused elsewhere.
func (d Delivery) options() fanout.Options {
	overflows := [...]fanout.Overflow{
		OverflowLossless:   fanout.Lossless,
		OverflowBlock:      fanout.Block,
		OverflowCoalesce:   fanout.Coalesce,
		OverflowDisconnect: fanout.Disconnect,
	}
	return fanout.Options{
		Name:         d.Name,
		Overflow:     overflows[min(int(d.Overflow), len(overflows)-1)],
		Max:          cmp.Or(d.Max, defaultMax),
		Parallel:     d.Parallel,
		OnDisconnect: d.OnDisconnect,
	}
}

// checkAsStandard notes what is wrong with a Delivery that is to serve all handlers of an informer.
func (d Delivery) checkAsStandard(bad *faults) {
	d.check(bad, "WithDelivery: ")
	if d.Name != "" {
		bad.add("WithDelivery: Name is %q, which is for one handler: name that by Deliver", d.Name)
	}
}

// check notes the fields that say nothing that can be had. Each fault begins with where.
func (d Delivery) check(bad *faults, where string) {
	if d.Overflow > OverflowDisconnect {
		bad.add("%sOverflow is %v: use OverflowLossless, OverflowBlock, OverflowCoalesce or OverflowDisconnect",
			where, d.Overflow)
	}
	switch {
	case d.Max < 0:
		bad.add("%sMax is %d: use a positive number, or 0 for %d", where, d.Max, defaultMax)
	case d.Max > 0 && (d.Overflow == OverflowLossless || d.Overflow == OverflowCoalesce):
		bad.add("%sMax is %d, which is for OverflowBlock and OverflowDisconnect, and Overflow is %v",
			where, d.Max, d.Overflow)
	}
	if d.OnDisconnect != nil && d.Overflow != OverflowDisconnect {
		bad.add("%sOnDisconnect is set, which is for OverflowDisconnect, and Overflow is %v", where, d.Overflow)
	}
	if d.Parallel < 0 || d.Parallel > maxParallel {
		bad.add("%sParallel is %d: use a number up to %d, or 0 for 1", where, d.Parallel, maxParallel)
	}
}

// DeliverTyped is Deliver for a typed handler. What it returns goes to AddEventHandler or
// AddEventHandlerWithOptions, also of a typed informer. client-go's AddTypedEventHandler takes only
// typed handlers and hides them inside of a wrapper of its own, so that no Delivery can come with
// them.
//
// A call panics for an object that is no T, as one of AddTypedEventHandler does.
func DeliverTyped[T Object](handler TypedResourceEventHandler[T], delivery Delivery) ResourceEventHandler {
	if handler == nil {
		return Deliver(nil, delivery)
	}
	return Deliver(fanout.Typed[T]{Handler: handler}, delivery)
}

var errNilHandler = errors.New("event handler is nil")
