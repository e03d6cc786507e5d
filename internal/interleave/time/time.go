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
	// Month is the standard library's.
	Month = time.Month
)

// These are those that the code uses.
const (
	Microsecond = time.Microsecond
	Millisecond = time.Millisecond
	Second      = time.Second
	RFC3339     = time.RFC3339
)

// UTC is the standard library's.
var UTC = time.UTC

// now is the time, of all schedules: what matters is how much passes in one of them.
var now = time.Unix(1_000_000_000, 0)

func Now() Time { return now }

func Since(t Time) Duration { return now.Sub(t) }

// Unix is the standard library's.
func Unix(sec, nsec int64) Time { return time.Unix(sec, nsec) }

// Date is the standard library's.
func Date(year int, month Month, day, hour, minute, sec, nsec int, loc *time.Location) Time {
	return time.Date(year, month, day, hour, minute, sec, nsec, loc)
}

// Parse is the standard library's.
func Parse(layout, value string) (Time, error) { return time.Parse(layout, value) }

// ParseDuration is the standard library's.
func ParseDuration(s string) (Duration, error) { return time.ParseDuration(s) }

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

// Reset reports that it was not too late.
func (*Timer) Reset(Duration) bool { return true }
