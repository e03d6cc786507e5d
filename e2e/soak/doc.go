// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package soak runs informers against a real API server while everything around them breaks, and
// checks all the time that nothing is lost and nothing is invented.
//
//	summary, err := soak.Run(ctx, soak.Config{Seed: 1, Duration: time.Hour, Library: soak.Kinformer, Out: os.Stdout})
//
// Writers change objects of several kinds, and a ledger keeps what the server acknowledged.
// Informers in both modes follow them through a proxy. Two lanes of faults run side by side, one of
// the server and the network, one of handlers and informers; seed and number of a round decide
// which faults it has and how long they take, so that a seed replays the plan of a run (the
// scheduler's part is not replayed). Every few rounds the writers pause, and everything is compared
// with a quorum LIST.
//
// # What is checked
//
//	handler   what follow.Replica reports: order, presence, old states, what comes back from the dead
//	content   an object has the content of another one
//	unheard   an acknowledged state was not told to a handler, though no list skipped it
//	back      a read is older than an earlier one of the same reader, whichever methods they were
//	mixed     a read shows states of different moments, or an index has what does not belong there
//	version   a state has not what was acknowledged up to its resourceVersion, or has what is newer
//	differs   after the faults, a handler, the store or an index is not equal to a quorum LIST in time
//	synced    the registration of a handler has not synced by then, or it has although a call of its initial list panicked
//	ledger    an acknowledged write is not in the quorum LIST
//	audit     an audit of one of our informers finds something, at whatever moment; or, of one that is lied to, anything but what differs
//	decoding  an informer that is to decode directly does not any more, or has made something else than its client
//	stop      an informer does not stop, or calls a handler after its end
//	leak      goroutines, sockets or memory are left at the end
//	logs      what is inside of objects shows in logs at verbosity 4
//
// Half of our informers decode directly what the server sends, by package direct. All rules hold
// for them as for others.
//
// One of the faults lies to informers of its own: their watches lose, alter and make up objects,
// and then hold back all that comes. Meanwhile an audit must find what a comparison of everything
// with everything at the same version finds, and must repair it. Then such an informer must be
// equal to a quorum LIST like the others.
//
// Of reads that show one moment: one writer of each kind changes the objects of a chain one after
// the other, each write after the one before was acknowledged. So in every state that the server
// ever had, no object of the chain is ahead of the one before it, and the last is at most one
// behind the first. And a state that says of which resourceVersion it is can be held against the
// ledger. Of our informers that is also done by an index function, which is called in the middle of
// every batch and list on its way into the store, and without a pause while a list becomes the
// content of the store.
package soak
