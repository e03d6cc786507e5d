// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package sources_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/client-go/util/consistencydetector"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/shard"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/sources"
)

func lenOf(source *sources.Source) int { return statusOf(source).Objects }

func statusOf(what inspect.Syncer) inspect.Status {
	status, err := inspect.StatusOf(what)
	if err != nil {
		panic(err)
	}
	return status
}

func unsyncedOf(i inspect.Inspection) (n int) {
	for _, source := range i.Sources {
		if !source.Status.Synced {
			n++
		}
	}
	return n
}

// later calls wait in the background, and returns the channel for its result when it is waiting.
func later(wait func() error) <-chan error {
	result := make(chan error, 1)
	go func() { result <- wait() }()
	synctest.Wait()
	return result
}

// TestLife: sources are put, replaced and removed before the informer runs, while it runs and after.
func TestLife(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.write("a", "1", "x")
		r.write("a", "2", "y")
		r.write("b", "1", "x")
		r.set.Put("b", r.asks("a", ""))
		r.follow("a", "b") // b is replaced before it ran
		r.set.Put("gone", r.asks("", ""))
		require.NoError(r, r.set.Remove("gone"))
		require.ErrorIs(r, r.set.Remove("gone"), sources.ErrUnknown)
		assert.False(r, r.informer.HasSynced())
		r.run()
		assert.True(r, r.informer.HasSynced())
		assert.Equal(r, []string{"add a/1 initial", "add a/2 initial", "add b/1 initial"}, r.handler.take())

		r.set.Put("a", r.asks("a", "x"))
		assert.Equal(r, []string{"delete a/2 unknown"}, r.handler.take(), "the difference")
		r.follow("a")
		assert.Equal(r, []string{"add a/2"}, r.handler.take())
		require.NoError(r, r.set.Remove("b"))
		assert.Equal(r, []string{"delete b/1 unknown"}, r.handler.take())
		r.write("b", "2", "x")
		assert.Empty(r, r.handler.take())
		r.follow("b")
		assert.Equal(r, []string{"add b/1 initial", "add b/2 initial"}, r.handler.take(), "another source")
		var names []string
		for name, source := range r.set.All() {
			names = append(names, name)
			assert.Equal(r, name, source.Name())
			assert.True(r, source.HasSynced())
		}
		assert.Equal(r, []string{"a", "b"}, names)

		r.end()
		r.set.Put("late", r.asks("", ""))
		require.NoError(r, r.set.Remove("a"))
		assert.Equal(r, inspect.PhaseStopped, statusOf(r.set.Source("late")).Phase)
		require.Error(r, kinformer.WaitForSync(r.Context(), r.set.Source("late")))
		assert.Equal(r, []string{"a/1", "a/2", "b/1", "b/2"}, r.stored(), "nothing moves any more")
	})
}

// TestNothingToFollow: the status says that a running informer has no sources, also after the last one was
// removed.
func TestNothingToFollow(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		assert.Contains(r, statusOf(r.informer).String(), "never run")
		r.run()
		assert.Contains(r, statusOf(r.informer).String(), "without sources")
		r.follow("a")
		synctest.Wait()
		assert.Contains(r, statusOf(r.informer).String(), "watching")
		require.NoError(r, r.set.Remove("a"))
		synctest.Wait()
		assert.Contains(r, statusOf(r.informer).String(), "without sources")
		r.end()
		assert.Equal(r, inspect.PhaseStopped, statusOf(r.informer).Phase)
	})
}

// TestManyFaultySources: texts about many sources name eight, and count the rest.
func TestManyFaultySources(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		for i := range 100 {
			r.forbid(fmt.Sprint("team-", i))
		}
		r.run()
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		err := kinformer.WaitForSync(ctx, r.informer)
		require.ErrorIs(r, err, testkit.ErrForbidden)
		for _, text := range []string{err.Error(), statusOf(r.informer).String()} {
			assert.Contains(r, text, "and 92 more")
			assert.Less(r, strings.Count(text, "team-"), 30)
		}
	})
}

// TestQueueOfSources: what the transform has refused of a source counts in each description of the queue.
func TestQueueOfSources(t *testing.T) {
	inBubble(t, kinformer.Options{Queue: kinformer.Queue{KeepCached: true}}, func(r *rig) {
		require.NoError(r, r.informer.SetTransform(func(any) (any, error) { return nil, errors.New("refused") }))
		r.write("a", "1", "x")
		r.follow("a")
		r.run()
		queue, err := inspect.QueueOf(r.informer)
		require.NoError(r, err)
		assert.EqualValues(r, 1, queue.Untransformed)
		all, err := inspect.Of(r.informer)
		require.NoError(r, err)
		assert.Equal(r, all.Queue, queue)
	})
}

// TestCountsOfReplacedSources: counts do not go back while sources are replaced and removed.
func TestCountsOfReplacedSources(t *testing.T) {
	r := newRig(t, kinformer.Options{})
	r.follow("a", "b")
	r.start()
	defer r.end()
	require.NoError(t, kinformer.WaitForSync(t.Context(), r.informer))
	r.write("b", "1", "x")
	var last inspect.Inspection
	require.Eventually(t, func() bool {
		last, _ = inspect.Of(r.informer)
		return last.Events > 0
	}, testkit.Patience, time.Millisecond)
	var replaced atomic.Bool
	go func() {
		defer replaced.Store(true)
		for i := range 3000 {
			r.follow("a", "b")
			if i%3 == 0 {
				assert.NoError(t, r.set.Remove("b"))
			}
			if i%100 == 0 {
				r.write("a", "1", "x")
			}
		}
	}()
	for !replaced.Load() {
		now, err := inspect.Of(r.informer)
		require.NoError(t, err)
		require.GreaterOrEqual(t, now.Status.Lists, last.Status.Lists)
		require.GreaterOrEqual(t, now.Status.Watches, last.Status.Watches)
		require.GreaterOrEqual(t, now.Lists.Ended, last.Lists.Ended)
		require.GreaterOrEqual(t, now.Events, last.Events)
		last = now
	}
}

// TestDeletionOlderThanTheStore: if the last source of an object loses it by an event that is older than the
// cached object, which another source had meanwhile, handlers get the cached one.
func TestDeletionOlderThanTheStore(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		var deleted []any
		_, err := r.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) { deleted = append(deleted, obj) }})
		require.NoError(r, err)
		x, y := r.asks("", "x"), r.asks("", "y")
		r.set.Put("x", x)
		r.set.Put("y", y)
		r.write("ns", "p", "x")
		r.run()
		x.gate.close()
		r.server.Delete("ns", "p")
		r.write("ns", "p", "y")
		synctest.Wait()
		second, _, err := r.informer.GetStore().GetByKey("ns/p")
		require.NoError(r, err)
		r.server.Delete("ns", "p")
		synctest.Wait()
		require.Empty(r, deleted, "x has not lost it yet")
		x.gate.open()
		synctest.Wait()
		require.Empty(r, r.stored())
		require.Equal(r, []any{cache.DeletedFinalStateUnknown{Key: "ns/p", Obj: second}}, deleted)
	})
}

