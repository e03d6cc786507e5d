// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

// DeliverTyped is Deliver for a typed handler. What it returns goes to AddEventHandler or AddEventHandlerWithOptions, also
// of a typed informer. client-go's AddTypedEventHandler takes only typed handlers and hides them inside of a wrapper of its
// own, so that no wish can come with them.
//
// A call panics for an object that is no T, as one of AddTypedEventHandler does.
func DeliverTyped[T Object](handler TypedResourceEventHandler[T], delivery Delivery) ResourceEventHandler {
	if handler == nil {
		return Deliver(nil, delivery)
	}
	return Deliver(typedHandler[T]{handler}, delivery)
}

// typedHandler is a typed handler as an untyped one.
type typedHandler[T Object] struct{ handler TypedResourceEventHandler[T] }

func (h typedHandler[T]) OnAdd(obj any, isInInitialList bool) {
	h.handler.OnAdd(obj.(T), isInInitialList)
}

func (h typedHandler[T]) OnUpdate(oldObj, newObj any) { h.handler.OnUpdate(oldObj.(T), newObj.(T)) }

func (h typedHandler[T]) OnDelete(obj any) {
	tombstone, unknown := obj.(DeletedFinalStateUnknown)
	switch {
	case !unknown:
		h.handler.OnDelete(DeletedObject[T]{OptionalObj: obj.(T)})
	case tombstone.Obj == nil:
		h.handler.OnDelete(DeletedObject[T]{FinalStateUnknown: &tombstone})
	default:
		h.handler.OnDelete(DeletedObject[T]{OptionalObj: tombstone.Obj.(T), FinalStateUnknown: &tombstone})
	}
}
