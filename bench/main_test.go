// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/bench/internal/guard"
	"github.com/kinformer/cache/bench/internal/report"
	"github.com/kinformer/cache/bench/internal/wire"
)

// TestMain is also the server of the rows that use HTTP.
func TestMain(m *testing.M) {
	if child, err := wire.ServeIfChild(); child {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestDefaultsFollowModeAndMemory(t *testing.T) {
	const gib = 1 << 30
	tests := map[string]struct {
		given                config
		available            uint64
		wantObjects, wantAll int
	}{
		"full":             {config{}, 64 * gib, 100_000, 5},
		"quick":            {config{quick: true}, 64 * gib, 10_000, 3},
		"unknown memory":   {config{}, 0, 100_000, 5},
		"little memory":    {config{}, 4 * gib, 21_474, 5},
		"hardly memory":    {config{}, 1 << 20, 1000, 5},
		"what is said":     {config{n: 7, rounds: 2}, 64 * gib, 7, 2},
		"said over memory": {config{n: 500_000}, 4 * gib, 500_000, 5},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := test.given.withDefaults(test.available)
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
	assert.ErrorIs(t, run(t.Context(), []string{"-read", "no such file"}, io.Discard, io.Discard), os.ErrNotExist)
}

func TestRunWritesEveryFormat(t *testing.T) {
	dir := t.TempDir()
	var stdout bytes.Buffer
	err := run(t.Context(), []string{
		"-quick", "-control", "-n", "100", "-rounds", "1", "-run", "^store/list$",
		"-json", filepath.Join(dir, "out.json"), "-benchstat", filepath.Join(dir, "out.txt"), "-cpuprofile", filepath.Join(dir, "p."),
	}, &stdout, io.Discard)
	require.NoError(t, err)
	assert.Contains(t, stdout.String(), "| `store/list` | List of all | CPU, ns/op |")
	assert.Contains(t, stdout.String(), "| client-go again | v0.37.2 |")

	document, err := report.Read(filepath.Join(dir, "out.json"))
	require.NoError(t, err)
	assert.Equal(t, 100, document.Objects)
	var again bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-read", filepath.Join(dir, "out.json")}, &again, io.Discard))
	assert.Equal(t, stdout.String(), again.String())

	content, err := os.ReadFile(filepath.Join(dir, "out.txt"))
	require.NoError(t, err)
	assert.Contains(t, string(content), "BenchmarkStore/list/side=client-go-again-")

	profiles, err := filepath.Glob(filepath.Join(dir, "p.store-list.client-go*.1.cpu.pprof"))
	require.NoError(t, err)
	assert.Len(t, profiles, 2, "one for each side")
}

// TestRowsTakenAgain: with -read and -run, the rows that were named are measured,
// and stand with the others in the order of a whole run. The objects have to be
// as many.
func TestRowsTakenAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.json")
	measured := func(args ...string) (string, error) {
		var stdout bytes.Buffer
		err := run(t.Context(), append(args, "-quick", "-rounds", "1", "-json", file), &stdout, io.Discard)
		return stdout.String(), err
	}
	first, err := measured("-n", "100", "-run", "^store/list$|^store/get-cold$")
	require.NoError(t, err)
	second, err := measured("-n", "100", "-run", "^store/(list|get-hot)$", "-read", file)
	require.NoError(t, err)
	line := func(text, row string) string {
		at := strings.Index(text, "| `"+row+"`")
		require.Positive(t, at, row)
		return text[at : at+strings.Index(text[at:], "\n")]
	}
	assert.Equal(t, line(first, "store/get-cold"), line(second, "store/get-cold"))
	assert.Equal(t, []string{"get-cold", "get-hot", "list"}, regexpFound(second, "`store/([a-z-]+)` \\|"))
	assert.Contains(t, second, "| rows `^store/(list\\|get-hot)$` | taken again with ")

	_, err = measured("-n", "101", "-run", "^store/list$", "-read", file)
	assert.ErrorContains(t, err, "of other objects")
}

func regexpFound(text, pattern string) (all []string) {
	for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		all = append(all, found[1])
	}
	return all
}

// TestFloorsNameRowsThatAQuickRunHas needs no run: with all floors at zero a
// file could still name what is not there.
func TestFloorsNameRowsThatAQuickRunHas(t *testing.T) {
	floors, err := readFloors("floors.txt")
	require.NoError(t, err)
	err = floors.Check(nil, rowNames(rows()))
	assert.NotErrorIs(t, err, guard.ErrUnknown)
	assert.NotErrorIs(t, err, guard.ErrUnguarded)
	_, err = readFloors("no such file")
	assert.Error(t, err)
}

func TestCommandOf(t *testing.T) {
	assert.Equal(t, "make bench", commandOf(config{}, []string{"-json", "x"}))
	assert.Equal(t, "cd bench && go run . '-run' '^store/'", commandOf(config{named: true}, []string{"-run", "^store/"}))
}
