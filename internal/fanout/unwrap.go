// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"errors"
	"fmt"

	clientgo "k8s.io/client-go/tools/cache"
)

var (
	// ErrNilHandler refuses a handler that is nil.
	ErrNilHandler = errors.New("event handler is nil")
	// ErrBadDelivery refuses a handler that cannot be served as it is to be.
	ErrBadDelivery = errors.New("invalid Delivery")

	errNested = fmt.Errorf("%w: Deliver is inside of another wrapper, where nobody sees it: "+
		"have one Delivery, and its wrapper outermost; instead of a handler in a FilteringResourceEventHandler, Deliver the filter", ErrBadDelivery)
)

// Unwrap returns a handler without a Delivered around it, and how it is to be served: as standard
// says, if it has no such wrapper.
func Unwrap(handler clientgo.ResourceEventHandler, standard Delivered) (clientgo.ResourceEventHandler, Options, error) {
	name := NameOf(handler)
	wrapped, ok := handler.(Delivered)
	if !ok {
		wrapped = standard
		wrapped.ResourceEventHandler = handler
	}
	switch handler = wrapped.ResourceEventHandler; {
	case handler == nil:
		return nil, Options{}, ErrNilHandler
	case HasDelivered(handler):
		wrapped.Err = errNested
	}
	if wrapped.Err != nil {
		return nil, Options{}, fmt.Errorf("handler %s: %w", name, wrapped.Err)
	}
	wrapped.Options.Name = name
	return handler, wrapped.Options, nil
}
