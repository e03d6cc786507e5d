// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
)

var ErrNotComparable = errors.New("resourceVersion is not comparable")

// Progress tracks which version, vouched for by the server, an informer's store has come to. The
// applier says what it is about to apply, and notes what it has applied; while nobody waits that
// costs two looks at each record's type.
type Progress struct {
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
func (p *Progress) expect(batch []event.Record) {
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
func (p *Progress) note(batch []event.Record) {
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
func vouching(rec *event.Record) (vouches, says bool) {
	switch rec.Type {
	case clientgo.ReplacedAll, clientgo.Bookmark, clientgo.Updated, clientgo.Deleted:
		return rec.Version != "" && rec.Version != "0", true
	}
	return false, false
}

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

// Reached reports whether the store, whose version applied returns, has come to version. The error is
// ErrNotComparable. A version read while one era ends and another begins counts as not reached: the
// end of that change wakes those who wait.
func (p *Progress) Reached(applied func() string, version string) (bool, error) {
	era := p.era.Load()
	now := applied()
	if !vouched(era) || p.era.Load() != era {
		return false, nil
	}
	order, err := resourceversion.CompareResourceVersion(now, version)
	if err != nil {
		return false, fmt.Errorf("%w: the informer is at %q", ErrNotComparable, now)
	}
	return order >= 0, nil
}
