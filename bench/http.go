// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/bench/internal/measure"
	"github.com/kinformer/cache/bench/internal/wire"
)

// The number of objects of a full run: decoding JSON takes about ten times as
// long.
const (
	httpObjectsJSON     = 1200
	httpObjectsProtobuf = 5000
)

// httpRows are informers on a server that is reached over HTTP/1.1 on the
// loopback interface. The server is a child process with answers that it made
// beforehand, so the CPU time is the client's. Decoding the same bytes without
// an informer tells what of it is not the informer's.
func httpRows() []row {
	var all []row
	for _, encoding := range []struct {
		name, mediaType string
		objects         int
	}{{"json", wire.JSON, httpObjectsJSON}, {"protobuf", wire.Protobuf, httpObjectsProtobuf}} {
		for _, kind := range []httpKind{
			{name: "list", title: "start by list", bytes: "list"},
			{name: "watch-list", title: "start by watch-list", bytes: "initial", watchList: true},
			{name: "watch", title: "one update of each object through the watch", bytes: "updates", updates: true},
		} {
			all = append(all, row{
				group: "End to end over HTTP on loopback", name: "http/" + encoding.name + "-" + kind.name,
				light: true, // its objects are the server's
				title: fmt.Sprintf("%s, realistic objects in %s", kind.title, encoding.name),
				setup: func(ctx context.Context, e *env) (trial, error) {
					return httpTrial(ctx, e, kind, encoding.mediaType, e.ops(encoding.objects))
				},
			})
		}
	}
	return all
}

// httpKind is what an informer does over HTTP.
type httpKind struct {
	name, title string
	bytes       string // which of the server's answers it gets
	watchList   bool
	updates     bool // measures what comes after the start
}

// httpStage is a server with one of its answers.
type httpStage struct {
	env       *env
	kind      httpKind
	mediaType string
	server    *wire.Server
	objects   int
	body      []byte
}

func httpTrial(ctx context.Context, e *env, kind httpKind, mediaType string, objects int) (trial, error) {
	stage := &httpStage{env: e, kind: kind, mediaType: mediaType, objects: max(10, objects)}
	var err error
	stage.server, err = wire.Start(ctx, wire.Config{N: stage.objects, Seed: e.seed, MediaType: mediaType})
	if err != nil {
		return nil, err
	}
	e.atEnd = append(e.atEnd, stage.server.Stop)
	if stage.body, err = stage.server.Bytes(ctx, kind.bytes); err != nil {
		return nil, err
	}
	return stage.round, nil
}

func (h *httpStage) round(ctx context.Context, s side) (outcome, error) {
	decoding, err := h.decodeAlone()
	if err != nil {
		return outcome{}, err
	}
	lw, err := h.listerWatcher()
	if err != nil {
		return outcome{}, err
	}
	i := newInformerOn(s, lw, 0, indexers(1))
	defer i.stop()
	if err := i.addHandler(0, &counter{}); err != nil {
		return outcome{}, err
	}
	usage, err := h.use(ctx, i, lw)
	if err != nil {
		return outcome{}, err
	}
	state, err := i.finish()
	each := 1 / float64(h.objects) / float64(time.Microsecond)
	return outcome{
		check: state,
		samples: []sample{
			{"CPU", "us/object", float64(usage.CPU) * each},
			{"wall", "us/object", float64(usage.Wall) * each},
			{"allocated", "B/object", float64(usage.Bytes) / float64(h.objects)},
		},
		shown: []sample{
			{"decoded", "objects", float64(h.objects)},
			{"decoding alone, CPU", "us/object", float64(decoding) * each},
			{"share of decoding", "%", 100 * float64(decoding) / float64(max(usage.CPU, 1))}, // too little to be counted is 0
		},
	}, err
}

// use starts the informer, has it updated where that is asked for, and returns
// what the last of the two took. The watch is open then.
func (h *httpStage) use(ctx context.Context, i *informer, lw *httpListerWatcher) (measure.Usage, error) {
	i.expect(h.objects)
	usage, err := h.env.measure(func() error {
		i.start(ctx)
		return i.wait(ctx)
	})
	if err != nil {
		return usage, err
	}
	select {
	case <-lw.watching:
	case <-ctx.Done():
		return usage, context.Cause(ctx)
	}
	if !h.kind.updates {
		return usage, nil
	}
	i.expect(h.objects)
	return h.env.measure(func() error {
		if err := h.server.Feed(ctx); err != nil {
			return err
		}
		return i.wait(ctx)
	})
}

// decodedAtLeast is the CPU time for which an answer is decoded again and
// again: CPU time is counted in coarse steps.
const decodedAtLeast = 100 * time.Millisecond

// decodeAlone is the CPU time that decoding the answer takes.
func (h *httpStage) decodeAlone() (time.Duration, error) {
	var total time.Duration
	for times := 1; ; times++ {
		measure.Settle()
		usage, err := measure.Region(h.decode)
		if err != nil {
			return 0, err
		}
		if total += usage.CPU; total >= decodedAtLeast || times >= 50 {
			return total / time.Duration(times), nil
		}
	}
}

func (h *httpStage) decode() error {
	decode := wire.DecodeStream
	if h.kind.bytes == "list" {
		decode = wire.DecodeList
	}
	decoded, err := decode(h.body, h.mediaType)
	if err == nil && len(decoded) < h.objects {
		err = fmt.Errorf("%d of %d objects decoded", len(decoded), h.objects)
	}
	return err
}

// httpListerWatcher is what users of a REST client have, made to list where
// lists are asked for.
type httpListerWatcher struct {
	clientgo.ListerWatcherWithContext
	watchList bool
	watching  chan struct{} // gets one value when a watch is open
}

func (h *httpStage) listerWatcher() (*httpListerWatcher, error) {
	version := corev1.SchemeGroupVersion
	client, err := rest.RESTClientFor(&rest.Config{
		Host: h.server.URL, APIPath: "/api", QPS: -1,
		ContentConfig: rest.ContentConfig{
			ContentType: h.mediaType, AcceptContentTypes: h.mediaType,
			GroupVersion: &version, NegotiatedSerializer: wire.Codecs.WithoutConversion(),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	lw := clientgo.NewListWatchFromClient(client, "pods", metav1.NamespaceAll, fields.Everything())
	return &httpListerWatcher{
		ListerWatcherWithContext: clientgo.ToListerWatcherWithContext(lw),
		watchList:                h.kind.watchList,
		watching:                 make(chan struct{}, 1),
	}, nil
}

// IsWatchListSemanticsUnSupported tells reflectors whether to list instead of
// streaming.
func (lw *httpListerWatcher) IsWatchListSemanticsUnSupported() bool { return !lw.watchList }

// WatchWithContext opens a watch and says so.
func (lw *httpListerWatcher) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	w, err := lw.ListerWatcherWithContext.WatchWithContext(ctx, options)
	if err == nil {
		select {
		case lw.watching <- struct{}{}:
		default: // one is enough
		}
	}
	return w, err
}

// List is ListWithContext without a context.
func (lw *httpListerWatcher) List(options metav1.ListOptions) (runtime.Object, error) {
	return lw.ListWithContext(context.Background(), options)
}

// Watch is WatchWithContext without a context.
func (lw *httpListerWatcher) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return lw.WatchWithContext(context.Background(), options)
}
