// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sources follows any number of sources for one informer. A Group replaces the reflector of
// such an informer:
//
//	source ──▶ reflector ──▶ sink ──┐
//	source ──▶ reflector ──▶ sink ──┼──▶ queue.Queue ──▶ store.Applier, which has each source's objects
//	source ──▶ reflector ──▶ sink ──┘
//
// Each sink marks its records with the source and its session. A source that is replaced or removed
// gets a new session with a greater number. The first state of a session replaces the objects of
// the source in one transaction; records of earlier sessions that are applied later are dropped.
// Therefore no call waits for the end of a reflector, and no lock is held while records are put.
//
// Guarantees:
//   - Put and Remove return at once in any goroutine.
//   - The queue keeps the order of the records of a source. Records of different sources have no order.
//   - Everything that a source starts has ended when Follow returns.
package sources
