// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reflector follows a collection on a server, and keeps a [Sink] equal to it.
//
// A round takes the whole state, by a list (list.go) or a watch-list (watchlist.go), into a
// [Stage], which is published, and then follows watches (watch.go): a reader brings their events
// into the sink (read.go).
//
// One goroutine does all of it: a machine of phases (machine.go) goes from one to the next, and
// only the requests run in goroutines of their own (request.go), because a ListerWatcher may ignore
// its context. What a reflector has learned outlives a round (memory.go). What it does, and how
// well that goes, is in its [Journal]. Those of a process that lose the same server
// come back together, and two lines in the log tell of them (outage.go, servers.go).
package reflector
