// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/e2e/follow"
	"github.com/kinformer/cache/e2e/transport"
)

// call is one of a handler.
type call struct {
	What     string
	Old, New any
}

func (c call) String() string { return fmt.Sprint(c.What, " ", nameOf(c.Old), " ", nameOf(c.New)) }

func nameOf(obj any) string {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		return "unknown " + nameOf(tombstone.Obj)
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Sprintf("%T", obj)
	}
	return m.GetName() + "@" + m.GetResourceVersion()
}

// follower is a running informer, and all that it has told its handler.
type follower struct {
	informer cache.SharedIndexInformer
	made     chan struct{} // closed when informer is set
	wire     wire
	end      func() error // ends it, and closes its connections

	mu      sync.Mutex
	calls   []call
	changed chan struct{} // holds an element after a call
}

// OnAdd implements ResourceEventHandler.
func (f *follower) OnAdd(obj any, initial bool) {
	f.note(call{option(initial, "initial", "add"), nil, obj})
}

// OnUpdate implements ResourceEventHandler.
func (f *follower) OnUpdate(old, obj any) { f.note(call{"update", old, obj}) }

// OnDelete implements ResourceEventHandler.
func (f *follower) OnDelete(obj any) { f.note(call{"delete", obj, nil}) }

func (f *follower) note(c call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, c)
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// told returns the calls so far.
func (f *follower) told() []call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// await waits for a call about an object of that name.
func (f *follower) await(ctx context.Context, name string) error {
	for {
		for _, c := range f.told() {
			if m, err := meta.Accessor(c.New); err == nil && m.GetName() == name {
				return nil
			}
		}
		select {
		case <-f.changed:
		case <-ctx.Done():
			return fmt.Errorf("%d calls, none of them about %s: %w", len(f.told()), name, context.Cause(ctx))
		}
	}
}

// start runs an informer as the case has it, decoding directly or not.
func (c Case) start(ctx context.Context, config *rest.Config, directly bool) (*follower, error) {
	f := &follower{made: make(chan struct{}), changed: make(chan struct{}, 1)}
	c.shape(config)
	config.Wrap(f.wire.inside.wrap)
	if directly {
		transport.Direct(config)
	}
	config.Wrap(f.wire.outside.wrap)
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.Client.Run(ctx, config, httpClient, f.newInformer(c.options(directly))) }()
	f.end = func() error {
		cancel()
		defer follow.CloseIdle(httpClient)()
		return <-ended
	}
	select {
	case <-f.made:
		return f, nil
	case err := <-ended:
		cancel()
		return nil, fmt.Errorf("%v has ended at once: %w", c, err)
	}
}

// newInformer returns what makes the one informer of f.
func (f *follower) newInformer(options []cache.Option) NewInformer {
	return func(lw cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
		f.informer = cache.InformerFunc(options...)(lw, example, resync, indexers)
		if _, err := f.informer.AddEventHandler(f); err != nil {
			panic(err) // it was not started, let alone stopped
		}
		close(f.made)
		return f.informer
	}
}

// pageSize makes pages of the pods that are there before.
const pageSize = population / 2

func (c Case) options(directly bool) []cache.Option {
	share := cache.ShareTexts
	if c.Share {
		share = cache.ShareEqual
	}
	options := []cache.Option{cache.WithDecoding(cache.Decoding{Off: !directly, Share: share})}
	switch c.Mode {
	case Pages:
		return append(options, cache.WithListMode(cache.ListModeList), cache.WithPageSize(pageSize))
	case List:
		return append(options, cache.WithListMode(cache.ListModeList))
	default:
		return append(options, cache.WithListMode(cache.ListModeWatchList))
	}
}

// shape has a config reach its server as the case has it.
func (c Case) shape(config *rest.Config) {
	config.ContentType = map[string]string{JSON: runtime.ContentTypeJSON, Protobuf: runtime.ContentTypeProtobuf}[c.Encoding]
	config.AcceptContentTypes = config.ContentType
	config.DisableCompression = !c.Gzip
	if !c.HTTP2 {
		config.NextProtos = []string{"http/1.1"}
	}
}

// wire is what RoundTrippers of the user's see, inside and outside of ours.
type wire struct{ inside, outside eye }

// eye sees answers to lists and watches of pods.
type eye struct {
	http2, compressed, other atomic.Int64 // answers
	tls, plain               atomic.Int64
	json, protobuf           atomic.Int64
	bytes                    atomic.Int64 // of bodies of lists
	states                   atomic.Int64 // lists, of which pages are parts, and watch-lists
}

type watching struct {
	*eye
	next http.RoundTripper
}

func (e *eye) wrap(next http.RoundTripper) http.RoundTripper { return watching{e, next} }

// WrappedRoundTripper lets utilnet.CloseIdleConnectionsFor find the connections.
func (w watching) WrappedRoundTripper() http.RoundTripper { return w.next }

// RoundTrip implements http.RoundTripper.
func (w watching) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := w.next.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusOK || !isOfPods(r.URL) {
		return response, err
	}
	query := r.URL.Query()
	count(&w.states, query.Get("sendInitialEvents") != "" || query.Get("watch")+query.Get("continue") == "")
	count(&w.http2, response.ProtoMajor == 2)
	count(&w.compressed, response.Uncompressed)
	count(&w.tls, r.URL.Scheme == "https")
	count(&w.plain, r.URL.Scheme == "http")
	switch mediaOf(response) {
	case runtime.ContentTypeJSON:
		w.json.Add(1)
	case runtime.ContentTypeProtobuf:
		w.protobuf.Add(1)
	default:
		w.other.Add(1)
	}
	if query.Get("watch") == "" {
		response.Body = counted{response.Body, &w.bytes}
	}
	return response, nil
}

func isOfPods(u *url.URL) bool { return u.Path == "/api/v1/namespaces/"+Namespace+"/pods" }

func count(n *atomic.Int64, is bool) {
	if is {
		n.Add(1)
	}
}

// counted is a body whose bytes are counted.
type counted struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}
