// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package store brings the store of an informer up to date, and says what that means to handlers.
//
//	records of a watch ──▶ Applier ──▶ table.Table ──▶ what was replaced ──▶ []event.Change
//	                          ▲
//	a whole state ──▶ stage ──┘  as one record
//
// [Contents] is what every store has, with or without an informer: a table, and what goes with each
// write of it. An [Applier] applies batches to it, one transaction for each run of events. A stage
// makes the next whole state while its objects arrive, and the state then takes the place of the
// former one (replace.go). [Progress] says to those who wait which version the store has come to.
//
// The readers of a store go straight to its table and wait for nobody.
package store
