// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	testingclock "k8s.io/utils/clock/testing"
)

// watched is what came of running a reflector for a minute.
type watched struct {
	asked, stored []string
	handled       []error
	version       string
}

// watchedFor runs a reflector in a bubble against the given watch answers for a minute. The list answers version 5.
func watchedFor(t *testing.T, change func(*reflectorOptions), answers ...any) (got watched) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var handler handled
		server := &fakeServer{noStream: true, list: listOf(podList("5", podAt("a", "1"))), watch: watches(answers...)}
		store := &storeLog{}
		cfg := reflectorOptions{
			listerWatcher: server, expectedType: &v1.Pod{}, sink: newForeignSink(store), backoff: second(), onError: toldTo(&handler),
		}
		if change != nil {
			change(&cfg)
		}
		r := newReflector(cfg)
		defer inBackground(t, r.run)()
		time.Sleep(time.Minute)
		synctest.Wait()
		got = watched{server.asked(), store.entries(), handler.errors(), r.version()}
	})
	return got
}

// toldTo has h hear of the errors of a reflector.
func toldTo(h *handled) func(context.Context, reflectorFailure) {
	return func(ctx context.Context, f reflectorFailure) { h.handle(ctx, nil, f.err) }
}

// TestWatchedEvents: events reach the store in order, and the version follows them, bookmarks included.
func TestWatchedEvents(t *testing.T) {
	got := watchedFor(t, nil, sent(modified("a", "6"), added("b", "7"), deleted("a", "8"), bookmark("12")))
	assert.Equal(t, []string{"list rv=0 limit=500", "watch rv=5"}, got.asked)
	assert.Equal(t, []string{"replace 5: a@1", "update a@6", "add b@7", "delete a@8"}, got.stored)
	assert.Equal(t, "12", got.version)
}

// TestWatchTellsStoreOfVersions: the optional interfaces of the store, after the change is in it.
func TestWatchTellsStoreOfVersions(t *testing.T) {
	store := &fullStoreLog{}
	watchedFor(t, func(c *reflectorOptions) { c.sink = newForeignSink(store) }, sent(added("b", "7"), bookmark("12")))
	assert.Equal(t, []string{"replace 5: a@1", "add b@7", "version 7", "bookmark 12", "version 12"}, store.entries())
}

// TestWatchStoreErrors: an error of the store is reported with the key, costs its own event only, and holds nobody up.
func TestWatchStoreErrors(t *testing.T) {
	reported := reports(t)
	store := &fullStoreLog{}
	store.fail = func(entry string) error {
		if entry == "replace 5: a@1" {
			return nil
		}
		return errors.New("store says no")
	}
	got := watchedFor(t, func(c *reflectorOptions) { c.sink = newForeignSink(store) },
		sent(added("b", "7"), modified("b", "8"), deleted("b", "9"), bookmark("10")))
	assert.Equal(t, "10", got.version)
	require.Len(t, reported(), 4)
	assert.Contains(t, reported()[0], "store says no")
	assert.Contains(t, reported()[0], "ns/b")
}

// TestWatchOptions: bookmarks are allowed and the timeout is drawn from 5 to 10 minutes, or from a longer range.
func TestWatchOptions(t *testing.T) {
	for least, want := range map[time.Duration][2]int64{
		0:                {300, 600},
		time.Second:      {300, 600},
		30 * time.Minute: {1800, 3600},
	} {
		drawn := map[int64]bool{}
		for range 50 {
			var got metav1.ListOptions
			server := &fakeServer{noStream: true, list: listOf(podList("5")), watch: func(_ int, _ context.Context, o metav1.ListOptions) (watch.Interface, error) {
				got = o
				return nil, errForbidden
			}}
			r := newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(&storeLog{}), minWatchTimeout: least})
			require.Error(t, r.listAndWatch(t.Context()))
			assert.GreaterOrEqual(t, *got.TimeoutSeconds, want[0])
			assert.LessOrEqual(t, *got.TimeoutSeconds, want[1])
			assert.True(t, got.AllowWatchBookmarks)
			assert.Nil(t, got.SendInitialEvents)
			drawn[*got.TimeoutSeconds] = true
		}
		assert.Greater(t, len(drawn), 5, "jitter")
	}
}

