// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func wellFormed(t *testing.T, picture string) {
	for decoder := xml.NewDecoder(strings.NewReader(picture)); ; {
		_, err := decoder.Token()
		if err == io.EOF {
			return
		}
		require.NoError(t, err)
	}
}

func TestBars(t *testing.T) {
	all := figures("| what | a | b | ratio | row |\n| CPU of one, µs | 1,200 | 300 | 4.00 | `x/y`: CPU |\n| with `direct` | 2 | 3.5 | ≈ 1 | `x/z`: CPU |\n")
	require.Equal(t, []bar{{"CPU of one, µs", "1,200 → 300", 0.25, false}, {"with direct", "2 → 3.5", 1.75, true}}, all)
	picture := drawBars(all, dark)
	wellFormed(t, picture)
	assert.Contains(t, picture, ">1,200 → 300<")
	assert.Contains(t, picture, dark[page])
}

// TestTerminal checks that the picture of the demo is the one drawn from its text.
func TestTerminal(t *testing.T) {
	text, err := os.ReadFile("../../../docs/pictures/demo.txt")
	require.NoError(t, err)
	picture, err := os.ReadFile("../../../docs/pictures/demo.svg")
	require.NoError(t, err)
	assert.Equal(t, drawTerminal("make demo", string(text)), string(picture), "make charts draws it")
	wellFormed(t, string(picture))
	assert.Contains(t, drawTerminal("a", "  <b>  c >100x\n"), strings.ReplaceAll(`x="34" y="54" textLength="96" lengthAdjust="spacingAndGlyphs">&lt;b&gt;~~c~`, "~", "\u00a0")+
		`<tspan class="ratio">&gt;100x</tspan></text>`)
}