// TestPhaseOfASourceThatCannotRun: an informer with a source that cannot run has sources.
func TestPhaseOfASourceThatCannotRun(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.set.Put("nil", nil)
		r.run()
		r.follow("a")
		synctest.Wait()
		assert.Equal(r, statusOf(r.set.Source("nil")).Phase, statusOf(r.informer).Phase)
		require.Len(r, statusOf(r.informer).Problems, 1)
		assert.Equal(r, `source "nil": it cannot run`, statusOf(r.informer).Problems[0].Text)
	})
}

// TestNoSource: an informer without sources has synced, and stays synced.
func TestNoSource(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.run()
		assert.True(r, r.informer.HasSynced())
		assert.True(r, r.handle.HasSynced())
		r.write("a", "1", "x")
		l := r.asks("", "")
		heal := r.server.Outage(cachetest.ConnectionRefused())
		r.set.Put("late", l)
		synctest.Wait()
		assert.False(r, r.set.Source("late").HasSynced())
		r.set.Put("removed", r.asks("", ""))
		synctest.Wait()
		for _, problem := range statusOf(r.informer).Problems { // an outage and errors
			assert.Contains(r, problem.Text, `source "late": `)
			assert.Contains(r, problem.Text, `(the same in "removed")`)
		}
		assert.Len(r, statusOf(r.informer).Problems, 2)
		require.NoError(r, r.set.Remove("removed"))
		for _, problem := range statusOf(r.informer).Problems {
			assert.NotContains(r, problem.Text, "removed", "what is gone is not out of reach")
		}
		assert.Len(r, statusOf(r.informer).Problems, 2)
		assert.True(r, r.informer.HasSynced())
		assert.True(r, r.handle.HasSynced())
		heal()
		require.NoError(r, kinformer.WaitForSync(r.Context(), r.set.Source("late"), r.informer, r.handle))
		assert.Equal(r, []string{"add a/1 initial"}, r.handler.take())
	})
}

// TestOverlap: an object is stored while one source has it, in its newest version.
func TestOverlap(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		slow := r.asks("", "x")
		r.set.Put("fast", r.asks("a", ""))
		r.set.Put("slow", slow)
		r.write("a", "1", "x")
		r.run()
		assert.Equal(r, []string{"add a/1 initial"}, r.handler.take())
		slow.gate.close()
		r.write("a", "1", "x")
		newest := r.write("a", "1", "x")
		assert.Equal(r, []string{"update a/1", "update a/1"}, r.handler.take())
		slow.gate.open()
		assert.Empty(r, r.handler.take(), "older, and the same again")
		slow.gate.close()
		r.server.Delete("a", "1")
		assert.Empty(r, r.handler.take(), "the slow source has it yet")
		assert.Equal(r, map[string]string{"a/1": newest}, r.handler.versions(r))
		slow.gate.open()
		assert.Equal(r, []string{"delete a/1"}, r.handler.take())
		r.write("a", "2", "x")
		assert.Equal(r, []string{"add a/2"}, r.handler.take())
		require.NoError(r, r.set.Remove("fast"))
		assert.Empty(r, r.handler.take())
		require.NoError(r, r.set.Remove("slow"))
		assert.Equal(r, []string{"delete a/2 unknown"}, r.handler.take())
	})
}

// TestForbidden: a source that is not allowed to list does not delay others, and is a problem of its
// own and of the informer, which syncs when the source is removed. A watch-error handler receives the
// name of the source with the error.
func TestForbidden(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		failed := map[string]bool{}
		require.NoError(r, r.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, of *cache.Reflector, _ error) {
			_, source, _ := strings.Cut(of.Name(), " source ")
			failed[source] = true
		}))
		r.follow("a")
		r.forbid("b")
		r.write("a", "1", "x")
		r.run()
		assert.Equal(r, []string{"add a/1 initial"}, r.handler.take())
		r.write("a", "1", "x")
		assert.Equal(r, []string{"update a/1"}, r.handler.take())
		assert.True(r, r.set.Source("a").HasSynced())
		assert.False(r, r.set.Source("b").HasSynced())
		assert.False(r, r.informer.HasSynced())

		a, b, all := statusOf(r.set.Source("a")), statusOf(r.set.Source("b")), statusOf(r.informer)
		assert.Empty(r, a.Problems)
		assert.Equal(r, inspect.PhaseWatching, a.Phase)
		require.Len(r, b.Problems, 1)
		assert.True(r, apierrors.IsForbidden(b.LastError))
		require.Len(r, all.Problems, 1)
		assert.Equal(r, `source "b": `+b.Problems[0].Text, all.Problems[0].Text)
		assert.True(r, apierrors.IsForbidden(all.LastError))
		assert.Equal(r, "backing off", all.Phase)
		assert.Equal(r, a.Lists+b.Lists, all.Lists)
		require.ErrorContains(r, inspect.Ready(inspect.ReadyOptions{}, r.informer).Check(nil), "forbidden")

		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		for _, unsynced := range []inspect.Syncer{r.informer, r.set.Source("b")} {
			err := kinformer.WaitForSync(ctx, unsynced)
			assert.True(r, apierrors.IsForbidden(err), err)
		}
		waiting := later(func() error { return kinformer.WaitForSync(r.Context(), r.set.Source("b")) })
		assert.Equal(r, map[string]bool{"b": true}, failed)
		require.NoError(r, r.set.Remove("b"))
		require.Error(r, <-waiting, "it is gone")
		synctest.Wait()
		assert.True(r, r.informer.HasSynced())
		assert.True(r, r.handle.HasSynced())
	})
}

// TestReady: a wait for a source continues when the source is replaced. If it is requested, a source that
// fails for long makes the informer not ready.
func TestReady(t *testing.T) {
	testkit.Reports(t)
	inBubble(t, kinformer.Options{}, func(r *rig) {
		ready := inspect.Ready(inspect.ReadyOptions{MaxOutage: time.Minute}, r.informer)
		r.forbid("b")
		r.run()
		waiting := later(func() error { return kinformer.WaitForSync(r.Context(), r.set.Source("b")) })
		r.follow("b")
		require.NoError(r, <-waiting)
		synctest.Wait()
		assert.True(r, r.informer.HasSynced())

		require.NoError(r, ready.Check(nil))
		r.forbid("c")
		time.Sleep(30 * time.Second)
		require.NoError(r, ready.Check(nil))
		time.Sleep(5 * time.Minute)
		require.ErrorContains(r, ready.Check(nil), "requests fail")
		require.NoError(r, r.set.Remove("c"))
		require.NoError(r, ready.Check(nil))
	})
}

