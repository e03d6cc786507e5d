// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !interleave

package table

// BlockLen is the number of objects that are filed together: enough for the processor to load the
// memory of several in parallel, few enough to stay in the first-level cache.
const BlockLen = 32

// The sizes at which the structure changes its shape. See thresholds_small.go for those of package
// interleave.
const (
	// slabBits gives chunks of 6 KiB of records, so that a table of ten objects stays small and the
	// spine of 10^6 (62 KiB) stays in the second-level cache.
	slabBits = 7
	// leafBits bounds the work of a reader of a changed leaf, and the size of a copy for a pin: 256
	// bytes.
	leafBits = 6
	// maxNotes is the number of notes for one leaf in one batch, beyond which the leaf is copied.
	// Three notes cost as much as a copy.
	maxNotes = 6
	// groupLen is the number of slots of a hash table that share a word of tags, which has no room
	// for more.
	groupLen = 7
	// overflowMax is the highest overflow count of a group.
	overflowMax = 0xFF

	// A batch examines tidyPerOp times as many kept versions as it supersedes, and as many released
	// pins, so that both shrink faster than they can grow ...
	tidyPerOp = 4
	// ... and tidyStep more, which bounds how long a writer waits for the janitor.
	tidyStep = 128

	// maxLog is the capacity for changes that a batch leaves to the next one: 2^10 records and
	// leaves, 20 KiB.
	maxLog = 1 << 10
	// maxPasts is the number of pasts that a batch leaves to the next one.
	maxPasts = 1 << 6
	// fewOlds is enough notes for one object in three indexes, manyOlds for its deletion.
	fewOlds  = 3
	manyOlds = 8
)
