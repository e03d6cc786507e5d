// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kinformer/cache/test/e2e/follow"
)

const (
	writerCount    = 3
	namesPerWriter = 40
	writePause     = 2 * time.Millisecond
)

// writers write objects at random until stopped, each its own names. Errors are ignored: while the server is
// down, every write fails.
type writers struct {
	stop  context.CancelFunc
	group sync.WaitGroup
	done  atomic.Int64 // number of acknowledged writes
}

// startWriters starts writers that call write for each write.
func startWriters(ctx context.Context, seed uint64, write func(ctx context.Context, name string, random *rand.Rand) error) *writers {
	running, stop := context.WithCancel(ctx)
	w := &writers{stop: stop}
	for i := range writerCount {
		w.group.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			pause := time.NewTicker(writePause)
			defer pause.Stop()
			for {
				select {
				case <-running.Done():
					return
				case <-pause.C:
				}
				if write(ctx, fmt.Sprintf("w%d-%d", i, random.IntN(namesPerWriter)), random) == nil {
					w.done.Add(1)
				}
			}
		})
	}
	return w
}

// writesTo returns a function that creates, updates or deletes an object of r. Updates are more frequent
// than deletions.
func writesTo(r *follow.Resource) func(context.Context, string, *rand.Rand) error {
	return func(ctx context.Context, name string, random *rand.Rand) error {
		value, dice := strconv.Itoa(random.Int()), random.IntN(10)
		if dice < 3 {
			_, err := r.Create(ctx, name, value)
			return err
		}
		base, err := r.Get(ctx, name)
		switch {
		case err != nil:
			return err
		case dice < 8:
			_, err = r.Update(ctx, name, value, base)
			return err
		default:
			return r.Delete(ctx, name, base)
		}
	}
}

// finish stops the writers and returns when all writes were answered: a canceled write could still take
// effect after a later LIST.
func (w *writers) finish() {
	w.stop()
	w.group.Wait()
}

// awaitWrites returns once n more writes have been acknowledged.
func (w *writers) awaitWrites(ctx context.Context, n int64) error {
	goal := w.done.Load() + n
	if err := until(ctx, func() bool { return w.done.Load() >= goal }); err != nil {
		return fmt.Errorf("%d writes short of %d: %w", goal-w.done.Load(), n, err)
	}
	return nil
}

// until polls done and returns nil once it returns true, or an error if ctx is done first.
func until(ctx context.Context, done func() bool) error {
	return wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) { return done(), nil })
}
