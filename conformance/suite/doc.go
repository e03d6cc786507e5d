// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package suite holds one set of behaviors and runs it on every implementation of tools/cache's
// stores, queues and informers: client-go's, which is the reference, and ours. It has no code of
// its own to import; everything is tests.
//
// # What it pins
//
// The behaviors that users rely on and that client-go's own tests do not pin from outside, or pin
// only by looking inside. client-go's own tests, run against our package, are the neighbouring
// package's matter.
//
//	store_test.go            stores, transactions, resource versions, indices
//	queue_test.go            DeltaFIFO, RealFIFO in all its option combinations, batches
//	controller_test.go       New(Config), NewInformerWithOptions, the constructors with positional parameters
//	informer_test.go         shared informers: handlers, syncing, removal, stopping, panics
//	informer_relist_test.go  shared informers: relists, errors, resyncs, transforms
//	random_test.go           the same calls on both, of all queues and stores, with the same answers
//
// # How it runs
//
// An implementation is one value of type implementation (rig_test.go): three small tables of
// constructors. To put another one to the test, add its value to the list of implementations. A
// case is a function of a rig; its subtest is named Topic/implementation/case, for informers
// Topic/implementation/source/case, where source says whether the initial state comes by LIST or by
// a watch-list stream. Informer cases run in a synctest bubble: time is fake and nothing sleeps for
// real.
//
// # Where we differ on purpose
//
// A case calls differs with the reason and both expectations, so that the reference is still held
// to its own behavior and an upgrade of client-go that changes it is noticed. `go test -v -run . |
// grep differs:` prints the list.
package suite
