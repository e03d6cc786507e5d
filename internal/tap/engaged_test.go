// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/taptest"
)

// trip is a RoundTripper of the user's.
type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// unzips asks for compressed answers itself, outside of ours, so that ours sees them as they are.
func unzips(rt http.RoundTripper) http.RoundTripper {
	ours := transport(rt)
	return trip(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		r.Header.Set("Accept-Encoding", "gzip")
		resp, err := ours.RoundTrip(r)
		if err != nil || resp.Header.Get("Content-Encoding") == "" {
			return resp, err
		}
		z, err := gzip.NewReader(resp.Body)
		if err != nil {
			return nil, err
		}
		resp.Body = struct {
			io.Reader
			io.Closer
		}{z, resp.Body}
		return resp, nil
	})
}

func noDecoders(reflect.Type, tap.Encoding) tap.Decoder { return nil }

// forgets loses the context on the way.
var forgets = altered{
	list: func(_ context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (runtime.Object, error) {
		return plain.ListWithContext(context.Background(), o)
	},
	watch: func(_ context.Context, plain clientgo.WatcherWithContext, o metav1.ListOptions) (watch.Interface, error) {
		return plain.WatchWithContext(context.Background(), o)
	},
}

// elsewhere asks for something else than it was asked for.
var elsewhere = altered{
	list: func(ctx context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (runtime.Object, error) {
		o.Limit = 7
		return plain.ListWithContext(ctx, o)
	},
	watch: func(ctx context.Context, plain clientgo.WatcherWithContext, o metav1.ListOptions) (watch.Interface, error) {
		o.ResourceVersion = "77"
		return plain.WatchWithContext(ctx, o)
	},
}

// TestNotEngaged: where something is in the way, all is as before, and the state says what.
func TestNotEngaged(t *testing.T) {
	for name, c := range map[string]struct {
		why    string
		wrap   func(http.RoundTripper) http.RoundTripper
		change altered
		option func(*tap.Options)
		kill   string
	}{
		"no transport":  {why: "no transport of package direct has seen the request"},
		"no context":    {why: "no transport of package direct has seen the request", wrap: transport, change: forgets},
		"other options": {why: "the request is not the one that was asked for", wrap: transport, change: elsewhere},
		"option":        {why: "WithDecoding says so", wrap: transport, option: func(o *tap.Options) { o.Off = true }},
		"kill switch":   {why: "KINFORMER_DIRECT is off in the environment", wrap: transport, kill: "off"},
		"no decoder":    {why: "there is no decoder for the type in protobuf", wrap: transport, option: func(o *tap.Options) { o.Make = noDecoders }},
		"compressed":    {why: `content encoding "gzip"`, wrap: unzips},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(tap.KillSwitch, c.kill)
			server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, []answer{events(false, manyEvents()...)})
			config := server.config()
			if c.wrap != nil {
				config.Wrap(c.wrap)
			}
			c.change.ListerWatcherWithContext = generated(t, config)
			source := tappedOf(c.change, &v1.Pod{}, c.option)
			assert.Len(t, ask(t, source, firstList).Items, 20)
			assert.Equal(t, tap.State{Why: c.why}, source.ledger.State())
			assert.Len(t, follow(t, source, firstWatch, 0).Events, len(manyEvents()))
			if name != "compressed" { // which watches are not
				assert.False(t, source.ledger.State().On)
				assert.Zero(t, source.ledger.State().Decoded)
			}
		})
	}
}

// unheard makes of a request that gets no answer a watch that ends at once, as client-go does when
// its retries are over.
var unheard = altered{watch: func(ctx context.Context, _ clientgo.WatcherWithContext, _ metav1.ListOptions) (watch.Interface, error) {
	breaks := trip(func(*http.Request) (*http.Response, error) { return nil, os.ErrDeadlineExceeded })
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1/", nil)
	if err != nil {
		return nil, err
	}
	if _, err = transport(breaks).RoundTrip(req); !errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("answered, or %w", err)
	}
	return watch.NewEmptyWatch(), nil
}}

