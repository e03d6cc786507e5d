// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/bench/cluster/internal/child"
	"github.com/kinformer/cache/bench/cluster/internal/follow"
	"github.com/kinformer/cache/bench/cluster/internal/result"
	"github.com/kinformer/cache/bench/cluster/internal/world"
)

// TestMain is also the server and the client.
func TestMain(m *testing.M) {
	is, err := beChild(context.Background())
	if !is {
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var steadyFor = flag.Duration("cluster.steady", 5*time.Second, "how long the steady phase of TestClusters is")

func needProc(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
}

// TestClusters runs small clusters, with all faults: run fails if anything is lost, repeated or out
// of order. What is measured must be plausible; how good it is does not matter here.
func TestClusters(t *testing.T) {
	needProc(t)
	for _, c := range []struct {
		side, encoding string
		lists          bool
	}{
		{"client-go", "json", false}, {"ours", "protobuf", false}, {"direct", "json", true}, {"direct", "protobuf", false},
		{"shared", "json", false}, {"shared", "protobuf", true},
	} {
		t.Run(fmt.Sprintf("%s %s lists=%v", c.side, c.encoding, c.lists), func(t *testing.T) {
			t.Parallel()
			s := result.Spec{Nodes: 40, Side: c.side, Encoding: c.encoding, Lists: c.lists, Speed: 60, Churn: 20, Seed: 7, Steady: *steadyFor}
			folder := t.TempDir()
			r, err := measured(t.Context(), s, filepath.Join(folder, "p."), io.Discard)
			require.NoError(t, err)
			checkResult(t, r)
			for _, kind := range []string{"", ".heap", ".mutex", ".goroutine"} {
				assert.FileExists(t, filepath.Join(folder, fmt.Sprintf("p.40.%s.%s.pprof%s", c.encoding, c.side, kind)))
			}
			require.NoError(t, result.Keep(folder, r))
			var page strings.Builder
			figures := filepath.Join(folder, "figures")
			require.NoError(t, run(t.Context(), []string{"-figures", figures, "-n", "40", "-sides", c.side, "-encodings", c.encoding, "-state", folder, "-resume",
				"-lists=" + fmt.Sprint(c.lists), "-speed", "60", "-churn", "20", "-seed", "7", "-steady", steadyFor.String()}, &page, io.Discard))
			assert.Contains(t, page.String(), "| 40 | "+follow.Title(c.side)+" |", "it is not run again")
			assert.FileExists(t, figures)
			var kept strings.Builder
			require.NoError(t, run(t.Context(), []string{"-n", "50", "-kept", "-state", folder}, &kept, io.Discard))
			assert.Equal(t, page.String(), kept.String(), "all that is there, whatever else is asked for")
		})
	}
}

func checkResult(t *testing.T, r result.Result) {
	assert.Equal(t, 40, r.Objects[world.Leases.String()])
	assert.InDelta(t, 40*world.PodsPerNode, r.Objects[world.Pods.String()], 200)
	assert.Positive(t, r.FormBytes)
	assert.Positive(t, r.Sync)
	assert.Positive(t, r.Join)
	require.Len(t, r.Phases, 4)
	for _, p := range r.Phases {
		assert.Positive(t, p.RSS)
		assert.GreaterOrEqual(t, p.Peak, p.RSS)
		checkLatency(t, p.Latency.Prompt)
		for of, n := range p.Notes {
			switch p.Name {
			case result.Steady:
				assert.Positive(t, n.Changes, of)
				assert.Positive(t, p.Latency.Of[of].Events, of)
				assert.Zero(t, n.Lists, of)
			case result.Gone, result.Storm:
				assert.Positive(t, n.Lists, of)
			}
		}
	}
	assert.Positive(t, r.Phase(result.Start).CPU)
	assert.Positive(t, r.Phase(result.Start).Collections)
	assert.Positive(t, r.Phase(result.Start).CollectCPU)
	assert.GreaterOrEqual(t, r.Phase(result.Steady).Wall, r.Spec.Steady)
	assert.Positive(t, r.Phase(result.Steady).Latency.Slow.Events)
	assert.Positive(t, r.Phase(result.Storm).Latency.Late.Events)
	assert.Greater(t, r.Phase(result.Storm).Latency.Prompt.Max, int64(500_000), "what was due in the outage of a second")
}

func checkLatency(t *testing.T, l follow.Latency) {
	assert.Zero(t, l.Negative)
	assert.LessOrEqual(t, l.P50, l.P99)
	assert.LessOrEqual(t, l.P99, l.P999)
	assert.LessOrEqual(t, l.P999, l.Max)
	assert.LessOrEqual(t, l.Over, l.Events)
}

func TestBadCommandLines(t *testing.T) {
	for _, args := range [][]string{
		{"-n", "x"}, {"-n", "1"}, {"-sides", "x"}, {"-encodings", "x"}, {"-speed", "0"}, {"-resume"}, {"extra"}, {"-nosuchflag"}, {"-procs", "-1"},
		{"-kept"}, {"-kept", "-state", "x", "-soak", "1s"},
	} {
		assert.Error(t, run(t.Context(), args, io.Discard, io.Discard), "%v", args)
	}
}

func TestSpecs(t *testing.T) {
	c, err := parse([]string{"-n", "10,20", "-sides", "ours,direct", "-encodings", "json", "-seed", "3"}, io.Discard)
	require.NoError(t, err)
	all := c.specs()
	require.Len(t, all, 4)
	assert.Equal(t, []string{"GODEBUG=gctrace=1", "GOMAXPROCS=1"}, environment(result.Spec{Procs: 1}))
	assert.Equal(t, result.Spec{Nodes: 20, Side: "ours", Encoding: "json", Speed: 10, Seed: 3, Steady: 2 * time.Minute, Churn: 1}, all[2])
}

// TestADifferenceEndsInAnError: a client of another cluster has other objects.
func TestADifferenceEndsInAnError(t *testing.T) {
	needProc(t)
	small := result.Spec{Nodes: 4, Side: "client-go", Encoding: "json", Speed: 60, Churn: 1, Seed: 1, Steady: time.Second}
	one, err := newTrial(t.Context(), small)
	require.NoError(t, err)
	small.Nodes = 6
	other, err := newTrial(t.Context(), small)
	require.NoError(t, err)
	one.client, other.client = other.client, one.client
	one.patience = time.Second
	assert.ErrorIs(t, one.settle(t.Context()), errDiffers)
	require.NoError(t, one.stop())
	require.NoError(t, other.stop())
}

// TestADeadClientIsNoticed: the kernel kills the largest process when there is no memory left.
func TestADeadClientIsNoticed(t *testing.T) {
	needProc(t)
	one, err := newTrial(t.Context(), result.Spec{Nodes: 4, Side: "client-go", Encoding: "json", Speed: 60, Churn: 1, Seed: 1, Steady: time.Second})
	require.NoError(t, err)
	before, err := one.notes(t.Context())
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(one.client.PID(), syscall.SIGKILL))
	assert.ErrorIs(t, one.caughtUp(t.Context(), before, allOnce()), child.ErrEnded)
	assert.ErrorContains(t, one.stop(), "killed")
}
