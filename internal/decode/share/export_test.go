// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package share

// NewMasked makes a table of parts in which only these bits of hashes count.
func NewMasked(mask uint64) *Parts {
	t := NewParts(0)
	t.mask = mask
	return t
}
