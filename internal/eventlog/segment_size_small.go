// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interleave

package eventlog

// SegmentSize is small for package interleave: each change of segments is within a few operations.
const SegmentSize = 2
