// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package suite runs one set of tests on every implementation of tools/cache's stores, queues and
// informers: client-go's, which is the reference, and kinformer's. The package contains only tests.
//
// # Coverage
//
// The tests cover the behaviors on which users rely and which client-go's own tests do not check from
// outside the package, or check only through its internals. Package upstream runs client-go's own tests
// against kinformer.
//
//	store_test.go            stores, transactions, resource versions, indices
//	queue_test.go            DeltaFIFO, RealFIFO in all its option combinations, batches
//	controller_test.go       New(Config), NewInformerWithOptions, the constructors with positional parameters
//	informer_test.go         shared informers: handlers, syncing, removal, stopping, panics
//	informer_relist_test.go  shared informers: relists, errors, resyncs, transforms
//	random_test.go           the same calls on both, of all queues and stores, with the same answers
//
// # Organization
//
// An implementation is a value of type implementation (rig_test.go): three small tables of constructors.
// To test another implementation, add its value to the list of implementations. A case is a function of
// a rig; its subtest is named Topic/implementation/case, or, for informers,
// Topic/implementation/source/case, where source is the way to get the initial state: a LIST or a
// watch-list stream. Informer cases run in a synctest bubble, on a source of package cachetest: time is
// fake and no test sleeps for real.
//
// # Intended differences
//
// A case calls differs with the reason and both expectations. The reference is thus tested for its own
// behavior, and an upgrade of client-go that changes it is noticed. `go test -v -run . | grep differs:`
// prints the list.
package suite
