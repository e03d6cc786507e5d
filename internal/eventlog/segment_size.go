// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !interleave

package eventlog

// SegmentSize is the number of entries in a segment. A cursor that does not move keeps up to one
// segment of read entries alive. With 64 handlers (make bench BENCH_FLAGS="-run fanout/1024-64"), 16
// entries cost a fifth more CPU time than 32, and 64 entries saved nothing.
const SegmentSize = 32
