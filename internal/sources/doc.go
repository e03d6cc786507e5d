// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sources follows any number of sources for one informer. A Group is what such an informer
// has in place of its reflector:
//
//	source ──▶ reflector ──▶ sink ──┐
//	source ──▶ reflector ──▶ sink ──┼──▶ queue.Queue ──▶ store.Applier, which knows who has what
//	source ──▶ reflector ──▶ sink ──┘
//
// Each sink writes on its records of which session of which source they are. A source that is
// replaced or removed gets another session, with a greater number. The first state of a session
// takes the place of what the source had, as one transaction; what earlier sessions still bring
// after it is dropped when it is applied. So nobody waits for a reflector that ends, and no lock is
// held while records are put.
//
// Guarantees:
//   - Put and Remove return at once, whoever calls them.
//   - The queue keeps the order of what a source says. Sources have no order among each other.
//   - All that a source starts has ended when Follow returns.
package sources
