// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package time replaces the standard library's in code run by package interleave. The clock stands
// still, except for Sleep. It has only the names that this code uses.
package time

import (
	"time"

	"github.com/kinformer/cache/internal/interleave"
)

type (
	// Time is time.Time.
	Time = time.Time
	// Duration is time.Duration.
	Duration = time.Duration
)

// The constants of package time that the code uses.
const (
	Microsecond = time.Microsecond
	Millisecond = time.Millisecond
	Second      = time.Second
)

// now is the current time, shared by all schedules.
var now = time.Unix(1_000_000_000, 0)

func Now() Time { return now }

func Since(t Time) Duration { return now.Sub(t) }

// Unix is time.Unix.
func Unix(sec, nsec int64) Time { return time.Unix(sec, nsec) }

// Sleep advances the clock, for all threads.
func Sleep(d Duration) {
	interleave.Point()
	now = now.Add(d)
}

// Timer is a timer that does not wait.
type Timer struct{ C <-chan Time }

// NewTimer returns a timer that has fired already: in a schedule, any duration may pass between two steps of
// a thread.
func NewTimer(Duration) *Timer {
	interleave.Point()
	fired := make(chan Time, 1)
	fired <- now
	return &Timer{fired}
}

// AfterFunc returns a timer that is always stopped before it fires.
func AfterFunc(Duration, func()) *Timer { return &Timer{} }

// Stop returns true.
func (*Timer) Stop() bool { return true }

// Reset returns true.
func (*Timer) Reset(Duration) bool { return true }
