// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package store applies the records of an informer to its store, and computes the resulting
// notifications for handlers.
//
//	records of a watch ──▶ Applier ──▶ table.Table ──▶ replaced objects ──▶ []event.Change
//	                          ▲
//	full list ──▶ stage ──────┘  as one record
//
// [Contents] is the content of every store, with or without an informer: a table, and the work that
// belongs to each write. An [Applier] applies batches of records to it, one transaction for each
// run of events. A stage builds the next full list while its objects arrive; the list then replaces
// the former content (replace.go). [Progress] tells waiting callers which version the store has
// reached.
//
// Readers of a store access its table directly and do not block.
package store
