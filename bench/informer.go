// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/bench/internal/source"
)

// informer is a shared informer of one round, with its source and handlers.
// It has one index, by namespace, as those of generated factories, unless
// newInformerOn says otherwise.
type informer struct {
	clientgo.SharedIndexInformer
	source   *source.Source
	handlers []*counter
	cancel   context.CancelFunc
	stopped  chan struct{}
}

// newInformer makes an informer that does not run yet.
func newInformer(s side, src *source.Source, resync time.Duration) *informer {
	i := newInformerOn(s, src, resync, indexers(1))
	i.source = src
	return i
}

// newInformerOn makes an informer of pods on any ListerWatcher.
func newInformerOn(s side, lw clientgo.ListerWatcher, resync time.Duration, indexers clientgo.Indexers) *informer {
	return newInformerOf(s, lw, &corev1.Pod{}, resync, indexers)
}

// newInformerOf makes an informer of any objects.
func newInformerOf(s side, lw clientgo.ListerWatcher, example runtime.Object, resync time.Duration, indexers clientgo.Indexers) *informer {
	return &informer{
		SharedIndexInformer: s.newSharedIndexInformer(lw, example, resync, indexers),
		stopped:             make(chan struct{}),
	}
}

// addHandler registers a counting handler with its own resync period.
func (i *informer) addHandler(resync time.Duration, h *counter) error {
	if _, err := i.AddEventHandlerWithResyncPeriod(h, resync); err != nil {
		return fmt.Errorf("add handler: %w", err)
	}
	i.handlers = append(i.handlers, h)
	return nil
}

// start runs the informer until stop, or until the context ends.
func (i *informer) start(ctx context.Context) {
	ctx, i.cancel = context.WithCancel(ctx)
	go func() {
		defer close(i.stopped)
		i.RunWithContext(ctx)
	}()
}

// stop ends the informer and returns after all its handlers have ended: their
// counts may then be read. An informer that was never started has ended.
func (i *informer) stop() {
	if i.cancel != nil {
		i.cancel()
		<-i.stopped
	}
}

// startSynced starts the informer, waits until every handler was given all
// objects, and returns the stream for further events.
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

// expect makes every handler wait for a number of calls more than it had when
// it last waited. No event may be under way.
func (i *informer) expect(calls int) {
	for _, h := range i.handlers {
		h.await(calls)
	}
}

// wait returns when every handler had the calls that it awaits.
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

// feed sends the events and waits until every handler had them.
func (i *informer) feed(ctx context.Context, stream *source.Stream, events []watch.Event) error {
	if err := stream.SendAll(ctx, events); err != nil {
		return err
	}
	return i.wait(ctx)
}

// finish stops the informer and returns what must be equal on both sides.
func (i *informer) finish() (check, error) {
	i.stop()
	return i.state()
}

// state is what must be equal on both sides. No handler is being called.
func (i *informer) state() (check, error) {
	state, err := stateOf(i.GetIndexer())
	for _, h := range i.handlers {
		state.Adds += h.adds
		state.Updates += h.updates
		state.Deletes += h.deletes
	}
	return state, err
}

// counter is a handler that counts its calls and tells when a number of them
// is reached. It costs a few nanoseconds a call: an informer calls one handler
// from one goroutine at a time, so it needs no lock. The counts are read when
// the informer has stopped.
type counter struct {
	adds, updates, deletes int64
	// target is the number of calls at which reached is closed. Both are set
	// while no call is under way.
	calls, target int64
	reached       chan struct{}
	// onUpdate is called before an update is counted, if it is set.
	onUpdate func(old, current any)

	_ [64]byte // the next handler counts in another cache line
}

// await makes the counter tell when it has had that many calls more than it
// awaited before.
func (c *counter) await(calls int) {
	c.target += int64(calls)
	c.reached = make(chan struct{})
}

func (c *counter) called() {
	if c.calls++; c.calls == c.target {
		close(c.reached)
	}
}

// OnAdd counts an object that is new to the handler.
func (c *counter) OnAdd(any, bool) {
	c.adds++
	c.called()
}

// OnUpdate counts an update or a resync.
func (c *counter) OnUpdate(old, current any) {
	if c.onUpdate != nil {
		c.onUpdate(old, current)
	}
	c.updates++
	c.called()
}

// OnDelete counts an object that is gone.
func (c *counter) OnDelete(any) {
	c.deletes++
	c.called()
}
