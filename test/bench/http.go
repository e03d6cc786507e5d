// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/testkit/workload"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/test/bench/internal/blank"
	"github.com/kinformer/cache/test/bench/internal/child"
	"github.com/kinformer/cache/test/bench/internal/measure"
	"github.com/kinformer/cache/test/bench/internal/serve"
	"github.com/kinformer/cache/test/bench/internal/world"
)

// httpRow measures an informer of a server on the loopback interface. The server is a child
// process, so the CPU time is the client's alone.
//
// kinformer's side runs one informer for each httpWay of the row. The names of the figures begin with the way, except for
// the first one. All are compared with the same figure of client-go.
type httpRow struct {
	encoding string // json, protobuf, or unstructured for JSON without Go types
	kind     httpKind
	of       world.Resource
	alone    bool // pods have a deployment each, and less to share
	tls      bool // with HTTP/2
	objects  int  // of a full run: some decoders take ten times as long as others
}

// httpKind is a workload of an informer over HTTP.
type httpKind struct {
	name, title string
	watchList   bool
	updates     bool // measures the watch events after the start
}

var (
	httpList      = httpKind{"list", "start by list", false, false}
	httpWatchList = httpKind{"watch-list", "start by watch-list", true, false}
	httpWatch     = httpKind{"watch", "one update of each object through the watch", false, true}
	// httpPeak measures the heap during a list. It uses longer lists, for which peaks matter.
	httpPeak = httpKind{"list-peak", "start by list, the heap", false, false}
)

// The number of objects of a full run.
const (
	httpObjectsJSON     = 2000
	httpObjectsProtobuf = 5000
	httpObjectsUntyped  = 1200
	httpObjectsSmall    = 6000
	httpObjectsPeak     = 6000
)

func httpRows() []row {
	var all []row
	of := func(r httpRow, kinds ...httpKind) {
		for _, r.kind = range kinds {
			all = append(all, r.row())
		}
	}
	of(httpRow{encoding: "json", of: world.Pods, objects: httpObjectsJSON}, httpList, httpWatchList, httpWatch)
	of(httpRow{encoding: "protobuf", of: world.Pods, objects: httpObjectsProtobuf}, httpList, httpWatchList, httpWatch)
	of(httpRow{encoding: "unstructured", of: world.Pods, objects: httpObjectsUntyped}, httpList, httpWatch)
	of(httpRow{encoding: "json", of: world.Leases, objects: httpObjectsSmall}, httpWatch)
	of(httpRow{encoding: "protobuf", of: world.Leases, objects: httpObjectsSmall}, httpWatch)
	of(httpRow{encoding: "json", of: world.Pods, alone: true, objects: httpObjectsJSON}, httpWatch)
	of(httpRow{encoding: "protobuf", of: world.Pods, alone: true, objects: httpObjectsProtobuf}, httpList, httpWatch)
	of(httpRow{encoding: "unstructured", of: world.Pods, alone: true, objects: httpObjectsUntyped}, httpWatch)
	of(httpRow{encoding: "json", of: world.Pods, tls: true, objects: httpObjectsJSON}, httpWatch)
	of(httpRow{encoding: "protobuf", of: world.Pods, tls: true, objects: httpObjectsProtobuf}, httpWatch)
	of(httpRow{encoding: "json", of: world.Pods, objects: httpObjectsPeak}, httpPeak)
	of(httpRow{encoding: "protobuf", of: world.Pods, objects: httpObjectsPeak}, httpPeak)
	of(httpRow{encoding: "unstructured", of: world.Pods, objects: httpObjectsPeak / 4}, httpPeak)
	return all
}

// row makes a row of the benchmark.
func (r httpRow) row() row {
	name := "http/" + r.encoding + "-" + r.kind.name
	title := fmt.Sprintf("%s, %s in %s", r.kind.title, r.of, r.encoding)
	if r.of != world.Pods {
		name += "-" + r.of.String()
	}
	if r.alone {
		name, title = name+"-pods-alone", title+", one pod a deployment"
	}
	if r.tls {
		name, title = name+"-tls", title+", over TLS and HTTP/2"
	}
	return row{
		group: "End to end over HTTP on loopback", name: name, title: title,
		light:  true,       // its objects are the server's
		rounds: fullRounds, // the figures of direct decoding are never close to client-go's
		setup:  func(ctx context.Context, e *env) (trial, error) { return httpTrial(ctx, e, r) },
	}
}

