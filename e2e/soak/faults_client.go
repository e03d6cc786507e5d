// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/e2e/follow"
)

const (
	// mostLateHandlers and mostIndexers bound what faults add to one informer.
	mostLateHandlers = 4
	mostIndexers     = 5
)

// clientFaults are what handlers do, and what is done to informers.
var clientFaults = []fault{
	{"handler: slow", behave(func(random *rand.Rand, _ <-chan struct{}) behaviour {
		return behaviour{delay: between(random, time.Millisecond, 50*time.Millisecond)}
	})},
	{"handler: stuck", behave(func(_ *rand.Rand, over <-chan struct{}) behaviour { return behaviour{until: over} })},
	{"handler: panics", behave(func(random *rand.Rand, _ <-chan struct{}) behaviour {
		return behaviour{panicEvery: 1 + random.Int64N(20)}
	})},
	{"handler: added", addHandler},
	{"handler: removed", removeHandler},
	{"handler: too slow, disconnected", disconnectHandler},
	{"informer: started and stopped", startAndStop},
	{"informer: stopped and replaced", replaceFollower},
	{"informer: index added", addIndexers},
	{"informer: lied to", lieToSome},
	{"reader: without a pause", readEagerly},
}

func (r *run) anyFollower(random *rand.Rand) *follower {
	return r.followers[random.IntN(len(r.followers))]
}

// behave has a handler behave differently for a while.
func behave(draw func(random *rand.Rand, over <-chan struct{}) behaviour) func(context.Context, *run, *rand.Rand) error {
	return func(ctx context.Context, r *run, random *rand.Rand) error {
		handlers := r.anyFollower(random).current()
		h := handlers[random.IntN(len(handlers))]
		over := make(chan struct{})
		b := draw(random, over)
		h.behaviour.Store(&b)
		wait(ctx, between(random, 500*time.Millisecond, 4*time.Second))
		h.behaviour.Store(nil)
		close(over)
		return nil
	}
}

// addHandler adds a handler that stays.
func addHandler(ctx context.Context, r *run, random *rand.Rand) error {
	f := r.anyFollower(random)
	if len(f.current()) >= len(handlerKinds)+mostLateHandlers {
		return removeHandler(ctx, r, random)
	}
	if _, err := f.join(handlerKinds[random.IntN(len(handlerKinds))]); err != nil {
		return err
	}
	wait(ctx, between(random, 0, 2*time.Second))
	return nil
}

// removeHandler removes a handler of those that came first or later, but not the first.
func removeHandler(ctx context.Context, r *run, random *rand.Rand) error {
	f := r.anyFollower(random)
	if handlers := f.current(); len(handlers) > 1 {
		h := handlers[1+random.IntN(len(handlers)-1)]
		if err := f.leave(h); err != nil {
			return err
		}
	}
	wait(ctx, between(random, 0, 2*time.Second))
	return nil
}

// disconnectHandler adds a handler that does not come back from its first call, until it is told
// that it is removed.
func disconnectHandler(ctx context.Context, r *run, random *rand.Rand) error {
	disconnected, over := make(chan struct{}), make(chan struct{})
	kind := handlerKind{name: "disconnect", wrap: func(h cache.ResourceEventHandler) cache.ResourceEventHandler {
		return cache.Deliver(h, cache.Delivery{Overflow: cache.OverflowDisconnect, Max: 10, OnDisconnect: func(error) { close(disconnected) }})
	}}
	f := r.anyFollower(random)
	h := newHandler(kind, f.name, r.report)
	h.behaviour.Store(&behaviour{until: over})
	registration, err := f.informer.AddEventHandler(kind.wrap(h))
	if err != nil {
		return err
	}
	select {
	case <-disconnected:
		r.report.count("handlers disconnected", 1)
	case <-time.After(3 * time.Second): // there was too little to tell, or the library does not know of this
	case <-ctx.Done():
	}
	close(over)
	return f.informer.RemoveEventHandler(registration)
}

func startAndStop(ctx context.Context, r *run, random *rand.Rand) error {
	f, err := r.startFollower(ctx, r.kinds[random.IntN(len(r.kinds))], anyMode(random), handlerKinds)
	if err != nil {
		return err
	}
	wait(ctx, between(random, 0, 3*time.Second)) // it may not even have begun
	f.stop()
	return nil
}

func anyMode(random *rand.Rand) follow.Mode {
	return []follow.Mode{follow.ListMode, follow.WatchListMode}[random.IntN(2)]
}

func replaceFollower(ctx context.Context, r *run, random *rand.Rand) error {
	i := random.IntN(len(r.followers))
	old := r.followers[i]
	old.stop()
	f, err := r.startFollower(ctx, old.kind, anyMode(random), handlerKinds)
	if err != nil {
		r.followers = slices.Delete(r.followers, i, i+1)
		return err
	}
	r.followers[i] = f
	return nil
}

// readEagerly has a reader call one method after the other.
func readEagerly(ctx context.Context, r *run, random *rand.Rand) error {
	f := r.anyFollower(random)
	f.eager.Store(true)
	defer f.eager.Store(false)
	wait(ctx, between(random, time.Second, 4*time.Second))
	return nil
}

func addIndexers(ctx context.Context, r *run, random *rand.Rand) error {
	for range 3 {
		f := r.anyFollower(random)
		n := len(f.informer.GetIndexer().GetIndexers())
		if n >= mostIndexers {
			continue
		}
		name := fmt.Sprintf("late-%d", n)
		if err := f.informer.AddIndexers(cache.Indexers{name: f.byShard}); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		for range 20 {
			f.checkIndex(name)
			wait(ctx, between(random, 0, 20*time.Millisecond))
		}
	}
	return nil
}

// checkIndex reports objects that are not where they belong.
func (f *follower) checkIndex(name string) {
	indexer := f.informer.GetIndexer()
	for _, shard := range indexer.ListIndexFuncValues(name) {
		objects, err := indexer.ByIndex(name, shard)
		if err != nil {
			f.report.violation("mixed", f.name, "index %s: %v", name, err)
		}
		for key, state := range follow.ContentsOf(objects) {
			if shardOf(state.Value) != shard {
				f.report.violation("mixed", f.name, "index %s has %s at %v under %s", name, key, state, shard)
			}
		}
	}
}
