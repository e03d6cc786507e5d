// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package schedules

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/internal/interleave"
)

func points(answers *int) interleave.Program {
	body := func() {
		interleave.Point()
		*answers++
	}
	return interleave.Program{Threads: []interleave.Thread{{Name: "a", Body: body}, {Name: "b", Body: body}}}
}

func TestACaseIsRunAndCounted(t *testing.T) {
	r := Case{Name: "points", Start: points, Preemptions: 1}.run()
	require.Nil(t, r.Failure)
	require.Equal(t, 4, r.Schedules)
	require.Equal(t, 8, r.answers)
	require.False(t, r.cut)
	require.Contains(t, table([]result{r}), "| points | 1 | 4 | 4 | 8 | 0.0 |\n| all 1 | | 4 | | 8 | 0.0 |\n")
}

func TestTableReportsCutCases(t *testing.T) {
	c := Case{Name: "points", Start: points, Preemptions: 1, Deep: 2}
	r := c.run()
	require.Equal(t, 1, r.preemptions)
	require.Contains(t, table([]result{r}), "Cut: 1 of them")
	*all = true
	defer func() { *all = false }()
	r = c.run()
	require.Equal(t, 2, r.preemptions)
	require.NotContains(t, table([]result{r}), "Cut")
}

func TestAFailureIsThatOfASchedule(t *testing.T) {
	r := Case{Start: func(*int) interleave.Program {
		p := points(new(int))
		p.Check = func() error { return errors.New("wrong") }
		return p
	}}.run()
	require.EqualError(t, r.Failure.Err, "wrong")
}