// TestNoAnswer: that a request gets none says nothing about those that do.
func TestNoAnswer(t *testing.T) {
	server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, nil)
	lists := unheard
	lists.ListerWatcherWithContext = generated(t, server.config(transport))
	source := tappedOf(lists, &v1.Pod{}, nil)
	assert.Len(t, ask(t, source, firstList).Items, 20)
	assert.Empty(t, follow(t, source, firstWatch, 0).Events)
	assert.True(t, source.ledger.State().On)
}

// TestLoggedBodies: where klog writes bodies it is as before, as long as it does.
func TestLoggedBodies(t *testing.T) {
	server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, []answer{events(false, manyEvents()...)})
	source := tappedOf(generated(t, server.config(transport)), &v1.Pod{}, nil)
	logger := funcr.New(func(string, string) {}, funcr.Options{Verbosity: 8})
	logging := klog.NewContext(t.Context(), logger)
	got, err := source.ListWithContext(logging, firstList)
	assert.NoError(t, err)
	assert.Len(t, got.(*v1.PodList).Items, 20)
	assert.Equal(t, tap.State{Why: "klog writes bodies"}, source.ledger.State())
	ask(t, source, firstList)
	assert.Equal(t, tap.State{On: true, Encoding: tap.Protobuf, Decoded: 11, Verified: 9}, source.ledger.State())
}

// TestWrappedTwice: of two of our transports one takes the body, whatever is between them.
func TestWrappedTwice(t *testing.T) {
	asIs := func(rt http.RoundTripper) http.RoundTripper {
		return trip(func(r *http.Request) (*http.Response, error) {
			resp, err := rt.RoundTrip(r)
			if err == nil {
				resp.Body = struct{ io.ReadCloser }{resp.Body}
			}
			return resp, err
		})
	}
	for _, k := range podClients {
		server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, []answer{events(false, manyEvents()...)})
		source := tappedOf(k.make(t, server.config(transport, asIs, transport)), k.example, nil)
		assert.Len(t, ask(t, source, firstList).Items, 20)
		assert.Len(t, follow(t, source, firstWatch, 0).Events, len(manyEvents()))
		assert.Equal(t, tap.State{On: true, Encoding: k.encoding, Decoded: 11 + 14, Verified: 9 + 2}, source.ledger.State())
	}
}

// TestInsideAndOutside: RoundTrippers of the user's below ours see the real bodies, those above see
// that most items are gone; both see the requests as they are.
func TestInsideAndOutside(t *testing.T) {
	seen := map[string]int{}
	counts := func(name string) func(http.RoundTripper) http.RoundTripper {
		return func(rt http.RoundTripper) http.RoundTripper {
			return trip(func(r *http.Request) (*http.Response, error) {
				resp, err := rt.RoundTrip(r)
				if err == nil {
					resp.Body = &counted{resp.Body, func(n int) { seen[name] += n }}
				}
				return resp, err
			})
		}
	}
	server := newServer(t, false, []answer{list("5", pods(200, "4")...)}, nil)
	source := tappedOf(generated(t, server.config(counts("inside"), transport, counts("outside"))), &v1.Pod{}, nil)
	assert.Len(t, ask(t, source, firstList).Items, 200)
	assert.Greater(t, seen["inside"], 200*100)
	assert.Less(t, seen["outside"], seen["inside"]/5)
	assert.EqualValues(t, 180, source.ledger.State().Decoded)
}

// counted is a body whose bytes are counted. Nobody asks for the count while it is read.
type counted struct {
	io.ReadCloser
	add func(int)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.add(n)
	return n, err
}

// TestStateIsReadBeforeTheBegin: who asks for it need not wait for the source.
func TestStateIsReadBeforeTheBegin(t *testing.T) {
	for _, wanted := range []tap.State{{Shares: true}, {Unshared: "a transform function"}} {
		ledger := &tap.Ledger{}
		var reading sync.WaitGroup
		reading.Go(func() { ledger.State() })
		tap.New(&clientgo.ListWatch{}, &v1.Pod{}, tap.Options{Ledger: ledger, Share: wanted.Shares, Unshared: wanted.Unshared})
		reading.Wait()
		assert.Equal(t, wanted, ledger.State())
	}
}

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
