// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import "unsafe"

// A change of a large table is a dozen waits for memory, and so is each look at
// an object. The processor waits for several places at once if it is told of
// them in time. That is what prefetch is for: unlike a load it holds up
// nothing, and it may be given any address.
//
// Where many objects are looked at one after the other, as in builder, plain
// loads do better.

// prefetchString has the processor fetch the beginning of a string.
func prefetchString(s string) { prefetch(unsafe.Pointer(unsafe.StringData(s)), 0) }

// Prefetch has the processor fetch the beginning of what a pointer points to,
// without waiting: the functions that look at an object one field after the
// other would wait for memory at each.
func Prefetch(obj any) { prefetchLines(wordsOf(obj).data, warmLen) }

// PrefetchString does the same for the beginning of a string.
func PrefetchString(s string) { prefetchString(s) }

// PrefetchAt does the same for a value.
func PrefetchAt[T any](p *T) { prefetchLines(unsafe.Pointer(p), unsafe.Sizeof(*p)) }
