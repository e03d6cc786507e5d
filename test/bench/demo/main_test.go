// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/test/bench/internal/child"
)

// TestMain is also the main function of the child processes, because the demo starts its own binary.
func TestMain(m *testing.M) {
	child.Become(roles)
	os.Exit(m.Run())
}

// TestDemo runs a short demo with the simulated server and, if KINFORMER_APISERVER names its binary, with
// the embedded one.
func TestDemo(t *testing.T) {
	t.Run("simulated", func(t *testing.T) { testDemo(t, "", "a simulated API server") })
	t.Run("embedded", func(t *testing.T) {
		binary := os.Getenv("KINFORMER_APISERVER")
		if binary == "" {
			t.Skip("KINFORMER_APISERVER is not set")
		}
		testDemo(t, binary, "an API server of k8s.io/apiserver")
	})
}

func testDemo(t *testing.T, apiserver, begins string) {
	ctx, cancel := context.WithCancel(t.Context())
	out, page := &bytes.Buffer{}, ""
	look := func(said string) {
		defer cancel()
		response, err := http.Get(regexp.MustCompile(`http://\S+`).FindString(said))
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		page = string(body)
	}
	short := options{apiserver: apiserver, pods: 30, duration: 100 * time.Millisecond, outage: time.Millisecond, keep: true}
	require.NoError(t, run(ctx, short, &firstWrite{to: out, word: "until an interrupt", then: look}))
	for _, r := range rows {
		figure := `\d[\d.]* ` + r.unit
		assert.Regexp(t, `(?m)^`+r.label+` +`+figure+` +`+figure+` +>?[\d.]+x +`+figure+` +>?[\d.]+x$`, out.String())
	}
	assert.True(t, strings.HasPrefix(out.String(), begins), "the first line names the server")
	assert.Contains(t, out.String(), "self-check passed: the cache equals a fresh LIST of 30 objects\n")
	assert.Contains(t, page, "pods.v1")
}

func TestInterruptEndsInACheck(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := &bytes.Buffer{}
	interrupt := &firstWrite{to: out, word: "updating", then: func(string) { cancel() }}
	require.NoError(t, run(ctx, options{pods: 10, duration: time.Hour}, interrupt))
	assert.Contains(t, out.String(), "self-check passed")
	assert.Contains(t, out.String(), "DEMO_FLAGS=-keep keeps it")
	assert.NotContains(t, out.String(), "\n"+afterOutage, "a row without figures")
}

// TestTable checks the ratio of a side that is worse than client-go.
func TestTable(t *testing.T) {
	out := &bytes.Buffer{}
	c := comparison{out: out, figures: map[string][]float64{}}
	c.add(longestGet, func(side int) float64 { return []float64{900, 200, 0}[side] })
	c.add(heap, func(side int) float64 { return []float64{10, 12.5, 3}[side] })
	out.Reset()
	c.print("7 pods")
	assert.Equal(t, `
7 pods                          client-go             direct             shared
live heap, one handler behind     10.0 MB    12.5 MB   0.80x    3.00 MB   3.33x
longest Get in the relist          900 ms     200 ms   4.50x    0.00 ms   >100x
x: client-go's figure divided by that of the side; above 1 the side is better

`, out.String())
}

// firstWrite calls then with the first write that contains word.
type firstWrite struct {
	to   io.Writer
	word string
	then func(string)
}

func (w *firstWrite) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if w.word != "" && strings.Contains(string(p), w.word) {
		w.word = ""
		w.then(string(p))
	}
	return n, err
}
