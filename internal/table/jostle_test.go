// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// The tests here are about what holds at each instruction. They run a few calls
// again and again, while the threads that they run on are jostled.

// jostle has the operating system take readers and writers off the processors
// at any instruction, until the test ends: there are more threads than
// processors, and some that do nothing but wake each other. So hundreds of times
// a second somebody else gets a turn between two loads that stand side by side,
// which without it is a matter of hours.
func jostle(t *testing.T) {
	procs := runtime.GOMAXPROCS(4 * runtime.NumCPU())
	var over atomic.Bool
	var wg sync.WaitGroup
	for range runtime.NumCPU() {
		there, back := make(chan bool), make(chan bool)
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for range there {
				back <- true
			}
		})
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for !over.Load() {
				there <- true
				<-back
			}
			close(there)
		})
	}
	t.Cleanup(func() {
		over.Store(true)
		wg.Wait()
		runtime.GOMAXPROCS(procs)
	})
}

// fewer is n, or a tenth of that with the race detector, which has each step take
// ten times as long.
func fewer(n int) int {
	if invariants {
		return n / 10
	}
	return n
}

// twins returns two keys that are candidates for each other: a search for the
// second one finds the first one before.
func (t *Table) twins() (first, second string) {
	byTag := map[uint64]string{}
	for i := 0; ; i++ {
		key := "key-" + strconv.Itoa(i)
		at := tag(t.core.Load().hash(key))
		if first := byTag[at]; first != "" {
			return first, key
		}
		byTag[at] = key
	}
}