// TestWatchSyntheticEvents: a watch without a version begins with Added events in any order of versions, which must not
// become the position; whatever is not Added ends them.
func TestWatchSyntheticEvents(t *testing.T) {
	for _, listVersion := range []string{"", "0"} {
		store := &fullStoreLog{}
		synctest.Test(t, func(t *testing.T) {
			w := newScriptedWatch(5)
			server := &fakeServer{noStream: true, list: listOf(podList(listVersion)), watch: watches(w)}
			r := newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(store)})
			defer inBackground(t, r.run)()
			w.events <- added("b", "9")
			w.events <- added("a", "3")
			synctest.Wait()
			assert.Equal(t, listVersion, r.version())
			w.events <- modified("a", "10")
			w.events <- added("c", "11")
			synctest.Wait()
			assert.Equal(t, "11", r.version())
		})
		assert.Equal(t, []string{"replace " + listVersion + ":", "add b@9", "add a@3", "update a@10", "version 10", "add c@11", "version 11"}, store.entries())
	}
}

// TestWatchEnds: what follows the end of a watch, or the failure to open one. The handler hears only of the latter, and
// only if the error is not one that waiting cures.
func TestWatchEnds(t *testing.T) {
	list := "list rv=0 limit=500"
	relist := func(version string) string { return "list rv=" + version + " limit=0" }
	for name, tc := range map[string]struct {
		answers []any
		asked   []string
		handled error
	}{
		"closed":                 {[]any{sent(added("b", "7"), closed)}, []string{list, "watch rv=5", "watch rv=7"}, nil},
		"very short":             {[]any{sent(closed)}, []string{list, "watch rv=5", relist("5"), "watch rv=5"}, nil},
		"expired":                {[]any{sent(added("b", "7"), failedWith(errExpired))}, []string{list, "watch rv=5", relist("7"), "watch rv=5"}, nil},
		"expired when opened":    {[]any{errExpired}, []string{list, "watch rv=5", relist("5"), "watch rv=5"}, errExpired},
		"forbidden when opened":  {[]any{errForbidden}, []string{list, "watch rv=5", relist("5"), "watch rv=5"}, errForbidden},
		"forbidden later":        {[]any{sent(failedWith(errForbidden))}, []string{list, "watch rv=5", relist("5"), "watch rv=5"}, nil},
		"429 when opened":        {[]any{errTooManyRequests, errTooManyRequests}, []string{list, "watch rv=5", "watch rv=5", "watch rv=5"}, nil},
		"429 later":              {[]any{sent(added("b", "7"), failedWith(errTooManyRequests))}, []string{list, "watch rv=5", "watch rv=7"}, nil},
		"no connection":          {[]any{errRefused, errRefused}, []string{list, "watch rv=5", "watch rv=5", "watch rv=5"}, nil},
		"internal, no retries":   {[]any{sent(failedWith(errInternal))}, []string{list, "watch rv=5", relist("5"), "watch rv=5"}, nil},
		"no watch and no error":  {[]any{(*scriptedWatch)(nil)}, []string{list, "watch rv=5", relist("5"), "watch rv=5"}, errNoStream},
		"error event, no object": {[]any{sent(watch.Event{Type: watch.Error})}, []string{list, "watch rv=5", relist("5"), "watch rv=5"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := watchedFor(t, nil, tc.answers...)
			assert.Equal(t, tc.asked, got.asked)
			if tc.handled == nil {
				assert.Empty(t, got.handled)
			} else {
				require.Len(t, got.handled, 1)
				assert.ErrorIs(t, got.handled[0], tc.handled)
			}
		})
	}
}

// TestWatchQuietIsNotShort: a watch that closes without an event after a second is followed by another watch.
func TestWatchQuietIsNotShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScriptedWatch(0)
		server := &fakeServer{noStream: true, list: listOf(podList("5")), watch: watches(w)}
		defer inBackground(t, newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(&storeLog{})}).run)()
		time.Sleep(veryShortWatch)
		close(w.events)
		synctest.Wait()
		assert.Equal(t, []string{"list rv=0 limit=500", "watch rv=5", "watch rv=5"}, server.asked())
	})
}

