// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !amd64 && !arm64

package table

import "unsafe"

// The processor finds out by itself.
func prefetch(unsafe.Pointer, uintptr) {}

func prefetchLines(unsafe.Pointer, uintptr) {}
