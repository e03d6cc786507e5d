// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interleave

package table

// BlockLen is small for package interleave, like the other sizes, so that a few operations cause
// each change of shape.
const BlockLen = 2

const (
	slabBits = 1
	leafBits = 2
	maxNotes = 2
	groupLen = 2

	overflowMax = 3

	tidyPerOp = 1
	tidyStep  = 1

	maxLog   = 4
	maxPasts = 1
	fewOlds  = 1
	manyOlds = 2
)