// TestWatchDelays: a busy server is asked again after growing delays, the next round comes after one more.
func TestWatchDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []time.Duration
		answer := watches(errRefused, errTooManyRequests, sent(failedWith(errTooManyRequests)), errForbidden)
		server := &fakeServer{noStream: true, list: listOf(podList("5")), watch: func(n int, ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			at = append(at, time.Since(start))
			return answer(n, ctx, o)
		}}
		backoff := second()
		backoff.Factor = 2
		defer inBackground(t, newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(&storeLog{}), backoff: backoff}).run)()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, []time.Duration{0, 1 * time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second}, at)
	})
}

// TestWatchRetriesInternalErrors: they lead to another watch for the given time, counted from the first of a series, and
// then to another round.
func TestWatchRetriesInternalErrors(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	opened := 0
	server := &fakeServer{noStream: true, list: listOf(podList("5")), watch: func(int, context.Context, metav1.ListOptions) (watch.Interface, error) {
		opened++
		clock.Step(time.Second)
		return sent(failedWith(errInternal)).open(), nil
	}}
	r := newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(&storeLog{}), clock: clock, maxInternalErrorRetry: 10 * time.Second})
	require.NoError(t, r.listAndWatch(t.Context()))
	assert.Equal(t, 12, opened, "0 to 10 s after the first, and the one that was too late")
}

// TestWatchContext: the context of a watch request lasts as long as the watch, and no longer.
func TestWatchContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScriptedWatch(0)
		var contexts []context.Context
		server := &fakeServer{noStream: true, list: listOf(podList("5")), watch: func(n int, ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			contexts = append(contexts, ctx)
			return watches(w, errRefused)(n, ctx, o)
		}}
		defer inBackground(t, newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(&storeLog{}), backoff: second()}).run)()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Len(t, contexts, 1)
		assert.NoError(t, contexts[0].Err())
		close(w.events)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(t, contexts, 3)
		assert.Error(t, contexts[0].Err(), "closed")
		assert.Error(t, contexts[1].Err(), "not opened")
		assert.NoError(t, contexts[2].Err(), "open")
	})
}

// TestWatchErrorTextsHaveNoObjects: an Error event with an object that is no Status tells its type only.
func TestWatchErrorTextsHaveNoObjects(t *testing.T) {
	hush := podAt("a", "1")
	hush.Spec.Hostname = "hush"
	assert.EqualError(t, errorOf(hush), "watch error event with an object of type *v1.Pod")
	assert.True(t, apierrors.IsForbidden(errorOf(&errForbidden.ErrStatus)))
	assert.Error(t, errorOf(nil))
	assert.Error(t, errorOf((*metav1.Status)(nil)))
}

// TestAListOfAnExpiredVersionThatSucceeds: a server that lists in pages answers with exactly the version that it is asked for.
// If the watch expires there, the same list again would be followed by the same watch for ever.
func TestAListOfAnExpiredVersionThatSucceeds(t *testing.T) {
	for name, expired := range map[string]any{"by an event": sent(failedWith(errExpired)), "when opened": errExpired} {
		t.Run(name, func(t *testing.T) {
			got := watchedFor(t, func(c *reflectorOptions) {
				c.pageSize = 10
				server := c.listerWatcher.(*fakeServer)
				server.list = func(_ int, _ context.Context, o metav1.ListOptions) (runtime.Object, error) {
					if o.ResourceVersion == "" {
						return podList("9", podAt("a", "9")), nil
					}
					return podList("5", podAt("a", "1")), nil
				}
				server.watch = func(_ int, ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
					if o.ResourceVersion == "5" {
						return watches(expired)(1, ctx, o)
					}
					return watch.NewFake(), nil
				}
			})
			assert.Equal(t, []string{
				"list rv=0 limit=10", "watch rv=5", "list rv=5 limit=10", "watch rv=5", "list rv= limit=10", "watch rv=9",
			}, got.asked)
		})
	}
}
