// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/cache/internal/testkit/workload"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/sources"
	"github.com/kinformer/cache/test/bench/internal/blank"
	"github.com/kinformer/cache/test/bench/internal/source"
)

const namespaceCount = 500

// sourcesRows compare one informer of several sources with the equivalent in client-go: an informer
// for each source.
func sourcesRows() []row {
	return []row{{
		group: "Several sources", name: "sources/idle", light: true,
		title: fmt.Sprintf("%d namespaces without objects, followed with a handler, nothing happens", namespaceCount),
		setup: func(context.Context, *env) (trial, error) {
			empty := source.NewGeneration(&workload.Population{}, listVersion(0))
			return func(ctx context.Context, s side) (outcome, error) {
				return idleNamespaces(ctx, s, slices.Repeat([]*source.Generation{empty}, namespaceCount))
			}, nil
		},
	}, {
		group: "Several sources", name: "sources/list", light: true,
		title: fmt.Sprintf("list of all objects of %d namespaces", namespaceCount),
		setup: func(ctx context.Context, e *env) (trial, error) {
			population, err := e.population(ctx)
			if err != nil {
				return nil, err
			}
			var all []*source.Generation
			for part := range slices.Chunk(population.Pods, max(1, len(population.Pods)/namespaceCount)) {
				all = append(all, source.NewGeneration(&workload.Population{Pods: part}, listVersion(0)))
			}
			return func(ctx context.Context, s side) (outcome, error) { return listNamespaces(ctx, e, s, all) }, nil
		},
	}}
}

// spread follows several sources, with one informer or with one per source.
type spread []*informer

// newSpread starts the informers, each with one handler, and blocks until they have the objects of
// all sources.
func newSpread(ctx context.Context, s side, all []*source.Generation, objects int) (o spread, err error) {
	if s.status == nil {
		for _, generation := range all {
			if err := o.start(ctx, newInformer(s, source.New(generation, source.Options{})), generation.Len()); err != nil {
				return o, err
			}
		}
		return o, o.wait(ctx)
	}
	made, set := sources.New(&corev1.Pod{}, kinformer.Options{Indexers: blank.Indexers(1)})
	for n, generation := range all {
		set.Put(fmt.Sprint(n), source.New(generation, source.Options{}))
	}
	if err := o.start(ctx, &informer{SharedIndexInformer: made, stopped: make(chan struct{})}, objects); err != nil {
		return o, err
	}
	return o, o.wait(ctx)
}

// start runs one more informer whose handler awaits the given number of objects.
func (o *spread) start(ctx context.Context, i *informer, objects int) error {
	*o = append(*o, i)
	if err := i.addHandlers(1); err != nil {
		return err
	}
	if i.expect(objects); objects == 0 {
		close(i.handlers[0].reached)
	}
	i.start(ctx)
	return nil
}

// wait blocks until all informers have synced and their handlers have received the awaited objects.
func (o spread) wait(ctx context.Context) error {
	for _, i := range o {
		select {
		case <-i.HasSyncedChecker().Done():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := i.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (o spread) list() (all []any) {
	if len(o) == 1 { // without a copy
		return o[0].GetIndexer().List()
	}
	for _, i := range o {
		all = append(all, i.GetIndexer().List()...)
	}
	return all
}

func (o spread) stop() {
	for _, i := range o {
		i.stop()
	}
}

func idleNamespaces(ctx context.Context, s side, all []*source.Generation) (outcome, error) {
	before := readIdleUsage()
	o, err := newSpread(ctx, s, all, 0)
	defer o.stop()
	if err != nil {
		return outcome{}, err
	}
	return outcome{samples: readIdleUsage().since(before, len(all), "namespace")}, nil
}

func listNamespaces(ctx context.Context, e *env, s side, all []*source.Generation) (outcome, error) {
	objects := 0
	for _, generation := range all {
		objects += generation.Len()
	}
	o, err := newSpread(ctx, s, all, objects)
	defer o.stop()
	if err != nil {
		return outcome{}, err
	}
	lists := e.ops(1000)
	usage, err := e.measure(func() error {
		for range lists {
			if n := len(o.list()); n != objects {
				return fmt.Errorf("a list has %d of %d objects", n, objects)
			}
		}
		return nil
	})
	if err != nil {
		return outcome{}, err
	}
	var total check
	if err := total.add(o.list()); err != nil {
		return outcome{}, err
	}
	return outcome{check: total, samples: []sample{{"CPU", "us/list", usage.CPU.Seconds() * 1e6 / float64(lists)}}}, nil
}
