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

// informer is a shared informer of one round, with its source and handlers. It has one index, by
// namespace, as those of generated factories, unless newInformerOn says otherwise.
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

// counter is a handler that counts its calls and tells when a number of them is reached. It costs a
// few nanoseconds a call: an informer calls one handler from one goroutine at a time, so it needs
// no lock. The counts are read when the informer has stopped.
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

// await makes the counter tell when it has had that many calls more than it awaited before.
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

const syncGroup = "Initial sync and relist"

// syncMode is a way of reading everything.
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

// syncRows are an informer's start, until its handler was given all objects,
// and then a 410 that makes it read everything again although nothing changed,
// until its handler was given what was created after that.
func syncRows() []row {
	var all []row
	for _, mode := range syncModes() {
		all = append(all, row{
			group: syncGroup, name: "sync/" + mode.name, waits: true,
			title: "start, then relist of unchanged objects decoded anew, " + mode.title,
			setup: func(ctx context.Context, e *env) (trial, error) { return syncTrial(ctx, e, mode, 1) },
		}, row{
			group: syncGroup, name: "sync/" + mode.name + "-h4", slow: !mode.options.WatchList, waits: true,
			title: "the same " + mode.title + ", handlers: 4",
			setup: func(ctx context.Context, e *env) (trial, error) { return syncTrial(ctx, e, mode, 4) },
		})
	}
	return all
}

func syncTrial(ctx context.Context, e *env, mode syncMode, handlers int) (trial, error) {
	first, second, err := e.generations(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, s side) (outcome, error) {
		r := newRelisting(s, mode, first, second, e.n)
		r.more = handlers - 1
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

// relisting is an informer that starts and then has to relist.
type relisting struct {
	*informer
	objects int
	more    int                // handlers beside the first
	next    *source.Generation // what the relist finds
	took    time.Duration      // by the relist, from its first request on
}

// newRelisting makes an informer with the three indexes that is to sync with
// one generation and to find the other when it relists.
func newRelisting(s side, mode syncMode, first, second *source.Generation, objects int) *relisting {
	src := source.New(first, mode.options)
	r := &relisting{informer: newInformerOn(s, src, 0, indexers(3)), objects: objects, next: second}
	r.source = src
	return r
}

// run runs the two phases, start and relist, each within instrument.
//
// A relist waits for the reflector's backoff, about a second in which nothing
// runs; that is why its wall time counts from the first request.
func (r *relisting) run(ctx context.Context, instrument func(phase int, do func() error) error) (check, error) {
	defer r.stop()
	for range 1 + r.more {
		if err := r.addHandler(0, &counter{}); err != nil {
			return check{}, err
		}
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

// relist ends the watch and waits until the handler was given the update that
// every listed object causes, and one new object through the next watch.
func (r *relisting) relist(ctx context.Context, stream *source.Stream) error {
	if err := stream.Expire(ctx); err != nil {
		return err
	}
	stream, err := r.source.Next(ctx)
	if err != nil {
		return err
	}
	defer func() { r.took = time.Since(r.source.Asked()) }()
	created := &corev1.Pod{}
	created.Namespace, created.Name, created.ResourceVersion = "later", "created", eventVersion(0)
	return r.feed(ctx, stream, []watch.Event{{Type: watch.Added, Object: created}})
}
