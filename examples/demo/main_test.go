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

	"github.com/kinformer/cache"
)

func TestBadFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-duration 1s":               "too short",
		"-duration soon":             "bad flags",
		"-pods 0":                    "out of range",
		"-resource=":                 "-resource is empty",
		"-kubeconfig a pods":         "unexpected argument",
		"-kubeconfig a -pods=-1":     "out of range",
		"-unknown":                   "bad flags",
		"-kubeconfig a -apiserver b": "exclude each other",
	} {
		_, err := parseFlags(strings.Fields(args), io.Discard)
		assert.ErrorContains(t, err, want, args)
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

// plain is a screen that is no terminal.
func plain() (*screen, *bytes.Buffer) {
	out := &bytes.Buffer{}
	return &screen{out: out}, out
}

func TestUnreachableCluster(t *testing.T) {
	address := refusing(t)
	kubeconfig := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(kubeconfig, []byte(`{apiVersion: v1, kind: Config, current-context: c,
contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: "https://`+address+`"}}]}`), 0o600))

	screen, _ := plain()
	err := run(t.Context(), options{kubeconfig: kubeconfig, resource: "pods", duration: time.Minute}, screen)
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
	screen, _ := plain()
	err := run(t.Context(), options{kubeconfig: filepath.Join(t.TempDir(), "none"), resource: "pods"}, screen)
	assert.ErrorContains(t, err, "kubeconfig")
}

func TestUnknownResource(t *testing.T) {
	screen, _ := plain()
	err := run(t.Context(), options{resource: "gadgets.example.com", pods: 1, duration: time.Minute}, screen)
	assert.ErrorContains(t, err, `does not serve "gadgets.example.com"`)
}

func TestDemoOnTheEmbeddedServer(t *testing.T) {
	screen, out := plain()
	require.NoError(t, run(t.Context(), options{resource: "deployments.apps", pods: 100, duration: 5 * time.Second, compare: true}, screen))
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
	assert.Zero(t, f.lags.take())
	assert.Zero(t, f.events.Load())

	f.handler().OnUpdate(at("1"), at("2"))
	assert.GreaterOrEqual(t, f.lags.take().Half, time.Hour)
	assert.Zero(t, f.lags.take(), "since then")
	assert.GreaterOrEqual(t, f.lags.total().Most, time.Hour)
	f.handler().OnDelete(at("3"))
	assert.EqualValues(t, 2, f.events.Load())
}

func TestInterruptEndsInACheck(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	screen, out := plain()
	first := &firstWrite{to: screen.out, word: "synced  watching  objects", then: cancel}
	screen.out = first
	require.NoError(t, run(ctx, options{resource: "configmaps", pods: 10, duration: time.Minute}, screen))
	assert.Contains(t, out.String(), "interrupted")
	assert.Contains(t, out.String(), "self-check passed")
}

// TestKeepGoesOn: after the check until it is interrupted, with the page.
func TestKeepGoesOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	screen, out := plain()
	first := &firstWrite{to: screen.out, word: "goes on until you interrupt it"}
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
	screen.out = first
	require.NoError(t, run(ctx, options{resource: "configmaps", pods: 10, duration: 5 * time.Second, keep: true}, screen))
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

func TestCompareFindsEveryDifference(t *testing.T) {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	for name, version := range map[string]string{"same": "1", "older": "1", "gone": "1"} {
		require.NoError(t, store.Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}))
	}
	assert.ElementsMatch(t, []string{
		"older is cached in another version", "new is missing in the cache", "gone is cached and does not exist",
	}, compare(store, map[string]string{"same": "1", "older": "2", "new": "3"}))
	assert.Equal(t, "2 differences; a; b", summary([]string{"a", "b"}))
}

func TestStatusIsRenewedInPlaceOnATerminal(t *testing.T) {
	out := &bytes.Buffer{}
	s := &screen{out: out, terminal: true, width: func() int { return 4 }}
	s.setStatus("one")
	s.line("note")
	s.setStatus("two is too long")
	s.endStatus()
	assert.Equal(t, clearLine+"one"+clearLine+"note\none"+clearLine+"two\n", out.String())
}
