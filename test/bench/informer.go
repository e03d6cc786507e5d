// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/test/bench/internal/blank"
	"github.com/kinformer/cache/test/bench/internal/source"
)

// informer is a shared informer of one round, with its source and its handlers.
type informer struct {
	clientgo.SharedIndexInformer
	source   *source.Source
	handlers []*counter
	cancel   context.CancelFunc
	stopped  chan struct{}
}

// newInformer returns an informer of pods that is not started. Its only index is by namespace, as in
// generated factories.
func newInformer(s side, src *source.Source) *informer {
	i := newInformerOf(s, src, &corev1.Pod{}, blank.Indexers(1))
	i.source = src
	return i
}

// newInformerOf returns an informer of objects of example's type.
func newInformerOf(s side, lw clientgo.ListerWatcher, example runtime.Object, indexers clientgo.Indexers) *informer {
	return &informer{
		SharedIndexInformer: s.newSharedIndexInformer(lw, example, 0, indexers),
		stopped:             make(chan struct{}),
	}
}

// addHandlers registers counting handlers.
func (i *informer) addHandlers(n int) error {
	for range n {
		h := &counter{}
		if _, err := i.AddEventHandler(h); err != nil {
			return fmt.Errorf("add handler: %w", err)
		}
		i.handlers = append(i.handlers, h)
	}
	return nil
}

// start runs the informer in a goroutine until stop is called or ctx ends.
func (i *informer) start(ctx context.Context) {
	ctx, i.cancel = context.WithCancel(ctx)
	go func() {
		defer close(i.stopped)
		i.RunWithContext(ctx)
	}()
}

// stop ends the informer and blocks until its handlers have ended. Their counts may be read
// afterwards. stop does nothing for an informer that was never started.
func (i *informer) stop() {
	if i.cancel != nil {
		i.cancel()
		<-i.stopped
	}
}

// startSynced starts the informer, blocks until every handler has received all objects, and returns
// the watch for further events.
func (i *informer) startSynced(ctx context.Context, objects int) (*source.Stream, error) {
	for _, h := range i.handlers {
		h.await(objects)
	}
	i.start(ctx)
	if err := i.wait(ctx); err != nil {
		return nil, fmt.Errorf("sync: %w", err)
	}
	return i.source.Next(ctx)
}

// expect makes every handler await further calls, in addition to those that it awaited before. It
// must not be called while events are being delivered.
func (i *informer) expect(calls int) {
	for _, h := range i.handlers {
		h.await(calls)
	}
}

// wait blocks until every handler has received the calls that it awaits.
func (i *informer) wait(ctx context.Context) error {
	for number, h := range i.handlers {
		select {
		case <-h.reached:
		case <-ctx.Done():
			return fmt.Errorf("handler %d of %d waits for call %d: %w", number+1, len(i.handlers), h.target, context.Cause(ctx))
		}
	}
	return nil
}

// feed sends the events and blocks until every handler has received them.
func (i *informer) feed(ctx context.Context, stream *source.Stream, events []watch.Event) error {
	if err := stream.SendAll(ctx, events); err != nil {
		return err
	}
	return i.wait(ctx)
}

// finish stops the informer and returns the state that must be equal on both sides.
func (i *informer) finish() (check, error) {
	i.stop()
	return i.state()
}

// state returns the counts and the stored objects, which must be equal on both sides. It must not
// be called while a handler runs.
func (i *informer) state() (check, error) {
	state, err := stateOf(i.GetIndexer())
	for _, h := range i.handlers {
		state.Adds += h.adds
		state.Updates += h.updates
		state.Deletes += h.deletes
	}
	return state, err
}

// counter is a handler that counts its calls and signals when a given number is reached. An
// informer calls a handler from one goroutine at a time, so counter needs no lock and a call costs
// a few nanoseconds. The counts may be read after the informer has stopped.
type counter struct {
	adds, updates, deletes int64
	// target is the value of calls at which reached is closed. target and reached are set while no
	// call is in progress.
	calls, target int64
	reached       chan struct{}

	_ [64]byte // keeps two counters out of one cache line
}

// await makes c close a new reached channel after the given number of further calls.
func (c *counter) await(calls int) {
	c.target += int64(calls)
	c.reached = make(chan struct{})
}

func (c *counter) called() {
	if c.calls++; c.calls == c.target {
		close(c.reached)
	}
}

// OnAdd counts an added object.
func (c *counter) OnAdd(any, bool) {
	c.adds++
	c.called()
}

// OnUpdate counts an update or a resync.
func (c *counter) OnUpdate(any, any) {
	c.updates++
	c.called()
}

// OnDelete counts a deleted object.
func (c *counter) OnDelete(any) {
	c.deletes++
	c.called()
}

// syncRows measure the start of an informer with all three indexes until its handler has received all
// objects.
func syncRows() []row {
	syncRow := func(name, title string, options source.Options) row {
		return row{
			group: "Initial sync", name: "sync/" + name, title: "start, " + title,
			setup: func(ctx context.Context, e *env) (trial, error) {
				population, err := e.population(ctx)
				if err != nil {
					return nil, err
				}
				generation := source.NewGeneration(population, listVersion(0))
				return func(ctx context.Context, s side) (outcome, error) {
					src := source.New(generation, options)
					i := newInformerOf(s, src, &corev1.Pod{}, blank.Indexers(3))
					i.source = src
					return syncRound(ctx, e, i)
				}, nil
			},
		}
	}
	return []row{
		syncRow("list", "by list, one page", source.Options{}),
		syncRow("watch-list", "by watch-list", source.Options{WatchList: true}),
	}
}

func syncRound(ctx context.Context, e *env, i *informer) (out outcome, err error) {
	defer i.stop()
	if err := i.addHandlers(1); err != nil {
		return out, err
	}
	usage, err := e.measure(func() error {
		_, err := i.startSynced(ctx, e.n)
		return err
	})
	if err != nil {
		return out, err
	}
	out.samples = []sample{
		{"start, CPU", "ms", usage.CPU.Seconds() * 1000},
		{"start, wall", "ms", usage.Wall.Seconds() * 1000},
		{"start, allocated", "B/object", float64(usage.Bytes) / float64(e.n)},
	}
	out.check, err = i.finish()
	return out, err
}
