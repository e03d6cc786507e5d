// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package interleave runs concurrent code that uses atomic operations with every schedule, up to a
// number of preemptions.
//
//	make interleave
//
// The code under test imports sync, sync/atomic and time as usual. tools/interleave writes an
// overlay for the compiler that replaces these imports by the packages below this one. Each
// operation of these is a point, at which a thread may have to wait while others run. The clock
// stands still. The overlay omits tests without the build tag "interleave"; with the tag, the sizes
// at which a structure changes its shape are small.
//
//	report := interleave.Explore(2, func() interleave.Program {
//		t := table.New(...)                    // before the schedule: no points
//		return interleave.Program{
//			Threads: []interleave.Thread{{Name: "writer", Body: ...}, {Name: "reader", Body: ...}},
//			Check:   func() error { ... },     // after the last thread has ended: no points
//		}
//	})
//
// Type aliases instead of imports would not need the overlay. But the compiler inlines no method of
// a type that a package uses only through an alias, and counts a function and its callees at other
// costs: the code of Get would differ.
//
// # Schedules
//
// One thread runs at a time. It runs until it ends, waits for a mutex, or is preempted at a point.
// When it ends or waits, each other runnable thread is tried as the next one, which does not count
// as a preemption. When it is preempted too, but the number of preemptions is bounded. A schedule
// is the list of its switches, and Explore runs each list once, on a new program. Errors in
// protocols need few preemptions: nearly all of them one or two.
//
//	writer  ────▶                preempted at a point
//	reader        ────▶          ends
//	writer              ────▶    ends
//
// A goroutine started by the program is an additional thread. A thread that waits for anything
// other than a mutex or a wait group, such as a channel, must do so by Await. A deadlock is
// reported when no thread is runnable.
//
// A mutex may be barred to the threads with a name: a schedule in which one of them takes it fails.
//
// A failing schedule is reported with a trace of its threads. Replay runs it again.
//
// # Limits
//
// sync/atomic is sequentially consistent, and so are schedules. Operations that are not atomic have
// no points; the race detector, in the ordinary tests, covers these. A program must be
// deterministic: with the same switches it must reach the same points. So its order must not depend
// on a clock, random numbers or maps. The garbage collector, which empties pools, is off meanwhile,
// and one processor is used.
package interleave
