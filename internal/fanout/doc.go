// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fanout brings the changes of one informer to its handlers, each at its own pace.
//
//	Distribute ──▶ Processor ──▶ feed: one log of all changes
//	                                │
//	                     consumer, consumer, ...   each reads the log by a cursor
//	                                │
//	                  pool: workers serve consumers that have something to read
//	                                │
//	                           run of calls ──▶ the user's handler
//
// A [Listener] is the registration of a handler. It has one consumer, or several for parallel
// calls. [Options.Overflow] says what happens when a handler is slower than the changes come:
// nothing, registry.go holds the watch back or removes the handler, or coalescer.go merges what
// waits.
//
// The feed's lock guards the writer's end of the log, the pool and who is registered; then comes
// the lock of a consumer, of one at a time. No handler is called under either, and nobody waits for
// one, except that [Processor.Stop] waits for the calls that are running.
package fanout