func (r httpRow) untyped() bool { return r.encoding == "unstructured" }

// httpStage is the server of a row, with the row's settings.
type httpStage struct {
	row     httpRow
	env     *env
	server  *child.Process
	hello   serve.Hello
	media   string
	objects int
	rounds  int // of kinformer's side

	// rest stands for the heap of the rest of a program, about as large as a list. Without it, the
	// garbage collector would run every few megabytes.
	rest []byte
}

// restOf is the approximate number of bytes of a pod, by media type.
var restOf = map[string]int{blank.JSON: 10_000, blank.Protobuf: 5000}

func httpTrial(ctx context.Context, e *env, r httpRow) (trial, error) {
	e.drop() // the objects of other rows would make garbage collection rare
	h := &httpStage{row: r, env: e, objects: max(20, e.ops(r.objects)), media: blank.JSON}
	if r.encoding == "protobuf" {
		h.media = blank.Protobuf
	}
	perDeployment := workload.PodsPerDeployment
	if r.alone {
		perDeployment = 1
	}
	var err error
	h.server, err = child.Start(ctx, serve.Role, serve.Config{
		MediaType: h.media, TLS: r.tls, Seed: e.seed, Objects: map[world.Resource]int{r.of: h.objects}, PerDeployment: perDeployment, Recorded: true,
	}, &h.hello, os.Stderr)
	if err != nil {
		return nil, err
	}
	e.atEnd = append(e.atEnd, h.server.Stop)
	if r.kind != httpPeak {
		h.rest = make([]byte, h.objects*restOf[h.media])
	}
	return h.round, nil
}

// round runs the informers of a side. On kinformer's side it runs one informer per way, beginning
// with another way in each round. On client-go's side it runs one informer, whose figures count for
// all ways.
func (h *httpStage) round(ctx context.Context, s side) (out outcome, err error) {
	ways := h.row.ways()
	ends := make([]outcome, len(ways))
	if s.status == nil {
		if ends[0], err = h.one(ctx, s, plainWay); err != nil {
			return out, err
		}
		for i := range ends {
			ends[i] = ends[0]
		}
	} else {
		h.rounds++
		for i := range ends {
			which := (i + h.rounds) % len(ends)
			if ends[which], err = h.one(ctx, s, ways[which]); err != nil {
				return out, err
			}
		}
	}
	out.check = ends[0].check
	for i := range ends[0].samples {
		for way, end := range ends {
			if end.check != out.check {
				return out, fmt.Errorf("an informer that decodes directly ends in another state: %+v, as its client does %+v", end.check, out.check)
			}
			figure := end.samples[i]
			if name := ways[way]; name != plainWay {
				figure.name = string(name) + ", " + figure.name
			}
			out.samples = append(out.samples, figure)
		}
	}
	return out, nil
}

