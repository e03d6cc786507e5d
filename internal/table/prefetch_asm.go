// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package table

import "unsafe"

// prefetch has the processor fetch the cache line that has byte at behind p, and
// does not wait. It adds by itself, because Go has no pointers behind the end.
//
//go:noescape
func prefetch(p unsafe.Pointer, at uintptr)

// prefetchLines has it fetch the lines from p on that n bytes take.
//
//go:noescape
func prefetchLines(p unsafe.Pointer, n uintptr)
