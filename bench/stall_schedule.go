// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/bench/internal/stats"
	"github.com/kinformer/cache/bench/internal/workload"
)

// stall is one round of a row of stalls.
//
// The schedule is open: read number i is due at i times the interval and its
// latency counts from then, whether or not the reads before it are done. A
// reader that is held up for half a second has 5000 late reads, not one.
//
// Each kind of read has two phases beside the same writes: one that reads, and
// one whose loop is the control. The control is busy for as long as the read
// takes on a quiet store, and touches nothing. What its latencies show is the
// scheduler and the machine; what the reads' latencies show beyond that is
// waiting for the writer. The garbage collector rests meanwhile, because on few
// cores its slices hide what is looked for.
type stall struct {
	env        *env
	side       side
	hold       holding
	population *workload.Population
	writes     stallWrites

	store  clientgo.Indexer
	held   view // of the store
	writer int  // number of writes so far
	out    outcome
}

// stallRead is a kind of read with its schedule.
type stallRead struct {
	name     string
	interval time.Duration
	read     func(store clientgo.Indexer, i int) (found int, err error)
}

// stallReads are the kinds of reads. A List of all takes longer than the
// interval of the others: its schedule is one that it can keep.
func stallReads(p *workload.Population) []stallRead {
	const step = 7919 // a prime: neighbours in time are no neighbours in memory
	return []stallRead{
		{"Get", 100 * time.Microsecond, func(store clientgo.Indexer, i int) (int, error) {
			if _, exists, err := store.GetByKey(p.Keys[i*step%len(p.Keys)]); err != nil || !exists {
				return 0, err
			}
			return 1, nil
		}},
		{"ByIndex", 100 * time.Microsecond, func(store clientgo.Indexer, i int) (int, error) {
			owner := p.Pods[i*step%len(p.Pods)].OwnerReferences[0].UID
			members, err := store.ByIndex(byOwner, string(owner))
			return len(members), err
		}},
		{"List", 10 * time.Millisecond, func(store clientgo.Indexer, _ int) (int, error) { return len(store.List()), nil }},
	}
}

func (t *stall) round() (outcome, error) {
	if err := t.fill(); err != nil {
		return outcome{}, err
	}
	_, err := t.env.measure(func() error {
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
		for _, kind := range stallReads(t.population) {
			if err := t.compare(kind); err != nil {
				return fmt.Errorf("%s: %w", kind.name, err)
			}
		}
		return nil
	})
	if err != nil {
		return outcome{}, err
	}
	state, err := stateOf(t.store)
	t.out.check = state
	return t.out, errors.Join(err, t.held.close(state))
}

// fill makes the store of the next phase, or leaves the one that there is.
func (t *stall) fill() (err error) {
	if t.store != nil && !t.writes.once {
		return nil
	}
	if t.held.snapshot != nil {
		t.held.snapshot.Close()
	}
	t.store = t.side.newIndexer(clientgo.MetaNamespaceKeyFunc, maps.Clone(t.writes.indexers)) // client-go keeps the map
	t.writer = 0
	if err := t.store.Replace(objects(t.population), listVersion(0)); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	t.held, err = t.hold.open(t.side, t.store)
	return err
}

// compare runs the two phases of a kind of read.
func (t *stall) compare(kind stallRead) error {
	own, err := t.ownCost(kind)
	if err != nil {
		return err
	}
	reads, err := t.phase(kind.interval, func(i int) error {
		found, err := kind.read(t.store, i)
		if err == nil && found == 0 {
			err = fmt.Errorf("%w: read %d", errMissing, i)
		}
		return err
	})
	if err != nil {
		return err
	}
	control, err := t.phase(kind.interval, func(int) error {
		for start := time.Now(); time.Since(start) < own; {
			continue
		}
		return nil
	})
	if err != nil {
		return err
	}
	tail := stats.Percentile(reads, 0.999)
	t.out.samples = append(t.out.samples,
		sample{kind.name + ", p99.9", "us", tail},
		sample{kind.name + ", worst", "us", reads[len(reads)-1]})
	t.out.shown = append(t.out.shown,
		sample{kind.name + ", control loop, p99.9", "us", stats.Percentile(control, 0.999)},
		sample{kind.name + ", p99.9 beyond the control loop", "us", tail - stats.Percentile(control, 0.999)})
	if !t.hold && kind.name == "Get" { // a picture for each would be too many
		t.out.curves = append(t.out.curves, quantilesOf(kind.name, "us", reads))
	}
	return nil
}

// ownCost is what the read takes while nothing is written: the median.
func (t *stall) ownCost(kind stallRead) (time.Duration, error) {
	const times = 15
	var took []time.Duration
	for i := range times {
		start := time.Now()
		if _, err := kind.read(t.store, i); err != nil {
			return 0, err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took[times/2], nil
}

// phase makes a read on schedule while the writes go on, and returns the
// sorted latencies in microseconds.
func (t *stall) phase(interval time.Duration, read func(i int) error) ([]float64, error) {
	if err := t.fill(); err != nil {
		return nil, err
	}
	var done atomic.Bool
	wrote := make(chan error, 1)
	go func() {
		defer done.Store(true)
		wrote <- t.write()
	}()
	latencies, err := onSchedule(interval, read, &done)
	if failed := <-wrote; failed != nil {
		return nil, fmt.Errorf("write: %w", failed)
	}
	slices.Sort(latencies)
	return latencies, err
}

// write writes for the time of a phase, at least once. The store is then as it
// was at first.
func (t *stall) write() error {
	limit := time.Duration(float64(stallTime) * t.env.scale)
	for start := time.Now(); ; {
		if err := t.writes.write(t.store, t.writer); err != nil {
			return err
		}
		t.writer++
		if t.writes.once || time.Since(start) >= limit {
			return nil
		}
	}
}

// onSchedule makes every read that is due before done, and at least one, late
// or not. It spins between the reads: timers are later than what is measured.
func onSchedule(interval time.Duration, read func(i int) error, done *atomic.Bool) ([]float64, error) {
	latencies := make([]float64, 0, 1<<14)
	start := time.Now()
	end := time.Duration(-1) // when done was seen: a reader that is always late sees it too
	for i := 0; ; i++ {
		due := time.Duration(i) * interval
		for end < 0 && time.Since(start) < due && !done.Load() {
			continue
		}
		if end < 0 && i > 0 && done.Load() {
			end = time.Since(start)
		}
		if end >= 0 && due >= end {
			return latencies, nil
		}
		if err := read(i); err != nil {
			return latencies, err
		}
		latencies = append(latencies, float64(time.Since(start)-due)/float64(time.Microsecond))
	}
}
