// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package owners applies the records of several sources to one store. It is not linked into programs
// whose informers have one source each. [Share] gives it to the applier of a store, which calls it for
// each run of events ([store.Sharing]), and for each full list of a source ([store.WholeState]).
package owners
