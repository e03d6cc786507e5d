// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package retry_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/draw"
	"github.com/kinformer/cache/retry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errProcess = errors.New("cannot process")

type item struct {
	key   string
	value int
}

func itemKey(obj any) (string, error) {
	if it, ok := obj.(item); ok {
		return it.key, nil
	}
	return "", errors.New("no item")
}

func delta(typ cache.DeltaType, obj any) cache.Delta { return cache.Delta{Type: typ, Object: obj} }

// retryRig runs Process with a function that fails for selected items, with a delay of a second between
// attempts.
type retryRig struct {
	t       *testing.T
	process cache.ProcessFunc
	fails   map[string]int // attempts that must fail, by the item's text
	mu      sync.Mutex     // guards calls
	calls   []string
	givenUp []string
	stats   retry.Stats
}

func newRetryRig(t *testing.T, ctx context.Context) *retryRig {
	r := &retryRig{t: t, fails: map[string]int{}}
	r.process = retry.Process(retry.Policy{
		Context:     ctx,
		MaxAttempts: 3,
		Backoff:     wait.Backoff{Duration: time.Second, Factor: 1},
		KeyFunc:     itemKey,
		OnGiveUp:    func(item any, err error) { r.givenUp = append(r.givenUp, fmt.Sprint(r.text(item), ": ", err)) },
		Stats:       &r.stats,
	}, func(item any, _ bool) error {
		text := r.text(item)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.calls = append(r.calls, text)
		if r.fails[text] > 0 {
			r.fails[text]--
			return errProcess
		}
		return nil
	})
	return r
}

// TestBadRetryPolicyIsRefused: Process panics for an invalid policy.
func TestBadRetryPolicyIsRefused(t *testing.T) {
	works := func(any, bool) error { return nil }
	for name, test := range map[string]struct {
		policy retry.Policy
		fn     cache.ProcessFunc
		says   string
	}{
		"no function": {retry.Policy{}, nil, "the function is nil"},
		"attempts":    {retry.Policy{MaxAttempts: -1}, works, "MaxAttempts is -1: use a positive value, or 0 for 5"},
		"first delay": {retry.Policy{Backoff: wait.Backoff{Duration: -1}}, works, "Backoff {Duration:-1ns"},
		"no delay":    {retry.Policy{Backoff: wait.Backoff{Factor: 2, Cap: time.Minute}}, works, "has no Duration"},
		"jitter":      {retry.Policy{Backoff: wait.Backoff{Duration: 1, Jitter: -1}}, works, "Jitter:-1"},
	} {
		func() {
			defer func() { assert.ErrorContains(t, recover().(error), test.says, name) }()
			retry.Process(test.policy, test.fn)
		}()
	}
	assert.NotPanics(t, func() { retry.Process(retry.Policy{Backoff: wait.Backoff{Steps: 5}}, works) }, "its Steps are ignored")
}

// text formats an item: "a1" for a delta of item a with value 1, "replace 1" for a list.
func (r *retryRig) text(obj any) string {
	d := obj.(cache.Deltas).Newest()
	switch of := d.Object.(type) {
	case cache.ReplacedAllInfo:
		return "replace " + of.ResourceVersion
	case item:
		return fmt.Sprint(of.key, of.value)
	default:
		return string(d.Type)
	}
}

func (r *retryRig) put(typ cache.DeltaType, key string, value int) {
	require.NoError(r.t, r.process(cache.Deltas{delta(typ, item{key, value})}, false))
}

func (r *retryRig) replace(version string) {
	require.NoError(r.t, r.process(cache.Deltas{delta(cache.ReplacedAll, cache.ReplacedAllInfo{ResourceVersion: version})}, false))
}

// after returns the calls during the next seconds.
func (r *retryRig) after(seconds int) []string {
	time.Sleep(time.Duration(seconds)*time.Second + time.Millisecond)
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = nil
	return calls
}

func inRetryRig(t *testing.T, test func(r *retryRig)) {
	synctest.Test(t, func(t *testing.T) { test(newRetryRig(t, nil)) })
}

