// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package minor has the names of client-go that an earlier minor, which this project also serves,
// lacks. Here they are client-go's own. In the tree of the earlier minor tools/port replaces minor.go
// by the declarations themselves, cut out of client-go's source: so the types there are this
// module's, and everything that uses them is the same in both trees.
package minor

// Of is the minor of client-go that this tree goes with.
const Of = "v0.37"

// Own reports whether the names are declarations of this package, and not client-go's.
const Own = false
