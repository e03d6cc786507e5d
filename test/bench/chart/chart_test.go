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
