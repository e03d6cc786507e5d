// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package sources_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/sharding"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/shard"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/sources"
	"github.com/kinformer/cache/view"
)

// after returns the time that a wait with a time limit took, and its error.
func after(r *rig, limit time.Duration, wait func(ctx context.Context) error) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	defer cancel()
	began := time.Now()
	err = wait(ctx)
	return time.Since(began), err
}

// TestReplacementIsAwaited: after Put under an existing name, the source and the result of Put have synced, and have
// reached a version, only with a list of the new request. The informer stays synced.
func TestReplacementIsAwaited(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.write("a", "1", "x")
		version := r.write("a", "2", "y")
		former := r.set.Put("pods", r.asks("a", "x"))
		r.run()
		require.NoError(r, kinformer.WaitForSync(r.Context(), former))
		require.NoError(r, kinformer.WaitForVersion(r.Context(), former, version))
		heal := r.server.Partition()
		source, session := r.set.Source("pods"), r.set.Put("pods", r.asks("a", ""))
		for what, of := range map[string]inspect.Syncer{"source": source, "session": session} {
			took, err := after(r, time.Minute, func(ctx context.Context) error { return kinformer.WaitForSync(ctx, of) })
			require.ErrorIs(r, err, context.DeadlineExceeded, what)
			assert.Equal(r, time.Minute, took, what)
			_, err = after(r, time.Minute, func(ctx context.Context) error { return kinformer.WaitForVersion(ctx, of, version) })
			require.ErrorIs(r, err, context.DeadlineExceeded, what)
			assert.False(r, statusOf(of).Synced, what)
		}
		_, err := after(r, time.Minute, func(ctx context.Context) error { return kinformer.WaitForVersion(ctx, r.informer, version) })
		require.ErrorIs(r, err, context.DeadlineExceeded)
		assert.True(r, r.informer.HasSynced())
		assert.Empty(r, source.LastStoreSyncResourceVersion()+session.LastStoreSyncResourceVersion())
		_, err = audit.Once(r.Context(), session, audit.Options{})
		require.ErrorIs(r, err, audit.ErrUnsynced)

		waits := later(func() error { return kinformer.WaitForVersion(r.Context(), r.set.Source("pods"), version) })
		heal()
		require.NoError(r, kinformer.WaitForSync(r.Context(), source, session))
		require.NoError(r, <-waits)
		assert.Equal(r, []string{"a/1", "a/2"}, r.stored())
		assert.True(r, source.HasSynced() && session.HasSynced() && former.HasSynced())
		assert.Equal(r, "pods", session.Name())
		assert.Equal(r, source.LastStoreSyncResourceVersion(), session.LastStoreSyncResourceVersion())
		report, err := audit.Once(r.Context(), session, audit.Options{Content: true})
		require.NoError(r, err)
		assert.True(r, report.Equal(), report)
	})
}

// TestSessionEnds: waits for a session that is replaced or removed end with an error that says so, and waits for its
// source go on with the next session.
func TestSessionEnds(t *testing.T) {
	for name, runs := range map[string]bool{"running": true, "not run": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, kinformer.Options{}, func(r *rig) {
				version := r.write("a", "1", "x")
				if runs {
					r.run()
				}
				heal := r.server.Partition()
				first := r.set.Put("a", r.asks("a", "x"))
				source := r.set.Source("a")
				synced := later(func() error { return kinformer.WaitForSync(r.Context(), first) })
				reached := later(func() error { return kinformer.WaitForVersion(r.Context(), first, version) })
				ofSource := later(func() error { return kinformer.WaitForSync(r.Context(), source) })
				checked := source.HasSyncedChecker()
				second := r.set.Put("a", r.asks("a", ""))
				require.ErrorContains(r, <-synced, "another Put")
				require.ErrorContains(r, <-reached, "another Put")
				require.ErrorContains(r, kinformer.Relist(first), "stopped")
				assert.Equal(r, inspect.PhaseStopped, statusOf(first).Phase)
				assert.ErrorContains(r, statusOf(first).LastError, "another Put")
				if !runs {
					r.run()
				}
				assert.Empty(r, ofSource)
				heal()
				require.NoError(r, <-ofSource)
				<-checked.Done()
				require.NoError(r, kinformer.WaitForSync(r.Context(), second))
				assert.False(r, first.HasSynced())

				never := later(func() error { return kinformer.WaitForVersion(r.Context(), second, "100") })
				require.NoError(r, r.set.Remove("a"))
				require.ErrorContains(r, <-never, "removed")
				require.ErrorContains(r, kinformer.WaitForVersion(r.Context(), source, "100"), "removed")
			})
		})
	}
}