// TestFromHandler: handlers may put and remove sources.
func TestFromHandler(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.write("a", "1", "x")
		r.write("b", "1", "x")
		_, err := r.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(obj any) {
				if obj.(*corev1.Pod).Namespace == "a" {
					r.follow("b")
				} else {
					r.set.Put("a", r.asks("a", "y"))
				}
			},
			DeleteFunc: func(obj any) {
				if obj.(cache.DeletedFinalStateUnknown).Key == "a/1" {
					assert.NoError(r, r.set.Remove("b"))
				}
			},
		})
		require.NoError(r, err)
		r.follow("a")
		r.run()
		assert.Equal(r, []string{"add a/1 initial", "add b/1 initial", "delete a/1 unknown", "delete b/1 unknown"}, r.handler.take())
	})
}

// TestResync: the informer has one timer for resyncs, regardless of the number of sources.
func TestResync(t *testing.T) {
	inBubble(t, kinformer.Options{ResyncPeriod: time.Minute}, func(r *rig) {
		r.write("a", "1", "x")
		r.write("b", "1", "x")
		r.follow("a", "b")
		r.run()
		r.handler.take()
		for range 3 {
			time.Sleep(time.Minute)
			assert.Equal(r, []string{"resync a/1", "resync b/1"}, r.handler.take())
		}
	})
}

// TestVersions: each source has a version, and can be waited for and relisted individually. A wait for a
// version of all sources does not wait for a source that is removed.
func TestVersions(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		first := r.write("a", "1", "x")
		r.follow("a")
		assert.Empty(r, r.informer.LastSyncResourceVersion())
		r.run()
		assert.Equal(r, first, r.informer.LastSyncResourceVersion(), "of the only source")
		r.follow("b")
		synctest.Wait()
		assert.Empty(r, r.informer.LastSyncResourceVersion())
		second := r.write("a", "2", "x")
		a, b := r.set.Source("a"), r.set.Source("b")
		require.NoError(r, kinformer.WaitForVersion(r.Context(), a, second))
		assert.Equal(r, second, a.LastStoreSyncResourceVersion())
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		require.ErrorIs(r, kinformer.WaitForVersion(ctx, b, second), context.DeadlineExceeded)
		require.Error(r, kinformer.WaitForVersion(ctx, r.informer, second), "one of its sources is behind")
		third := r.write("b", "1", "x")
		r.server.Bookmark()
		require.NoError(r, kinformer.WaitForVersion(r.Context(), r.informer, third))

		r.handler.take()
		before := statusOf(b).Lists
		require.NoError(r, kinformer.Relist(a))
		settle()
		assert.Empty(r, r.handler.take())
		assert.EqualValues(r, 2, statusOf(a).Lists)
		assert.Equal(r, before, statusOf(b).Lists)
		require.NoError(r, kinformer.Relist(r.informer))
		settle()
		assert.EqualValues(r, 3, statusOf(a).Lists)
		assert.Equal(r, before+1, statusOf(b).Lists)

		fourth := r.write("a", "3", "x") // which b does not select
		waiting := later(func() error { return kinformer.WaitForVersion(r.Context(), r.informer, fourth) })
		assert.Empty(r, waiting)
		require.NoError(r, r.set.Remove("b"))
		require.NoError(r, <-waiting)
	})
}

// TestRelist: objects that a relist lacks are deleted with a tombstone.
func TestRelist(t *testing.T) {
	testkit.Reports(t)
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.write("a", "1", "x")
		r.write("a", "2", "x")
		r.write("b", "1", "x")
		r.follow("a", "b")
		r.run()
		r.handler.take()
		heal := r.server.Partition()
		r.server.Delete("a", "1")
		r.write("a", "3", "x")
		r.server.Compact(r.server.ResourceVersion())
		heal()
		settle()
		assert.Equal(r, []string{"add a/3", "delete a/1 unknown", "resync a/2", "resync b/1"}, r.handler.take())
	})
}

// TestBadOptions: with invalid options neither the informer nor any of its sources runs.
func TestBadOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		informer, set := sources.New(&corev1.Pod{}, kinformer.Options{Queue: kinformer.Queue{Limit: -1}})
		set.Put("a", &cache.ListWatch{})
		require.ErrorContains(t, kinformer.WaitForSync(ctx, informer), "Queue.Limit")
		require.ErrorContains(t, kinformer.WaitForSync(ctx, set.Source("a")), "Queue.Limit")
		informer.RunWithContext(t.Context())
		set.Put("b", &cache.ListWatch{})
		require.ErrorContains(t, kinformer.WaitForSync(ctx, set.Source("b")), "Queue.Limit")
	})
}

// TestRemovedSources: functions that are called for a source that does not exist, cannot run or was removed return
// an error.
func TestRemovedSources(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
		defer cancel()
		none := r.set.Source("none")
		require.ErrorIs(r, kinformer.Relist(none), sources.ErrUnknown)
		require.ErrorIs(r, kinformer.WaitForSync(ctx, none), sources.ErrUnknown)
		require.ErrorIs(r, kinformer.WaitForVersion(ctx, none, "1"), sources.ErrUnknown)
		r.set.Put("nil", nil)
		require.ErrorContains(r, kinformer.Relist(r.set.Source("nil")), "ListerWatcher")
		require.ErrorContains(r, kinformer.WaitForVersion(ctx, r.set.Source("nil"), "1"), "ListerWatcher")
		r.run()
		require.ErrorContains(r, kinformer.WaitForSync(ctx, r.set.Source("nil")), "ListerWatcher")
		assert.False(r, r.informer.HasSynced())
		r.set.Put("nil", r.asks("", ""))
		require.NoError(r, kinformer.WaitForSync(ctx, r.set.Source("nil"), r.informer))

		r.follow("a")
		gone := r.set.Source("a")
		waiting := later(func() error { return kinformer.WaitForVersion(ctx, gone, "100") })
		require.NoError(r, r.set.Remove("a"))
		require.ErrorContains(r, <-waiting, "stopped")
		r.follow("a") // another one with its name
		require.ErrorContains(r, kinformer.Relist(gone), "stopped")
		require.ErrorContains(r, kinformer.WaitForVersion(ctx, gone, "100"), "stopped")
		assert.Equal(r, inspect.PhaseStopped, statusOf(gone).Phase)
	})
}

