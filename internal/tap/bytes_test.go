// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// weighed is a body that is counted as it is read.
type weighed struct {
	io.ReadCloser
	n *atomic.Int64
}

func (w weighed) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	w.n.Add(int64(n))
	return n, err
}

// TestBytes: the bytes of lists and watches are those that come from the server. What is left to
// the client is not known.
func TestBytes(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		var n atomic.Int64
		weighing := func(rt http.RoundTripper) http.RoundTripper {
			return trip(func(r *http.Request) (*http.Response, error) {
				resp, err := rt.RoundTrip(r)
				if err == nil {
					resp.Body = weighed{resp.Body, &n}
				}
				return resp, err
			})
		}
		lists := []answer{page(metav1.ListMeta{ResourceVersion: "5"}, pods(20, "4")...)}
		watches := []answer{events(false, manyEvents()...)}
		source := tappedOf(k.make(t, newServer(t, http2, lists, watches).config(weighing, transport)), k.example, k.decoders)
		ask(t, source, firstList)
		ofLists, ofWatches := source.ledger.Bytes()
		assert.Positive(t, ofLists)
		assert.Equal(t, n.Swap(0), ofLists)
		assert.Zero(t, ofWatches)
		follow(t, source, firstWatch, 0)
		again, ofWatches := source.ledger.Bytes()
		assert.Equal(t, ofLists, again)
		assert.Positive(t, ofWatches)
		assert.Equal(t, n.Load(), ofWatches)

		untapped := tappedOf(k.make(t, newServer(t, http2, lists, watches).config()), k.example, k.decoders)
		ask(t, untapped, firstList)
		ofLists, ofWatches = untapped.ledger.Bytes()
		assert.Zero(t, ofLists+ofWatches)
	})
}
