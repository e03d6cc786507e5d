// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestMain is also the main of the child processes, as the demo starts what it is itself.
func TestMain(m *testing.M) {
	if library := os.Getenv(childVariable); library != "" {
		os.Exit(childMain(library))
	}
	os.Exit(m.Run())
}

func TestDemo(t *testing.T) {
	out := &bytes.Buffer{}
	require.NoError(t, run(t.Context(), options{pods: 100, duration: 5 * time.Second}, out))
	assert.Regexp(t, `(?s)creating 100 pods.*http://127\.0\.0\.1:\d+/debug/informers/ shows.*killing the server.*the server was away for \S+; \S+ after it was back the cache had `+
		`caught up, from version \d+ to \d+: watching, outage \S+, mode watch-list, lists \d+, watches \d+.*self-check passed.*beside each other`, out.String())
	for _, library := range []string{ours, theirs} {
		assert.Regexp(t, `  `+library+` +CPU \d+\.\d\d s, live heap \d+\.\d MB, lag \d+\.\d/\d+\.\d ms\n`, out.String())
	}
}

// TestUnchangedObjectsAreNoChanges: what an outage has the handler hear again is neither counted
// nor late.
func TestUnchangedObjectsAreNoChanges(t *testing.T) {
	at := func(version string) *corev1.Pod {
		written := strconv.FormatInt(time.Now().Add(-time.Hour).UnixNano(), 10)
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version, Annotations: map[string]string{writtenAt: written}}}
	}
	f := &follower{}
	f.handler().OnAdd(at("1"), true)
	f.handler().OnUpdate(at("1"), at("1"))
	assert.Empty(t, f.lags)
	assert.Zero(t, f.events.Load())

	f.handler().OnUpdate(at("1"), at("2"))
	_, most := f.lag()
	assert.GreaterOrEqual(t, most, float64(time.Hour.Milliseconds()))
	f.handler().OnDelete(at("3"))
	assert.EqualValues(t, 2, f.events.Load())
}

func TestInterruptEndsInACheck(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := &bytes.Buffer{}
	require.NoError(t, run(ctx, options{pods: 10, duration: time.Minute}, &firstWrite{to: out, word: "watching  objects", then: cancel}))
	assert.Contains(t, out.String(), "self-check passed")
}

// firstWrite calls then when word has been written.
type firstWrite struct {
	to   io.Writer
	word string
	then func()
}

func (w *firstWrite) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.word) {
		w.then()
	}
	return w.to.Write(p)
}
