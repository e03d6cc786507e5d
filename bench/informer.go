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

	"github.com/kinformer/cache/bench/internal/measure"
	"github.com/kinformer/cache/bench/internal/source"
)

// informer is a shared informer of one round, with its source and its handlers. Its only index is
// by namespace, as in generated factories; newInformerOn takes other indexes.
type informer struct {
	clientgo.SharedIndexInformer
	source   *source.Source
	handlers []*counter
	cancel   context.CancelFunc
	stopped  chan struct{}
}

// newInformer returns an informer that is not started.
func newInformer(s side, src *source.Source, resync time.Duration) *informer {
	i := newInformerOn(s, src, resync, indexers(1))
	i.source = src
	return i
}

// newInformerOn returns an informer of pods that reads from lw.
func newInformerOn(s side, lw clientgo.ListerWatcher, resync time.Duration, indexers clientgo.Indexers) *informer {
	return newInformerOf(s, lw, &corev1.Pod{}, resync, indexers)
}

// newInformerOf returns an informer of objects of example's type.
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
	// onUpdate, if not nil, is called before an update is counted.
	onUpdate func(old, current any)

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
func (c *counter) OnUpdate(old, current any) {
	if c.onUpdate != nil {
		c.onUpdate(old, current)
	}
	c.updates++
	c.called()
}

// OnDelete counts a deleted object.
func (c *counter) OnDelete(any) {
	c.deletes++
	c.called()
}

const syncGroup = "Initial sync and relist"

// syncMode is a way of reading the full collection.
type syncMode struct {
	name, title string
	options     source.Options
}

func syncModes() []syncMode {
	return []syncMode{
		{"list", "by list, one page", source.Options{}},
		{"watch-list", "by watch-list", source.Options{WatchList: true}},
	}
}

// syncRows measure the start of an informer until its handler has received all objects, and then a
// relist of unchanged objects after a 410 until the handler has received an object created after
// it.
func syncRows() []row {
	var all []row
	for _, mode := range syncModes() {
		all = append(all, row{
			group: syncGroup, name: "sync/" + mode.name, waits: true,
			title: "start, then relist of unchanged objects decoded anew, " + mode.title,
			setup: func(ctx context.Context, e *env) (trial, error) { return syncTrial(ctx, e, mode) },
		})
	}
	return all
}

func syncTrial(ctx context.Context, e *env, mode syncMode) (trial, error) {
	first, second, err := e.generations(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, s side) (outcome, error) {
		r := newRelisting(s, mode, first, second, e.n)
		var usages [2]measure.Usage
		state, err := r.run(ctx, func(phase int, do func() error) (err error) {
			usages[phase], err = e.measure(do)
			return err
		})
		n := float64(e.n)
		return outcome{check: state, samples: []sample{
			{"start, CPU", "ms", usages[0].CPU.Seconds() * 1000},
			{"start, wall", "ms", usages[0].Wall.Seconds() * 1000},
			{"start, allocated", "B/object", float64(usages[0].Bytes) / n},
			{"relist, CPU", "ms", usages[1].CPU.Seconds() * 1000},
			{"relist, allocated", "B/object", float64(usages[1].Bytes) / n},
			{"relist, wall without the backoff", "ms", r.took.Seconds() * 1000},
		}}, err
	}, nil
}

// relisting is an informer that starts and must then relist.
type relisting struct {
	*informer
	objects int
	next    *source.Generation // the generation that the relist returns
	took    time.Duration      // duration of the relist, from its first request
}

// newRelisting returns an informer with all three indexes. It syncs with the generation first and
// finds second when it relists.
func newRelisting(s side, mode syncMode, first, second *source.Generation, objects int) *relisting {
	src := source.New(first, mode.options)
	r := &relisting{informer: newInformerOn(s, src, 0, indexers(3)), objects: objects, next: second}
	r.source = src
	return r
}

// run runs the start and the relist, each within instrument.
//
// Before a relist, the reflector waits for its backoff of about a second. took therefore starts
// with the first request.
func (r *relisting) run(ctx context.Context, instrument func(phase int, do func() error) error) (check, error) {
	defer r.stop()
	if err := r.addHandler(0, &counter{}); err != nil {
		return check{}, err
	}
	var stream *source.Stream
	err := instrument(0, func() (err error) {
		stream, err = r.startSynced(ctx, r.objects)
		return err
	})
	if err != nil {
		return check{}, fmt.Errorf("start: %w", err)
	}
	r.source.Select(r.next)
	r.expect(r.objects + 1)
	if err := instrument(1, func() error { return r.relist(ctx, stream) }); err != nil {
		return check{}, fmt.Errorf("relist: %w", err)
	}
	return r.finish()
}

// relist expires the watch and blocks until the handler has received an update for every listed
// object and one new object through the next watch.
func (r *relisting) relist(ctx context.Context, stream *source.Stream) error {
	if err := stream.Expire(ctx); err != nil {
		return err
	}
	stream, err := r.source.Next(ctx)
	if err != nil {
		return err
	}
	defer func() { r.took = time.Since(r.source.FirstRequest()) }()
	created := &corev1.Pod{}
	created.Namespace, created.Name, created.ResourceVersion = "later", "created", eventVersion(0)
	return r.feed(ctx, stream, []watch.Event{{Type: watch.Added, Object: created}})
}
