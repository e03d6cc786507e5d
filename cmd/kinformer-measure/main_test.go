// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/internal/testkit"
)

// measured runs the program, and returns its rows by resource.
func measured(t *testing.T, c *clusterOf, args ...string) map[string][]string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	require.NoError(t, run(t.Context(), append([]string{"-kubeconfig", c.kubeconfig(t)}, args...), &stdout, &stderr))
	assert.NotContains(t, stdout.String()+stderr.String(), testkit.Secret)
	rows := map[string][]string{}
	for line := range strings.Lines(stdout.String()) {
		cells := strings.Fields(line)
		if len(cells) == 0 {
			break
		}
		rows[cells[0]] = cells[1:]
	}
	return rows
}

// TestMeasuresEachResource: resources with a Go type are decoded in protobuf, others unstructured; a
// resource that cannot be read has a row as well. Without their name, secrets are not even requested.
func TestMeasuresEachResource(t *testing.T) {
	c := newCluster(t)
	rows := measured(t, c)
	assert.ElementsMatch(t, []string{"RESOURCE", "pods.v1", "configmaps.v1", "nodes.v1", "widgets.v1.example.com", "lies.v1.example.com"},
		slices.Collect(maps.Keys(rows)))
	for resource, encoding := range map[string]string{"pods.v1": "protobuf", "widgets.v1.example.com": "unstructured"} {
		row := rows[resource]
		require.Len(t, row, 9, row)
		assert.Equal(t, encoding, row[1])
		for _, cell := range row[2:] {
			figure, err := strconv.ParseFloat(cell, 64)
			require.NoError(t, err)
			assert.Positive(t, figure, row)
		}
	}
	assert.Equal(t, "200", rows["pods.v1"][0])
	for resource, why := range map[string]string{"configmaps.v1": "Forbidden", "nodes.v1": "no objects", "lies.v1.example.com": "client-go cannot decode the list"} {
		assert.Contains(t, strings.Join(rows[resource], " "), why, resource)
	}
	assert.ElementsMatch(t, []string{"pods 500", "configmaps 500", "nodes 500", "widgets 500", "lies 500"}, c.lists(), "one list each")
	rows = measured(t, c, "-resources", "pods,secrets", "-limit", "25")
	assert.Equal(t, "25", rows["pods.v1"][0])
	assert.Contains(t, rows, "secrets.v1")
	assert.ElementsMatch(t, []string{"pods 25", "secrets 25"}, c.lists()[5:])
}

// TestNotesReportObjectsLeftToClientGo: the notes have the share of objects that are left to client-go.
func TestNotesReportObjectsLeftToClientGo(t *testing.T) {
	c := newCluster(t)
	plain := `{"metadata":{"name":"` + testkit.Secret + `"},"spec":{"podCIDR":"c"}}`
	odd := `{"metadata":{"name":"` + testkit.Secret + `"},"spec":{"podCIDR":"a","podCIDR":"b"}}`
	c.nodes = nodes(append(slices.Repeat([]string{plain}, 29), odd)...)
	row := measured(t, c, "-resources", "nodes")["nodes.v1"]
	assert.Equal(t, "json", row[1])
	assert.Equal(t, "left to client-go, 3.3 % of the objects", strings.Join(row[9:], " "))
}

// TestEndsWithItsContext: if the context ends, the program prints its complete rows.
func TestEndsWithItsContext(t *testing.T) {
	c := newCluster(t)
	told := errors.New("told")
	ctx, cancel := context.WithCancelCause(t.Context())
	c.onList = func(resource string) {
		if resource == "widgets" {
			cancel(told)
		}
	}
	var stdout bytes.Buffer
	err := run(ctx, []string{"-kubeconfig", c.kubeconfig(t), "-resources", "pods,widgets"}, &stdout, io.Discard)
	assert.ErrorIs(t, err, told)
	assert.Contains(t, stdout.String(), "pods.v1")
	assert.NotContains(t, stdout.String(), "widgets.v1")
}

func TestBadCommandLines(t *testing.T) {
	c := newCluster(t)
	for wrong, args := range map[string][]string{
		"there is no resource": {"-resources", "pods,nothing"},
		"no arguments":         {"pods"},
		"must be positive":     {"-limit", "0"},
		"no cluster":           {"-context", "elsewhere"},
		"not defined":          {"-nothing"},
	} {
		err := run(t.Context(), append([]string{"-kubeconfig", c.kubeconfig(t)}, args...), io.Discard, io.Discard)
		assert.ErrorContains(t, err, wrong)
	}
	assert.ErrorIs(t, run(t.Context(), []string{"-h"}, io.Discard, io.Discard), flag.ErrHelp)
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(file, []byte("token: [ "+testkit.Secret), 0o600))
	err := run(t.Context(), []string{"-kubeconfig", file}, io.Discard, io.Discard)
	assert.ErrorContains(t, err, "no cluster")
	assert.NotContains(t, err.Error(), testkit.Secret)
	c.Close()
	err = run(t.Context(), []string{"-kubeconfig", c.kubeconfig(t)}, io.Discard, io.Discard)
	assert.ErrorContains(t, err, "discovery: the request failed")
}

// keepFile writes a file for -keep.
func keepFile(t *testing.T, content string) string {
	file := filepath.Join(t.TempDir(), "keep.yaml")
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	return file
}

// TestKeep: with a file of fields, only its resources are read, and the columns KEEP are smaller than those of whole objects.
func TestKeep(t *testing.T) {
	c := newCluster(t)
	rows := measured(t, c, "-keep", keepFile(t, "pods: {keep: [spec.nodeName]}\nwidgets.example.com: {whole: none=such}\n"))
	assert.ElementsMatch(t, []string{"RESOURCE", "pods.v1", "widgets.v1.example.com"}, slices.Collect(maps.Keys(rows)))
	assert.Equal(t, "KEEP", rows["RESOURCE"][6])
	for _, name := range []string{"pods.v1", "widgets.v1.example.com"} {
		row := rows[name]
		require.GreaterOrEqual(t, len(row), 11, row)
		var heap []float64
		for _, cell := range row[7:11] {
			figure, err := strconv.ParseFloat(cell, 64)
			require.NoError(t, err)
			heap = append(heap, figure)
		}
		assert.LessOrEqual(t, heap[3], heap[1], row)
		assert.Equal(t, name == "pods.v1", heap[3] < heap[1], row)
	}
	assert.Equal(t, "0 of 30 objects are whole", strings.Join(rows["widgets.v1.example.com"][11:], " "))
	for wrong, content := range map[string]string{
		"is not YAML like":     "pods: [",
		"names no resource":    "",
		"did you mean spec.no": "pods: {keep: [spec.nodename]}",
		"whole: ":              "pods: {whole: =}",
		"there is no resource": "unknown: {}",
	} {
		err := run(t.Context(), []string{"-kubeconfig", c.kubeconfig(t), "-keep", keepFile(t, content)}, io.Discard, io.Discard)
		assert.ErrorContains(t, err, wrong)
	}
	for _, beside := range [][]string{{"-watch", "1s"}, {"-resources", "pods"}} {
		err := run(t.Context(), append(beside, "-kubeconfig", c.kubeconfig(t), "-keep", keepFile(t, "pods: {}")), io.Discard, io.Discard)
		assert.ErrorContains(t, err, "-keep has neither")
	}
}
