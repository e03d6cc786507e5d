// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/kinformer/cache/internal/tap"
)

// Relister takes requests for a relist: a new list of the whole collection. The zero value is ready
// for use. Its methods may be called by any goroutine and do not block.
type Relister struct {
	mu struct {
		sync.Mutex
		wanted    bool               // whether a relist was requested since the last list began
		newer     uint64             // the number of calls of RelistNewest
		begun     uint64             // the number of these before the last list began
		interrupt context.CancelFunc // ends the current watch; nil if there is none
	}
	stored atomic.Uint64 // the number of calls of RelistNewest whose result is in the sink
}

// Relist requests a list that begins after the call. Further calls before it begins have no effect.
// The current watch ends; the list follows after the usual pause between rounds.
func (r *Relister) Relist() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wantLocked()
}

// RelistNewest is Relist for the most recent state of the server, even if that is older than the
// reflector's. stored reports whether the sink has the result.
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

// answered returns the function to be called once the sink has the result of the list that begins
// now.
func (r *Relister) answered() (stored func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.mu.begun
	return func() { r.stored.Store(calls) }
}

// interruptible returns a context that ends when a relist is requested (at once if one is pending).
// The caller must call done when the watch has ended.
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

// because returns why a watch ended: errAsked if a relist was requested, because an interrupted
// watch may end with any error, else err. The end of ctx, a doubt about decoded objects, and a
// failed resync take precedence over a relist.
func (r *Relister) because(ctx context.Context, err error) error {
	if ctx.Err() != nil || isA[*tap.Doubt](err) || isA[*resyncError](err) || !r.isWanted() {
		return err
	}
	return errAsked
}

// isWanted reports whether a relist was requested and has not begun.
func (r *Relister) isWanted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.wanted
}

// begins records that a list begins. It reports whether a relist was requested, and whether it must
// return the most recent state.
func (r *Relister) begins() (wanted, mostRecent bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	wanted, mostRecent = r.mu.wanted, r.mu.newer > r.mu.begun
	r.mu.wanted, r.mu.begun = false, r.mu.newer
	return wanted, mostRecent
}
