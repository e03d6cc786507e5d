// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package resources_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache"
)

const (
	childTimeout = time.Minute
	watchEvery   = 5 * time.Millisecond
	// stuckLimit is far above what the objects and the process take, and far below what all updates would.
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

var errTooMuch = errors.New("ended by its parent for its memory")

// run does the task in a child that is killed when more than limit bytes are resident. 0 means no limit.
func run(t *testing.T, what task, limit int64) (result, error) {
	t.Helper()
	if _, err := os.Stat("/proc/self/clear_refs"); err != nil {
		t.Skipf("resident memory is watched on Linux only, this is %s", runtime.GOOS)
	}
	description, err := json.Marshal(what)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(description))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil {
				return result{}, fmt.Errorf("child: %w", err)
			}
			var r result
			return r, json.Unmarshal(out.Bytes(), &r)
		case <-ticker.C:
			if limit > 0 && resident(cmd.Process.Pid) > limit {
				require.NoError(t, cmd.Process.Kill())
				<-ended
				return result{}, errTooMuch
			}
		}
	}
}

// resident is what a process has in memory, 0 if it is gone.
func resident(pid int) int64 {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	n, err := parseStatus(string(content), "VmRSS")
	if err != nil {
		return 0
	}
	return n
}

func mib(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }

// TestAStuckHandlerDoesNotTakeTheProcessDown: with Coalesce and Disconnect, memory does not grow with the updates that a handler
// does not take. With what client-go does, and is the default here, it does, which also shows that the limit is one.
func TestAStuckHandlerDoesNotTakeTheProcessDown(t *testing.T) {
	for _, c := range []struct {
		name     string
		library  string
		overflow cache.Overflow
		survives bool
	}{
		{"kinformer, Coalesce", "kinformer", cache.Coalesce, true},
		{"kinformer, Disconnect", "kinformer", cache.Disconnect, true},
		{"kinformer, Lossless", "kinformer", cache.Lossless, false},
		{"client-go", "client-go", cache.Lossless, false},
	} {
		r, err := run(t, task{Library: c.library, Overflow: c.overflow, Objects: 1000, Updates: 400_000}, stuckLimit)
		t.Logf("%s: steady %s, peak %s, %v", c.name, mib(r.Steady), mib(r.Peak), err)
		if c.survives {
			assert.NoError(t, err, c.name)
		} else {
			assert.ErrorIs(t, err, errTooMuch, c.name)
		}
	}
}

// TestMemoryOfARelist reports what a relist of unchanged objects takes, in each library and mode, of a process that collects
// its garbage as if its memory limit were 1.4 times what it has.
func TestMemoryOfARelist(t *testing.T) {
	for _, stream := range []bool{true, false} {
		for library := range libraries {
			r, err := run(t, task{Library: library, Objects: 100_000, Relists: 1, Stream: stream, MemoryLimit: 1.4}, 0)
			require.NoError(t, err)
			t.Logf("%s, watch-list %t: steady %s, peak %s, %.2fx", library, stream, mib(r.Steady), mib(r.Peak), float64(r.Peak)/float64(r.Steady))
		}
	}
}
