// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/taptest"
)

// dawdler decodes a kilobyte of a list in so long a time.
type dawdler struct {
	tap.Decoder
	kilobyte time.Duration
}

func (d dawdler) List(body io.Reader) tap.List {
	return d.Decoder.List(dawdlingReader{body, d.kilobyte})
}

type dawdlingReader struct {
	io.Reader
	kilobyte time.Duration
}

func (r dawdlingReader) Read(p []byte) (int, error) {
	time.Sleep(r.kilobyte)
	return r.Reader.Read(p[:min(len(p), 1000)])
}

// slowList is a list of more than 100 kB, of which 10 kB may wait to be decoded.
type slowList struct {
	source tapped
	size   int64
	sent   atomic.Int64
}

// newSlowList makes a client with a timeout, of a server that cuts its answer after so long a time,
// and sends only half of it if it hangs.
func newSlowList(t *testing.T, kilobyte, timeout, cut time.Duration, hangs bool) *slowList {
	whole := taptest.Encoded(&v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: pods(500, "4")}, runtime.ContentTypeJSON)
	pieces := bytes.SplitAfter(whole, []byte("}"))
	if hangs {
		pieces = pieces[:len(pieces)/2]
	}
	l := &slowList{size: int64(len(whole))}
	server := &taptest.Wire{Media: runtime.ContentTypeJSON, Answer: func(*http.Request) ([][]byte, bool) { return pieces, hangs }}
	c := &rest.Config{Host: "http://127.0.0.1:1", QPS: -1, Timeout: timeout, Transport: trip(func(r *http.Request) (*http.Response, error) {
		resp, err := server.RoundTrip(r)
		body := &counted{resp.Body, func(n int) { l.sent.Add(int64(n)) }}
		resp.Body = body
		ctx, cancel := context.WithTimeout(r.Context(), cut)
		context.AfterFunc(ctx, func() { _ = body.Close(); cancel() })
		return resp, err
	})}
	c.ContentType = runtime.ContentTypeJSON
	c.Wrap(transport)
	l.source = tappedOf(generated(t, c), &v1.Pod{}, func(o *tap.Options) {
		right := taptest.SlowDecoders(nil, nil)
		o.Ahead, o.Make = 10_000, func(of reflect.Type, e tap.Encoding) tap.Decoder { return dawdler{right(of, e), kilobyte} }
	})
	return l
}

const never = time.Hour

// TestTimeoutIsTheNetworks: a timeout of the client ends with what the server sends: it does not
// count the decoding.
func TestTimeoutIsTheNetworks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newSlowList(t, time.Second/10, 5*time.Second, never, false)
		assert.Equal(t, 500, len(ask(t, l.source, firstList).Items))
		assert.True(t, l.source.ledger.State().On)
		time.Sleep(never)
	})
}

// TestServerCutsLongLists: a list that takes longer to decode than servers allow comes to its end,
// because it is read to its end after a while.
func TestServerCutsLongLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newSlowList(t, time.Second/2, 0, time.Minute, false)
		assert.Equal(t, 500, len(ask(t, l.source, firstList).Items))
		time.Sleep(never)
	})
}

// TestBoundIsLifted: without a deadline the bound is kept for 20 s, and no longer.
func TestBoundIsLifted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newSlowList(t, time.Second/2, 0, never, false)
		done := make(chan heard)
		go func() { done <- ask(t, l.source, firstList) }()
		time.Sleep(20*time.Second - 1)
		synctest.Wait()
		assert.Less(t, l.sent.Load(), l.size/2)
		time.Sleep(2 * time.Nanosecond)
		synctest.Wait()
		assert.Equal(t, l.size, l.sent.Load())
		assert.Equal(t, 500, len((<-done).Items))
		time.Sleep(never)
	})
}

// TestErrorComesAtOnce: what waits is not decoded if the list fails.
func TestErrorComesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newSlowList(t, time.Second/10, 2*time.Second, never, true)
		began := time.Now()
		_, err := l.source.ListWithContext(t.Context(), firstList)
		assert.Error(t, err)
		assert.LessOrEqual(t, time.Since(began), 2*time.Second+time.Second/10)
		assert.Empty(t, l.source.ledger.State().Why)
		time.Sleep(never)
	})
}
