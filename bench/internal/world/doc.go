// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package world is a cluster that changes by a plan: nodes with their leases, pods of deployments
// with replica sets and endpoint slices, and events. It knows no bytes, no clock and no network:
// who calls [World.Advance] says what time it is, and the same seed makes the same changes at the
// same times.
//
//	Plan      what happens when: leases are renewed, pods are replaced, ...
//	  │ put, remove
//	Shelf     the objects of a resource, and a log of their changes in the order of versions
//	  │ Snapshot, Since, Read
//	lists and watches, in other goroutines
//
// An object is some numbers here ([Object]), from which its bytes follow: a cluster of 10,000 nodes
// takes some ten megabytes. A world that stands ([Still]) is for measurements of one informer.
package world
