// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/test/bench/internal/blank"
	"github.com/kinformer/cache/test/bench/internal/child"
	"github.com/kinformer/cache/test/bench/internal/world"
)

// TestMain also runs the server and the client.
func TestMain(m *testing.M) {
	child.Become(roles)
	os.Exit(m.Run())
}

func needProc(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
}

// TestClusters runs small clusters with all faults. A run fails if a notification is lost, repeated
// or out of order. Results must be plausible, but have no limits.
func TestClusters(t *testing.T) {
	needProc(t)
	for _, c := range [][2]string{{"client-go", "json"}, {"ours", "protobuf"}, {"direct", "protobuf"}, {"shared", "json"}, {"keep", "protobuf"}} {
		t.Run(c[0]+" "+c[1], func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			args := []string{"-n", "40", "-sides", c[0], "-encodings", c[1], "-state", folder, "-profile", filepath.Join(folder, "p."),
				"-resume", "-speed", "60", "-churn", "20", "-seed", "7", "-steady", "4s"}
			var text, again strings.Builder
			require.NoError(t, run(t.Context(), args, &text, io.Discard))
			assert.Contains(t, text.String(), "| 40 | "+title(c[0])+" |")
			assert.NotContains(t, text.String(), "failed")
			require.NoError(t, run(t.Context(), args, &again, io.Discard))
			assert.Equal(t, text.String(), again.String(), "it is not run again")
			assert.FileExists(t, filepath.Join(folder, fmt.Sprintf("p.40.%s.%s.pprof.heap", c[1], c[0])))
			config, err := parse(args, io.Discard)
			require.NoError(t, err)
			r, there, err := kept(folder, config.specs[0])
			require.NoError(t, err)
			require.True(t, there)
			checkResult(t, r)
		})
	}
}

// TestStoredResults checks that a page has the results of a folder, except those of another speed.
func TestStoredResults(t *testing.T) {
	folder := t.TempDir()
	at := func(nodes int, encoding, side string, speed float64) result {
		return result{Spec: spec{Nodes: nodes, Encoding: encoding, Side: side, Speed: speed}}
	}
	want := []result{at(90, "json", "direct", 10), at(1000, "json", "client-go", 10), at(1000, "json", "shared", 10), at(1000, "protobuf", "direct", 10)}
	for _, i := range []int{2, 0, 3, 1} {
		require.NoError(t, save(folder, want[i]))
	}
	require.NoError(t, save(folder, at(2000, "json", "direct", 1)))
	got, err := stored(folder, want[2].Spec)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "x.json"), nil, 0o644))
	_, err = stored(folder, want[0].Spec)
	assert.ErrorContains(t, err, "x.json")
}

// TestPageMatchesResults checks that the page of docs is that of the results beside it.
func TestPageMatchesResults(t *testing.T) {
	text, err := os.ReadFile("../../../docs/benchmarks/cluster.md")
	require.NoError(t, err)
	all, err := stored("../../../docs/benchmarks/cluster", spec{Speed: 10, Churn: 1, Seed: 1, Steady: 2 * time.Minute})
	require.NoError(t, err)
	assert.Equal(t, page(all, "make bench-cluster-all"), string(text), "make bench-cluster-all prints it")
}

func checkResult(t *testing.T, r result) {
	assert.Positive(t, r.Sync)
	assert.Positive(t, r.Join)
	require.Len(t, r.Phases, 4)
	for _, p := range r.Phases {
		assert.Positive(t, p.RSS)
		assert.GreaterOrEqual(t, p.Peak, p.RSS)
		assert.LessOrEqual(t, p.Latency[prompt].P50, p.Latency[prompt].P999)
		if p.Name == phaseSteady {
			assert.Positive(t, p.Changes)
			assert.Zero(t, p.Lists)
		} else {
			assert.GreaterOrEqual(t, p.Lists, len(world.All()))
		}
	}
	assert.Positive(t, r.phase(phaseStart).CPU)
	assert.Positive(t, r.phase(phaseStart).CollectCPU)
	assert.Positive(t, r.phase(phaseSteady).Latency[slow].Events)
	assert.Positive(t, r.phase(phaseStorm).Latency[late].Events)
	assert.Greater(t, r.phase(phaseStorm).Latency[prompt].Max, int64(500_000), "what was due in the outage of a second")
}

