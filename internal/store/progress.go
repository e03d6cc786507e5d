// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

var ErrNotComparable = errors.New("resourceVersion is not comparable")

// Progress tracks the version that an informer's store has reached, and whether the server vouches
// for it. The applier, or the source of several whose version it is, calls Vouch before and after it
// applies a batch, and wakes waiting callers.
type Progress struct {
	// era counts how often the server has begun or ceased to vouch for the store's version. It is
	// odd while the server does. It is even while the version may come from synthetic Added events:
	// a watch without a version begins with them, in any order, up to the first event of another
	// type.
	era     atomic.Uint64
	waiting atomic.Int32 // number of callers between Await and done

	mu struct {
		sync.Mutex
		changed chan struct{} // closed at the next change; nil until Next is called
	}
}

// IsVouched reports whether a server vouches for a version.
func IsVouched(version string) bool { return version != "" && version != "0" }

// Vouches reports whether the server vouches for the store's version.
func (p *Progress) Vouches() bool { return p.era.Load()%2 == 1 }

// Vouch records whether the server vouches for the store's version from now on.
func (p *Progress) Vouch(does bool) {
	if does != p.Vouches() {
		p.era.Add(1)
	}
}

// Wake wakes waiting callers after a batch was applied.
func (p *Progress) Wake() {
	if p.waiting.Load() == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.changed != nil {
		close(p.mu.changed)
		p.mu.changed = nil
	}
}

// Await announces a caller of Next. The caller must call done at the end.
func (p *Progress) Await() (done func()) {
	p.waiting.Add(1)
	return func() { p.waiting.Add(-1) }
}

// Next returns a channel that is closed when a batch was applied after this call. It must be called
// between Await and done.
func (p *Progress) Next() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.changed == nil {
		p.mu.changed = make(chan struct{})
	}
	return p.mu.changed
}

// Reached reports whether the store, whose version applied returns, has reached version. The error
// wraps ErrNotComparable. A version read while the era changes counts as not reached; the end of
// that change wakes waiting callers.
func (p *Progress) Reached(applied func() string, version string) (bool, error) {
	era := p.era.Load()
	now := applied()
	if vouched := era%2 == 1; !vouched || p.era.Load() != era {
		return false, nil
	}
	order, err := resourceversion.CompareResourceVersion(now, version)
	if err != nil {
		return false, fmt.Errorf("%w: the informer is at %q", ErrNotComparable, now)
	}
	return order >= 0, nil
}
