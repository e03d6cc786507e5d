// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/event"
)

// Process wraps a process function, for cache.Config.Process, so that items that fail are retried. The
// returned function never returns an error.
//
//   - A failing key delays later items of that key only: a newer item replaces the waiting one and starts with
//     no failed attempts, at the time of the pending attempt.
//   - A Replace supersedes all waiting items: ReplacedAll of a RealFIFO with AtomicEvents, which also delays
//     all later items while it fails itself. Queues that send a Replace object by object reveal less: a
//     Replaced delta drops waiting items that are neither deletions nor of a list, and a list without
//     objects drops none, nor does a DeltaFIFO without EmitDeltaTypeReplaced. So an object of an earlier
//     list may be retried after a list without it.
//   - HasSynced counts an item once, when its first attempt has ended.
//   - An item whose last attempt fails is passed to OnGiveUp. So is one that panics in a retry, at once; a
//     panic in a first attempt is the caller's.
//
// fn runs in the caller's goroutine and in those of timers, one call at a time. It must not call the
// queue unless that has UnlockWhileProcessing. ProcessBatch must be nil, because Process does not see
// the items of batches.
//
// Process panics if fn is nil or the policy is invalid: a number is negative, infinite or NaN, or a Backoff
// has no Duration.
func Process(policy Policy, fn cache.ProcessFunc) cache.ProcessFunc {
	if err := policy.check(fn); err != nil {
		panic(err)
	}
	policy = policy.withDefaults()
	return (&retrier{policy: policy, fn: fn, waiting: map[string]*retry{}}).process
}

// retrier is the state behind Process.
type retrier struct {
	policy Policy
	fn     cache.ProcessFunc

	// mu is held while fn runs. It guards the following fields.
	mu      sync.Mutex
	waiting map[string]*retry // items that wait for an attempt, by key
	whole   *retry            // a Replace that waits for an attempt, or nil
	behind  []*retry          // items that arrived after whole, at most one for each key, in order
	unwatch func() bool       // stops the context from calling end; nil if no item waits
}

// retry is an item and the state of its retries.
type retry struct {
	key             string
	item            any
	isInInitialList bool
	attempts        int // the number of failed attempts
	backoff         wait.Backoff
	timer           *time.Timer // nil while behind a Replace
}

// The keys of items that are not about a single object. No object has such a key, because names are not
// empty.
const (
	keyOfReplace  = "/"
	keyOfResync   = "/sync"
	keyOfBookmark = "/bookmark"
)

// process is the function that Process returns.
func (r *retrier) process(item any, isInInitialList bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.count()
	key, err := r.keyOf(item)
	if err != nil {
		if err := r.fn(item, isInInitialList); err != nil {
			r.giveUp(item, err)
		}
		return nil
	}
	r.supersede(key, item)
	now := &retry{key: key, item: item, isInInitialList: isInInitialList, backoff: r.policy.Backoff}
	if !r.holdBack(now) {
		r.attempt(now)
	}
	return nil
}

func (r *retrier) keyOf(item any) (string, error) {
	if deltas, ok := item.(cache.Deltas); ok && len(deltas) > 0 {
		switch newest := deltas.Newest(); newest.Type {
		case cache.ReplacedAll:
			return keyOfReplace, nil
		case cache.SyncAll:
			return keyOfResync, nil
		case cache.Bookmark:
			return keyOfBookmark, nil
		default:
			item = newest.Object
		}
	}
	return r.policy.KeyFunc(item)
}

// supersede drops waiting items that item makes obsolete.
func (r *retrier) supersede(key string, item any) {
	if key == keyOfReplace {
		r.drop(func(*retry) bool { return true })
		return
	}
	if deltas, ok := item.(cache.Deltas); ok && slices.ContainsFunc(deltas, isReplaced) {
		r.drop(func(old *retry) bool {
			waits, ok := old.item.(cache.Deltas)
			return ok && waits.Newest().Type != cache.Deleted && !slices.ContainsFunc(waits, isReplaced)
		})
	}
}

// isReplaced reports whether a delta is of a list. Later deltas of its object may follow it in the same item.
func isReplaced(d cache.Delta) bool { return d.Type == cache.Replaced }

