// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/bench/internal/measure"
	"github.com/kinformer/cache/bench/internal/source"
)

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
