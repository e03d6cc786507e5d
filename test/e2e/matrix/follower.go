// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/minor"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/test/e2e/follow"
	"github.com/kinformer/cache/test/e2e/transport"
)

// call is one call of a handler.
type call struct {
	What     string
	Old, New any
}

// String identifies the objects by name and version.
func (c call) String() string {
	text := c.What
	for _, obj := range []any{c.Old, c.New} {
		if m, err := meta.Accessor(obj); err == nil {
			text += " " + m.GetName() + "@" + m.GetResourceVersion()
		}
	}
	return text
}

// follower is a running informer with the calls of its handler and properties of its responses.
type follower struct {
	informer cache.SharedIndexInformer
	made     chan struct{} // closed when informer is set
	end      func() error  // stops the informer and closes its connections

	mu     sync.Mutex
	calls  []call
	wire   map[string]bool // properties of responses: protocol, media type, compression
	states int             // the number of lists and watch-lists, a list in pages counting once
}

func (f *follower) note(c call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, c)
}

// told returns the calls so far. The calls for the initial state, which have no order, are sorted.
func (f *follower) told() []call {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := slices.Clone(f.calls)
	n := slices.IndexFunc(calls, func(c call) bool { return c.What != "initial" })
	slices.SortFunc(calls[:max(n, 0)], func(a, b call) int { return strings.Compare(a.String(), b.String()) })
	return calls
}

// start runs an informer for the case, which decodes directly if directly is set.
func (c Case) start(ctx context.Context, config *rest.Config, directly bool) (*follower, error) {
	f := &follower{made: make(chan struct{}), wire: map[string]bool{}}
	config.ContentType = map[string]string{JSON: runtime.ContentTypeJSON, Protobuf: runtime.ContentTypeProtobuf}[c.Encoding]
	config.AcceptContentTypes = config.ContentType
	config.DisableCompression = !c.Gzip
	if !c.HTTP2 {
		config.NextProtos = []string{"http/1.1"}
	}
	config.Wrap(transport.Around(f.watch))
	if directly {
		transport.Direct(config)
	}
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

// newInformer returns the constructor of the informer of f.
func (f *follower) newInformer(options kinformer.Options) NewInformer {
	return func(lw cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
		f.informer = kinformer.Constructor(options)(lw, example, resync, indexers)
		_, err := f.informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
			AddFunc:    func(obj any, initial bool) { f.note(call{option(initial, "initial", "add"), nil, obj}) },
			UpdateFunc: func(old, obj any) { f.note(call{"update", old, obj}) },
			DeleteFunc: func(obj any) { f.note(call{"delete", obj, nil}) },
		})
		if err != nil {
			panic(err) // impossible: the informer was not started or stopped
		}
		close(f.made)
		return f.informer
	}
}

// pageSize splits the initial pods into pages.
const pageSize = population / 2

func (c Case) options(directly bool) kinformer.Options {
	options := kinformer.Options{Decoding: kinformer.Decoding{Off: !directly, ShareParts: directly && c.Share}}
	switch c.Mode {
	case Pages:
		options.Requests = kinformer.Requests{Mode: kinformer.ListModeList, PageSize: pageSize}
	case List:
		options.Requests.Mode = kinformer.ListModeList
	default:
		options.Requests.Mode = kinformer.ListModeWatchList
	}
	return options
}

// watch sends a request, and records the response to a list or watch of pods.
func (f *follower) watch(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	response, err := next.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusOK || r.URL.Path != "/api/v1/namespaces/"+Namespace+"/pods" {
		return response, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if query := r.URL.Query(); query.Get("sendInitialEvents") != "" || query.Get("watch")+query.Get("continue") == "" {
		f.states++
	}
	f.wire[response.Proto], f.wire[transport.MediaOf(response)] = true, true
	if response.Uncompressed {
		f.wire["gzip"] = true
	}
	return response, nil
}

// expected returns the properties of the responses for a case. Servers compress lists, and since v0.37
// watch-lists.
func (c Case) expected() map[string]bool {
	want := map[string]bool{
		option(c.HTTP2, "HTTP/2.0", "HTTP/1.1"):                                          true,
		option(c.Encoding == JSON, runtime.ContentTypeJSON, runtime.ContentTypeProtobuf): true,
	}
	if c.Gzip && (c.Mode != WatchList || !minor.Own) {
		want["gzip"] = true
	}
	return want
}
