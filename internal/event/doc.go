// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package event defines the records and notifications that pass through an informer.
//
//	server ──▶ Record ──────────────────────▶ Change ──▶ handlers
//	           1. Reader reads key and        3. the former object in the store makes
//	              version, and transforms        it an Add, an Update or a Delete
//	           2. the queue and the store
//	              pass it on
//
// A [Record] is one change as the server sent it. A [Reader] completes the record before it enters
// the queue. After that the record does not change. A [Change] is one notification, or many of the
// same kind.
//
// The engines of an informer (internal/reflector, queue, store and fanout) import this package but
// not each other, so the types they exchange are defined here. The package also defines how all of
// them report errors: [Redacted] makes an error safe to log, [Retainable] makes it small enough to
// retain, [Name] names the processed item.
package event