// TestStoppedSourceEndsAfterStoring: a source that its policy stops has ended only when its objects are in the
// store, which other sources may delay.
func TestStoppedSourceEndsAfterStoring(t *testing.T) {
	testkit.Reports(t)
	stop := func(context.Context, kinformer.Failure) kinformer.ErrorDecision {
		return kinformer.ErrorDecision{Stop: true}
	}
	var told []string
	onStop := func(_ context.Context, stopped kinformer.Stopped) { told = append(told, stopped.Err.Error()) }
	inBubble(t, kinformer.Options{Errors: kinformer.Errors{Policy: stop, OnSourceStop: onStop}}, func(r *rig) {
		indexed := make(chan struct{})
		require.NoError(r, r.informer.AddIndexers(cache.Indexers{"slow": func(obj any) ([]string, error) {
			if obj.(*corev1.Pod).Namespace == "a" {
				<-indexed
			}
			return nil, nil
		}}))
		r.write("a", "1", "x")
		r.write("b", "1", "x")
		r.follow("a")
		r.run()
		unwatched := r.asks("b", "")
		unwatched.unseen = testkit.ErrForbidden
		r.set.Put("b", unwatched)
		waiting := later(func() error { return kinformer.WaitForSync(r.Context(), r.set.Source("b")) })
		assert.Empty(r, waiting)
		close(indexed)
		require.NoError(r, <-waiting)
		assert.Equal(r, []string{"a/1", "b/1"}, r.stored())
		require.Error(r, kinformer.WaitForVersion(r.Context(), r.set.Source("b"), "100"))
		require.Len(r, told, 1)
		assert.Contains(r, told[0], "of source b")
	})
}

// TestSlots: sources wait for the slots of the informer, and a removed source releases its slot.
func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinformer.Options{Requests: kinformer.Requests{Slots: kinformer.NewListSlots(1)}})
		answer := make(chan struct{})
		r.server.Script(cachetest.VerbList, cachetest.Fault{Until: answer}, cachetest.Fault{Until: answer})
		r.set.Put("first", r.asks("a", ""))
		r.run()
		r.set.Put("second", r.asks("a", ""))
		r.set.Put("third", r.asks("a", ""))
		synctest.Wait()
		assert.Equal(r, "listing", statusOf(r.set.Source("first")).Phase)
		for _, name := range []string{"second", "third"} {
			assert.Equal(r, "waiting for a list slot", statusOf(r.set.Source(name)).Phase)
		}
		require.NoError(r, r.set.Remove("third"))
		require.NoError(r, r.set.Remove("first"))
		synctest.Wait()
		assert.True(r, r.informer.HasSynced(), "nothing is left of the sources at its start")
		assert.Equal(r, "listing", statusOf(r.set.Source("second")).Phase)
		close(answer)
		require.NoError(r, kinformer.WaitForSync(r.Context(), r.set.Source("second")))
		r.end()
	})
}

// blanked is a transform that removes the version, and refuses the pods of the app "bad".
func blanked(obj any) (any, error) {
	pod := obj.(*corev1.Pod)
	if pod.Labels["app"] == "bad" {
		return nil, testkit.ErrInternal
	}
	pod.ResourceVersion = ""
	return pod, nil
}

// TestTransform: each source transforms its own objects, and the informer reports all refused objects.
func TestTransform(t *testing.T) {
	testkit.Reports(t)
	inBubble(t, kinformer.Options{Queue: kinformer.Queue{KeepCached: true}}, func(r *rig) {
		require.NoError(r, r.informer.SetTransform(blanked))
		r.write("a", "1", "x")
		r.write("b", "1", "bad")
		slow := r.asks("", "x")
		r.follow("a", "b")
		r.set.Put("slow", slow)
		r.run()
		assert.Equal(r, []string{"add a/1 initial"}, r.handler.take())
		slow.gate.close()
		r.write("a", "1", "x")
		assert.Len(r, r.handler.take(), 1)
		slow.gate.open()
		assert.Empty(r, r.handler.take(), "the received versions are compared")
		require.Len(r, statusOf(r.informer).Problems, 1)
		assert.Contains(r, statusOf(r.informer).Problems[0].Text, `source "b": 1 objects`)
	})
}

// TestReplacement: if a request is replaced, handlers receive the difference, and nothing else.
func TestReplacement(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		for i := range 1000 {
			r.write("a", strconv.Itoa(i), "x")
		}
		for i := range 10 {
			r.write("b", strconv.Itoa(i), "y")
		}
		r.set.Put("all", r.asks("", ""))
		r.run()
		assert.Len(r, r.handler.take(), 1010)
		before := r.informer.GetStore().List()
		r.set.Put("all", r.asks("", "x"))
		assert.Len(r, r.handler.take(), 10)
		assert.Len(r, r.stored(), 1000)
		r.set.Put("all", r.asks("", ""))
		assert.Len(r, r.handler.take(), 10)
		assert.Len(r, r.stored(), len(before))
		r.set.Put("all", r.asks("", ""))
		assert.Empty(r, r.handler.take())
		require.NoError(r, kinformer.Relist(r.set.Source("all")))
		settle()
		assert.Empty(r, r.handler.take())
	})
}

// gateway answers the first list with an empty one, and what follows as the server does.
type gateway struct {
	*lister
	version string
	lists   atomic.Int64
}

func (g *gateway) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	if g.lists.Add(1) == 1 {
		return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: g.version}}, nil
	}
	return g.lister.ListWithContext(ctx, o)
}

// TestReplacementIsEmptied: the first answer to a request that replaces another one is not believed if it has
// neither objects nor a version, or would remove most objects of the source, also if an earlier
// request was replaced before it had an answer.
func TestReplacementIsEmptied(t *testing.T) {
	testkit.Reports(t)
	for name, version := range map[string]string{"no list": "", "empty": "1000"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, kinformer.Options{}, func(r *rig) {
				for i := range 40 {
					r.write("a", strconv.Itoa(i), "x")
				}
				r.follow("a")
				r.run()
				assert.Len(r, r.handler.take(), 40)
				r.forbid("a")
				r.set.Put("a", &gateway{lister: r.asks("a", ""), version: version})
				settle()
				assert.Empty(r, r.handler.take())
				assert.Len(r, r.stored(), 40)
			})
		})
	}
}

