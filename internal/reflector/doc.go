// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reflector follows a collection on a server, and keeps a [Sink] equal to it.
//
//	          ┌──────────── round over, after a backoff ───────────┐
//	          ▼                                                    │
//	list or watch-list ──▶ Stage, published ──▶ watch ─────────────┘
//	(list.go, watchlist.go)                     (watch.go)  │
//	                                                        ▼
//	                                  reader ──▶ Sink.Put, event by event
//	                                  (read.go)
//
// One goroutine does all of it: a machine of phases (machine.go) goes from one to the next, and
// only the requests run in goroutines of their own (request.go), because a ListerWatcher may ignore
// its context. What a reflector has learned outlives a round (memory.go). What it does, and how
// well that goes, is in its [Journal]. Those of a process that lose the same server
// come back together, and two lines in the log tell of them (outage.go, servers.go).
package reflector
