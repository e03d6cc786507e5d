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

// TestAwait checks that a waiting thread continues at any time after its condition is true, and not
// before.
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

// TestAwaitAsksAgain checks that the condition is evaluated again when the waiting thread is
// chosen.
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
	require.Contains(t, report.Failure.Trace, "a (thread 0), from step 1: waits")
}

func TestAwaitOutsideOfASchedule(t *testing.T) {
	asked := 0
	interleave.Await(func() bool { asked++; return asked == 3 })
	require.Equal(t, 3, asked)
}

// TestWaitGroup checks that Wait returns when all goroutines have ended, including those that call
// Goexit.
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

// TestAMisusedWaitGroupIsFound checks an Add while a goroutine waits and none may be left.
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

// TestTheClockStandsStill checks that only Sleep advances the clock, and that timers do not wait.
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
