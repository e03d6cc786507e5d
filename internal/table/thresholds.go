// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !interleave

package table

// BlockLen objects are filed together: enough for the processor to fetch the
// memory of several at once, few enough to stay in the first cache.
const BlockLen = 32

// The sizes at which the structure changes its shape. See thresholds_small.go
// for those of package interleave.
const (
	// slabBits makes chunks of 6 KiB of records, so that a store of ten objects
	// stays small and the spine of 10^6 (62 KiB) stays in the second cache.
	slabBits = 7
	// leafBits bounds what a reader of a changed leaf does, and what is copied
	// for a pin: 256 bytes.
	leafBits = 6
	// maxNotes for one leaf in one batch: three cost as much as a copy.
	maxNotes = 6
	// groupLen entries of a hash table share a word of tags, all that it has room
	// for.
	groupLen = 7
	// overflowMax is as far as a group counts the entries that went on.
	overflowMax = 0xFF

	// sparePins free ones stay in the list, for as many calls at once. Each costs
	// a write about a nanosecond.
	sparePins = 16
	// manyPins in the list are too many to pass by for each call.
	manyPins = 4 * sparePins

	// A batch looks again at tidyPerOp times as many kept versions as it makes,
	// and pins that were left, so that they shrink faster than they can grow ...
	tidyPerOp = 4
	// ... and at tidyStep at least: about 10 us, the longest that a writer
	// waits for the janitor.
	tidyStep = 128

	// maxLog is the room for changes that survives a batch: 2^10 records and
	// leaves, 20 KiB.
	maxLog = 1 << 10
	// maxPasts is how many pasts do.
	maxPasts = 1 << 6
	// fewOlds are enough for one object in three indexes, and manyOlds for its
	// deletion.
	fewOlds  = 3
	manyOlds = 8
)
