// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package time stands for the standard library's in code that package interleave runs: the clock
// stands still, but for Sleep. What is not here is used by no such code.
package time

import (
	"time"

	"github.com/kinformer/cache/internal/interleave"
)

type (
	// Time is the standard library's.
	Time = time.Time
	// Duration is the standard library's.
	Duration = time.Duration
)

// These are those that the code uses.
const (
	Microsecond = time.Microsecond
	Millisecond = time.Millisecond
	Second      = time.Second
)

// now is the time, of all schedules: what matters is how much passes in one of them.
var now = time.Unix(1_000_000_000, 0)

func Now() Time { return now }

func Since(t Time) Duration { return now.Sub(t) }

// Unix is the standard library's.
func Unix(sec, nsec int64) Time { return time.Unix(sec, nsec) }

// Sleep lets time pass, for all threads.
func Sleep(d Duration) {
	interleave.Point()
	now = now.Add(d)
}

// Timer is one that does not wait.
type Timer struct{ C <-chan Time }

// NewTimer returns a timer that has fired: a schedule has a thread wait as long as it likes.
func NewTimer(Duration) *Timer {
	interleave.Point()
	fired := make(chan Time, 1)
	fired <- now
	return &Timer{fired}
}

// AfterFunc returns a timer that is always stopped in time.
func AfterFunc(Duration, func()) *Timer { return &Timer{} }

// Stop reports that it has.
func (*Timer) Stop() bool { return true }
