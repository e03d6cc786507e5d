// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interleave

package table

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/kinformer/cache/internal/interleave"
	"github.com/kinformer/cache/internal/interleave/schedules"
)

// TestSchedules runs all configurations: with two preemptions beside one reader, and one or two
// beside two readers. In a run of everything it is three beside one, and two beside two.
func TestSchedules(t *testing.T) {
	defer goleak.VerifyNone(t)
	if _, ok := any(&new(Table).functions).(*interleave.Mutex); !ok {
		t.Fatal("the package has no points: see make interleave")
	}
	var cases []schedules.Case
	for _, c := range configs {
		s := c.scripts()
		few := 3 - len(c.readers)
		cases = append(cases, schedules.Case{Name: c.name, Preemptions: few + c.more, Deep: few + 1,
			Start: func(answers *int) interleave.Program { return c.start(s, answers) }})
	}
	schedules.Run(t, cases)
}