// TestSyncedIsOfTheSession: a list of a request that was replaced meanwhile makes neither the informer nor the source
// synced.
func TestSyncedIsOfTheSession(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.write("a", "1", "x")
		r.write("a", "2", "y")
		first := r.asks("a", "x")
		hangs := r.asks("a", "")
		hangs.ListerWatcher = nil
		var heal func()
		first.listed = func() { // the list is not stored yet
			heal = r.server.Partition()
			r.set.Put("a", hangs)
		}
		r.set.Put("a", first)
		r.run()
		assert.False(r, r.informer.HasSynced())
		assert.False(r, r.set.Source("a").HasSynced())
		heal()
		require.NoError(r, kinformer.WaitForSync(r.Context(), r.informer, r.set.Source("a")))
		assert.Equal(r, []string{"a/1", "a/2"}, r.stored())
	})
}

// TestPolicyStopsASource: OnSourceStop is called with the name of the source, OnStop is not, and WaitForSync of the
// informer returns, at once as long as the source is stopped.
func TestPolicyStopsASource(t *testing.T) {
	testkit.Reports(t)
	var ofInformer, failing []string
	var ofSource []kinformer.Stopped
	policy := func(ctx context.Context, failure kinformer.Failure) kinformer.ErrorDecision {
		failing = append(failing, failure.Source)
		return kinformer.StopOnForbidden(ctx, failure)
	}
	options := kinformer.Options{Errors: kinformer.Errors{
		Policy: policy,
		OnStop: func(_ context.Context, stopped kinformer.Stopped) {
			ofInformer = append(ofInformer, stopped.Err.Error())
		},
		OnSourceStop: func(_ context.Context, stopped kinformer.Stopped) { ofSource = append(ofSource, stopped) },
	}}
	inBubble(t, options, func(r *rig) {
		r.follow("a")
		r.forbid("b")
		waits := later(func() error { return kinformer.WaitForSync(r.Context(), r.informer) })
		r.run()
		for _, err := range []error{<-waits, kinformer.WaitForSync(r.Context(), r.informer)} {
			require.ErrorContains(r, err, "a source of an informer ended before it had synced")
			require.ErrorContains(r, err, `source "b"`)
			assert.True(r, apierrors.IsForbidden(err))
		}
		r.forbid("b")
		assert.True(r, apierrors.IsForbidden(kinformer.WaitForSync(r.Context(), r.set.Source("b"))))
		assert.Equal(r, inspect.PhaseStopped, statusOf(r.set.Source("b")).Phase)
		require.Len(r, ofSource, 2)
		assert.Equal(r, "b", ofSource[0].Source)
		assert.True(r, apierrors.IsForbidden(errors.Unwrap(ofSource[0].Err)))
		assert.Empty(r, ofInformer)
		assert.Equal(r, []string{"b", "b"}, failing)
		r.write("a", "1", "x")
		assert.Equal(r, []string{"add a/1"}, r.handler.take(), "the informer continues")

		r.set.Put("b", r.asks("b", ""))
		require.NoError(r, kinformer.WaitForSync(r.Context(), r.informer))
		r.forbid("late")
		synctest.Wait()
		require.NoError(r, kinformer.WaitForSync(r.Context(), r.informer), "it does not wait for a later source")
	})
}

// TestRemovedSourceIsNotHopeless: WaitForSync of an informer waits for the others after the source that has stopped
// was removed.
func TestRemovedSourceIsNotHopeless(t *testing.T) {
	testkit.Reports(t)
	inBubble(t, kinformer.Options{Errors: kinformer.Errors{Policy: kinformer.StopOnForbidden}}, func(r *rig) {
		heal := r.server.Partition()
		r.follow("a")
		r.forbid("b")
		r.set.Put("c", nil)
		r.run()
		for _, name := range []string{"b", "c"} {
			require.Error(r, kinformer.WaitForSync(r.Context(), r.informer))
			require.NoError(r, r.set.Remove(name))
		}
		waits := later(func() error { return kinformer.WaitForSync(r.Context(), r.informer) })
		assert.Empty(r, waits)
		heal()
		require.NoError(r, <-waits)
	})
}

// TestReplacedWhileOthersAreAwaited: WaitForVersion of an informer waits for the present requests of all sources, also of
// those that are replaced before their turn.
func TestReplacedWhileOthersAreAwaited(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		slow := r.asks("slow", "")
		r.set.Put("slow", slow)
		for i := range 8 {
			r.follow(fmt.Sprint("n", i))
		}
		r.run()
		slow.gate.close()
		version := r.write("slow", "1", "x")
		r.server.Bookmark()
		returned := make(chan error, 50) // sources are awaited in any order, so some of the calls await slow before another one
		for range cap(returned) {
			go func() { returned <- kinformer.WaitForVersion(r.Context(), r.informer, version) }()
		}
		synctest.Wait()
		heal := r.server.Partition()
		for i := range 8 {
			r.follow(fmt.Sprint("n", i))
		}
		slow.gate.open()
		synctest.Wait()
		require.Less(r, len(returned), cap(returned))
		heal()
		for range cap(returned) {
			require.NoError(r, <-returned)
		}
	})
}

