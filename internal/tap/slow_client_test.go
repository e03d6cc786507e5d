// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/taptest"
)

// slowBody hands out a byte at a time, each a little later.
type slowBody struct{ io.ReadCloser }

func (b slowBody) Read(p []byte) (int, error) {
	time.Sleep(time.Microsecond)
	return b.ReadCloser.Read(p[:min(len(p), 1)])
}

// slowly is a RoundTripper of the user's, outside of ours, that makes bodies slow.
func slowly(rt http.RoundTripper) http.RoundTripper {
	return trip(func(r *http.Request) (*http.Response, error) {
		resp, err := rt.RoundTrip(r)
		if err == nil {
			resp.Body = slowBody{resp.Body}
		}
		return resp, err
	})
}

// pausingBody makes a pause before one of its reads.
type pausingBody struct {
	io.ReadCloser
	before int
}

func (b *pausingBody) Read(p []byte) (int, error) {
	if b.before--; b.before == 0 {
		time.Sleep(time.Second)
	}
	return b.ReadCloser.Read(p)
}

// pausing is a RoundTripper of the user's, inside of ours, that makes a pause before that read of a
// body.
func pausing(before int) func(http.RoundTripper) http.RoundTripper {
	return func(rt http.RoundTripper) http.RoundTripper {
		return trip(func(r *http.Request) (*http.Response, error) {
			resp, err := rt.RoundTrip(r)
			if err == nil {
				resp.Body = &pausingBody{resp.Body, before}
			}
			return resp, err
		})
	}
}

// TestSlowClient: a client that has answered before it has read all of a frame, because white space
// follows the value, does not see what is in the place of the rest by then: a frame that we decode,
// and that it was not handed.
func TestSlowClient(t *testing.T) {
	const media, both = "application/json", 8 // frames that go both ways
	script := manyEvents()
	script[both].obj.(*v1.Pod).Name = strings.Repeat("long", 100)
	var frames [][]byte
	for _, e := range script {
		frames = append(frames, append(bytes.TrimSpace(taptest.Frame(e.kind, e.obj, media)), "          \n"...))
	}
	var heardBy [2]heard
	var state tap.State
	for i, wraps := range [][]func(http.RoundTripper) http.RoundTripper{{slowly}, {pausing(both + 2), transport, slowly}} {
		synctest.Test(t, func(t *testing.T) {
			c := &rest.Config{Host: "http://127.0.0.1:1", Transport: ending(media, frames), QPS: -1}
			c.ContentType = media
			for _, wrap := range wraps {
				c.Wrap(wrap)
			}
			source := tappedOf(generated(t, c), &v1.Pod{}, func(o *tap.Options) { o.Verify = both + 2 })
			heardBy[i] = follow(t, source, firstWatch, 0)
			state = source.ledger.State()
		})
	}
	require.Len(t, heardBy[0].Events, len(script))
	assert.Equal(t, heardBy[0], heardBy[1])
	assert.Equal(t, tap.State{On: true, Encoding: tap.JSON, Decoded: int64(len(script) - both - 1), Verified: both + 1}, state)
}
