// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestErrorsByKind checks that lines of klog are counted by severity and position in the source.
func TestErrorsByKind(t *testing.T) {
	assert.Equal(t, map[string]int{"E a_b.go:12": 2, "W c.go:3": 1}, countErrors(`I1126 17:51:02.000001   12 main.go:1] "E1126"
E1126 17:51:02.000001   12 a_b.go:12] "Unhandled Error" err="x"
	E1126 is no line of its own
W1126 17:51:02.000001 1234567 c.go:3] text
E1126 17:51:03.000001   12 a_b.go:12] another
`))
}

// TestTable checks that the figures of a measure are adjacent, that a row of only one run has the position
// that it has in that run, and that a cell has the median and the range of several runs.
func TestTable(t *testing.T) {
	var a, b figures
	a.add("CPU", "create", 0, 1)
	a.add("RSS", "create", 0, 2)
	a.add("CPU", "roll", 0, 3)
	b.add("CPU", "create", 0, 4)
	b.add("CPU", "roll", 0, 7)
	b.add("errors", "E x.go:1", 0, 5)
	b.add("RSS", "create", 0, 6)
	var c figures
	c.add("CPU", "create", 0, 2)
	c.add("CPU", "roll", 1, 8)
	var out strings.Builder
	require.NoError(t, writeTable(&out, []string{"a", "b"}, [][]figures{{a}, {b, c}}))
	assert.Equal(t, "| | a | b |\n| --- | ---: | ---: |\n| CPU: create | 1 | 3 (2 to 4) |\n| CPU: roll | 3.0 | 7.5 (7.0 to 8.0) |\n"+
		"| errors: E x.go:1 | 0 | 2 (0 to 5) |\n| RSS: create | 2 | 3 (0 to 6) |\n", out.String())
}