// TestReplacementIsNarrow: a request that selects less than half of the objects of the one that it replaces is
// listed twice, and followed.
func TestReplacementIsNarrow(t *testing.T) {
	testkit.Reports(t)
	inBubble(t, kinformer.Options{}, func(r *rig) {
		for i := range 40 {
			r.write("a", strconv.Itoa(i), []string{"x", "y", "y"}[i%3])
		}
		r.follow("a")
		r.run()
		r.handler.take()
		r.set.Put("a", r.asks("a", "x"))
		calls := r.handler.take()
		assert.Len(r, calls, 26)
		assert.Equal(r, "delete a/1 unknown", calls[0])
		assert.Len(r, r.stored(), 14)
		assert.EqualValues(r, 2, statusOf(r.set.Source("a")).Lists)
		assert.EqualValues(r, 1, statusOf(r.set.Source("a")).Confirmed)
		assert.Empty(r, statusOf(r.informer).Problems)
	})
}

// TestLateEvent: events of a request that was replaced, or whose source was removed, are dropped.
func TestLateEvent(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		transformed := make(chan struct{})
		require.NoError(r, r.informer.SetTransform(func(obj any) (any, error) {
			if obj.(*corev1.Pod).Labels["app"] == "slow" {
				<-transformed
			}
			return obj, nil
		}))
		r.set.Put("removed", r.asks("a", ""))
		r.set.Put("replaced", r.asks("b", ""))
		r.run()
		r.write("a", "1", "slow")
		r.write("b", "1", "slow")
		synctest.Wait()
		require.NoError(r, r.set.Remove("removed"))
		r.set.Put("replaced", r.asks("c", ""))
		synctest.Wait()
		close(transformed)
		assert.Empty(r, r.handler.take())
		assert.Empty(r, r.stored())
	})
}

// TestStop: sources that have not synced when the informer stops never will, and report that,
// regardless of their servers.
func TestStop(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.server.Script(cachetest.VerbList, cachetest.Fault{Until: make(chan struct{})})
		r.set.Put("hangs", r.asks("", ""))
		r.set.Put("nil", nil)
		r.run()
		r.end()
		for name, source := range r.set.All() {
			require.Error(r, kinformer.WaitForSync(r.Context(), source), name)
			require.ErrorContains(r, kinformer.Relist(source), "stopped", name)
			assert.Equal(r, inspect.PhaseStopped, statusOf(source).Phase, name)
		}
	})
}

// TestFromPolicy: an error policy may remove its source, or replace it.
func TestFromPolicy(t *testing.T) {
	testkit.Reports(t)
	var r *rig
	policy := func(context.Context, kinformer.Failure) kinformer.ErrorDecision {
		_ = r.set.Remove("b")
		r.set.Put("instead", r.asks("a", ""))
		return kinformer.ErrorDecision{}
	}
	synctest.Test(t, func(t *testing.T) {
		r = newRig(t, kinformer.Options{Errors: kinformer.Errors{Policy: policy}})
		r.write("a", "1", "x")
		r.forbid("b")
		r.run()
		assert.Equal(r, []string{"add a/1 initial"}, r.handler.take())
		assert.True(r, r.informer.HasSynced())
		r.end()
	})
}

// TestPanic: a ListerWatcher that panics, in a process that survives it, delays only its own source.
func TestPanic(t *testing.T) {
	testkit.QuietPanics(t)
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.write("a", "1", "x")
		r.follow("a")
		r.set.Put("panics", panicking{})
		r.run()
		assert.Equal(r, []string{"add a/1 initial"}, r.handler.take())
		require.Len(r, statusOf(r.informer).Problems, 1)
		assert.Contains(r, statusOf(r.informer).Problems[0].Text, `source "panics"`)
		r.set.Put("panics", r.asks("", ""))
		require.NoError(r, kinformer.WaitForSync(r.Context(), r.informer))
	})
}

// TestSameListerWatcherTwice: two sources, of any names, may have the same ListerWatcher, and it may be put again.
// Indices that are added later have the objects of all sources.
func TestSameListerWatcherTwice(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.write("a", "1", "x")
		same := r.asks("", "")
		r.set.Put("", same)
		r.set.Put("b", same)
		r.set.Put("b", same)
		r.run()
		assert.Equal(r, []string{"add a/1 initial"}, r.handler.take())
		require.NoError(r, r.informer.AddIndexers(cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}))
		require.NoError(r, r.set.Remove(""))
		r.write("c", "1", "x")
		assert.Equal(r, []string{"add c/1"}, r.handler.take())
		for _, namespace := range []string{"a", "c"} {
			found, err := r.informer.GetIndexer().ByIndex(cache.NamespaceIndex, namespace)
			require.NoError(r, err)
			assert.Len(r, found, 1)
		}
	})
}

// TestRoom: sources wait together for a handler that blocks, and continue together.
func TestRoom(t *testing.T) {
	inBubble(t, kinformer.Options{Queue: kinformer.Queue{Limit: 1}}, func(r *rig) {
		release := make(chan struct{})
		slow := &mirror{}
		blocking := cache.FilteringResourceEventHandler{Handler: slow, FilterFunc: func(any) bool {
			<-release
			return true
		}}
		_, err := r.informer.AddEventHandler(kinformer.Deliver(blocking, kinformer.Delivery{Overflow: kinformer.OverflowBlock, Max: 1}))
		require.NoError(r, err)
		r.follow("a", "b", "c")
		r.run()
		for range 20 {
			for _, namespace := range []string{"a", "b", "c"} {
				r.write(namespace, "1", "x")
			}
			synctest.Wait()
		}
		assert.Less(r, len(r.handler.take()), 20, "nobody reads on")
		close(release)
		synctest.Wait()
		assert.Len(r, r.server.Versions(), 3)
		assert.Equal(r, r.server.Versions(), r.handler.versions(r))
		assert.Equal(r, r.server.Versions(), slow.versions(r))
	})
}

// TestListerWatcherThatIgnoresItsContext: no call waits for a ListerWatcher that ignores the end of its context.
func TestListerWatcherThatIgnoresItsContext(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.write("a", "1", "x")
		answer := make(chan struct{})
		r.server.Script(cachetest.VerbList, cachetest.Fault{Until: answer, IgnoreContext: true}, cachetest.Fault{Until: answer, IgnoreContext: true})
		r.set.Put("removed", r.asks("", ""))
		r.set.Put("replaced", r.asks("", ""))
		r.run()
		require.NoError(r, r.set.Remove("removed"))
		r.set.Put("replaced", r.asks("a", ""))
		require.NoError(r, kinformer.WaitForSync(r.Context(), r.informer))
		assert.Equal(r, []string{"add a/1 initial"}, r.handler.take())
		close(answer)
		assert.Empty(r, r.handler.take())
	})
}

