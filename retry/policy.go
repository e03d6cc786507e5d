// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/event"
)

// Policy configures how Process retries items that fail. The zero value works.
type Policy struct {
	// Context ends the retries: waiting items are given up, with the context's cause, and items that
	// fail later are given up at once. If nil, retries end only by MaxAttempts.
	Context context.Context
	// MaxAttempts is the maximum number of attempts for an item; 0 means 5.
	MaxAttempts int
	// Backoff is the delay before each further attempt; its Steps are ignored. The zero value means 100
	// ms, doubling up to 30 s, with 10 % of jitter. Otherwise Duration must be positive.
	Backoff wait.Backoff
	// KeyFunc returns the key of an object; nil means cache.DeletionHandlingMetaNamespaceKeyFunc. Items
	// without a key are never retried.
	KeyFunc cache.KeyFunc
	// OnGiveUp is called for each item whose last attempt failed or that was given up. If nil, the item
	// is reported to k8s.io/apimachinery/pkg/util/runtime.ErrorHandlers. It must not call the function
	// that Process returned.
	OnGiveUp func(item any, err error)
	// Stats, if not nil, counts the retries.
	Stats *Stats
}

// Stats counts the retries of a function returned by Process. Its methods may be called at any time.
type Stats struct {
	mu      sync.Mutex
	retries uint64
	givenUp uint64
	waiting int
}

// Retries returns the number of attempts other than the first one of each item.
func (s *Stats) Retries() uint64 { s.mu.Lock(); defer s.mu.Unlock(); return s.retries }

// GivenUp returns the number of items that were given up.
func (s *Stats) GivenUp() uint64 { s.mu.Lock(); defer s.mu.Unlock(); return s.givenUp }

// Waiting returns the number of items that wait for another attempt.
func (s *Stats) Waiting() int { s.mu.Lock(); defer s.mu.Unlock(); return s.waiting }

const (
	defaultAttempts = 5
	retryFirst      = 100 * time.Millisecond
	retryCap        = 30 * time.Second
	retryJitter     = 0.1
)

// check returns the first fault of the policy or of fn, or nil.
func (p Policy) check(fn cache.ProcessFunc) error {
	b := p.Backoff
	b.Steps = 0
	switch {
	case fn == nil:
		return errors.New("retry.Process: the function is nil: give the one that processes an item")
	case p.MaxAttempts < 0:
		return fmt.Errorf("retry.Process: MaxAttempts is %d: use a positive value, or 0 for %d", p.MaxAttempts, defaultAttempts)
	case b.Duration < 0 || b.Cap < 0 || !(b.Factor >= 0 && b.Jitter >= 0) || math.IsInf(b.Factor+b.Jitter, 1):
		return fmt.Errorf("retry.Process: Backoff %+v: no number may be negative, infinite or NaN", b)
	case b.Duration == 0 && b != (wait.Backoff{}):
		return fmt.Errorf("retry.Process: Backoff %+v has no Duration: set it to the first delay, or leave the whole Backoff zero", b)
	}
	return nil
}

func (p Policy) withDefaults() Policy {
	if p.Context == nil {
		p.Context = context.Background()
	}
	if p.MaxAttempts == 0 {
		p.MaxAttempts = defaultAttempts
	}
	if p.Backoff.Duration == 0 {
		p.Backoff = wait.Backoff{Duration: retryFirst, Factor: 2, Jitter: retryJitter, Cap: retryCap}
	}
	p.Backoff.Steps = p.MaxAttempts + 1
	if p.KeyFunc == nil {
		p.KeyFunc = cache.DeletionHandlingMetaNamespaceKeyFunc
	}
	if p.OnGiveUp == nil {
		p.OnGiveUp = func(_ any, err error) { event.Report(context.Background(), event.Redacted(err), "Item given up") }
	}
	if p.Stats == nil {
		p.Stats = &Stats{}
	}
	return p
}

func (s *Stats) add(change func(*Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}
