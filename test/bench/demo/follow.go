// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit/cputime"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/test/bench/internal/blank"
	"github.com/kinformer/cache/test/bench/internal/child"
	"github.com/kinformer/cache/test/bench/internal/measure"
	"github.com/kinformer/cache/test/bench/internal/serve"
	"github.com/kinformer/cache/test/bench/internal/world"
)

// sides are the compared sides: the first is compared with each of the others.
var sides = [...]string{"client-go", "direct", "shared"}

// shared is the side with direct decoding and ShareParts.
const shared = 2

// newInformer returns the constructor of a side's informers.
func newInformer(side int) func(clientgo.ListerWatcher, apiruntime.Object, time.Duration, clientgo.Indexers) clientgo.SharedIndexInformer {
	if side == 0 {
		return clientgo.NewSharedIndexInformer
	}
	return kinformer.Constructor(kinformer.Options{Decoding: kinformer.Decoding{ShareParts: side == shared}})
}

const (
	// slowness is the duration of each call of the slow handler.
	slowness = 100 * time.Millisecond
	// pollInterval is the interval of polls and retries.
	pollInterval = 5 * time.Millisecond
)

// config selects the informers of a follower.
type config struct {
	Server    endpoint
	Keys      []string // of the marked objects: a pod, and each lease
	Side      int
	MediaType string
}

// follower holds the informers of a program: one of all pods, with a prompt and a slow handler, and
// one of each lease.
type follower struct {
	informers []cache.SharedIndexInformer // the first is that of pods
	marked    []string                    // the key of each informer's marked object
	stop      func()                      // ends the informers and waits for them

	reading struct { // held during a Get of read
		sync.Mutex
		longest time.Duration
	}
}

// follow starts the informers of a side.
func follow(ctx context.Context, c config) (*follower, error) {
	f := &follower{marked: c.Keys}
	clients := map[world.Resource]cache.Getter{}
	for _, of := range []world.Resource{world.Pods, world.Leases} {
		client, err := serve.Client(c.Server.config(c.Side > 0), of, c.MediaType)
		if err != nil {
			return nil, err
		}
		clients[of] = client
	}
	add := func(of world.Resource, selector fields.Selector, indexers cache.Indexers) {
		source := clientgo.NewListWatchFromClient(clients[of], of.String(), metav1.NamespaceAll, selector)
		f.informers = append(f.informers, newInformer(c.Side)(source, blank.Of(of).New(), 0, indexers))
	}
	add(world.Pods, fields.Everything(), blank.Indexers(3))
	for _, key := range c.Keys[1:] {
		add(world.Leases, fields.OneTermEqualSelector("metadata.name", path.Base(key)), nil)
	}
	if err := f.handle(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, informer := range f.informers {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	f.stop = func() { cancel(); running.Wait() }
	return f, nil
}

// handle adds the handlers of pods: a prompt one and a slow one.
func (f *follower) handle() error {
	prompt := func(any) {}
	slow := func(any) { time.Sleep(slowness) }
	for _, handle := range []func(any){prompt, slow} {
		handler := cache.ResourceEventHandlerFuncs{AddFunc: handle, UpdateFunc: func(_, obj any) { handle(obj) }, DeleteFunc: handle}
		if _, err := f.informers[0].AddEventHandler(handler); err != nil {
			return err
		}
	}
	return nil
}

// await waits until holds returns true, and fails after patience. state names the condition.
func await(state string, holds func() bool) error {
	for began := time.Now(); !holds(); time.Sleep(pollInterval) {
		if time.Since(began) > patience {
			return fmt.Errorf("after %s the caches are not %s", patience, state)
		}
	}
	return nil
}

// synced waits until all informers have synced.
func (f *follower) synced() error {
	return await("synced", func() bool {
		return !slices.ContainsFunc(f.informers, func(i cache.SharedIndexInformer) bool { return !i.HasSynced() })
	})
}

// current waits until the caches have at least these versions of the marked objects.
func (f *follower) current(versions []string) error {
	return await("current", func() bool {
		for i, informer := range f.informers {
			obj, exists, err := informer.GetStore().GetByKey(f.marked[i])
			if err != nil || !exists {
				return false
			}
			version := obj.(metav1.Object).GetResourceVersion()
			if order, err := resourceversion.CompareResourceVersion(version, versions[i]); err != nil || order < 0 {
				return false
			}
		}
		return true
	})
}

// read reads a pod in an endless loop, and stores the longest Get.
func (f *follower) read() {
	for pods := f.informers[0].GetStore(); ; time.Sleep(100 * time.Microsecond) { // the system preempts loops without a pause
		f.reading.Lock()
		start := time.Now()
		_, _, _ = pods.GetByKey(f.marked[0])
		f.reading.longest = max(f.reading.longest, time.Since(start))
		f.reading.Unlock()
	}
}

// longest returns the longest Get since read began, including one that has yet to return.
func (f *follower) longest() time.Duration {
	f.reading.Lock()
	defer f.reading.Unlock()
	return f.reading.longest
}

// clientRole is the role of a process with the informers of a side, for package child.
const clientRole = "client"

// report is the answer of such a process to each command.
type report struct {
	At      time.Time     // the end of the command
	CPU     time.Duration // CPU time of the process until then
	Longest time.Duration // the longest Get since the command read
	Heap    uint64        // live bytes after the last collection
}

// serveClient runs the informers that config selects, and executes these commands of the parent:
//
//	synced      waits until all informers have synced
//	current     {versions}: waits until the caches have these versions of the marked objects
//	collect     collects garbage
//	read        starts reading a pod repeatedly
func serveClient(ctx context.Context, c config) error {
	ignoreInterrupts()
	quiet()
	f, err := follow(ctx, c)
	if err != nil {
		return err
	}
	defer f.stop()
	return child.Serve(ctx, nil, map[string]child.Command{
		"synced":  reporting(f, func(any) error { return f.synced() }),
		"current": reporting(f, f.current),
		"collect": reporting(f, func(any) error { measure.LiveHeap(); return nil }), // which collects garbage
		"read":    reporting(f, func(any) error { go f.read(); return nil }),
	})
}

// reporting returns a command that calls do and returns a report.
func reporting[A any](f *follower, do func(A) error) child.Command {
	return child.With(func(_ context.Context, argument A) (report, error) {
		err := do(argument)
		heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(heap)
		used, err2 := cputime.Used()
		return report{time.Now(), used, f.longest(), heap[0].Value.Uint64()}, errors.Join(err, err2)
	})
}
