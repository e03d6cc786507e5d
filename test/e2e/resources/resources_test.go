// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package resources_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/internal/testkit/cputime"
	"github.com/kinformer/cache/kinformer"
)

const (
	childTimeout = 10 * time.Minute // far longer than a child takes
	watchEvery   = 5 * time.Millisecond
	// stuckLimit is far above the memory of the process with its objects, and far below that of all
	// updates.
	stuckLimit = 200 << 20
)

func TestMain(m *testing.M) {
	if description := os.Getenv(childEnv); description != "" {
		if err := child(description); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var errTooMuch = errors.New("more memory than it may have")

// limits bounds the resident memory of a child in bytes, and as a multiple of its memory after the
// initial state. 0 means no limit.
type limits struct {
	bytes    uint64
	multiple float64
}

// run runs the task in a child. It returns errTooMuch if the child exceeded its limits. In that case the
// parent kills the child, unless the child ends first.
func run(t *testing.T, what task, may limits) (result, error) {
	t.Helper()
	if _, err := os.Stat("/proc/self/clear_refs"); err != nil {
		t.Skipf("resident memory is watched on Linux only, this is %s", runtime.GOOS)
	}
	description, err := json.Marshal(what)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(description))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	results := make(chan result) // closed after the child has closed its output
	go func() {
		defer close(results)
		for said := json.NewDecoder(out); ; {
			var r result
			if said.Decode(&r) != nil {
				return // the child has ended; see Wait
			}
			results <- r
		}
	}()
	return watchMemory(t, cmd, results, may)
}

func watchMemory(t *testing.T, cmd *exec.Cmd, results <-chan result, may limits) (last result, err error) {
	t.Helper()
	limit, tooMuch := may.bytes, false
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case r, more := <-results:
			if more {
				last = r
				if may.multiple > 0 {
					limit = uint64(may.multiple * float64(r.Steady))
				}
				continue
			}
			switch err := cmd.Wait(); {
			case tooMuch:
				return last, errTooMuch
			case err != nil:
				return last, fmt.Errorf("child: %w", err)
			case limit > 0 && last.Peak > limit: // between two checks of the parent
				return last, errTooMuch
			default:
				return last, nil
			}
		case <-ticker.C:
			used, _ := cputime.Of(cmd.Process.Pid) // no memory if the child has ended
			if limit > 0 && !tooMuch && used.RSS > limit {
				tooMuch = true
				require.NoError(t, cmd.Process.Kill())
			}
		}
	}
}

func mib(n uint64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }

// TestAStuckHandlerDoesNotTakeTheProcessDown checks that memory does not grow with the updates for a
// stuck handler under OverflowCoalesce and OverflowDisconnect. Under OverflowLossless, which is the
// default and client-go's behavior, it grows beyond the limit, which also validates the limit.
func TestAStuckHandlerDoesNotTakeTheProcessDown(t *testing.T) {
	for _, c := range []struct {
		name     string
		library  string
		overflow kinformer.Overflow
		survives bool
	}{
		{"kinformer, Coalesce", "kinformer", kinformer.OverflowCoalesce, true},
		{"kinformer, Disconnect", "kinformer", kinformer.OverflowDisconnect, true},
		{"kinformer, Lossless", "kinformer", kinformer.OverflowLossless, false},
		{"client-go", "client-go", kinformer.OverflowLossless, false},
	} {
		r, err := run(t, task{Library: c.library, Overflow: c.overflow, Objects: 1000, Updates: 400_000}, limits{bytes: stuckLimit})
		t.Logf("%s: steady %s, peak %s, %v", c.name, mib(r.Steady), mib(r.Peak), err)
		if c.survives {
			assert.NoError(t, err, c.name)
		} else {
			assert.ErrorIs(t, err, errTooMuch, c.name)
		}
	}
}

var relistLimit = flag.Float64("relist-limit", 1.5,
	"what a watch-list relist may take, as a multiple of what is resident before; 0: it is reported only")

// TestMemoryOfARelist reports the peak of a relist of unchanged objects, for each library and mode, in a
// process with a memory limit of 1.4 times its steady memory. Kinformer's peak in a watch-list relist
// must not exceed 1.5 times that memory, or -relist-limit: otherwise the child is killed.
func TestMemoryOfARelist(t *testing.T) {
	const limitOfRuntime = 1.4
	for _, stream := range []bool{true, false} {
		for _, library := range slices.Sorted(maps.Keys(libraries)) {
			may := limits{}
			if stream && library == "kinformer" {
				may.multiple = *relistLimit
			}
			r, err := run(t, task{Library: library, Objects: 100_000, Relists: 1, Stream: stream, MemoryLimit: limitOfRuntime}, may)
			t.Logf("%s, watch-list %t: steady %s, peak %s, %.2fx", library, stream, mib(r.Steady), mib(r.Peak), float64(r.Peak)/float64(r.Steady))
			assert.NoError(t, err)
		}
	}
}
