// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/bench/internal/workload"
)

const readersGroup = "Store, readers beside a writer"

// pacedRate is how many updates a second a writer makes that is not to make as
// many as it can.
const pacedRate = 10_000

// readerRows are GetByKey by several goroutines beside one that updates: at a
// rate that is the same on both sides, or without a pause. In the latter rows a
// writer that a lock holds up leaves its share of the processors to the
// readers, so where there are fewer cores than goroutines both figures count.
func (h holding) readerRows() []row {
	var all []row
	for _, readers := range []int{1, 2, 4, 8, 16} {
		for _, rate := range []int{pacedRate, 0} {
			if h && (readers == 16 || rate == 0 && readers != 4) {
				continue // enough to see what the snapshot costs
			}
			name, how := fmt.Sprintf("readers-%d", readers), fmt.Sprintf("%d times a second", rate)
			if rate == 0 {
				name, how = name+"-full", "without a pause"
			}
			r := h.rowOf(readersGroup, name)
			r.title = fmt.Sprintf("GetByKey, goroutines: %d, beside one that updates %s", readers, how)
			r.setup = func(ctx context.Context, e *env) (trial, error) { return h.readersTrial(ctx, e, readers, rate) }
			r.light = true // the objects are not touched
			// More readers than cores share what fewer readers had.
			r.slow = readers == 16 || readers != 4 && (bool(h) || rate == 0)
			all = append(all, r)
		}
	}
	return all
}

// contest is one round: readers that read a fixed number of keys each, and a
// writer that goes on until they are done.
type contest struct {
	store    clientgo.Indexer
	keys     []string // in random order
	versions [2][]any // of the objects that the writer changes
	readers  int
	rate     int // updates per second, 0 for as many as possible
	perEach  int // reads of each reader
}

func (h holding) readersTrial(ctx context.Context, e *env, readers, rate int) (trial, error) {
	population, err := e.population(ctx)
	if err != nil {
		return nil, err
	}
	filled, err := newStores(e.sides, population, 3)
	if err != nil {
		return nil, err
	}
	c := contest{readers: readers, rate: rate, perEach: e.ops(2_400_000 / readers)}
	for _, i := range shuffled(len(population.Keys), e.seed) {
		c.keys = append(c.keys, population.Keys[i])
	}
	for i, pod := range population.Pods[:min(1000, len(population.Pods))] {
		c.versions[0] = append(c.versions[0], pod)
		c.versions[1] = append(c.versions[1], workload.Version(pod, eventVersion(i)))
	}
	return func(_ context.Context, s side) (outcome, error) {
		mine := c
		mine.store = filled[s.index]
		return h.during(s, mine.store, func() (outcome, error) { return mine.round(e) })
	}, nil
}

func (c *contest) round(e *env) (outcome, error) {
	var reads, writes int64
	usage, err := e.measure(func() (err error) {
		reads, writes, err = c.run()
		return err
	})
	if err != nil {
		return outcome{}, err
	}
	if err := c.settle(); err != nil {
		return outcome{}, err
	}
	out, err := storeOutcome(c.store, reads, []sample{{"wall per read", "ns", float64(usage.Wall) / float64(reads)}})
	perWrite := sample{"wall per write", "ns", float64(usage.Wall) / float64(writes)}
	if c.rate == 0 {
		out.samples = append(out.samples, perWrite)
	} else {
		out.samples = append(out.samples, sample{"CPU per read, writer included", "ns", float64(usage.CPU) / float64(reads)})
		out.shown = append(out.shown, perWrite)
	}
	return out, err
}

// run returns the reads and the writes that were done.
func (c *contest) run() (reads, writes int64, err error) {
	var (
		done    atomic.Bool
		reading sync.WaitGroup
		writing sync.WaitGroup
		failed  = make([]error, c.readers+1)
	)
	writing.Go(func() { writes, failed[c.readers] = c.write(&done) })
	for reader := range c.readers {
		reading.Go(func() { failed[reader] = c.read(reader * len(c.keys) / c.readers) })
	}
	reading.Wait()
	done.Store(true)
	writing.Wait()
	return int64(c.readers * c.perEach), writes, errors.Join(failed...)
}

// read reads keys from the given place on, round and round.
func (c *contest) read(from int) error {
	for i := range c.perEach {
		key := c.keys[(from+i)%len(c.keys)]
		_, exists, err := c.store.GetByKey(key)
		if err != nil {
			return err
		}
		if !exists {
			return fmt.Errorf("%w: %s", errMissing, key)
		}
	}
	return nil
}

// write updates the same objects again and again, at least once.
func (c *contest) write(done *atomic.Bool) (writes int64, err error) {
	start := time.Now()
	for turn := 1; ; turn++ {
		for _, object := range c.versions[turn%2] {
			c.pace(start, writes)
			if err := c.store.Update(object); err != nil {
				return writes, err
			}
			writes++
			if done.Load() {
				return writes, nil
			}
		}
	}
}

// pace waits until the next update is due. Timers are coarse, so that the
// updates come in bursts of about a millisecond's.
func (c *contest) pace(start time.Time, writes int64) {
	if c.rate == 0 {
		return
	}
	due := start.Add(time.Duration(writes) * time.Second / time.Duration(c.rate))
	if wait := time.Until(due); wait > 0 {
		time.Sleep(max(wait, time.Millisecond))
	}
}

// settle brings the objects that the writer left at any version to the first.
func (c *contest) settle() error {
	for _, object := range c.versions[0] {
		if err := c.store.Update(object); err != nil {
			return err
		}
	}
	return nil
}
