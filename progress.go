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
// applier says what it is about to apply, and notes what it has applied; while nobody waits that
// costs two looks at each record's type.
type progress struct {
	// era counts how often the server has begun or ceased to vouch for the store's version. It is odd
	// while it does. It does not while the version may come from synthetic Added events, with which
	// a watch without a version begins, in any order: until an event comes that is not Added.
	era     atomic.Uint64
	waiting atomic.Int32

	mu struct {
		sync.Mutex
		changed chan struct{} // closed at the next change; nil until somebody asks
	}
}

func vouched(era uint64) bool { return era%2 == 1 }

// expect is called before batch is applied, so that nobody takes a version that it brings, and that
// the server does not vouch for, for one of the era before.
func (p *progress) expect(batch []record) {
	if !vouched(p.era.Load()) {
		return
	}
	for i := range batch {
		if vouches, says := vouching(&batch[i]); says && !vouches {
			p.era.Add(1)
			return
		}
	}
}

// note follows what has just been applied to the store.
func (p *progress) note(batch []record) {
	vouches := vouched(p.era.Load())
	for i := range batch {
		if v, says := vouching(&batch[i]); says {
			vouches = v
		}
	}
	if vouches != vouched(p.era.Load()) {
		p.era.Add(1)
	}
	if p.waiting.Load() > 0 {
		p.wake()
	}
}

// vouching reports whether the server vouches for the version that the store has after rec, if rec
// says anything of that.
func vouching(rec *record) (vouches, says bool) {
	switch rec.typ {
	case ReplacedAll, Bookmark, Updated, Deleted:
		return rec.version != "" && rec.version != "0", true
	}
	return false, false
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

// reached reports whether the store, whose version applied returns, has come to version. The error is
// errNotComparable. A version read while one era ends and another begins counts as not reached: the
// end of that change wakes those who wait.
func (p *progress) reached(applied func() string, version string) (bool, error) {
	era := p.era.Load()
	now := applied()
	if !vouched(era) || p.era.Load() != era {
		return false, nil
	}
	order, err := resourceversion.CompareResourceVersion(now, version)
	if err != nil {
		return false, fmt.Errorf("%w: the informer is at %q", errNotComparable, now)
	}
	return order >= 0, nil
}
