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
	"github.com/kinformer/cache/internal/testkit/checker"
)

// kind is what is written of one kind of objects.
type kind struct {
	name     string
	resource *follow.Resource // of writers and comparisons
	ledger   *checker.Ledger
	gate     sync.RWMutex // whoever holds it keeps writers out, who share it
}

// run is a run of the harness.
type run struct {
	config    Config
	report    *report
	cluster   *cluster
	kinds     []*kind
	followers []*follower // changed by the clients' lane and between rounds
	informers atomic.Int64
	selected  *regexp.Regexp
}

// Run runs the harness and returns what it found; an error means that it could not go on. It
// changes global settings of the process, which it puts back: klog's logger and
// runtime.ReallyCrash. One run at a time.
func Run(ctx context.Context, config Config) (*Summary, error) {
	selected, err := regexp.Compile(config.Faults)
	if err != nil || libraries[config.Library] == nil {
		return nil, fmt.Errorf("soak: faults %q, library %q: %w", config.Faults, config.Library, err)
	}
	r := &run{config: config, report: newReport(config), selected: selected}
	r.report.progress("soak of %s, seed %d, %v", config.Library, config.Seed, config.Duration)
	compareLeaks := watchLeaks(r.report)
	defer captureProcess(r.report)()
	err = r.inCluster(ctx)
	compareLeaks()
	return r.report.end(), err
}

func (r *run) inCluster(ctx context.Context) (err error) {
	if r.cluster, err = startCluster(ctx, r.config.Binary); err != nil {
		return err
	}
	defer func() {
		_, accepted := r.cluster.proxy.Open()
		r.report.count("connections", accepted)
		r.report.count("connections cut", r.cluster.proxy.Cuts())
		r.report.count("answers of 429 in place of the server", r.cluster.gate.Own.Load())
		err = errors.Join(err, r.cluster.stop(context.WithoutCancel(ctx)))
	}()
	stopWriters, err := r.startWriters(ctx)
	if err != nil {
		return err
	}
	defer stopWriters()
	defer func() {
		for _, f := range r.followers {
			f.stop()
		}
	}()
	for _, k := range r.kinds {
		for _, mode := range []follow.Mode{follow.ListMode, follow.WatchListMode} {
			f, err := r.startFollower(ctx, k, mode)
			if err != nil {
				return err
			}
			r.followers = append(r.followers, f)
		}
	}
	return r.rounds(ctx)
}

func (r *run) startWriters(ctx context.Context) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	for n, name := range slices.Sorted(maps.Keys(follow.Kinds())) {
		k := &kind{name: name, ledger: checker.NewLedger()}
		if k.resource, err = r.cluster.resource(name, false); err != nil {
			cancel()
			return nil, err
		}
		r.kinds = append(r.kinds, k)
		for i := range writers {
			w := &writer{
				kind: k, report: r.report, pause: r.config.Pause, known: map[string]checker.State{}, uncertain: map[string]bool{},
				random: rand.New(rand.NewPCG(r.config.Seed, 2<<32+uint64(n*1000+i))),
			}
			group.Go(func() { w.write(ctx, fmt.Sprintf("w%d", i), r.config.Names) })
		}
	}
	return func() {
		cancel()
		group.Wait()
		for _, k := range r.kinds {
			k.resource.Close()
		}
	}, nil
}

// rounds runs rounds of faults until the time is over, with comparisons between and after them.
func (r *run) rounds(ctx context.Context) error {
	end := time.Now().Add(r.config.Duration)
	for n := 1; time.Now().Before(end) && ctx.Err() == nil; n++ {
		if err := r.round(ctx, n); err != nil {
			return fmt.Errorf("round %d: %w", n, err)
		}
		r.report.update(func(s *Summary) { s.Rounds = n })
		if n%checkEvery == 0 {
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
		random := rand.New(rand.NewPCG(r.config.Seed, uint64(n*len(lanes)+i)))
		matching := slices.DeleteFunc(slices.Clone(lane), func(f fault) bool { return !r.selected.MatchString(f.name) })
		if len(matching) == 0 {
			continue
		}
		f := matching[random.IntN(len(matching))]
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
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	start, objects := time.Now(), 0
	for _, k := range r.kinds {
		n, err := r.compareKind(ctx, k)
		if err != nil {
			return err
		}
		objects += n
	}
	took, heap := time.Since(start), liveHeap()
	r.report.update(func(s *Summary) {
		s.Checks++
		s.Slowest = max(s.Slowest, took)
		s.Heap = append(s.Heap, heap)
		s.Counts["informers"] = r.informers.Load()
	})
	r.report.progress("compared %d objects in %v, heap %.1f MiB", objects, took.Round(time.Millisecond), mib(heap))
	return nil
}

func (r *run) compareKind(ctx context.Context, k *kind) (objects int, err error) {
	k.gate.Lock()
	defer k.gate.Unlock()
	want, err := k.listed(ctx)
	if err != nil {
		return 0, err
	}
	var group sync.WaitGroup
	for _, f := range r.followers {
		if f.kind == k {
			group.Go(func() { f.compare(ctx, want) })
		}
	}
	group.Wait()
	for _, fault := range k.ledger.Compare(want) {
		r.report.violation("ledger", k.name, "%s", fault)
	}
	return len(want), nil
}

// listed is a quorum LIST, repeated while the server is not there yet.
func (k *kind) listed(ctx context.Context) (checker.Contents, error) {
	for {
		want, err := k.resource.Listed(ctx)
		if err == nil || !wait(ctx, 100*time.Millisecond) {
			return want, err
		}
	}
}
