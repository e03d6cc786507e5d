// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package soak runs informers against a real API server while everything around them breaks, and
// checks all the time that nothing is lost and nothing is invented.
//
//	config := soak.Default()
//	summary, err := soak.Run(ctx, config)
//
// Writers change objects of several kinds, and a ledger keeps what the server acknowledged.
// Informers in both modes follow them through a proxy; half of ours decode directly. Two lanes of
// faults run side by side, one of the server and the network, one of handlers and informers; seed
// and number of a round decide which faults it has and how long they take, so that a seed replays
// the plan of a run (the scheduler's part is not replayed). Every few rounds the writers pause, and
// everything is compared with a quorum LIST.
//
// What is checked are the rules of package checker, and:
//
//	differs   after the faults, a handler, the store or an index is not equal to a quorum LIST in time
//	synced    the registration of a handler has not synced by then, or it has although a call of its initial list panicked
//	ledger    an acknowledged write is not in the quorum LIST
//	audit     an audit finds something
//	decoding  an informer that is to decode directly does not any more, or has made something else than its client
//	stop      an informer does not stop, or calls a handler after its end
//	leak      goroutines, sockets or memory are left at the end
//	logs      what is inside of objects shows in logs at verbosity 4
package soak