func TestRetryHoldsBackItsKeyOnly(t *testing.T) {
	inRetryRig(t, func(r *retryRig) {
		r.fails["a1"] = 1
		r.put(cache.Added, "a", 1)
		r.put(cache.Added, "b", 1)
		r.put(cache.Updated, "a", 2)
		assert.Equal(t, []string{"a1", "b1"}, r.after(0))
		assert.Equal(t, 1, r.stats.Waiting())
		assert.Equal(t, []string{"a2"}, r.after(1), "the newer item takes the place of the one that failed")
		r.put(cache.Updated, "a", 3)
		assert.Equal(t, []string{"a3"}, r.after(0))
		assert.Empty(t, r.givenUp)
		assert.EqualValues(t, 1, r.stats.Retries())
		assert.Zero(t, r.stats.Waiting())
	})
}

func TestRetryGivesUp(t *testing.T) {
	inRetryRig(t, func(r *retryRig) {
		r.fails["a1"] = 100
		r.put(cache.Added, "a", 1)
		assert.Equal(t, []string{"a1", "a1", "a1"}, r.after(10))
		require.Len(t, r.givenUp, 1)
		assert.Contains(t, r.givenUp[0], "given up after 3 attempts: cannot process")
		assert.EqualValues(t, 1, r.stats.GivenUp())
		r.put(cache.Updated, "a", 2)
		assert.Equal(t, []string{"a2"}, r.after(0), "the key is free again")
		r.fails["Added"] = 100
		require.NoError(t, r.process(cache.Deltas{delta(cache.Added, "no item")}, false))
		assert.Equal(t, []string{"Added"}, r.after(10), "an item without a key is not retried")
		assert.Len(t, r.givenUp, 2)
	})
}

// TestFailingReplaceHoldsBackEverything: no later item is applied, because the older list would undo
// it.
func TestFailingReplaceHoldsBackEverything(t *testing.T) {
	inRetryRig(t, func(r *retryRig) {
		r.fails["replace 7"], r.fails["b1"] = 1, 1
		r.replace("7")
		r.put(cache.Updated, "a", 1)
		r.put(cache.Updated, "b", 1)
		r.put(cache.Updated, "a", 2)
		require.NoError(t, r.process(cache.Deltas{delta(cache.SyncAll, cache.SyncAllInfo{})}, false))
		assert.Equal(t, []string{"replace 7"}, r.after(0))
		assert.Equal(t, 4, r.stats.Waiting())
		assert.Equal(t, []string{"replace 7", "a2", "b1", "SyncAll"}, r.after(1))
		assert.Equal(t, []string{"b1"}, r.after(10))
		r.fails["replace 8"] = 1
		r.replace("8")
		r.put(cache.Updated, "a", 3)
		r.replace("9")
		assert.Equal(t, []string{"replace 8", "replace 9"}, r.after(10), "the newer list has what came between")
	})
}

func TestReplaceObjectByObject(t *testing.T) {
	inRetryRig(t, func(r *retryRig) {
		r.fails["a1"], r.fails["b2"] = 1, 1
		r.put(cache.Added, "a", 1)
		r.put(cache.Replaced, "b", 2)
		r.put(cache.Replaced, "c", 2)
		assert.Equal(t, []string{"a1", "b2", "c2", "b2"}, r.after(10), "a is gone, b belongs to the list")
	})
}

// TestReplaceObjectByObjectKeeps checks that deletions, which a RealFIFO sends before the objects of a list, and objects of
// a list with later changes are retried after the next object of the list.
func TestReplaceObjectByObjectKeeps(t *testing.T) {
	inRetryRig(t, func(r *retryRig) {
		r.fails["a1"], r.fails["c3"] = 1, 1
		r.put(cache.Deleted, "a", 1)
		require.NoError(t, r.process(cache.Deltas{delta(cache.Replaced, item{"c", 2}), delta(cache.Updated, item{"c", 3})}, false))
		r.put(cache.Replaced, "b", 2)
		calls := r.after(10)
		require.Len(t, calls, 5)
		assert.Equal(t, []string{"a1", "c3", "b2"}, calls[:3])
		assert.ElementsMatch(t, []string{"a1", "c3"}, calls[3:])
		r.fails["z1"] = 1
		r.put(cache.Added, "z", 1)
		require.NoError(t, r.process(cache.Deltas{delta(cache.Replaced, item{"a", 4}), delta(cache.Updated, item{"a", 5})}, false))
		assert.Equal(t, []string{"z1", "a5"}, r.after(10), "z was no object of the list")
	})
}

func TestContextEndsTheRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := newRetryRig(t, ctx)
		r.fails["a1"], r.fails["b1"], r.fails["early1"] = 100, 100, 1
		r.put(cache.Added, "early", 1)
		assert.Equal(t, []string{"early1", "early1"}, r.after(10), "nothing waits in between")
		r.put(cache.Added, "a", 1)
		cancel()
		assert.Equal(t, []string{"a1"}, r.after(10))
		r.put(cache.Added, "b", 1)
		assert.Equal(t, []string{"b1"}, r.after(10))
		require.Len(t, r.givenUp, 2)
		assert.Contains(t, r.givenUp[0], context.Canceled.Error())
		assert.Contains(t, r.givenUp[1], "given up after 1 attempts")
	})
}

// TestRetriesThatAreOverKeepNothing: a live context does not refer to a process function for which no
// item waits, so the store of a controller that has ended can be collected.
func TestRetriesThatAreOverKeepNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, failures := range map[string]int{"none": 0, "one retry": 1, "given up": 9} {
			used := func() weak.Pointer[[1024]byte] {
				contents := new([1024]byte)
				process := retry.Process(retry.Policy{Context: t.Context(), OnGiveUp: func(any, error) {}}, func(any, bool) error {
					contents[0]++
					if int(contents[0]) <= failures {
						return errProcess
					}
					return nil
				})
				require.NoError(t, process(testkit.Pod("a", "1"), false))
				time.Sleep(time.Hour) // longer than all backoffs
				return weak.Make(contents)
			}()
			runtime.GC()
			runtime.GC()
			assert.True(t, used.Value() == nil, what) // prints only the name: the value is not readable
		}
	})
}

func TestPanicInARetry(t *testing.T) {
	panics := testkit.QuietPanics(t)
	synctest.Test(t, func(t *testing.T) {
		calls, givenUp := 0, 0
		process := retry.Process(retry.Policy{KeyFunc: itemKey, OnGiveUp: func(any, error) { givenUp++ }}, func(any, bool) error {
			if calls++; calls > 1 {
				panic("cannot process")
			}
			return errProcess
		})
		require.NoError(t, process(cache.Deltas{delta(cache.Added, item{"a", 1})}, false))
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, 2, calls)
		assert.Equal(t, 1, givenUp)
		assert.Equal(t, 1, panics())
		assert.Panics(t, func() { _ = process(cache.Deltas{delta(cache.Added, item{"a", 1})}, false) }, "a first attempt is the caller's")
	})
}

// TestRetryAgainstModel: if the function fails occasionally but not forever, each key ends at its
// newest item, and never returns to an older one.
func TestRetryAgainstModel(t *testing.T) {
	draw.Check(t, func(d *draw.T) {
		type step struct {
			key   string
			fails int
			pause time.Duration
		}
		steps := draw.Slice(d, 1, 30, func() step {
			return step{
				key:   draw.Of(d, "a", "b", "c", ""),
				fails: draw.Int(d, 0, 2),
				pause: draw.Int(d, 0, 1500*time.Millisecond),
			}
		})
		synctest.Test(d.T, func(t *testing.T) {
			fails, state, newest := map[int]int{}, map[string]int{}, map[string]int{}
			process := retry.Process(retry.Policy{KeyFunc: itemKey, MaxAttempts: 3, Backoff: wait.Backoff{Duration: time.Second, Factor: 1}}, func(obj any, _ bool) error {
				d := obj.(cache.Deltas).Newest()
				list, whole := d.Object.(cache.ReplacedAllInfo)
				it, _ := d.Object.(item)
				if whole {
					it = list.Objects[0].(item)
				}
				if fails[it.value] > 0 {
					fails[it.value]--
					return errProcess
				}
				if whole {
					clear(state)
				}
				assert.Less(t, state[it.key], it.value)
				state[it.key] = it.value
				return nil
			})
			for i, s := range steps {
				fails[i+1] = s.fails
			}
			for i, s := range steps {
				it := item{s.key, i + 1}
				d := delta(cache.Updated, it)
				if s.key == "" {
					clear(newest)
					d = delta(cache.ReplacedAll, cache.ReplacedAllInfo{Objects: []any{it}})
				}
				newest[it.key] = it.value
				require.NoError(t, process(cache.Deltas{d}, false))
				time.Sleep(s.pause)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.Equal(t, newest, state)
		})
	})
}
