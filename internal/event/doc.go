// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package event is the vocabulary of an informer: what was received, and what it means.
//
//	server ──▶ Record ──────────────────────▶ Change ──▶ handlers
//	           1. Reader reads key and        3. what the store had before makes it an
//	              version, and transforms        Add, an Update or a Delete
//	           2. the queue and the store
//	              pass it on
//
// A [Record] is one change as the server sent it. A [Reader] completes it where it enters the
// queue, and it stays as it is from there on. A [Change] is one notification, or many alike.
//
// The engines of an informer (internal/reflector, queue, store and fanout) import this package and
// not each other, so what they hand to one another is defined here. It also has what all of them
// say about errors: [Discreet] is what may be logged, [Kept] is what may be held for long, [Name]
// says what was processed.
package event
