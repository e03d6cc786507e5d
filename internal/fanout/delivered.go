// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import clientgo "k8s.io/client-go/tools/cache"

// Delivered is a handler with the way in which it is to be served. What only an informer knows, as the
// resync period, is not in Options.
type Delivered struct {
	clientgo.ResourceEventHandler
	Options Options
	Err     error // why it cannot be served so
}

// HasDelivered reports whether the handler is Delivered, or a filter around one that is.
func HasDelivered(handler clientgo.ResourceEventHandler) bool {
	for {
		switch h := handler.(type) {
		case Delivered:
			return true
		case clientgo.FilteringResourceEventHandler:
			handler = h.Handler
		case *clientgo.FilteringResourceEventHandler:
			if h == nil {
				return false
			}
			handler = h.Handler
		default:
			return false
		}
	}
}

// Typed is a typed handler as an untyped one. A call panics for an object that is no T.
type Typed[T clientgo.Object] struct {
	Handler clientgo.TypedResourceEventHandler[T]
}

func (h Typed[T]) OnAdd(obj any, isInInitialList bool) {
	h.Handler.OnAdd(obj.(T), isInInitialList)
}

func (h Typed[T]) OnUpdate(oldObj, newObj any) { h.Handler.OnUpdate(oldObj.(T), newObj.(T)) }

func (h Typed[T]) OnDelete(obj any) {
	tombstone, unknown := obj.(clientgo.DeletedFinalStateUnknown)
	switch {
	case !unknown:
		h.Handler.OnDelete(clientgo.DeletedObject[T]{OptionalObj: obj.(T)})
	case tombstone.Obj == nil:
		h.Handler.OnDelete(clientgo.DeletedObject[T]{FinalStateUnknown: &tombstone})
	default:
		h.Handler.OnDelete(clientgo.DeletedObject[T]{OptionalObj: tombstone.Obj.(T), FinalStateUnknown: &tombstone})
	}
}
