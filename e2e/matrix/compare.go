// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/e2e/apiserver"
	"github.com/kinformer/cache/e2e/follow"
	"github.com/kinformer/cache/e2e/transport"
)

// together is how many cases follow one server at a time.
const together = 20

// Compare compares in each of the cases. Those in pages need a server without a watch cache, for
// others answer a first list by all that they have. options are those of the servers.
func Compare(t *testing.T, ctx context.Context, cases []Case, options apiserver.Options) {
	t.Helper()
	for _, cached := range []bool{true, false} {
		options.DisableWatchCache = !cached
		some := slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return cached == (c.Mode == Pages) })
		for chunk := range slices.Chunk(some, together) {
			compareAt(t, ctx, chunk, options)
		}
	}
}

func mediaOf(r *http.Response) string {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // "" is none that was asked for
	return media
}

// twins are two followers of one case.
type twins struct {
	Case
	plain, direct *follower
}

func compareAt(t *testing.T, ctx context.Context, cases []Case, options apiserver.Options) {
	t.Helper()
	srv, err := apiserver.StartChild(ctx, options)
	require.NoError(t, err)
	defer func() { assert.NoError(t, srv.Stop(context.WithoutCancel(ctx))) }()
	running := goleak.IgnoreCurrent()

	writer, err := rest.HTTPClientFor(srv.ProtobufConfig())
	require.NoError(t, err)
	client, err := kubernetes.NewForConfigAndClient(srv.ProtobufConfig(), writer)
	require.NoError(t, err)
	pods := client.CoreV1().Pods(Namespace)
	require.NoError(t, populate(ctx, pods))
	withoutTLS, closeProxy := withoutTLS(t, srv)

	var all []*twins
	for _, c := range cases {
		config := srv.Config
		if !c.TLS {
			config = withoutTLS
		}
		pair := &twins{Case: c}
		pair.plain, err = c.start(ctx, config(), false)
		require.NoError(t, err, c)
		pair.direct, err = c.start(ctx, config(), true)
		require.NoError(t, err, c)
		all = append(all, pair)
	}
	for _, pair := range all {
		require.NoError(t, cache.WaitForSync(ctx, pair.plain.informer.GetController()), pair.Case)
		require.NoError(t, cache.WaitForSync(ctx, pair.direct.informer.GetController()), pair.Case)
	}
	require.NoError(t, play(ctx, pods))
	for _, pair := range all {
		t.Run(pair.String(), func(t *testing.T) { pair.compare(t, ctx) })
	}
	for _, pair := range all {
		assert.NoError(t, pair.plain.end(), pair.Case)
		assert.NoError(t, pair.direct.end(), pair.Case)
	}
	closeProxy()
	left := errors.New("bodies are open")
	for left != nil && ctx.Err() == nil {
		follow.CloseIdle(writer)() // what it shares with the clients of the informers; a stream may have ended after their end
		if transport.Open() == 0 {
			left = goleak.Find(running)
		}
	}
	assert.NoError(t, left)
}

// withoutTLS starts a proxy that is reached without TLS, by HTTP/1.1, and hands on all bytes as
// they come.
func withoutTLS(t *testing.T, srv *apiserver.Server) (config func() *rest.Config, end func()) {
	t.Helper()
	target, err := url.Parse(srv.URL())
	require.NoError(t, err)
	upstream := srv.Config()
	upstream.BearerToken, upstream.DisableCompression, upstream.WrapTransport = "", true, nil // both are the client's
	rt, err := rest.TransportFor(upstream)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport, proxy.FlushInterval = rt, -1
	server := httptest.NewServer(proxy)
	return func() *rest.Config {
			c := srv.Config()
			c.Host, c.TLSClientConfig = server.URL, rest.TLSClientConfig{}
			return c
		}, func() {
			server.Close()
			follow.CloseIdle(&http.Client{Transport: rt})()
		}
}

// compare fails for what is not the same, or not as the case has it.
func (p *twins) compare(t *testing.T, ctx context.Context) {
	for _, f := range []*follower{p.plain, p.direct} {
		require.NoError(t, f.await(ctx, last))
		p.checkWire(t, f)
	}
	assert.Equal(t, contents(p.plain), contents(p.direct))
	if p.plain.wire.inside.states.Load() == 1 && p.direct.wire.inside.states.Load() == 1 {
		compareCalls(t, p.plain.told(), p.direct.told())
	} else {
		t.Log("a server that was too busy has ended a watch: only what is there in the end is compared")
	}

	status, err := cache.StatusOf(p.direct.informer)
	require.NoError(t, err)
	d := status.Decoding
	assert.True(t, d.On, d.Why)
	assert.Equal(t, p.Encoding, d.Encoding)
	assert.Empty(t, d.GivenUp)
	assert.Zero(t, d.Differences)
	assert.Equal(t, p.Share, d.Shares, d.NotShared)
	assert.Equal(t, p.Share, d.Parts.Hits > 0)
	assert.Greater(t, d.Direct, int64(population))
	if p.Mode == Pages {
		assert.GreaterOrEqual(t, status.Lists, int64(2))
	}
	status, err = cache.StatusOf(p.plain.informer)
	require.NoError(t, err)
	assert.False(t, status.Decoding.On)
}

func compareCalls(t *testing.T, plain, direct []call) {
	sortInitial(plain)
	sortInitial(direct)
	require.Equal(t, len(plain), len(direct))
	require.Greater(t, len(plain), population+6*8)
	for i := range plain {
		require.Equal(t, plain[i], direct[i], "%v, %v", plain[i], direct[i])
	}
}

// checkWire fails if what went over the wire is not what the case says.
func (p *twins) checkWire(t *testing.T, f *follower) {
	in := &f.wire.inside
	assert.Equal(t, p.HTTP2, in.http2.Load() > 0)
	assert.Equal(t, p.TLS, in.tls.Load() > 0)
	assert.Equal(t, p.TLS, in.plain.Load() == 0)
	assert.Equal(t, p.Encoding == JSON, in.json.Load() > 0)
	assert.Equal(t, p.Encoding == Protobuf, in.protobuf.Load() > 0)
	assert.Zero(t, in.other.Load())
	assert.Equal(t, p.Gzip, in.compressed.Load() > 0, "servers compress lists and watch-lists")
	outside := f.wire.outside.bytes.Load()
	if f == p.plain || p.Mode == WatchList {
		assert.Equal(t, in.bytes.Load(), outside)
	} else {
		assert.Less(t, outside, in.bytes.Load()/2, "RoundTrippers outside see no items")
	}
}

// sortInitial sorts the calls about the initial state, which come in any order.
func sortInitial(calls []call) {
	n := slices.IndexFunc(calls, func(c call) bool { return c.What != "initial" })
	slices.SortFunc(calls[:max(n, 0)], func(a, b call) int { return strings.Compare(a.String(), b.String()) })
}

func contents(f *follower) map[string]any {
	objects := map[string]any{}
	for _, obj := range f.informer.GetStore().List() {
		objects[nameOf(obj)] = obj
	}
	return objects
}
