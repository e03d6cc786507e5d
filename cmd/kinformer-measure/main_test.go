// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/internal/testkit"
)

// measured runs the program, and returns its rows by resource.
func measured(t *testing.T, c *clusterOf, args ...string) (map[string]row, report) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	require.NoError(t, run(t.Context(), append([]string{"-kubeconfig", c.kubeconfig(t), "-o", "json"}, args...), &stdout, &stderr))
	assert.NotContains(t, stdout.String()+stderr.String(), testkit.Secret)
	var all report
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &all))
	rows := map[string]row{}
	for _, r := range all.Resources {
		rows[r.Resource] = r
	}
	require.Len(t, rows, len(all.Resources))
	return rows, all
}

// TestMeasuresEachResource: those that have a Go type in protobuf, others unstructured; what cannot
// be read is a row, too.
func TestMeasuresEachResource(t *testing.T) {
	c := newCluster(t)
	rows, all := measured(t, c)
	assert.ElementsMatch(t, []string{"pods.v1", "configmaps.v1", "nodes.v1", "widgets.v1.example.com", "lies.v1.example.com", "*.silent.example.com/v1"},
		slices.Collect(maps.Keys(rows)))

	pods := rows["pods.v1"]
	assert.Equal(t, "protobuf", pods.Encoding)
	assert.True(t, pods.Direct, pods)
	assert.EqualValues(t, 200, pods.Objects)
	assert.Equal(t, 200, pods.Read)
	assert.InDelta(t, 110, pods.WireBytes, 60)
	for what, p := range map[string]pair{"list": pods.List, "event": pods.Event, "heap": pods.Heap} {
		assert.Positive(t, p.ClientGo, what)
		assert.Positive(t, p.Kinformer, what)
	}
	assert.InDelta(t, pods.List.saved()*200/1000, pods.Saves.List, 1e-6)
	assert.InDelta(t, pods.Heap.saved()*200/1e6, pods.Saves.Megabytes, 1e-6)
	assert.InDelta(t, pods.Event.saved(), pods.Saves.Events, 1e-6)

	widgets := rows["widgets.v1.example.com"]
	assert.Equal(t, "unstructured", widgets.Encoding)
	assert.True(t, widgets.Direct, widgets)
	assert.Empty(t, widgets.Notes)

	for resource, why := range map[string]string{
		"configmaps.v1": "Forbidden", "nodes.v1": "no objects", "lies.v1.example.com": "client-go cannot decode the list",
		"*.silent.example.com/v1": "the group does not answer",
	} {
		assert.Contains(t, rows[resource].Skipped, why, resource)
		assert.False(t, rows[resource].Direct, resource)
	}
	assert.Positive(t, all.BytesRead)
	assert.ElementsMatch(t, []string{"pods 500", "configmaps 500", "nodes 500", "widgets 500", "lies 500"}, c.lists(), "one list each")
}

// TestExtrapolates: what is saved is about all objects, of which some are read.
func TestExtrapolates(t *testing.T) {
	c := newCluster(t)
	c.pods = 1000
	rows, _ := measured(t, c, "-resources", "pods", "-limit", "25")
	pods := rows["pods.v1"]
	assert.EqualValues(t, 1000, pods.Objects)
	assert.Equal(t, 25, pods.Read)
	assert.InDelta(t, pods.List.saved(), pods.Saves.List, 1e-6)
	assert.Equal(t, []string{"pods 25"}, c.lists())
}

// TestSaysWhatIsLeftToClientGo: which part of the objects, and why.
func TestSaysWhatIsLeftToClientGo(t *testing.T) {
	c := newCluster(t)
	plain := `{"metadata":{"name":"` + testkit.Secret + `"},"spec":{"podCIDR":"c"}}`
	odd := `{"metadata":{"name":"` + testkit.Secret + `"},"spec":{"podCIDR":"a","podCIDR":"b"}}`
	c.nodes = nodes(append(slices.Repeat([]string{plain}, 29), odd)...)
	rows, _ := measured(t, c, "-resources", "nodes")
	got := rows["nodes.v1"]
	assert.Equal(t, "json", got.Encoding)
	assert.True(t, got.Direct)
	require.Len(t, got.Notes, 1, got)
	assert.Regexp(t, `^left to client-go, 3.3 % of the objects: a member twice$`, got.Notes[0])
}