// TestSums: the counts of an informer are the sums of its sources, including those of removed sources.
func TestSums(t *testing.T) {
	testkit.Reports(t)
	inBubble(t, kinformer.Options{Queue: kinformer.Queue{KeepCached: true}}, func(r *rig) {
		require.NoError(r, r.informer.SetTransform(blanked))
		of := func(what inspect.Syncer) inspect.Inspection {
			all, err := inspect.Of(what)
			require.NoError(r, err)
			return all
		}
		r.write("a", "1", "x")
		r.write("b", "1", "bad")
		r.follow("a", "b")
		r.forbid("c")
		r.run()
		r.write("a", "2", "x")
		synctest.Wait()
		all, c := of(r.informer), of(r.set.Source("c"))
		assert.Len(r, all.Sources, 3)
		assert.Len(r, all.Handlers, 1)
		assert.Equal(r, 2, of(r.set.Source("a")).Status.Objects)
		assert.Equal(r, 1, unsyncedOf(all))
		assert.Equal(r, 2+c.Lists.Ended, all.Lists.Ended)
		assert.Equal(r, c.Lists.Ended, all.Lists.Failed)
		assert.EqualValues(r, 2, all.Lists.Objects)
		assert.EqualValues(r, 1, all.Events)
		assert.Len(r, all.Requests, int(all.Lists.Ended))
		assert.Equal(r, c.Errors, all.Errors)
		assert.Equal(r, c.FailingSince, all.FailingSince)
		assert.Equal(r, 1, all.Queue.Untransformed)
		assert.EqualValues(r, 1, all.Queue.TransformErrors)
		assert.Empty(r, of(r.set.Source("a")).Sources)

		r.set.Put("b", r.asks("b", "x"))
		require.NoError(r, r.set.Remove("a"))
		require.NoError(r, r.set.Remove("c"))
		synctest.Wait()
		now := of(r.informer)
		assert.Equal(r, all.Lists.Ended+1, now.Lists.Ended)
		assert.Equal(r, all.Lists.Failed, now.Lists.Failed)
		assert.Equal(r, all.Events, now.Events)
		assert.Equal(r, all.Status.Lists+1, now.Status.Lists)
		assert.Equal(r, all.Status.Watches+1, now.Status.Watches)
		assert.EqualValues(r, 1, now.Queue.TransformErrors)
		assert.Zero(r, now.Queue.Untransformed)
		assert.True(r, now.FailingSince.IsZero(), "what is gone does not fail")
		assert.Zero(r, unsyncedOf(now))
		r.end()
		assert.Equal(r, now.Status.Lists, statusOf(r.informer).Lists, "also after the end")
	})
}

// TestAudit: a source is compared with its own objects on the server, regardless of other sources, and
// repaired.
func TestAudit(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.write("a", "1", "x")
		slow, quick := r.asks("a", ""), r.asks("", "x")
		r.set.Put("slow", slow)
		r.set.Put("quick", quick)
		r.run()
		once := func(name string, content bool) audit.Report {
			report, err := audit.Once(r.Context(), r.set.Source(name), audit.Options{Content: content, Repair: true})
			require.NoError(r, err)
			return report
		}
		slow.gate.close()
		r.write("a", "1", "x")
		r.write("b", "1", "x")
		synctest.Wait()
		for _, content := range []bool{false, true} {
			report := once("slow", content)
			assert.True(r, report.Equal(), "it has an older version than the store: %v", report)
			assert.Equal(r, 1, report.Digest.Objects)
			assert.True(r, once("quick", content).Equal())
		}
		slow.gate.loses.Store(true)
		slow.gate.open()
		r.server.Delete("a", "1")
		synctest.Wait()
		slow.gate.loses.Store(false)
		r.write("a", "2", "y")
		synctest.Wait()
		require.Equal(r, []string{"a/1", "a/2", "b/1"}, r.stored())
		assert.True(r, once("quick", false).Equal(), "it has lost the object, whatever is in the store")
		report := once("slow", false)
		assert.Equal(r, map[audit.Kind]int{audit.Extra: 1}, report.Confirmed)
		assert.True(r, report.Repaired)
		require.Equal(r, []string{"a/2", "b/1"}, r.stored())
		one, err := inspect.Of(r.set.Source("slow"))
		require.NoError(r, err)
		assert.EqualValues(r, 1, one.Audits.Relists)
		assert.Equal(r, map[string]int64{"equal": 2, "different": 1}, one.Audits.Ended)
		all, err := inspect.Of(r.informer)
		require.NoError(r, err)
		assert.Equal(r, map[string]int64{"equal": 5, "different": 1}, all.Audits.Ended)
		assert.Equal(r, one.Audits.Last, all.Audits.Last)
	})
}

// sharded returns a ListerWatcher for a part, with a server that supports shards or one that does not.
func (r *rig) sharded(i, n int, serves bool) cache.ListerWatcher {
	all := r.asks("", "")
	all.shards, all.streams = serves, true
	return sources.Shard(all, i, n)
}

// TestShards: each object is in exactly one part, regardless of the server, also when the number of
// parts changes while events arrive, and each part can be audited. client-go's comparison of streams
// with lists finds no difference.
func TestShards(t *testing.T) {
	defer consistencydetector.SetDataConsistencyDetectionForWatchListEnabledForTest(true)()
	for _, mode := range []kinformer.ListMode{kinformer.ListModeList, kinformer.ListModeWatchList} {
		for _, serves := range []bool{false, true} {
			t.Run(fmt.Sprint(mode, " serves ", serves), func(t *testing.T) {
				inBubble(t, kinformer.Options{Requests: kinformer.Requests{Mode: mode}}, func(r *rig) { testShards(r, serves) })
			})
		}
	}
}

