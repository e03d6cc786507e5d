// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reflector follows a collection on a server and keeps a [Sink] equal to it.
//
// A round fetches the collection by a list (list.go) or a watch-list (watchlist.go) into a [Stage],
// publishes the stage, and then follows watches (watch.go). A watchReader passes the events of a watch
// to the sink (read.go).
//
// One goroutine runs a reflector, as a state machine (machine.go). Only requests run in goroutines
// of their own (request.go), because a ListerWatcher may ignore its context. State that outlives a
// round is in state.go. The [Journal] has the reflector's status and counts. Reflectors of a
// process that lose the same server coordinate their retries, and write two log lines for all of
// them (outage.go, servers.go).
package reflector
