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

	"github.com/kinformer/cache/e2e/follow"
)

const (
	writerCount    = 3
	namesPerWriter = 40
	writePause     = 2 * time.Millisecond
)

// writers create, update and delete objects at random until stopped, each its own names. Errors are
// ignored: while the server is down, every write fails.
type writers struct {
	stop  chan struct{}
	group sync.WaitGroup
	done  atomic.Int64 // number of acknowledged writes
}

func startWriters(ctx context.Context, r *follow.Resource, seed uint64) *writers {
	w := &writers{stop: make(chan struct{})}
	for i := range writerCount {
		w.group.Go(func() { w.write(ctx, r, i, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	return w
}

func (w *writers) write(ctx context.Context, r *follow.Resource, writer int, random *rand.Rand) {
	pause := time.NewTicker(writePause)
	defer pause.Stop()
	for value := 0; ; value++ {
		select {
		case <-w.stop:
			return
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		name := fmt.Sprintf("w%d-%d", writer, random.IntN(namesPerWriter))
		if err := oneWrite(ctx, r, name, value, random.IntN(10)); err == nil {
			w.done.Add(1)
		}
	}
}

// oneWrite creates, updates or deletes an object, depending on dice. Updates are more frequent than
// deletions.
func oneWrite(ctx context.Context, r *follow.Resource, name string, value, dice int) error {
	if dice < 3 {
		_, err := r.Create(ctx, name, strconv.Itoa(value))
		return err
	}
	base, err := r.Get(ctx, name)
	switch {
	case err != nil:
		return err
	case dice < 8:
		_, err = r.Update(ctx, name, strconv.Itoa(value), base)
		return err
	default:
		return r.Delete(ctx, name, base)
	}
}

// finish stops the writers and returns when all writes were answered: a canceled write could still take
// effect after a later LIST.
func (w *writers) finish() {
	close(w.stop)
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
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