// TestSaysThatNothingIsDecodedDirectly: as for the kill switch. Then nothing is saved.
func TestSaysThatNothingIsDecodedDirectly(t *testing.T) {
	t.Setenv("KINFORMER_DIRECT", "off")
	rows, _ := measured(t, newCluster(t), "-resources", "pods")
	pods := rows["pods.v1"]
	assert.False(t, pods.Direct)
	require.Len(t, pods.Notes, 1)
	assert.Contains(t, pods.Notes[0], "KINFORMER_DIRECT is off")
	assert.Positive(t, pods.List.ClientGo)
	assert.Zero(t, pods.Saves)
}

// TestReadsNoMoreThanItMay: a list that is too large is asked for with fewer objects, until all
// that may be read is read.
func TestReadsNoMoreThanItMay(t *testing.T) {
	c := newCluster(t)
	c.pods = 500
	_, whole := measured(t, c, "-resources", "pods")
	rows, all := measured(t, c, "-resources", "pods,widgets", "-max-bytes", "9000")
	assert.Contains(t, rows["pods.v1"].Skipped, "-max-bytes")
	assert.Contains(t, rows["widgets.v1.example.com"].Skipped, "-max-bytes")
	assert.EqualValues(t, 9000, all.BytesRead)
	assert.Greater(t, whole.BytesRead, int64(9000))
}

// TestLargeObjects: of those, fewer are read, and one at least.
func TestLargeObjects(t *testing.T) {
	server := newCluster(t)
	server.widgets = widgets(500, `"text":"`+strings.Repeat("x", 1<<10)+`"`)
	config, err := clusterConfig(server.kubeconfig(t), "")
	require.NoError(t, err)
	resources, _, err := discover(t.Context(), config, []string{"widgets"})
	require.NoError(t, err)
	c := &cluster{config: config, limit: 500, left: 1 << 30, most: 100 << 10}
	got := c.measure(t.Context(), resources[0])
	assert.Equal(t, 62, got.Read)
	assert.True(t, got.Direct, got)
	assert.EqualValues(t, 1<<30-100<<10-c.left, int64(got.WireBytes*62+0.5), "all that was read counts")
	c.most = 100
	assert.Equal(t, "its objects are too large", c.measure(t.Context(), resources[0]).Skipped)
	assert.Equal(t, []string{"widgets 500", "widgets 62", "widgets 500", "widgets 62", "widgets 7", "widgets 1"}, server.lists())
}

// TestSecretsHaveToBeNamed: they are not even asked for.
func TestSecretsHaveToBeNamed(t *testing.T) {
	c := newCluster(t)
	rows, _ := measured(t, c, "-resources", "secrets")
	assert.Contains(t, rows, "secrets.v1")
	assert.Equal(t, []string{"secrets 500"}, c.lists())
}

// TestEndsWhenItIsTold: with what it has.
func TestEndsWhenItIsTold(t *testing.T) {
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

func TestText(t *testing.T) {
	c := newCluster(t)
	var stdout bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-kubeconfig", c.kubeconfig(t), "-limit", "30"}, &stdout, io.Discard))
	assert.Regexp(t, `(?m)^pods.v1 +200 +protobuf +\d+ +[\d.]+ / [\d.]+ +[\d.]+ / [\d.]+ +\d+ / \d+ +-?[\d.]+ +-?[\d.]+ +-?[\d.]+ *$`, stdout.String())
	assert.Regexp(t, `(?m)^configmaps.v1 +- .* the server says: Forbidden$`, stdout.String())
	assert.Regexp(t, `(?m)^all .*\d$`, stdout.String())
	assert.NotContains(t, stdout.String(), testkit.Secret)
}

func TestBadCommandLines(t *testing.T) {
	c := newCluster(t)
	for wrong, args := range map[string][]string{
		"there is no resource": {"-resources", "pods,nothing"},
		"named twice":          {"-resources", "pods,pods"},
		"unexpected argument":  {"pods"},
		"must be positive":     {"-limit", "0"},
		"text or json":         {"-o", "yaml"},
		"does not exist":       {"-context", "elsewhere"},
		"not defined":          {"-nothing"},
	} {
		err := run(t.Context(), append([]string{"-kubeconfig", c.kubeconfig(t)}, args...), io.Discard, io.Discard)
		assert.ErrorContains(t, err, wrong)
	}
	assert.ErrorIs(t, run(t.Context(), []string{"-h"}, io.Discard, io.Discard), flag.ErrHelp)
	c.Close()
	err := run(t.Context(), []string{"-kubeconfig", c.kubeconfig(t)}, io.Discard, io.Discard)
	assert.ErrorContains(t, err, "discovery: the request failed")
}