func (r *retrier) drop(outdated func(*retry) bool) {
	for key, old := range r.waiting {
		if outdated(old) {
			old.timer.Stop()
			delete(r.waiting, key)
		}
	}
	if r.whole != nil && outdated(r.whole) {
		r.whole.timer.Stop()
		r.whole, r.behind = nil, nil
	}
}

// holdBack replaces a waiting item of the same key by item, or puts it behind a Replace that waits. It
// returns false if neither applies.
func (r *retrier) holdBack(item *retry) bool {
	if r.whole != nil {
		for i, old := range r.behind {
			if old.key == item.key {
				r.behind[i] = item
				return true
			}
		}
		r.behind = append(r.behind, item)
		return true
	}
	if old := r.waiting[item.key]; old != nil {
		old.item, old.isInInitialList, old.attempts = item.item, item.isInInitialList, 0
		return true
	}
	return false
}

// attempt calls fn, and schedules the next attempt if it fails.
func (r *retrier) attempt(item *retry) {
	err := r.fn(item.item, item.isInInitialList)
	if err == nil {
		return
	}
	item.attempts++
	if ended := r.policy.Context.Err(); item.attempts >= r.policy.MaxAttempts || ended != nil {
		r.giveUp(item.item, fmt.Errorf("given up after %d attempts: %w", item.attempts, err))
		return
	}
	if item.key == keyOfReplace {
		r.whole = item
	} else {
		r.waiting[item.key] = item
	}
	item.timer = time.AfterFunc(item.backoff.Step(), func() { r.again(item) })
}

// again is called by the timer of an item.
func (r *retrier) again(item *retry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.count()
	if !r.remove(item) {
		return
	}
	r.policy.Stats.add(func(s *Stats) { s.retries++ })
	r.attemptIsolated(item)
	r.catchUp()
}

// attemptIsolated is attempt for callers that do not handle panics.
func (r *retrier) attemptIsolated(item *retry) {
	defer utilruntime.HandleCrash()
	defer func() {
		if p := recover(); p != nil {
			r.giveUp(item.item, fmt.Errorf("process function panicked: %v", p))
			panic(p)
		}
	}()
	r.attempt(item)
}

// remove removes a waiting item. It returns false if the item no longer waits.
func (r *retrier) remove(item *retry) bool {
	switch item {
	case r.whole:
		r.whole = nil
	case r.waiting[item.key]:
		delete(r.waiting, item.key)
	default:
		return false
	}
	return true
}

// catchUp tries the items behind a Replace if that no longer waits.
func (r *retrier) catchUp() {
	if r.whole != nil {
		return
	}
	behind := r.behind
	r.behind = nil
	for _, item := range behind {
		r.attemptIsolated(item)
	}
}

// end gives up all waiting items.
func (r *retrier) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.behind
	for _, item := range r.waiting {
		all = append(all, item)
	}
	if r.whole != nil {
		all = append(all, r.whole)
	}
	for _, item := range all {
		if item.timer != nil {
			item.timer.Stop()
		}
		r.giveUp(item.item, context.Cause(r.policy.Context))
	}
	clear(r.waiting)
	r.whole, r.behind = nil, nil
	r.count()
}

func (r *retrier) giveUp(item any, err error) {
	r.policy.Stats.add(func(s *Stats) { s.givenUp++ })
	r.policy.OnGiveUp(item, fmt.Errorf("processing %s: %w", event.Name(item), err))
}

func (r *retrier) count() {
	n := len(r.waiting) + len(r.behind)
	if r.whole != nil {
		n++
	}
	r.watchContext(n > 0)
	r.policy.Stats.add(func(s *Stats) { s.waiting = n })
}

// watchContext makes the end of the context give up waiting items. While there are none, the context
// does not refer to the retrier, because it may outlive the items and their store by far.
func (r *retrier) watchContext(waits bool) {
	switch {
	case waits && r.unwatch == nil:
		r.unwatch = context.AfterFunc(r.policy.Context, r.end)
	case !waits && r.unwatch != nil:
		r.unwatch()
		r.unwatch = nil
	}
}
