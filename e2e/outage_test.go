// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kinformer/cache/e2e/follow"
	"github.com/kinformer/cache/inspect"
)

// logBook keeps the lines of a logger.
type logBook struct {
	mu    sync.Mutex
	lines []string
}

// Write takes a line.
func (b *logBook) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, string(line))
	return len(line), nil
}

// about returns the lines with what in them.
func (b *logBook) about(what string) (found []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, line := range b.lines {
		if strings.Contains(line, what) {
			found = append(found, line)
		}
	}
	return found
}

// TestInformerTellsOfAnOutage of a server that is killed and comes back after some seconds: by its
// status while it lasts and afterwards, and in the log.
func TestInformerTellsOfAnOutage(t *testing.T) {
	t.Parallel()
	ctx, book := patientContext(t), &logBook{}
	srv := startServer(t, ctx)
	r := resourceOf(t, srv, "pods-protobuf")
	f := startFollowing(t, klog.NewContext(ctx, textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(book)))), r, follow.ListMode)
	status := func() inspect.Status {
		s, err := inspect.StatusOf(f.GetController())
		require.NoError(t, err)
		return s
	}
	require.Empty(t, status().Problems)

	require.NoError(t, srv.Kill())
	require.NoError(t, until(ctx, func() bool { return len(book.about("out of reach")) > 0 }))
	s := status()
	assert.Contains(t, fmt.Sprint(s.Problems), "the server went out of reach")
	assert.GreaterOrEqual(t, s.LastOutage, 5*time.Second)
	require.NoError(t, srv.Restart(ctx))
	require.NoError(t, until(ctx, func() bool { return len(book.about("in reach again")) > 0 && len(status().Problems) == 0 }))
	s = status()
	assert.NotZero(t, s.Reconnects)
	t.Logf("%v; %q %q", s, book.about("out of reach"), book.about("in reach again"))
	created(t, ctx, r, "after")
	f.stop()
}
