// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

var errNotComparable = errors.New("resourceVersion is not comparable")

// progress tracks which version, vouched for by the server, an informer's store has come to. The
// applier notes what it has applied; while nobody waits that costs a look at each record's type.
type progress struct {
	// vouched is false while the store's version may come from synthetic Added events, with which a
	// watch without a version begins, in any order: until an event comes that is not Added.
	vouched atomic.Bool
	waiting atomic.Int32

	mu struct {
		sync.Mutex
		changed chan struct{} // closed at the next change; nil until somebody asks
	}
}

// note follows what has just been applied to the store.
func (p *progress) note(batch []record) {
	for i := range batch {
		switch batch[i].typ {
		case ReplacedAll, Bookmark, Updated, Deleted:
			if vouches := batch[i].version != "" && batch[i].version != "0"; vouches != p.vouched.Load() {
				p.vouched.Store(vouches)
			}
		}
	}
	if p.waiting.Load() > 0 {
		p.wake()
	}
}

func (p *progress) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.changed != nil {
		close(p.mu.changed)
		p.mu.changed = nil
	}
}

// await announces a caller of next, until it calls done.
func (p *progress) await() (done func()) {
	p.waiting.Add(1)
	return func() { p.waiting.Add(-1) }
}

// next returns a channel that is closed when something was applied after this call, for a caller
// between await and done.
func (p *progress) next() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.changed == nil {
		p.mu.changed = make(chan struct{})
	}
	return p.mu.changed
}

// reached reports whether the store, which is at applied, has come to version. The error is
// errNotComparable.
func (p *progress) reached(applied, version string) (bool, error) {
	if !p.vouched.Load() {
		return false, nil
	}
	order, err := resourceversion.CompareResourceVersion(applied, version)
	if err != nil {
		return false, fmt.Errorf("%w: the informer is at %q", errNotComparable, applied)
	}
	return order >= 0, nil
}
