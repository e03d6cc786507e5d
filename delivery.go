// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/klog/v2"
)

// Delivery says how a handler is served; see Deliver. Its zero value is what every handler gets: everything, in order, one
// call at a time, however much has to wait in memory.
type Delivery struct {
	// Name is what logs, HandlerStatistics and the registration's DoneChecker call the handler. The default is its type,
	// or for functions the place in the code where they are.
	Name string

	// Overflow says what happens when the handler is slower than the changes come.
	Overflow Overflow

	// Max is for Block and Disconnect only: how many notifications may wait for the handler, the one that it is at
	// included. Adds of an initial list and resyncs do not count. 0 means 1024.
	Max int

	// OnDisconnect, for Disconnect only, is called once, in a goroutine of its own, when Disconnect has removed the handler, with an error that
	// wraps ErrDisconnected. The handler's last call may still be running then. It may add handlers, this one too.
	OnDisconnect func(err error)

	// Parallel is from how many goroutines the handler is called, which must then be safe for that, 1024 at most. Calls
	// about the same object stay in order and do not overlap. 0 means 1.
	Parallel int
}

// Overflow is what is done about a handler that is slower than the changes come.
type Overflow uint8

const (
	// Lossless keeps all that the handler has still to hear in memory, without a bound. Nobody waits. It is the default
	// and what client-go does.
	Lossless Overflow = iota

	// Block has the informer read nothing more from its watch while Delivery.Max notifications wait or are on their way: the
	// store and all other handlers of the informer stand still, too, and the server sees a client that does not read. Lists are
	// delivered as a whole, resyncs go on, and the informer can be stopped. The wait ends with a call of the handler that
	// returns, with its removal, and with the informer. The handler must not wait in a call for the informer to get on.
	Block

	// Coalesce merges what waits by object: the memory grows with the objects that change, not with their changes. Nobody
	// waits. The handler sees each object's last state, and never an Update without an Add before or anything after a
	// Delete but an Add:
	//
	//   - Add and Update become an Add, of the initial list if that was; Update and Update become one, from the first old
	//     to the last new state; Update and Delete become a Delete; Add and Delete become nothing, which counts as
	//     delivered for HasSynced;
	//   - Delete and Add stay apart, and an Update to an object with another UID becomes a Delete, with a
	//     DeletedFinalStateUnknown, and an Add. An empty UID equals all;
	//   - a resync becomes part of whatever waits for the object;
	//   - the call that is running stays as it is.
	Coalesce

	// Disconnect removes the handler as soon as more than Delivery.Max notifications wait. Its ShutdownChan is closed when
	// the running call has returned, Delivery.OnDisconnect is called, and HasSynced keeps its last value.
	Disconnect
)

var overflowNames = [...]string{"Lossless", "Block", "Coalesce", "Disconnect"}

// String returns the name of the constant.
func (o Overflow) String() string {
	if int(o) < len(overflowNames) {
		return overflowNames[o]
	}
	return fmt.Sprintf("Overflow(%d)", uint8(o))
}

// maxParallel bounds Delivery.Parallel: each of them looks at every notification, so that more of them get slower.
const maxParallel = 1024

// defaultMax bounds Block and Disconnect if the user names no number: about a second of a busy watch, and 100 KB.
const defaultMax = 1024

// ErrDisconnected is what OnDisconnect gets, wrapped in an error that says how far the handler was behind.
var ErrDisconnected = errDisconnected

var errBadDelivery = errors.New("invalid Delivery")

// Deliver returns the handler with a wish how it is served. The shared informers of this package honour it when the
// outermost wrapper of what is added is Deliver's. AddEventHandler fails where they cannot: for a Delivery that makes no
// sense, and for a wrapper of Deliver's inside another one, or inside a FilteringResourceEventHandler: Deliver the filter.
// Informers of NewInformer*, which call their one handler themselves, do not run with a wish. Those of other packages just
// call the handler.
func Deliver(handler ResourceEventHandler, delivery Delivery) ResourceEventHandler {
	return deliveredHandler{handler, delivery}
}

type deliveredHandler struct {
	ResourceEventHandler
	delivery Delivery
}

// unwrapDelivery returns a handler without Deliver's wrapper, and how it is to be served.
func unwrapDelivery(handler ResourceEventHandler) (ResourceEventHandler, listenerOptions, error) {
	var delivery Delivery
	name := nameForHandler(handler)
	if wrapped, ok := handler.(deliveredHandler); ok {
		handler, delivery = wrapped.ResourceEventHandler, wrapped.delivery
	}
	if handler == nil {
		return nil, listenerOptions{}, errNilHandler
	}
	var bad faults
	delivery.check(&bad)
	if wrapsDelivery(handler) {
		bad.add("Deliver is inside of another wrapper, where nobody sees it: have one Delivery, and its wrapper outermost; " +
			"instead of a handler in a FilteringResourceEventHandler, Deliver the filter")
	}
	if err := bad.as(errBadDelivery); err != nil {
		return nil, listenerOptions{}, fmt.Errorf("handler %s: %w", name, err)
	}
	delivery.Name = name
	return handler, delivery.options(), nil
}

// options translates a Delivery that makes sense.
func (d Delivery) options() listenerOptions {
	return listenerOptions{
		name:         d.Name,
		overflow:     [...]overflow{Lossless: lossless, Block: block, Coalesce: coalesce, Disconnect: disconnect}[d.Overflow],
		max:          cmp.Or(d.Max, defaultMax),
		parallel:     d.Parallel,
		onDisconnect: d.OnDisconnect,
	}
}

// check notes the fields that say nothing that can be had.
func (d Delivery) check(bad *faults) {
	if d.Overflow > Disconnect {
		bad.add("Overflow is %v: use Lossless, Block, Coalesce or Disconnect", d.Overflow)
	}
	switch {
	case d.Max < 0:
		bad.add("Max is %d: use a positive number, or 0 for %d", d.Max, defaultMax)
	case d.Max > 0 && (d.Overflow == Lossless || d.Overflow == Coalesce):
		bad.add("Max is %d, which is for Block and Disconnect, and Overflow is %v", d.Max, d.Overflow)
	}
	if d.OnDisconnect != nil && d.Overflow != Disconnect {
		bad.add("OnDisconnect is set, which is for Disconnect, and Overflow is %v", d.Overflow)
	}
	if d.Parallel < 0 || d.Parallel > maxParallel {
		bad.add("Parallel is %d: use a number up to %d, or 0 for 1", d.Parallel, maxParallel)
	}
}

// wrapsDelivery reports whether the handler is a wrapper of Deliver's, or a filter around one.
func wrapsDelivery(handler ResourceEventHandler) bool {
	for {
		switch h := handler.(type) {
		case deliveredHandler:
			return true
		case FilteringResourceEventHandler:
			handler = h.Handler
		case *FilteringResourceEventHandler:
			if h == nil {
				return false
			}
			handler = h.Handler
		default:
			return false
		}
	}
}

// warnOfTypedNil says of a handler that is a nil pointer, or the like, what it is. It may be meant: so it is called.
func warnOfTypedNil(logger klog.Logger, handler ResourceEventHandler) {
	switch v := insideOf(reflect.ValueOf(handler)); v.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan:
		if v.IsNil() {
			logger.Info("Warning: an event handler is nil: its calls panic, unless its methods expect that", "type", v.Type().String())
		}
	}
}
