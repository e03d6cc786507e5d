// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package interleave_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kinformer/cache/internal/interleave"
	"github.com/kinformer/cache/internal/interleave/atomic"
	"github.com/kinformer/cache/internal/interleave/sync"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type threads = []interleave.Thread

func two(a, b func()) threads {
	return threads{{Name: "a", Body: a}, {Name: "b", Body: b}}
}

// increment returns an incorrect increment: it loses additions between its load and its store.
func increment(n *atomic.Int64) func() {
	return func() { n.Store(n.Load() + 1) }
}

func increments() interleave.Program {
	n := new(atomic.Int64)
	return interleave.Program{Threads: two(increment(n), increment(n)), Check: func() error {
		if got := n.Load(); got != 2 {
			return fmt.Errorf("%d", got)
		}
		return nil
	}}
}

func TestALostUpdateTakesOnePreemption(t *testing.T) {
	report := interleave.Explore(0, increments)
	require.Nil(t, report.Failure)
	require.Equal(t, 2, report.Schedules, "one for each that may be first")
	report = interleave.Explore(1, increments)
	require.NotNil(t, report.Failure)
	require.EqualError(t, report.Failure.Err, "1")
	require.Contains(t, report.Failure.Trace, "is preempted at step 3, before interleave_test.increment")
	trace, err := interleave.Replay(report.Failure.Schedule, increments)
	require.EqualError(t, err, "1", "it is always the same")
	require.Equal(t, report.Failure.Trace, trace)
}

// TestEachScheduleIsRunOnce checks that no schedule is omitted or repeated: with at most p
// preemptions of two threads that pass n points each and do not wait, there is one schedule for
// each set of at most p points at which a thread is preempted.
func TestEachScheduleIsRunOnce(t *testing.T) {
	const points = 5
	for preemptions, want := range []int{2, 2 + 2*points, 2 + 2*points + 2*points*points} {
		report := interleave.Explore(preemptions, func() interleave.Program {
			body := func() {
				for range points {
					interleave.Point()
				}
			}
			return interleave.Program{Threads: two(body, body)}
		})
		require.Nil(t, report.Failure)
		require.Equal(t, want, report.Schedules)
		require.Equal(t, 1+2*points+1, report.Steps, "the beginning, the points, and the end of the first thread")
	}
}

func TestTryLockFailsAtTimes(t *testing.T) {
	results := map[bool]bool{}
	interleave.Explore(1, func() interleave.Program {
		var m interleave.Mutex
		return interleave.Program{Threads: two(
			func() { m.Lock(); defer m.Unlock() },
			func() {
				ok := m.TryLock()
				if results[ok] = true; ok {
					m.Unlock()
				}
			})}
	})
	require.Len(t, results, 2)
}

// TestABarredMutex checks that barred threads fail when they take the mutex or try to, and others
// do not.
func TestABarredMutex(t *testing.T) {
	for name, take := range map[string]func(*interleave.Mutex){
		"Lock":    func(m *interleave.Mutex) { m.Lock(); defer m.Unlock() },
		"TryLock": func(m *interleave.Mutex) { _ = m.TryLock() && func() bool { m.Unlock(); return true }() },
	} {
		for _, barred := range []string{"a", "b", "c"} {
			report := interleave.Explore(1, func() interleave.Program {
				var m interleave.Mutex
				m.Bar(barred)
				return interleave.Program{Threads: two(func() { take(&m) }, interleave.Point)}
			})
			if barred == "a" {
				require.ErrorContains(t, report.Failure, "barred to the thread that takes it: a", name)
			} else {
				require.Nil(t, report.Failure, name)
			}
		}
	}
}

// TestABriefMutex checks that a thread fails that holds the mutex for too many points of its own.
func TestABriefMutex(t *testing.T) {
	for points := range 4 {
		report := interleave.Explore(1, func() interleave.Program {
			var m interleave.Mutex
			m.Brief(3)
			hold := func() {
				m.Lock()
				defer m.Unlock()
				for range points {
					interleave.Point()
				}
			}
			return interleave.Program{Threads: two(hold, hold)}
		})
		if points == 3 {
			require.ErrorContains(t, report.Failure, "held for too long")
		} else {
			require.Nil(t, report.Failure, points)
		}
	}
}

func TestADeadlockIsFound(t *testing.T) {
	program := func() interleave.Program {
		var m, n interleave.Mutex
		lock := func(first, second *interleave.Mutex) func() {
			return func() {
				first.Lock()
				defer first.Unlock()
				second.Lock()
				defer second.Unlock()
			}
		}
		return interleave.Program{Threads: two(lock(&m, &n), lock(&n, &m))}
	}
	require.Nil(t, interleave.Explore(0, program).Failure)
	report := interleave.Explore(1, program)
	require.ErrorContains(t, report.Failure, "deadlock")
}

func TestThreadsMayPanicFailOrExit(t *testing.T) {
	for want, body := range map[string]func(){
		"panic: hoppla": func() { panic("hoppla") },
		"so be it":      func() { interleave.Fail(errors.New("so be it")) },
		"the program does not end": func() {
			for {
				interleave.Point()
			}
		},
		"deadlock: all threads wait": func() { interleave.Await(func() bool { return false }) },
		"":                           runtime.Goexit,
	} {
		deferred := 0
		report := interleave.Explore(1, func() interleave.Program {
			return interleave.Program{Threads: two(body, func() {
				defer func() { deferred++ }()
				interleave.Point()
			})}
		})
		if want == "" {
			require.Nil(t, report.Failure)
			require.Equal(t, report.Schedules, deferred)
			continue
		}
		require.ErrorContains(t, report.Failure, want)
		if strings.HasPrefix(want, "deadlock") {
			require.Contains(t, report.Failure.Trace, "a (thread 0), from step 1: waits")
		}
	}
}

func TestGoIsOneMoreThread(t *testing.T) {
	orders := map[string]bool{}
	report := interleave.Explore(1, func() interleave.Program {
		var order []string
		step := func(what string) { interleave.Point(); order = append(order, what) }
		return interleave.Program{Threads: threads{{Name: "a", Body: func() {
			interleave.Go(func() { step("went") })
			step("goes")
		}}}, Check: func() error {
			orders[strings.Join(order, " ")] = true
			return nil
		}}
	})
	require.Nil(t, report.Failure)
	require.Equal(t, map[string]bool{"goes went": true, "went goes": true}, orders)
}

func TestAProgramThatDiffersIsFound(t *testing.T) {
	runs := 0
	report := interleave.Explore(1, func() interleave.Program {
		runs++
		body := func() {
			for range 10 - min(runs, 9) {
				interleave.Point()
			}
		}
		return interleave.Program{Threads: two(body, body)}
	})
	require.ErrorContains(t, report.Failure, "differs")
}

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