// TestWrongDecodingIsAnError checks that a run in which an informer did not decode as its side does is an error.
func TestWrongDecodingIsAnError(t *testing.T) {
	right := inspect.Decoding{On: true, Direct: 1}
	short, differs, gaveUp := right, right, right
	short.Direct = 0
	differs.Verified.Differences = 1
	gaveUp.GivenUp = map[string]int64{"a reason": 1}
	for _, c := range []struct {
		side string
		d    inspect.Decoding
		says string // "" for no error
	}{
		{"direct", right, ""}, {"shared", right, ""}, {"ours", inspect.Decoding{}, ""},
		{"ours", right, "as it should"}, {"ours", inspect.Decoding{Direct: 1}, "as it should"}, {"direct", inspect.Decoding{}, "as it should"},
		{"direct", differs, "as it should"}, {"shared", gaveUp, "as it should"}, {"direct", short, "a longer -steady or a larger -n"},
	} {
		of, err := sideNamed(c.side)
		require.NoError(t, err)
		if err = of.decodes(c.d); c.says == "" {
			assert.NoError(t, err, "%+v", c)
		} else {
			assert.ErrorContains(t, err, c.says, "%+v", c)
		}
	}
}

// TestADifferenceEndsInAnError checks that a client with the objects of another cluster is an error,
// and a killed client, too.
func TestADifferenceEndsInAnError(t *testing.T) {
	needProc(t)
	small := spec{Nodes: 4, Side: "client-go", Encoding: "json", Speed: 60, Churn: 1, Seed: 1, Steady: time.Second}
	one, err := newTrial(t.Context(), small)
	require.NoError(t, err)
	small.Nodes = 6
	other, err := newTrial(t.Context(), small)
	require.NoError(t, err)
	one.client, other.client = other.client, one.client
	one.patience = time.Second
	assert.ErrorIs(t, one.settle(t.Context()), errDiffers)
	require.NoError(t, other.stop())
	before, err := one.notes(t.Context())
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(one.client.PID(), syscall.SIGKILL))
	assert.ErrorIs(t, one.caughtUp(t.Context(), before, world.All()...), child.ErrEnded)
	assert.ErrorContains(t, one.stop(), "killed")
}

// a returns a pod at a version, which was due some time ago.
func a(name string, version int, ago time.Duration) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		UID: types.UID(name), ResourceVersion: fmt.Sprint(version),
		Annotations: map[string]string{blank.DueAnnotation: fmt.Sprint(time.Now().Add(-ago).UnixNano())},
	}}
}

func newTestHandler() *handler {
	p := &phases{}
	p.begin(phaseStart, 0)
	return newHandler(world.Pods, prompt, p)
}

func TestHandlerCountsEvents(t *testing.T) {
	h := newTestHandler()
	h.OnAdd(a("x", 1, 0), true)
	h.OnAdd(a("y", 2, 0), true)
	h.OnAdd(a("z", 3, 0), false)
	y := a("y", 2, 0)
	h.OnUpdate(a("x", 1, 0), a("x", 4, time.Second))
	h.OnUpdate(y, y) // after a relist
	h.OnDelete(a("y", 5, 0))
	h.OnDelete(clientgo.DeletedFinalStateUnknown{Obj: a("z", 3, 0)})
	h.OnAdd(a("y", 6, 0), false) // created again
	state, changes := h.state()
	var want world.State
	want.Add("x", 4)
	want.Add("y", 6)
	assert.Equal(t, want, state)
	assert.Equal(t, uint64(5), changes)
	assert.Zero(t, h.faulty, "%v", h.faults)
	l := h.latencies[phaseStart].summary()
	assert.Equal(t, int64(4), l.Events)
	assert.Equal(t, int64(1), l.Over)
	assert.InEpsilon(t, 1_000_000, l.Max, 0.2)
}

// TestFaultsAreNoticed checks that a handler counts each kind of fault.
func TestFaultsAreNoticed(t *testing.T) {
	for name, wrong := range map[string]func(*handler){
		"added twice":             func(h *handler) { h.OnAdd(a("x", 4, 0), false) },
		"an older version":        func(h *handler) { h.OnUpdate(a("x", 3, 0), a("x", 2, 0)) },
		"the same one, changed":   func(h *handler) { h.OnUpdate(a("x", 3, 0), a("x", 3, time.Second)) },
		"one was left out":        func(h *handler) { h.OnUpdate(a("x", 4, 0), a("x", 5, 0)) },
		"relisted, and not known": func(h *handler) { y := a("y", 1, 0); h.OnUpdate(y, y) },
		"another object":          func(h *handler) { h.OnUpdate(a("x", 3, 0), a("y", 5, 0)) },
		"deleted, and not known":  func(h *handler) { h.OnDelete(a("y", 3, 0)) },
		"deleted at the old one":  func(h *handler) { h.OnDelete(a("x", 3, 0)) },
		"missed at another one":   func(h *handler) { h.OnDelete(clientgo.DeletedFinalStateUnknown{Obj: a("x", 2, 0)}) },
		"no object":               func(h *handler) { h.OnAdd("x", false) },
		"no version":              func(h *handler) { h.OnAdd(&corev1.Pod{}, false) },
	} {
		h := newTestHandler()
		h.OnAdd(a("x", 3, 0), true)
		require.Zero(t, h.faulty)
		wrong(h)
		assert.Equal(t, 1, h.faulty, name)
	}
}
