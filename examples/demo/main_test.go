// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestBadFlags(t *testing.T) {
	for _, args := range []string{"-duration soon", "-pods 0", "-kubeconfig a pods", "-unknown", "-kubeconfig a -apiserver b"} {
		_, err := parseFlags(strings.Fields(args), io.Discard)
		assert.Error(t, err, args)
	}
	o, err := parseFlags(nil, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, options{resource: "pods", pods: 3000, duration: 30 * time.Second, compare: true}, o)
}

// TestMain is also the main of the child processes, as the demo starts what it is itself.
func TestMain(m *testing.M) {
	if library := os.Getenv(childVariable); library != "" {
		os.Exit(childMain(library))
	}
	os.Exit(m.Run())
}

func TestUnreachableCluster(t *testing.T) {
	address := refusing(t)
	kubeconfig := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(kubeconfig, []byte(`{apiVersion: v1, kind: Config, current-context: c,
contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: "https://`+address+`"}}]}`), 0o600))

	err := run(t.Context(), options{kubeconfig: kubeconfig, resource: "pods", duration: time.Minute}, io.Discard)
	assert.ErrorContains(t, err, "cannot be reached")
	assert.ErrorContains(t, err, address)
}

// refusing returns an address that refuses connections until the test ends: one that a client has,
// and not a server.
func refusing(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, listener.Close()) })
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	return conn.LocalAddr().String()
}

func TestMissingKubeconfig(t *testing.T) {
	err := run(t.Context(), options{kubeconfig: filepath.Join(t.TempDir(), "none"), resource: "pods"}, io.Discard)
	assert.ErrorContains(t, err, "kubeconfig")
}

func TestUnknownResource(t *testing.T) {
	err := run(t.Context(), options{resource: "gadgets.example.com", pods: 1, duration: time.Minute}, io.Discard)
	assert.ErrorContains(t, err, `does not serve "gadgets.example.com"`)
}

func TestDemoOnTheEmbeddedServer(t *testing.T) {
	out := &bytes.Buffer{}
	require.NoError(t, run(t.Context(), options{resource: "deployments.apps", pods: 100, duration: 5 * time.Second, compare: true}, out))
	assert.Regexp(t, `(?s)creating 100 deployments.*http://127\.0\.0\.1:\d+/debug/informers/ shows.*killing the server.*the server was away for \S+; \S+ after it was back the cache had `+
		`caught up, from version \d+ to \d+: watching, outage \S+, mode watch-list, lists \d+, watches \d+.*self-check passed.*beside each other`, out.String())
	for _, library := range libraries {
		assert.Regexp(t, `  `+library+` +CPU \d+\.\d\d s, live heap \d+\.\d MB, lag \d+\.\d/\d+\.\d ms\n`, out.String())
	}
}

// TestUnchangedObjectsAreNoChanges: what an outage has the handler hear again is neither counted
// nor late.
func TestUnchangedObjectsAreNoChanges(t *testing.T) {
	at := func(version string) *corev1.ConfigMap {
		written := strconv.FormatInt(time.Now().Add(-time.Hour).UnixNano(), 10)
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version, Annotations: map[string]string{writtenAt: written}}}
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
	first := &firstWrite{to: out, word: "watching  objects", then: cancel}
	require.NoError(t, run(ctx, options{resource: "configmaps", pods: 10, duration: time.Minute}, first))
	assert.Contains(t, out.String(), "interrupted")
	assert.Contains(t, out.String(), "self-check passed")
}

// TestKeepGoesOn: after the check until it is interrupted, with the page.
func TestKeepGoesOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := &bytes.Buffer{}
	first := &firstWrite{to: out, word: "goes on until you interrupt it"}
	first.then = func() {
		address := regexp.MustCompile(`http://127\.0\.0\.1:\d+/debug/informers/`).FindString(out.String())
		go func() {
			defer cancel()
			response, err := http.Get(address + "?format=text")
			if !assert.NoError(t, err) {
				return
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			assert.NoError(t, err)
			assert.Contains(t, string(text), "ConfigMap")
		}()
	}
	require.NoError(t, run(ctx, options{resource: "configmaps", pods: 10, duration: 5 * time.Second, keep: true}, first))
	assert.Error(t, ctx.Err())
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
