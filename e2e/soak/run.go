// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinformer/cache/e2e/follow"
)

// run is a run of the harness.
type run struct {
	config    Config
	report    *report
	cluster   *cluster
	kinds     []string
	ledgers   map[string]*ledger
	resources map[string]*follow.Resource // of the writers and comparisons
	followers []*follower                 // changed by the clients' lane and between rounds
	informers atomic.Int64
	selected  *regexp.Regexp
}

// Run runs the harness and returns what it found; an error means that it could not go on. It
// changes global settings of the process, which it puts back: klog's logger and
// runtime.ReallyCrash. One run at a time.
func Run(ctx context.Context, config Config) (*Summary, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, err
	}
	r := &run{
		config: config, report: newReport(config), ledgers: map[string]*ledger{}, resources: map[string]*follow.Resource{},
		kinds: slices.Sorted(maps.Keys(follow.Kinds())), selected: regexp.MustCompile(config.Faults),
	}
	r.report.progress("soak of %s, seed %d, %v", config.Library, config.Seed, config.Duration)
	before := takeBaseline()
	defer captureProcess(r.report)()
	err := r.inCluster(ctx)
	before.compare(r.report)
	summary := r.report.end()
	if _, writeErr := summary.WriteTo(config.Out); writeErr != nil {
		err = errors.Join(err, writeErr)
	}
	return summary, err
}

func (r *run) inCluster(ctx context.Context) (err error) {
	if r.cluster, err = startCluster(ctx, r.config.Binary); err != nil {
		return err
	}
	defer func() {
		_, accepted := r.cluster.proxy.Open()
		r.report.count("connections", accepted)
		r.report.count("connections cut", r.cluster.proxy.Cuts())
		r.report.count("answers of 429 below the clients", r.cluster.throttle.Server.Load()+r.cluster.throttle.Own.Load())
		err = errors.Join(err, r.cluster.stop(context.WithoutCancel(ctx)))
	}()
	stopWriters, err := r.startWriters(ctx)
	if err != nil {
		return err
	}
	defer stopWriters()
	defer r.stopFollowers()
	for _, kind := range r.kinds {
		for _, mode := range []follow.Mode{follow.ListMode, follow.WatchListMode} {
			f, err := r.startFollower(ctx, kind, mode, handlerKinds)
			if err != nil {
				return err
			}
			r.followers = append(r.followers, f)
		}
	}
	return r.rounds(ctx)
}

func (r *run) stopFollowers() {
	for _, f := range r.followers {
		f.stop()
	}
}

// resource makes a resource that is read through the proxy, over a connection of its own, perhaps
// by way of a liar.
func (r *run) resource(kind string, tapped bool, l *liar) (*follow.Resource, error) {
	return follow.Kinds()[kind](follow.Clients{Read: r.cluster.route(tapped, l), Write: r.cluster.writer})
}

func (r *run) startWriters(ctx context.Context) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	for k, kind := range r.kinds {
		resource, err := r.resource(kind, false, nil)
		if err != nil {
			cancel()
			return nil, err
		}
		l := newLedger()
		r.ledgers[kind], r.resources[kind] = l, resource
		for i := range r.config.Writers + 1 {
			w := &writer{
				resource: resource, ledger: l, report: r.report, pause: r.config.Pause,
				random: rand.New(rand.NewPCG(r.config.Seed, 2<<32+uint64(k*1000+i))),
			}
			group.Go(func() {
				if i == 0 {
					w.writeChain(ctx)
				} else {
					w.write(ctx, fmt.Sprintf("w%d", i), r.config.Names)
				}
			})
		}
	}
	return func() { cancel(); group.Wait() }, nil
}

// rounds runs rounds of faults until the time is over, with comparisons between and after them.
func (r *run) rounds(ctx context.Context) error {
	end := time.Now().Add(r.config.Duration)
	for n := 1; time.Now().Before(end) && ctx.Err() == nil; n++ {
		if err := r.round(ctx, n); err != nil {
			return fmt.Errorf("round %d: %w", n, err)
		}
		r.report.update(func(s *Summary) { s.Rounds = n })
		if n%r.config.CheckEvery == 0 {
			if err := r.compare(ctx); err != nil {
				return err
			}
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.compare(ctx)
}

// round runs a fault of each lane side by side. Seed and number decide which, and what they do.
func (r *run) round(ctx context.Context, n int) error {
	var group sync.WaitGroup
	errs := make([]error, len(lanes))
	for i, lane := range lanes {
		random := rand.New(rand.NewPCG(r.config.Seed, uint64(n)*uint64(len(lanes))+uint64(i)))
		f := lane.choose(random, r.selected)
		if f == nil {
			continue
		}
		r.report.progress("round %d: %s", n, f.name)
		r.report.update(func(s *Summary) { s.Faults[f.name]++ })
		group.Go(func() {
			if err := f.run(ctx, r, random); err != nil {
				errs[i] = fmt.Errorf("%s: %w", f.name, err)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// compare stops the writers, waits until everything equals a quorum LIST, and lets them go on.
func (r *run) compare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.config.Patience)
	defer cancel()
	for _, kind := range r.kinds {
		r.ledgers[kind].gate.Lock()
		defer r.ledgers[kind].gate.Unlock()
	}
	start := time.Now()
	var group sync.WaitGroup
	objects := 0
	for _, kind := range r.kinds {
		want, err := r.listed(ctx, kind)
		if err != nil {
			return err
		}
		objects += len(want)
		r.ledgers[kind].compare(want, func(format string, args ...any) { r.report.violation("ledger", kind, format, args...) })
		for _, f := range r.followers {
			if f.kind == kind {
				group.Go(func() { f.compare(ctx, want) })
			}
		}
	}
	group.Wait()
	took, heap := time.Since(start), liveHeap()
	r.report.update(func(s *Summary) {
		s.Checks++
		s.Slowest = max(s.Slowest, took)
		s.Heap = append(s.Heap, HeapSample{After: time.Since(r.report.start), Bytes: heap})
		s.Informers = int(r.informers.Load())
	})
	r.report.progress("compared %d objects in %v, heap %.1f MiB, %s, %d violations",
		objects, took.Round(time.Millisecond), mib(heap), r.parts(), r.report.violated())
	return nil
}

// listed is a quorum LIST, repeated while the server is not there yet.
func (r *run) listed(ctx context.Context, kind string) (follow.Contents, error) {
	for {
		want, err := r.resources[kind].Listed(ctx)
		if err == nil || !wait(ctx, 100*time.Millisecond) {
			return want, err
		}
	}
}
