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

// Progress tracks which version, vouched for by the server, an informer's store has come to. The
// applier turns the era before and after it applies a batch, and wakes those who wait.
type Progress struct {
	// era counts how often the server has begun or ceased to vouch for the store's version. It is
	// odd while it does. It does not while the version may come from synthetic Added events, with
	// which a watch without a version begins, in any order: until an event comes that is not Added.
	era     atomic.Uint64
	waiting atomic.Int32 // callers between Await and done

	mu struct {
		sync.Mutex
		changed chan struct{} // closed at the next change; nil until somebody asks
	}
}

// wake wakes those who wait, after something was applied.
func (p *Progress) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.changed != nil {
		close(p.mu.changed)
		p.mu.changed = nil
	}
}

// Await announces a caller of next, until it calls done.
func (p *Progress) Await() (done func()) {
	p.waiting.Add(1)
	return func() { p.waiting.Add(-1) }
}

// Next returns a channel that is closed when something was applied after this call, for a caller
// between await and done.
func (p *Progress) Next() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.changed == nil {
		p.mu.changed = make(chan struct{})
	}
	return p.mu.changed
}

// Reached reports whether the store, whose version applied returns, has come to version. The error
// is ErrNotComparable. A version read while one era ends and another begins counts as not reached:
// the end of that change wakes those who wait.
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
