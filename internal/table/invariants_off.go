// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race && !invariants

package table

// invariants reports whether the tests check the whole structure after each write.
const invariants = false
