// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/tap"
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
