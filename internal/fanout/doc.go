// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fanout delivers the changes of one informer to its handlers, to each at its own pace.
//
//	Distribute ──▶ Processor ──▶ feed: one log of all changes
//	                                │
//	                     consumer, consumer, ...   each reads the log by a cursor
//	                                │
//	                  pool: workers serve consumers that have changes to read
//	                                │
//	                           run of calls ──▶ the user's handler
//
// A [Listener] is the registration of a handler. It has one consumer, or several for parallel
// calls. [Options.Overflow] determines the treatment of a handler that is slower than the changes
// arrive: its changes wait in memory, registry.go holds back the watch or removes the handler, or
// coalescer.go merges the waiting changes. watch.go logs which handlers lag.
//
// Guarantees:
//
//   - Distribute does not wait for a handler, and a handler does not wait for the call of another.
//   - Each consumer makes one call at a time, in the order of the changes; [Coalesce] merges some of
//     them.
//   - A handler is not called after [Listener.Shutdown] is closed.
//
// The feed's lock guards the writer's end of the log, the pool and the registrations. It is taken
// before the lock of a consumer, of which at most one is held. No handler is called under either
// lock, and no goroutine waits for a handler, except that [Processor.Stop] waits for running calls.
package fanout
