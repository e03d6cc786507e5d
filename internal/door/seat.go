// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package door is between the root package and those beside it: what these have to know, and may do,
// of an informer, a store, a queue or the registration of a handler, and no user may.
//
// What it promises: nothing is done for an event, and nothing of what has ended is kept.
package door

// Seat is embedded in a type that the root hands out, and holds what is behind it. Its method is not
// exported, so that only Held finds what it holds: also where users embed the type in one of theirs.
type Seat[T any] struct{ held T }

// Seated returns a Seat that holds what is given.
func Seated[T any](held T) Seat[T] { return Seat[T]{held} }

func (s Seat[T]) seated() T { return s.held }

// Held returns what the Seat[T] in a value holds, and whether there is one.
func Held[T any](v any) (held T, ok bool) {
	seat, ok := v.(interface{ seated() T })
	if ok {
		held = seat.seated()
	}
	return held, ok
}
