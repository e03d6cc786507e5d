// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race || invariants

package table

// invariants says whether writers check the whole structure as they go.
const invariants = true
