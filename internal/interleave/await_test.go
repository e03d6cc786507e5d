// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package interleave_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/internal/interleave"
	"github.com/kinformer/cache/internal/interleave/sync"
	"github.com/kinformer/cache/internal/interleave/time"
)

// TestAwait: who waits goes on at any time after it may, and not before.
func TestAwait(t *testing.T) {
	after := map[int]bool{}
	report := interleave.Explore(1, func() interleave.Program {
		n := 0
		return interleave.Program{Threads: two(
			func() {
				interleave.Await(func() bool { return n > 0 })
				after[n] = true
			},
			func() {
				for range 3 {
					interleave.Point()
					n++
				}
			})}
	})
	require.Nil(t, report.Failure)
	require.Equal(t, map[int]bool{1: true, 2: true, 3: true}, after)
}

// TestAwaitAsksAgain: what was true may not be any more when it is the turn of who waits for it.
func TestAwaitAsksAgain(t *testing.T) {
	report := interleave.Explore(2, func() interleave.Program {
		n := 0
		return interleave.Program{Threads: two(
			func() {
				interleave.Await(func() bool { return n == 1 })
				if n != 1 {
					interleave.Fail(errors.New("too late"))
				}
			},
			func() {
				for _, n = range []int{1, 2, 1} {
					interleave.Point()
				}
			})}
	})
	require.Nil(t, report.Failure)
}

func TestAwaitForNothingIsADeadlock(t *testing.T) {
	report := interleave.Explore(0, func() interleave.Program {
		forever := func() { interleave.Await(func() bool { return false }) }
		return interleave.Program{Threads: two(forever, func() {})}
	})
	require.ErrorContains(t, report.Failure, "deadlock")
	require.Contains(t, report.Failure.Story, "a (thread 0), from step 1: waits")
}

func TestAwaitOutsideOfASchedule(t *testing.T) {
	asked := 0
	interleave.Await(func() bool { asked++; return asked == 3 })
	require.Equal(t, 3, asked)
}

// TestWaitGroup: Wait returns when all have ended, also those that end their goroutine.
func TestWaitGroup(t *testing.T) {
	report := interleave.Explore(2, func() interleave.Program {
		var group sync.WaitGroup
		ended := 0
		return interleave.Program{Threads: two(func() {
			group.Go(func() { ended++ })
			group.Go(func() { ended++; runtime.Goexit() })
			group.Wait()
			if ended != 2 || group.Running() != 0 {
				interleave.Fail(errors.New("too early"))
			}
		}, interleave.Point)}
	})
	require.Nil(t, report.Failure)
	require.Greater(t, report.Schedules, 10)
}

// TestAMisusedWaitGroupIsFound: one more is added while somebody waits, and none may be left.
func TestAMisusedWaitGroupIsFound(t *testing.T) {
	report := interleave.Explore(1, func() interleave.Program {
		var group sync.WaitGroup
		group.Add(1)
		return interleave.Program{Threads: two(
			func() { group.Done(); group.Go(func() {}) },
			group.Wait,
		)}
	})
	require.ErrorContains(t, report.Failure, "misuse")
	var group sync.WaitGroup
	group.Wait()
	require.Panics(t, group.Done)
}

// TestTheClockStandsStill but for sleep, and who waits for a timer does not.
func TestTheClockStandsStill(t *testing.T) {
	before := time.Now()
	require.False(t, before.IsZero())
	<-time.NewTimer(time.Second).C
	require.Equal(t, before, time.Now())
	time.Sleep(time.Second)
	require.Equal(t, time.Second, time.Since(before))
	require.True(t, time.AfterFunc(0, func() { t.Error("it was stopped") }).Stop())
	require.Equal(t, before, time.Unix(before.Unix(), 0))
}
