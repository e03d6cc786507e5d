// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/internal/testkit/cputime"
	"github.com/kinformer/cache/kinformer"
)

// side is a library, with options, that is compared.
type side struct {
	name    string
	direct  bool
	options kinformer.Options
}

var sides = []side{
	{name: "client-go", options: kinformer.Options{Engine: "client-go"}},
	{name: "kinformer", direct: true},
	{name: "kinformer, ShareParts", direct: true, options: kinformer.Options{Decoding: kinformer.Decoding{ShareParts: true}}},
}

// syncWithin is how long the informers of a side may take until they have their objects.
const syncWithin = 10 * time.Minute

const compareLegend = `
Informers of %d resources with whole lists, one library after the other in one process: START until all have synced, then WATCH for %v. CPU is
that of the process, in seconds, with garbage collection; BYTES are what the server has sent, after decompression; HEAP is what remains after a
collection; EVENTS are calls of handlers. GOGC=%s GOMEMLIMIT=%s, %s, %d processors.
`

// compare runs informers of all resources with each side, and prints what they cost.
func (c *cluster) compare(ctx context.Context, all []resource, watch time.Duration, stdout, stderr io.Writer) error {
	if os.Getenv("KINFORMER") != "" || os.Getenv("KINFORMER_DIRECT") != "" {
		return errors.New("-watch compares both libraries: unset KINFORMER and KINFORMER_DIRECT")
	}
	if _, err := cputime.Used(); err != nil {
		return fmt.Errorf("-watch compares CPU time: %w", err)
	}
	readable := c.readable(ctx, all, stderr)
	if len(readable) == 0 {
		return errors.Join(errors.New("no resource can be listed"), context.Cause(ctx))
	}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SIDE\tOBJECTS\tSTART s\tCPU s\tBYTES\tHEAP\tWATCH CPU s\tEVENTS\tBYTES\tHEAP")
	for _, s := range sides {
		fmt.Fprintln(stderr, s.name)
		row, err := c.run(ctx, s, readable, watch)
		if err != nil {
			return errors.Join(err, table.Flush())
		}
		fmt.Fprintln(table, s.name+"\t"+row)
	}
	setting := func(name, otherwise string) string {
		if value := os.Getenv(name); value != "" {
			return value
		}
		return otherwise
	}
	fmt.Fprintf(table, compareLegend, len(readable), watch, setting("GOGC", "100"), setting("GOMEMLIMIT", "off"),
		runtime.Version(), runtime.GOMAXPROCS(0))
	return table.Flush()
}

// readable returns the resources of which the server returns a list.
func (c *cluster) readable(ctx context.Context, all []resource, stderr io.Writer) (readable []resource) {
	one := *c
	one.limit = 1
	for _, r := range all {
		if _, err := one.list(ctx, r); err != nil {
			fmt.Fprintf(stderr, "without %s: %v\n", r, err)
			continue
		}
		readable = append(readable, r)
	}
	return readable
}

// counts are what a side has received.
type counts struct {
	next          http.RoundTripper
	bytes, events atomic.Int64
}

func (c *counts) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(r)
	if err == nil {
		response.Body = &counted{response.Body, &c.bytes}
	}
	return response, err
}

type counted struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

// run runs the informers of a side, and returns the cells of its row.
func (c *cluster) run(ctx context.Context, s side, all []resource, watch time.Duration) (string, error) {
	config, seen := rest.CopyConfig(c.config), &counts{}
	config.Timeout, config.QPS = 0, -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { seen.next = next; return seen })
	if s.direct {
		config.Wrap(direct.Transport)
	}
	of := &cluster{config: config, namespace: c.namespace}
	var informers []cache.SharedIndexInformer
	for _, r := range all {
		informer, err := of.informer(r, s.options, seen)
		if err != nil {
			return "", explained(err)
		}
		informers = append(informers, informer)
	}
	running, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	var empty figures
	empty.collect()
	start := figuresNow()
	for _, informer := range informers {
		group.Go(func() { informer.RunWithContext(running) })
	}
	if err := awaitAll(ctx, informers); err != nil {
		return "", err
	}
	synced := figuresNow()
	started, bytes := time.Since(start.at), seen.bytes.Load()
	synced.collect()
	objects := 0
	for _, informer := range informers {
		objects += len(informer.GetStore().ListKeys())
	}
	before, events := figuresNow(), seen.events.Load()
	select {
	case <-time.After(watch):
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	after := figuresNow()
	watched := seen.bytes.Load() - bytes
	after.collect()
	runtime.KeepAlive(informers)
	return fmt.Sprintf("%d\t%.1f\t%.2f\t%s\t%s\t%.2f\t%d\t%s\t%s", objects, started.Seconds(), (synced.cpu - start.cpu).Seconds(), size(bytes),
		size(synced.heap-empty.heap), (after.cpu - before.cpu).Seconds(), seen.events.Load()-events, size(watched), size(after.heap-empty.heap)), nil
}

// informer returns an informer of a resource with a handler that counts.
func (c *cluster) informer(r resource, options kinformer.Options, seen *counts) (cache.SharedIndexInformer, error) {
	lw, example, err := c.listWatch(r)
	if err != nil {
		return nil, err
	}
	informer := kinformer.New(lw, example, options)
	count := func(any) { seen.events.Add(1) }
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: count, DeleteFunc: count, UpdateFunc: func(_, obj any) { count(obj) },
	})
	return informer, err
}

// listWatch returns a ListerWatcher as a program with generated clients has, or one with the dynamic client.
func (c *cluster) listWatch(r resource) (cache.ListerWatcher, kruntime.Object, error) {
	namespace := c.namespace
	if !r.namespaced {
		namespace = ""
	}
	if !r.hasGoType() {
		client, err := dynamic.NewForConfig(c.config)
		if err != nil {
			return nil, nil, err
		}
		of := client.Resource(r.GroupVersionResource).Namespace(namespace)
		return &cache.ListWatch{
			ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (kruntime.Object, error) { return of.List(ctx, o) },
			WatchFuncWithContext: of.Watch,
		}, &unstructured.Unstructured{}, nil
	}
	example, err := scheme.Scheme.New(r.gvk())
	if err != nil {
		return nil, nil, err
	}
	typed := *c
	typed.config = rest.CopyConfig(c.config)
	typed.config.AcceptContentTypes = kruntime.ContentTypeProtobuf + "," + kruntime.ContentTypeJSON
	client, err := typed.client(r)
	if err != nil {
		return nil, nil, err
	}
	return cache.NewFilteredListWatchFromClient(client, r.Resource, namespace, func(*metav1.ListOptions) {}), example, nil
}

// awaitAll waits until all informers have synced.
func awaitAll(ctx context.Context, informers []cache.SharedIndexInformer) error {
	within, cancel := context.WithTimeout(ctx, syncWithin)
	defer cancel()
	for _, informer := range informers {
		if !cache.WaitFor(within, "", informer.HasSyncedChecker()) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("informers have not synced within %v: leave resources out with -resources", syncWithin)
		}
	}
	return nil
}

// figures are those of the process at one time.
type figures struct {
	at   time.Time
	cpu  time.Duration
	heap int64
}

// figuresNow returns the time and the CPU time, which compare has seen to be known.
func figuresNow() (f figures) {
	f.at = time.Now()
	f.cpu, _ = cputime.Used()
	return f
}

// collect sets the heap to what a collection leaves.
func (f *figures) collect() {
	var m runtime.MemStats
	collected(&m)
	f.heap = int64(m.HeapAlloc)
}

// size formats bytes.
func size(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}
