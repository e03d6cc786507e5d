// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/retry"
)

// RetryPolicy says how RetryProcess goes about items that fail. The zero value works.
type RetryPolicy struct {
	// Context ends the retries: what waits then is given up, with the context's cause, and what
	// fails later is given up at once. nil: they end by themselves only.
	Context context.Context
	// MaxAttempts is how often an item is tried in all; 0: 5.
	MaxAttempts int
	// Backoff is the delay before each further attempt, its Steps being ignored; the zero value:
	// 100 ms, doubling up to 30 s, with 10 % of jitter.
	Backoff wait.Backoff
	// KeyFunc distinguishes objects; nil: DeletionHandlingMetaNamespaceKeyFunc. Items without a key
	// are never retried.
	KeyFunc KeyFunc
	// OnGiveUp is called for each item that failed for the last time, or had to be given up; nil:
	// it is reported to k8s.io/apimachinery/pkg/util/runtime.ErrorHandlers. It must not call the
	// function that RetryProcess returned.
	OnGiveUp func(item any, err error)
	// Stats is filled in, if it is set.
	Stats *RetryStats
}

// RetryStats counts what a function made by RetryProcess does. Its methods may be called at any
// time.
type RetryStats struct {
	mu      sync.Mutex
	retries uint64
	givenUp uint64
	waiting int
}

// Retries returns the number of attempts beyond the first of an item.
func (s *RetryStats) Retries() uint64 { s.mu.Lock(); defer s.mu.Unlock(); return s.retries }

// GivenUp returns the number of items that were given up.
func (s *RetryStats) GivenUp() uint64 { s.mu.Lock(); defer s.mu.Unlock(); return s.givenUp }

// Waiting returns the number of items that are to be tried later.
func (s *RetryStats) Waiting() int { s.mu.Lock(); defer s.mu.Unlock(); return s.waiting }

const (
	defaultAttempts = 5
	retryFirst      = 100 * time.Millisecond
	retryCap        = 30 * time.Second
	retryJitter     = 0.1
)

// RetryProcess wraps a process function, for Config.Process, so that items that fail are tried
// again. The function it returns returns no errors.
//
//   - A failing key holds back later items of that key only: a newer item takes the place of the
//     one that waits, with all its attempts before it, and the time of the next attempt stays.
//   - A Replace supersedes all that waits: ReplacedAll of a RealFIFO with AtomicEvents, which also
//     holds back everything after it while it fails itself. Queues that send a Replace object by
//     object show less: its first Replaced delta ends what waits since before, and a list without
//     objects shows nothing.
//   - HasSynced counts an item once, when its first attempt has ended.
//   - An item that fails for the last time goes to OnGiveUp. So does one that panics in a retry, at
//     once; a panic in a first attempt is the caller's.
//
// fn runs in the caller's goroutine and in those of timers, one call at a time. It must not call
// the queue unless that has UnlockWhileProcessing. ProcessBatch has to be nil, since items of
// batches do not come here.
//
// It panics if fn is nil, or a number of the policy is negative.
func RetryProcess(policy RetryPolicy, fn ProcessFunc) ProcessFunc {
	if err := policy.check(fn); err != nil {
		panic(err)
	}
	policy = policy.withDefaults()
	return retry.New(retry.Options{
		Ctx:      policy.Context,
		Attempts: policy.MaxAttempts,
		Backoff:  policy.Backoff,
		KeyFunc:  policy.KeyFunc,
		Retried:  func() { policy.Stats.add(func(s *RetryStats) { s.retries++ }) },
		Waiting:  func(n int) { policy.Stats.add(func(s *RetryStats) { s.waiting = n }) },
		GiveUp: func(item any, err error) {
			policy.Stats.add(func(s *RetryStats) { s.givenUp++ })
			policy.OnGiveUp(item, err)
		},
	}, fn).Process
}

var errBadRetry = errors.New("RetryProcess cannot work")

func (p RetryPolicy) check(fn ProcessFunc) error {
	var bad faults
	if fn == nil {
		bad.add("the function is nil: give the one that processes an item")
	}
	refuseNegative(&bad, "RetryPolicy.MaxAttempts", p.MaxAttempts, fmt.Sprint(defaultAttempts))
	if p.Backoff.Duration != 0 {
		checkBackoff("RetryPolicy.Backoff", p.Backoff, &bad)
	}
	return bad.as(errBadRetry)
}

func (p RetryPolicy) withDefaults() RetryPolicy {
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
		p.KeyFunc = DeletionHandlingMetaNamespaceKeyFunc
	}
	if p.OnGiveUp == nil {
		p.OnGiveUp = func(_ any, err error) { event.Report(context.Background(), event.Discreet(err), "Item given up") }
	}
	if p.Stats == nil {
		p.Stats = &RetryStats{}
	}
	return p
}

func (s *RetryStats) add(change func(*RetryStats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}
