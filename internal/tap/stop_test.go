// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"bytes"
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/taptest"
)

// hanging answers with pieces, and goes on for ever.
func hanging(media string, pieces [][]byte) *taptest.Wire {
	return &taptest.Wire{Media: media, Answer: func(*http.Request) ([][]byte, bool) { return pieces, true }}
}

// ending answers with pieces.
func ending(media string, pieces [][]byte) *taptest.Wire {
	return &taptest.Wire{Media: media, Answer: func(*http.Request) ([][]byte, bool) { return pieces, false }}
}

// watchOver returns a source whose client has the wire in the place of a network.
func watchOver(t testing.TB, w *taptest.Wire, change func(*tap.Options)) tapped {
	c := &rest.Config{Host: "http://127.0.0.1:1", Transport: w, QPS: -1}
	if w.Media == "application/json" {
		c.ContentType = w.Media
	}
	c.Wrap(transport)
	return tappedOf(generated(t, c), &v1.Pod{}, change)
}

func watchPieces(media string) (pieces [][]byte) {
	for _, e := range manyEvents() {
		pieces = append(pieces, taptest.Frame(e.kind, e.obj, media))
	}
	return pieces
}

// TestStoppedAnywhere: a watch that is stopped after any number of events, or whose context ends
// then, leaves no body open and no goroutine.
func TestStoppedAnywhere(t *testing.T) {
	for _, media := range []string{"application/json", protobufType} {
		for after := range len(manyEvents()) + 1 {
			for _, by := range []func(watch.Interface, context.CancelFunc){
				func(w watch.Interface, _ context.CancelFunc) { w.Stop() },
				func(_ watch.Interface, cancel context.CancelFunc) { cancel() },
				func(w watch.Interface, cancel context.CancelFunc) { cancel(); w.Stop(); w.Stop() },
			} {
				synctest.Test(t, func(t *testing.T) {
					server := hanging(media, watchPieces(media))
					source := watchOver(t, server, func(o *tap.Options) { o.Make = taptest.SlowDecoders(named("p9"), nil) })
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					w, err := source.WatchWithContext(ctx, firstWatch)
					require.NoError(t, err)
					for range after {
						<-w.ResultChan()
					}
					by(w, cancel)
					synctest.Wait()
					for range w.ResultChan() { // ends
					}
					w.Stop()
					synctest.Wait()
					assert.Zero(t, server.Open.Load())
					assert.EqualValues(t, 1, server.Served.Load())
				})
			}
		}
	}
}

// TestAbandonedDoubt: a watch that nobody reads any more after its Doubt is closed by its Stop.
func TestAbandonedDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hanging(protobufType, watchPieces(protobufType))
		source := watchOver(t, server, damage("p2"))
		w, err := source.WatchWithContext(t.Context(), firstWatch)
		require.NoError(t, err)
		synctest.Wait()
		w.Stop()
		synctest.Wait()
		assert.Zero(t, server.Open.Load())
	})
}

// TestListEnded: a list whose context ends while it is read fails like one without us, and leaves
// nothing.
func TestListEnded(t *testing.T) {
	for _, media := range []string{"application/json", protobufType} {
		whole := taptest.Encoded(podList("5"), media)
		for _, at := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
			synctest.Test(t, func(t *testing.T) {
				server := hanging(media, [][]byte{whole[:at]})
				source := watchOver(t, server, nil)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, err := source.ListWithContext(ctx, firstList)
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				synctest.Wait()
				assert.Zero(t, server.Open.Load())
				assert.Empty(t, source.ledger.State().Why)
			})
		}
	}
}

// TestReadBeforeReturned: a WatchFunc that waits for an event before it returns gets it.
func TestReadBeforeReturned(t *testing.T) {
	reads := func(ctx context.Context, plain clientgo.WatcherWithContext, o metav1.ListOptions) (watch.Interface, error) {
		w, err := plain.WatchWithContext(ctx, o)
		if err == nil {
			<-w.ResultChan()
		}
		return w, err
	}
	synctest.Test(t, func(t *testing.T) {
		source := watchOver(t, ending(protobufType, watchPieces(protobufType)), nil)
		source = tappedOf(altered{source.Plain(), nil, reads}, &v1.Pod{}, nil)
		assert.Len(t, follow(t, source, firstWatch, 0).Events, len(manyEvents())-1)
		assert.Equal(t, tap.State{Why: "the watch was read before it was returned"}, source.ledger.State())
	})
}

// TestPanickingCall: a ListerWatcher that panics after a request leaves a body that can be read.
func TestPanickingCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened watch.Interface
		source := watchOver(t, ending(protobufType, watchPieces(protobufType)), nil)
		panics := func(ctx context.Context, plain clientgo.WatcherWithContext, o metav1.ListOptions) (watch.Interface, error) {
			opened, _ = plain.WatchWithContext(ctx, o)
			panic("as the test wants")
		}
		source = tappedOf(altered{source.Plain(), nil, panics}, &v1.Pod{}, nil)
		began := time.Now()
		assert.Panics(t, func() { _, _ = source.WatchWithContext(t.Context(), firstWatch) })
		for range opened.ResultChan() {
		}
		assert.Zero(t, time.Since(began))
	})
}

// TestServerNotHeldUp: a list that fits the read-ahead is read to its end while its first item is
// still being decoded; of a longer one no more is read than that.
func TestServerNotHeldUp(t *testing.T) {
	whole := taptest.Encoded(podList("5"), "application/json")
	pieces := bytes.SplitAfter(whole, []byte("}"))
	for _, limit := range []int64{1, 1 << 20} {
		synctest.Test(t, func(t *testing.T) {
			var sent atomic.Int32
			server := ending("application/json", pieces)
			counting := trip(func(r *http.Request) (*http.Response, error) {
				resp, err := server.RoundTrip(r)
				resp.Body = &counted{resp.Body, func(n int) { sent.Add(int32(n)) }}
				return resp, err
			})
			c := &rest.Config{Host: "http://127.0.0.1:1", Transport: counting, QPS: -1}
			c.ContentType = "application/json"
			c.Wrap(transport)
			decoding := make(chan struct{})
			source := tappedOf(generated(t, c), &v1.Pod{}, func(o *tap.Options) {
				o.Ahead, o.Make = limit, taptest.SlowToBegin(decoding)
			})
			done := make(chan heard)
			go func() { done <- ask(t, source, firstList) }()
			synctest.Wait()
			if limit == 1 {
				assert.Less(t, int(sent.Load()), len(whole)/2)
			} else {
				assert.Len(t, whole, int(sent.Load()))
			}
			close(decoding)
			assert.Len(t, (<-done).Items, 20)
		})
	}
}