func testShards(r *rig, serves bool) {
	for i := range 60 {
		r.write("a", fmt.Sprint(i), "x")
	}
	for i := range 3 {
		r.set.Put(fmt.Sprint(i), r.sharded(i, 3, serves))
	}
	r.run()
	parts := func(n int) (total int) {
		for _, source := range r.set.All() {
			assert.InDelta(r, len(r.stored())/n, lenOf(source), 15)
			total += lenOf(source)
			report, err := audit.Once(r.Context(), source, audit.Options{Content: true})
			require.NoError(r, err)
			assert.True(r, report.Equal(), "%v", report)
			assert.Equal(r, lenOf(source), report.Digest.Objects)
			assert.Zero(r, report.Foreign)
			status := statusOf(source)
			assert.Zero(r, status.Dropped)
			assert.Equal(r, !serves, strings.Contains(status.String(), "does not shard"), status.String())
		}
		return total
	}
	require.Len(r, r.stored(), 60)
	assert.Equal(r, 60, parts(3))
	for _, source := range r.set.All() {
		one, err := inspect.Of(source)
		require.NoError(r, err)
		assert.EqualValues(r, lenOf(source), one.Lists.Objects+one.Streams.Objects, "history counts the objects of the part")
	}
	r.handler.take()
	for i := range 2 {
		r.set.Put(fmt.Sprint(i), r.sharded(i, 2, serves))
		r.server.Delete("a", fmt.Sprint(i))
		r.write("a", fmt.Sprint(60+i), "x")
	}
	require.NoError(r, r.set.Remove("2"))
	calls := r.handler.take()
	require.Len(r, r.stored(), 60)
	assert.Equal(r, 60, parts(2))
	assert.Subset(r, calls, []string{"add a/60", "add a/61"})
	r.write("a", "60", "y")
	r.server.Delete("a", "61")
	assert.Equal(r, []string{"delete a/61", "update a/60"}, r.handler.take())
	assert.Equal(r, 59, parts(2))
}

// selectorOf returns a selector of the first and the third quarter of the hashes of a field.
func selectorOf(field string) sharding.Selector {
	return sharding.NewSelector(
		sharding.ShardRangeRequirement{Key: field, Start: "0x0000000000000000", End: "0x4000000000000000"},
		sharding.ShardRangeRequirement{Key: field, Start: "0x8000000000000000", End: "0xc000000000000000"})
}

// selected returns the keys of the server's pods that a selector matches and a function accepts.
func (r *rig) selected(by sharding.Selector, accepts func(*corev1.Pod) bool) (keys []string) {
	list, err := r.server.List(metav1.ListOptions{})
	require.NoError(r, err)
	for i := range list.(*corev1.PodList).Items {
		pod := &list.(*corev1.PodList).Items[i]
		if matches, err := by.Matches(pod); err == nil && matches && accepts(pod) {
			keys = append(keys, pod.Namespace+"/"+pod.Name)
		}
	}
	slices.Sort(keys)
	return keys
}

// TestSetShardSelector: each source, one that is a shard too, has the objects that the selector matches,
// regardless of the server, and audits compare these.
func TestSetShardSelector(t *testing.T) {
	for _, mode := range []kinformer.ListMode{kinformer.ListModeList, kinformer.ListModeWatchList} {
		for _, field := range []string{"object.metadata.uid", "object.metadata.namespace"} {
			for _, serves := range []bool{false, true} {
				t.Run(fmt.Sprint(mode, field, " serves ", serves), func(t *testing.T) {
					inBubble(t, kinformer.Options{Requests: kinformer.Requests{Mode: mode}}, func(r *rig) { testShardSelector(r, selectorOf(field), serves) })
				})
			}
		}
	}
}

func testShardSelector(r *rig, by sharding.Selector, serves bool) {
	written := 0
	write := func() {
		for range 40 {
			written++
			r.write(fmt.Sprint("n", written%13), fmt.Sprint(written), "x")
		}
		synctest.Wait()
	}
	write()
	half, _ := shard.RangeOf(0, 2)
	in := map[string]func(*corev1.Pod) bool{
		"n1":   func(p *corev1.Pod) bool { return p.Namespace == "n1" },
		"n2":   func(p *corev1.Pod) bool { return p.Namespace == "n2" },
		"half": func(p *corev1.Pod) bool { return half.Has(p) },
	}
	for name := range in {
		of := r.asks(map[string]string{"n1": "n1", "n2": "n2"}[name], "")
		of.shards, of.streams = serves, true
		r.set.Put(name, of)
		if name == "half" {
			r.set.Put(name, sources.Shard(of, 0, 2))
		}
	}
	require.ErrorContains(r, r.informer.(selectable).SetShardSelector(sharding.NewSelector(sharding.ShardRangeRequirement{Key: "x"})), `field "x"`)
	require.NoError(r, r.informer.(selectable).SetShardSelector(by), "the last call counts")
	r.run()
	for range 2 {
		var all []string
		for name, accepts := range in {
			want := r.selected(by, accepts)
			all = append(all, want...)
			report, err := audit.Once(r.Context(), r.set.Source(name), audit.Options{Content: true})
			require.NoError(r, err)
			assert.True(r, report.Equal(), "%v", report)
			assert.Equal(r, len(want), report.Digest.Objects, name)
			assert.Equal(r, len(want), lenOf(r.set.Source(name)), name)
		}
		slices.Sort(all)
		assert.Equal(r, slices.Compact(all), r.stored())
		assert.NotEmpty(r, all)
		write()
	}
	require.Error(r, r.informer.(selectable).SetShardSelector(by), "it runs")
}

// selectable is what SharedInformer of client-go has since v0.38.
type selectable interface{ SetShardSelector(sharding.Selector) error }

// TestShardSelectorIsRefused: an informer with a selector that has another meaning does not run, and the
// error of WaitForSync has the reason.
func TestShardSelectorIsRefused(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.follow("a")
		bad := sharding.NewSelector(sharding.ShardRangeRequirement{Key: "object.metadata.name", Start: "0x0000000000000000", End: "0x10000000000000000"})
		err := r.informer.(selectable).SetShardSelector(bad)
		require.ErrorContains(r, err, `field "object.metadata.name" is neither`)
		r.run()
		require.ErrorContains(r, kinformer.WaitForSync(r.Context(), r.informer), err.Error())
		require.ErrorContains(r, kinformer.WaitForSync(r.Context(), r.set.Source("a")), err.Error())
		require.ErrorContains(r, kinformer.WaitForSync(r.Context(), r.set.Put("later", r.asks("b", ""))), err.Error())
		require.Error(r, kinformer.WaitForVersion(r.Context(), r.informer, "7"))
		require.Empty(r, r.server.Requests())
		lw := cache.NewShardedListWatch(r.asks("a", ""), bad)
		_, err = cache.ToListerWatcherWithContext(lw).ListWithContext(r.Context(), metav1.ListOptions{})
		require.ErrorContains(r, err, `field "object.metadata.name" is neither`)
		all := r.asks("a", "")
		assert.Same(r, all, cache.NewShardedListWatch(all, sharding.Everything()))
	})
}

