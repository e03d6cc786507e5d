// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package share

// NewMasked returns a table of parts that ignores the bits of hashes outside mask.
func NewMasked(mask uint64) *Parts {
	t := NewParts(0)
	t.mask = mask
	return t
}
