// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/kinformer/cache/internal/tap"
)

// Relister takes the wishes of those who want a reflector to ask for the whole state anew. The zero
// value is ready, anybody may use it, and no call waits.
type Relister struct {
	mu struct {
		sync.Mutex
		wanted    bool               // since the whole state was asked for last
		newer     uint64             // calls of RelistNewest
		begun     uint64             // those of them before the last request began
		interrupt context.CancelFunc // ends the watch that is followed; nil: none is
	}
	stored atomic.Uint64 // calls of RelistNewest whose answer is in the sink
}

// Relist has the whole state asked for anew, in a request that is made after the call. Until it
// begins, further calls change nothing. A watch that is followed ends; the request comes after the
// usual pause between rounds.
func (r *Relister) Relist() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wantLocked()
}

// RelistNewest is Relist for the most recent state of the server, even if that is older than the
// reflector's. The function that it returns reports whether the sink has the answer.
func (r *Relister) RelistNewest() (stored func() bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.newer++
	call := r.mu.newer
	r.wantLocked()
	return func() bool { return r.stored.Load() >= call }
}

func (r *Relister) wantLocked() {
	if r.mu.wanted = true; r.mu.interrupt != nil {
		r.mu.interrupt()
	}
}

// answered returns the function that is to be called once the sink has the state that is asked for
// now.
func (r *Relister) answered() (stored func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.mu.begun
	return func() { r.stored.Store(calls) }
}

// interruptible returns a context that a wish ends, until done is called: also one from before.
func (r *Relister) interruptible(ctx context.Context) (inner context.Context, done func()) {
	inner, cancel := context.WithCancel(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.interrupt = cancel; r.mu.wanted {
		cancel()
	}
	return inner, r.done
}

func (r *Relister) done() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.interrupt()
	r.mu.interrupt = nil
}

// because is why a watch has ended with err: a wish, if there is one, since what it interrupts may
// end with any error. That what was decoded is in doubt, or that a resync failed, goes before a
// wish, and so does the end of ctx.
func (r *Relister) because(ctx context.Context, err error) error {
	if ctx.Err() != nil || isA[*tap.Doubt](err) || isA[*resyncError](err) || !r.isWanted() {
		return err
	}
	return errAsked
}

// isWanted reports whether there is a wish.
func (r *Relister) isWanted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.wanted
}

// begins notes that the whole state is asked for now. It reports whether that was wished, and
// whether it has to be the most recent state.
func (r *Relister) begins() (wanted, newest bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	wanted, newest = r.mu.wanted, r.mu.newer > r.mu.begun
	r.mu.wanted, r.mu.begun = false, r.mu.newer
	return wanted, newest
}