// TestShardOfNothing: an error reports a shard that does not exist, and a part may be empty: a stream
// with only objects of other shards is a complete state.
func TestShardOfNothing(t *testing.T) {
	inBubble(t, kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeWatchList}}, func(r *rig) {
		r.write("a", "1", "x")
		r.set.Put("bad", r.sharded(3, 3, true))
		r.set.Put("nil", sources.Shard(nil, 0, 1))
		for i := range 64 {
			r.set.Put(fmt.Sprint(i), r.sharded(i, 64, false))
		}
		r.set.Put("all", r.sharded(0, 1, false))
		r.run()
		assert.Equal(r, []string{"a/1"}, r.stored())
		ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
		defer cancel()
		require.ErrorContains(r, kinformer.WaitForSync(ctx, r.set.Source("bad")), "there is no shard 3 of 3")
		require.ErrorContains(r, kinformer.WaitForSync(r.Context(), r.set.Source("nil")), "ListerWatcher of the source is nil")
		for name, source := range r.set.All() {
			if name != "bad" && name != "nil" {
				assert.True(r, source.HasSynced(), name)
				assert.NoError(r, statusOf(source).LastError, name)
			}
		}
		assert.NotContains(r, statusOf(r.set.Source("all")).String(), "does not shard", "it need not")
	})
}

// TestAuditRefused: a source that does not exist, has not synced, or is replaced during its audit has no
// version at which it could be listed.
func TestAuditRefused(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.write("a", "1", "x")
		r.follow("a")
		once := func(informer inspect.Syncer) error {
			_, err := audit.Once(r.Context(), informer, audit.Options{})
			return err
		}
		source := r.set.Source("a")
		require.ErrorIs(r, once(source), audit.ErrUnsynced)
		r.run()
		require.ErrorIs(r, once(r.set.Source("none")), sources.ErrUnknown)
		require.NoError(r, once(source))
		failing := r.asks("a", "")
		failing.err = errors.New("no list")
		r.set.Put("a", failing)
		require.ErrorIs(r, once(source), audit.ErrUnsynced, "the stored objects are not those of the new ListerWatcher")
		require.NoError(r, r.set.Remove("a"))
		require.ErrorIs(r, once(source), audit.ErrEnded)
	})
}

// TestAuditReplaced: differences that an audit has found for a source that is replaced meanwhile are
// neither confirmed nor repaired with the old request. The audit is of the new one, which has not listed.
func TestAuditReplaced(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.write("a", "1", "x")
		before, after := r.asks("a", ""), r.asks("a", "y")
		after.forbid(true)
		r.set.Put("a", before)
		r.run()
		before.gate.loses.Store(true)
		r.write("a", "1", "x")
		synctest.Wait()
		before.gate.loses.Store(false)
		r.write("a", "2", "y")
		synctest.Wait()
		before.listed = func() {
			before.listed = nil
			r.set.Put("a", after)
		}
		report, err := audit.Once(r.Context(), r.set.Source("a"), audit.Options{Repair: true})
		require.ErrorIs(r, err, audit.ErrUnsynced)
		assert.Empty(r, report.Found)
		assert.False(r, report.Relisted)

		after.forbid(false)
		require.NoError(r, kinformer.WaitForSync(r.Context(), r.set.Source("a")))
		report, err = audit.Once(r.Context(), r.set.Source("a"), audit.Options{Repair: true})
		require.NoError(r, err)
		assert.True(r, report.Equal(), report)
	})
}

// TestShardServed: the status describes the server of the last request.
func TestShardServed(t *testing.T) {
	for _, mode := range []kinformer.ListMode{kinformer.ListModeList, kinformer.ListModeWatchList} {
		inBubble(t, kinformer.Options{Requests: kinformer.Requests{Mode: mode}}, func(r *rig) {
			r.write("a", "1", "x")
			all := r.asks("", "")
			all.streams = true
			r.set.Put("0", sources.Shard(all, 0, 2))
			r.run()
			for _, serves := range []bool{false, true, false} {
				heal := r.server.Partition()
				all.shards = serves
				r.write("a", "1", "x")
				r.server.Compact(r.server.ResourceVersion())
				heal()
				settle()
				status := statusOf(r.set.Source("0")).String()
				assert.Equal(r, !serves, strings.Contains(status, "does not shard"), status)
			}
		})
	}
}

// TestChangesNameTheirSource: changes have the name of their source, and deletions with their source
// have its cause.
func TestChangesNameTheirSource(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		var told []string
		_, err := r.informer.AddEventHandler(kinformer.ChangeFunc(func(c kinformer.Change) {
			told = append(told, fmt.Sprintf("%s %s %s %q", c.Type, c.Key, c.Cause, c.Source))
		}))
		require.NoError(r, err)
		r.write("x", "old", "")
		r.set.Put("of x", r.asks("x", ""))
		r.run()
		r.write("x", "new", "")
		synctest.Wait()
		r.set.Put("of x", r.asks("x", "web"))
		synctest.Wait()
		r.write("x", "web", "web")
		synctest.Wait()
		require.NoError(r, r.set.Remove("of x"))
		synctest.Wait()
		slices.Sort(told[2:4]) // the objects of a list have no order
		require.Equal(r, []string{
			`Added x/old Initial "of x"`, `Added x/new Watch "of x"`, `Deleted x/new Relist "of x"`, `Deleted x/old Relist "of x"`,
			`Added x/web Watch "of x"`, `Deleted x/web SourceGone "of x"`,
		}, told)
	})
}

// TestUpdatesAreOfNoFirstList: a newer version in the first list of another source is not initial, also
// if it is merged with an earlier Add.
func TestUpdatesAreOfNoFirstList(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		slow := r.asks("", "web")
		r.write("a", "old", "web")
		r.set.Put("slow", slow)
		first, merged := make(chan struct{}), map[string]kinformer.Change{}
		_, err := r.informer.AddEventHandler(kinformer.Deliver(kinformer.ChangeFunc(func(c kinformer.Change) {
			<-first
			merged[c.Key] = c
		}), kinformer.Delivery{Overflow: kinformer.OverflowCoalesce}))
		require.NoError(r, err)
		var last kinformer.Change
		_, err = r.informer.AddEventHandler(kinformer.ChangeFunc(func(c kinformer.Change) { last = c }))
		require.NoError(r, err)
		r.run()
		r.write("a", "new", "web")
		synctest.Wait()
		slow.gate.close()
		r.write("a", "new", "web")
		r.set.Put("fast", r.asks("a", ""))
		synctest.Wait()
		require.Equal(r, []any{cache.Updated, kinformer.CauseRelist, "fast"}, []any{last.Type, last.Cause, last.Source})
		close(first)
		synctest.Wait()
		added := merged["a/new"]
		require.Equal(r, []any{cache.Added, kinformer.CauseRelist, "fast"}, []any{added.Type, added.Cause, added.Source})
		slow.gate.open()
	})
}
