// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/bench/internal/child"
	"github.com/kinformer/cache/bench/internal/report"
)

// TestMain also runs the server process of the rows that use HTTP.
func TestMain(m *testing.M) {
	is, err := child.Main(context.Background(), roles)
	if !is {
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func TestDefaultsFollowMode(t *testing.T) {
	tests := map[string]struct {
		given                config
		wantObjects, wantAll int
	}{
		"full":         {config{}, 100_000, 5},
		"quick":        {config{quick: true}, 10_000, 3},
		"what is said": {config{n: 7, rounds: 2}, 7, 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := test.given.withDefaults()
			assert.Equal(t, test.wantObjects, got.n)
			assert.Equal(t, test.wantAll, got.rounds)
		})
	}
}

func TestBadCommandLines(t *testing.T) {
	for _, args := range [][]string{{"-run", "("}, {"extra"}, {"-no-such-flag"}} {
		_, err := parse(args, io.Discard)
		assert.Error(t, err, "%v", args)
	}
	_, err := parse([]string{"-h"}, io.Discard)
	assert.ErrorIs(t, err, flag.ErrHelp)
	err = run(t.Context(), []string{"-run", "no such row"}, io.Discard, io.Discard)
	assert.ErrorContains(t, err, "no row")
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	var stdout bytes.Buffer
	err := run(t.Context(), []string{
		"-quick", "-control", "-n", "100", "-rounds", "1", "-run", "^fanout/0-1$",
		"-cpuprofile", filepath.Join(dir, "p."),
	}, &stdout, io.Discard)
	require.NoError(t, err)
	assert.Contains(t, stdout.String(), "| `fanout/0-1` | watch events, handlers: 1, ResultChan: unbuffered | CPU, ns/event |")
	assert.Contains(t, stdout.String(), "| client-go again | v0.37.2 |")
	assert.Contains(t, stdout.String(), "100 objects")
	profiles, err := filepath.Glob(filepath.Join(dir, "p.fanout-0-1.client-go*.1.cpu.pprof"))
	require.NoError(t, err)
	assert.Len(t, profiles, 2, "one for each side")
}

func TestFloorsNameRowsThatAQuickRunHas(t *testing.T) {
	floors, err := readFloors("floors.txt")
	require.NoError(t, err)
	err = floors.Check(nil, names(rows(quickObjects)))
	assert.NotErrorIs(t, err, report.ErrUnknown)
	assert.NotErrorIs(t, err, report.ErrUnguarded)
	_, err = readFloors("no such file")
	assert.Error(t, err)
}