// one runs one informer.
func (h *httpStage) one(ctx context.Context, s side, way httpWay) (out outcome, err error) {
	if err := h.server.Call(ctx, "rewind", nil, nil); err != nil {
		return out, err
	}
	lw, err := h.listerWatcher(way != plainWay)
	if err != nil {
		return out, fmt.Errorf("make client: %w", err)
	}
	if decoding, set := decodings[way]; set {
		s.newSharedIndexInformer = kinformer.Constructor(kinformer.Options{Decoding: decoding})
	}
	i := newInformerOf(s, lw, h.example(), blank.Indexers(1))
	defer i.stop()
	if err := i.addHandlers(1); err != nil {
		return out, err
	}
	i.expect(h.objects)
	start := func() error {
		i.start(ctx)
		return i.wait(ctx)
	}
	feed := func() error {
		i.expect(h.objects)
		if err := h.server.Call(ctx, "feed", nil, nil); err != nil {
			return err
		}
		return i.wait(ctx)
	}
	opened := func() error {
		select {
		case <-lw.watching:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	do := start
	if h.row.kind.updates {
		if err := errors.Join(start(), opened()); err != nil {
			return out, err
		}
		do = feed
	}
	if out.samples, err = h.figures(do); err != nil {
		return out, err
	}
	if !h.row.kind.updates {
		if err := opened(); err != nil { // an earlier stop would log an error of the watch
			return out, err
		}
	}
	if err := h.engaged(s, i, way); err != nil {
		return out, err
	}
	out.check, err = i.finish()
	return out, err
}

func (h *httpStage) each(total time.Duration) float64 {
	return float64(total) / float64(h.objects) / float64(time.Microsecond)
}

func (h *httpStage) cpu(do func() error) ([]sample, error) {
	u, err := h.env.measure(do)
	return []sample{{"CPU", "us/object", h.each(u.CPU)}, {"wall", "us/object", h.each(u.Wall)},
		{"allocated", "B/object", float64(u.Bytes) / float64(h.objects)}}, err
}

// figures runs do, and returns the figures of the row.
func (h *httpStage) figures(do func() error) ([]sample, error) {
	if h.row.kind == httpPeak {
		return h.heap(do)
	}
	return h.cpu(do)
}

// peakGCPercent is a compromise: garbage is at most this percentage of the live heap, and the
// collector leaves CPU time for the program.
const peakGCPercent = 10

// heap returns the peak of the heap while start runs, and the growth of the live heap.
func (h *httpStage) heap(start func() error) ([]sample, error) {
	base := measure.LiveHeap()
	peak, err := measure.PeakHeap(base, peakGCPercent, start)
	kept := float64(measure.LiveHeap()) - float64(base)
	return []sample{
		{"peak", "B/object", float64(peak) / float64(h.objects)},
		{"kept", "B/object", kept / float64(h.objects)},
	}, err
}

// engaged returns an error if kinformer's informer did not decode the objects directly, except for
// the objects that it decodes both ways to verify: the first and the last of each answer, the first
// 8, one in 16 of the first 1,000, and fewer later. Without direct decoding, it must not have
// decoded any.
func (h *httpStage) engaged(s side, i *informer, way httpWay) error {
	if s.status == nil {
		return nil
	}
	status, err := s.status(i.SharedIndexInformer)
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	d := status.Decoding
	came := h.objects
	if h.row.kind.updates {
		came *= 2
	}
	bothWays := 16 + min(came, 1000)/16 + came/100
	switch {
	case way == plainWay && (d.On || d.Direct != 0):
		return fmt.Errorf("the tap engaged where it should not: %+v", d)
	case way != plainWay && (!d.On || d.Verified.Differences != 0 || len(d.GivenUp) > 0 || int(d.Direct) < came-bothWays):
		return fmt.Errorf("the tap did not engage: %d objects came, and its state is %+v", came, d)
	case decodings[way].ShareParts && d.Shared.Parts.Hits == 0:
		return fmt.Errorf("nothing was shared: %+v", d)
	}
	return nil
}

// httpListerWatcher is the ListWatch of an ordinary client, restricted to lists unless watchList is
// set.
type httpListerWatcher struct {
	*clientgo.ListWatch
	watchList bool
	watching  chan struct{} // receives a value when a watch is open
}

func (h *httpStage) listerWatcher(tapped bool) (made *httpListerWatcher, err error) {
	made = &httpListerWatcher{watchList: h.row.kind.watchList, watching: make(chan struct{}, 1)}
	config := h.hello.Config(tapped)
	if h.row.untyped() {
		made.ListWatch, err = h.dynamicClient(config)
	} else {
		made.ListWatch, err = serve.ListWatch(config, h.row.of, h.media)
	}
	return made, err
}

func (h *httpStage) dynamicClient(config *rest.Config) (*clientgo.ListWatch, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	known := blank.Of(h.row.of)
	of := client.Resource(known.GroupVersion().WithResource(known.Name))
	return &clientgo.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return of.List(ctx, o) },
		WatchFuncWithContext: of.Watch,
	}, nil
}

// example is an object of the type that the informer holds.
func (h *httpStage) example() runtime.Object {
	if h.row.untyped() {
		return &unstructured.Unstructured{}
	}
	return blank.Of(h.row.of).New()
}

// IsWatchListSemanticsUnSupported reports whether reflectors must list instead of streaming.
func (lw *httpListerWatcher) IsWatchListSemanticsUnSupported() bool { return !lw.watchList }

// WatchWithContext opens a watch and signals lw.watching.
func (lw *httpListerWatcher) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	w, err := lw.ListWatch.WatchWithContext(ctx, options)
	if err == nil {
		select {
		case lw.watching <- struct{}{}:
		default: // one is enough
		}
	}
	return w, err
}
