// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interleave

package eventlog

// SegmentSize is small for package interleave, so that a few operations cause each change of
// segments.
const SegmentSize = 2
