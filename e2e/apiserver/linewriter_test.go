// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writes records each Write apart.
type writes []string

func (w *writes) Write(p []byte) (int, error) {
	*w = append(*w, string(p))
	return len(p), nil
}

func TestLineWriterPassesWholeLines(t *testing.T) {
	var got writes
	l := &lineWriter{w: &got}
	for _, part := range []string{"one", " line\n", "two\nthree\nfo", "ur\n", "unfinished"} {
		n, err := io.WriteString(l, part)
		require.NoError(t, err)
		assert.Equal(t, len(part), n)
	}
	assert.Equal(t, writes{"one line\n", "two\n", "three\n", "four\n"}, got)
}

func TestRelayFindsTheEndpointBetweenLines(t *testing.T) {
	want := Endpoint{URL: "https://127.0.0.1:1", Port: 1, CA: []byte("ca\n"), AdminToken: "a", UserToken: "u"}
	out := bytes.NewBufferString("before\n")
	require.NoError(t, WriteReady(out, want))
	out.WriteString("after\n")
	var log strings.Builder
	ready := make(chan Endpoint, 1)
	require.NoError(t, relay(out, &log, ready))
	assert.Equal(t, want, <-ready)
	assert.Equal(t, "before\nafter\n", log.String())

	err := relay(strings.NewReader("READY {broken\n"), &log, ready)
	assert.ErrorContains(t, err, "{broken")
}
