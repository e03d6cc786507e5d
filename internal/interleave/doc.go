// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package interleave runs a protocol of atomic operations by every schedule, up to a number of
// preemptions.
//
//	make interleave
//
// Code under test is what it is: it imports sync, sync/atomic and time. tools/interleave writes an
// overlay for the compiler, in which it has them from the packages below this one, each operation
// of which is a point: there a thread may be made to wait while others go on. The clock stands
// still. Other tests than those with the build tag "interleave" are left out then, and with the tag
// the sizes at which a structure changes its shape are small.
//
//	report := interleave.Explore(2, func() interleave.Program {
//		t := table.New(...)                    // before the schedule: no points
//		return interleave.Program{
//			Threads: []interleave.Thread{{Name: "writer", Body: ...}, {Name: "reader", Body: ...}},
//			Check:   func() error { ... },     // after the last thread has ended: no points
//		}
//	})
//
// Aliases in the place of imports would not need the overlay. But the compiler inlines no method of
// a type that a package knows by an alias only, nor a function and all that it calls at the same
// price: Get would be other code than it is.
//
// # What a schedule is
//
// One thread at a time runs. It goes on until it ends, waits for a mutex, or is preempted at a
// point. Where it ends or waits, any other one that can may go on: each of them is tried, and that
// costs nothing. Where it is preempted, too, but there are no more preemptions than the bound. A
// schedule is the list of its switches, and Explore runs each list once, on a program that is made
// anew. Errors in protocols need few preemptions: nearly all of them one or two.
//
// A goroutine that the program starts is one more thread. One that waits for anything but a mutex
// or a wait group, such as a channel, does so by Await. Who waits for what never comes is found
// when nobody else is left.
//
// A mutex may be barred to threads of a name: then schedules fail in which one of them takes it.
//
// A schedule that fails is told: who ran from where to where. Replay runs it again.
//
// # What it shows, and what it does not
//
// sync/atomic is sequentially consistent, and so are schedules. What is not atomic has no points:
// the race detector, in the ordinary tests, is for that. A program has to be deterministic: by the
// same switches it comes to the same points. So it asks no clock, no random numbers and no map for
// its order; the collector of garbage, which empties pools, is off meanwhile, and one processor
// runs.
package interleave
