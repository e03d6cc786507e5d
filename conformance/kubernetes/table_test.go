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

// TestTable checks that the figures of a measure are adjacent, and that a row of only one run has the
// position that it has in that run.
func TestTable(t *testing.T) {
	var a, b figures
	a.add("CPU", "create", "%d", 1)
	a.add("RSS", "create", "%d", 2)
	a.add("CPU", "roll", "%d", 3)
	b.add("CPU", "create", "%d", 4)
	b.add("CPU", "roll", "%d", 7)
	b.add("errors", "E x.go:1", "%d", 5)
	b.add("RSS", "create", "%d", 6)
	var out strings.Builder
	require.NoError(t, writeTable(&out, []string{"a", "b"}, []figures{a, b}))
	assert.Equal(t, "| | a | b |\n| --- | ---: | ---: |\n| CPU: create | 1 | 4 |\n| CPU: roll | 3 | 7 |\n| errors: E x.go:1 | 0 | 5 |\n"+
		"| RSS: create | 2 | 6 |\n", out.String())
}
