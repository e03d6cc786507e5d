// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/internal/testkit"
)

// TestCompares: each side lists and watches every resource that can be read, and only the figures are printed.
func TestCompares(t *testing.T) {
	c := newCluster(t)
	var stdout, stderr bytes.Buffer
	args := []string{"-kubeconfig", c.kubeconfig(t), "-resources", "pods,nodes,widgets,configmaps", "-watch", "1s"}
	require.NoError(t, run(t.Context(), args, &stdout, &stderr))
	text := stdout.String()
	assert.NotContains(t, text+stderr.String(), testkit.Secret)
	assert.Contains(t, stderr.String(), "without configmaps.v1: the server says: Forbidden")
	lines := strings.Split(text, "\n")
	require.Greater(t, len(lines), 5)
	for i, side := range []string{"client-go", "kinformer", "kinformer, ShareParts"} {
		cells, is := strings.CutPrefix(lines[1+i], side)
		require.True(t, is, lines[1+i])
		words := strings.Fields(cells)
		require.Len(t, words, 13, "nine cells, four of them with a unit: %s", cells)
		assert.Equal(t, "230", words[0], "200 pods and 30 widgets")
		for what, at := range map[string]int{"bytes": 3, "heap": 5, "events": 8, "bytes of the watch": 9} {
			assert.NotContains(t, []string{"0", "0.0"}, words[at], "%s: %s", what, cells)
		}
	}
	assert.Contains(t, text, "\nInformers of 3 resources with whole lists")
	assert.Contains(t, text, "then WATCH for 1s.")
}

// TestCompareRefuses: a comparison with one library is none, and neither is one of nothing.
func TestCompareRefuses(t *testing.T) {
	c := newCluster(t)
	args := []string{"-kubeconfig", c.kubeconfig(t), "-watch", "1s", "-resources"}
	assert.ErrorContains(t, run(t.Context(), append(args, "configmaps"), io.Discard, io.Discard), "no resource can be listed")
	for _, name := range []string{"KINFORMER", "KINFORMER_DIRECT"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "on")
			assert.ErrorContains(t, run(t.Context(), append(args, "pods"), io.Discard, io.Discard), "unset KINFORMER")
		})
	}
	assert.ErrorContains(t, run(t.Context(), []string{"-kubeconfig", c.kubeconfig(t), "-watch", "-1s"}, io.Discard, io.Discard), "not negative")
}