// TestVersionOfNothing: an informer without sources has reached no version.
func TestVersionOfNothing(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.run()
		version := r.write("a", "1", "x")
		require.ErrorContains(r, kinformer.WaitForVersion(r.Context(), r.informer, version), "no sources")
		r.follow("a")
		require.NoError(r, kinformer.WaitForVersion(r.Context(), r.informer, version))
		require.NoError(r, r.set.Remove("a"))
		r.end()
		require.ErrorContains(r, kinformer.WaitForVersion(r.Context(), r.informer, version), "no sources")
	})
}

// TestReadOfASource: a view of a source has its objects, and no others.
func TestReadOfASource(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		require.NoError(r, r.informer.AddIndexers(cache.Indexers{"app": func(obj any) ([]string, error) {
			return []string{obj.(*corev1.Pod).Labels["app"]}, nil
		}}))
		for _, pod := range [][3]string{{"a", "1", "x"}, {"a", "2", "y"}, {"b", "1", "x"}, {"b", "2", "y"}} {
			r.write(pod[0], pod[1], pod[2])
		}
		r.follow("a")
		r.set.Put("x", r.asks("", "x"))
		session := r.set.Put("none", r.asks("none", ""))
		r.run()
		for of, want := range map[inspect.Syncer][]string{
			r.set.Source("a"): {"a/1", "a/2"}, r.set.Source("x"): {"a/1", "b/1"}, session: nil, r.informer: {"a/1", "a/2", "b/1"},
		} {
			snapshot, err := view.Of(of)
			require.NoError(r, err)
			r.compareView(snapshot, want)
			snapshot.Close()
			assert.Empty(r, maps.Collect(snapshot.All()))
		}
		_, err := view.Of(r.set.Source("unknown"))
		require.ErrorIs(r, err, sources.ErrUnknown)
		_, err = inspect.QueueOf(r.set.Source("a"))
		require.ErrorContains(r, err, "its informer")
	})
}

// compareView compares the reads of a snapshot with the keys of its objects.
func (r *rig) compareView(snapshot *view.Snapshot, want []string) {
	var all, x []string
	for key := range snapshot.All() {
		all = append(all, key)
	}
	slices.Sort(all)
	require.Equal(r, want, all)
	require.Equal(r, len(want), snapshot.Len())
	for _, key := range []string{"a/1", "a/2", "b/1", "b/2"} {
		_, has := snapshot.Get(key)
		require.Equal(r, slices.Contains(want, key), has, key)
	}
	members, err := snapshot.ByIndex("app", "x")
	require.NoError(r, err)
	for key := range members {
		x = append(x, key)
	}
	count, err := snapshot.Count(view.Query{Where: []view.Term{{Index: "app", Value: "x"}}})
	require.NoError(r, err)
	require.Equal(r, len(x), count)
	for _, key := range want {
		obj, _ := snapshot.Get(key)
		require.Equal(r, obj.(*corev1.Pod).Labels["app"] == "x", slices.Contains(x, key), key)
	}
	_, err = snapshot.ByIndex("unknown", "x")
	require.Error(r, err)
}

// TestShardOfAShard: a Shard of a Shard lists nothing, and says why.
func TestShardOfAShard(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.write("a", "1", "x")
		r.set.Put("0", sources.Shard(sources.Shard(r.asks("", ""), 0, 2), 1, 2))
		r.run()
		_, err := after(r, time.Second, func(ctx context.Context) error { return kinformer.WaitForSync(ctx, r.set.Source("0")) })
		require.ErrorContains(r, err, "shard of a shard")
		require.Empty(r, r.stored())
	})
}

// TestShardOfNamespaces: a Shard of a range of namespaces has its part of their objects, and the range of a Shard has
// the same objects.
func TestShardOfNamespaces(t *testing.T) {
	half := sharding.NewSelector(sharding.ShardRangeRequirement{
		Key: "object.metadata.namespace", Start: "0x0000000000000000", End: "0x8000000000000000",
	})
	inBubble(t, kinformer.Options{}, func(r *rig) {
		var want []string
		for i := range 60 {
			namespace := fmt.Sprint("ns", i%10)
			r.write(namespace, fmt.Sprint(i), "x")
			pod := r.server.Get(namespace, fmt.Sprint(i)).(*corev1.Pod)
			if shard.Hash(namespace) < 1<<63 && shard.Hash(pod.UID) < 1<<63 {
				want = append(want, namespace+"/"+pod.Name)
			}
		}
		require.NotEmpty(r, want)
		slices.Sort(want)
		r.run()
		for _, lw := range []cache.ListerWatcher{
			sources.Shard(cache.NewShardedListWatch(r.asks("", ""), half), 0, 2),
			cache.NewShardedListWatch(sources.Shard(r.asks("", ""), 0, 2), half),
		} {
			of := r.set.Put("0", lw)
			_, err := after(r, time.Second, func(ctx context.Context) error { return kinformer.WaitForSync(ctx, of) })
			require.NoError(r, err)
			assert.Equal(r, want, r.stored())
			require.NoError(r, r.set.Remove("0"))
			synctest.Wait()
		}
	})
}
