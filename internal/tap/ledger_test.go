// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/taptest"
	"github.com/kinformer/cache/internal/testkit"
)

// lateBody is no list. The read that waits when it is closed ends later.
type lateBody struct {
	begun bool
	late  chan error
}

func (b *lateBody) Read(p []byte) (int, error) {
	p[0] = '!'
	if b.begun {
		return 1, <-b.late
	}
	b.begun = true
	return 1, nil
}

func (b *lateBody) Close() error { return nil }

// TestReceivedNoMore: a read of a list that ends when its body is closed says nothing of what is
// received by then: be it nothing, or the next list.
func TestReceivedNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := taptest.Encoded(podList("5"), runtime.ContentTypeJSON)
		server := &taptest.Wire{Media: runtime.ContentTypeJSON, Answer: func(*http.Request) ([][]byte, bool) { return [][]byte{good}, false }}
		late, sent, answers := make(chan error), make(chan struct{}), make(chan struct{})
		lists := 0
		c := &rest.Config{Host: "http://127.0.0.1:1", QPS: -1, Transport: trip(func(r *http.Request) (*http.Response, error) {
			resp, err := server.RoundTrip(r)
			switch lists++; lists {
			case 1, 3:
				_ = resp.Body.Close()
				resp.Body = &lateBody{late: late}
			case 5:
				close(sent)
				<-answers
			}
			return resp, err
		})}
		c.ContentType = runtime.ContentTypeJSON
		c.Wrap(transport)
		source := tappedOf(generated(t, c), &v1.Pod{}, usesOwn)
		receives := func() bool {
			synctest.Wait()
			_, more := source.ledger.Received()
			return more
		}
		assert.Equal(t, []string{"suspended:"}, asked(t, source, 1))
		late <- nil
		assert.False(t, receives())

		assert.Equal(t, []string{"client", "suspended:", "client"}, asked(t, source, 3))
		done := make(chan heard)
		go func() { done <- ask(t, source, firstList) }()
		<-sent
		late <- io.EOF
		assert.True(t, receives())
		close(answers)
		assert.Len(t, (<-done).Items, 20)
		assert.False(t, receives())
	})
}

// TestHost: the ledger has the host of the last request, of a list or a watch, also if there was no
// answer.
func TestHost(t *testing.T) {
	sent := func(ctx context.Context, url string) error {
		tap.From(ctx).Begin(httptest.NewRequest("GET", url, nil))
		return testkit.ErrRefused
	}
	var ledger tap.Ledger
	source := tap.New(&clientgo.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			return nil, sent(ctx, "https://a:6443/api/v1/pods")
		},
		WatchFuncWithContext: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			return nil, sent(ctx, "https://b:6443/api/v1/pods")
		},
	}, &v1.Pod{}, tap.Options{Ledger: &ledger})
	assert.Empty(t, ledger.Host())
	_, err := source.ListWithContext(t.Context(), metav1.ListOptions{})
	assert.ErrorIs(t, err, testkit.ErrRefused)
	assert.Equal(t, "a:6443", ledger.Host())
	_, err = source.WatchWithContext(t.Context(), metav1.ListOptions{})
	assert.ErrorIs(t, err, testkit.ErrRefused)
	assert.Equal(t, "b:6443", ledger.Host())
}

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
