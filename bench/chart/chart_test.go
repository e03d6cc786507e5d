// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"io"
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
