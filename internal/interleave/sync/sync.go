// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sync stands for the standard library's in code that package interleave runs: its mutexes
// have points.
package sync

import (
	"sync"

	"github.com/kinformer/cache/internal/interleave"
)

type (
	// Mutex is interleave's.
	Mutex = interleave.Mutex
	// Pool is sync.Pool. As one processor is used and no garbage is collected it returns what was
	// put into it last.
	Pool = sync.Pool
)
