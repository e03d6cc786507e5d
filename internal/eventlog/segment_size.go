// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !interleave

package eventlog

// SegmentSize is the number of entries in a segment. A cursor that does not move keeps up to one
// segment of read entries alive. In measurements with 64 handlers, 16 cost a fifth more CPU and 64
// saved nothing.
const SegmentSize = 32
