// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package sources_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/inspect"
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

// TestLife: sources are put, replaced and removed before the informer runs, while it runs and after.
func TestLife(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.write("a", "1", "x")
		r.write("a", "2", "y")
		r.write("b", "1", "x")
		r.set.Put("a", r.asks("a", ""))
		r.set.Put("b", r.asks("a", ""))
		r.set.Put("b", r.asks("b", "")) // replaced before it ran
		r.set.Put("gone", r.asks("", ""))
		require.NoError(r, r.set.Remove("gone"))
		require.ErrorIs(r, r.set.Remove("gone"), sources.ErrUnknown)
		assert.False(r, r.informer.HasSynced())
		r.run()
		assert.True(r, r.informer.HasSynced())
		assert.Equal(r, []string{"add a/1 initial", "add a/2 initial", "add b/1 initial"}, r.handler.take())

		r.set.Put("a", r.asks("a", "x"))
		assert.Equal(r, []string{"delete a/2 unseen"}, r.handler.take(), "the difference")
		r.set.Put("a", r.asks("a", ""))
		assert.Equal(r, []string{"add a/2"}, r.handler.take())
		require.NoError(r, r.set.Remove("b"))
		assert.Equal(r, []string{"delete b/1 unseen"}, r.handler.take())
		r.write("b", "2", "x")
		assert.Empty(r, r.handler.take())
		r.set.Put("b", r.asks("b", ""))
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

// TestNoSource: an informer without sources has synced, and so it stays.
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
		assert.True(r, r.informer.HasSynced())
		assert.True(r, r.handle.HasSynced())
		heal()
		require.NoError(r, kinformer.WaitForSync(r.Context(), r.set.Source("late"), r.informer, r.handle))
		assert.Equal(r, []string{"add a/1 initial"}, r.handler.take())
	})
}

// TestOverlap: an object is there as long as one source has it, in its newest version.
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
		assert.Equal(r, map[string]string{"a/1": newest}, r.handler.versions())
		slow.gate.open()
		assert.Equal(r, []string{"delete a/1"}, r.handler.take())
		r.write("a", "2", "x")
		assert.Equal(r, []string{"add a/2"}, r.handler.take())
		require.NoError(r, r.set.Remove("fast"))
		assert.Empty(r, r.handler.take())
		require.NoError(r, r.set.Remove("slow"))
		assert.Equal(r, []string{"delete a/2 unseen"}, r.handler.take())
	})
}

// TestForbidden: a source that is not allowed to list holds no other up, and is a problem of its own
// and of the informer, which syncs when it is removed.
func TestForbidden(t *testing.T) {
	testkit.Reports(t)
	inBubble(t, kinformer.Options{}, func(r *rig) {
		forbidden := r.asks("b", "")
		forbidden.err = testkit.ErrForbidden
		r.set.Put("a", r.asks("a", ""))
		r.set.Put("b", forbidden)
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

		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		for _, unsynced := range []inspect.Syncer{r.informer, r.set.Source("b")} {
			err := kinformer.WaitForSync(ctx, unsynced)
			assert.True(r, apierrors.IsForbidden(err), err)
		}
		waiting := make(chan error, 1)
		go func() { waiting <- kinformer.WaitForSync(r.Context(), r.set.Source("b")) }()
		synctest.Wait()
		require.NoError(r, r.set.Remove("b"))
		require.Error(r, <-waiting, "it is gone")
		synctest.Wait()
		assert.True(r, r.informer.HasSynced())
		assert.True(r, r.handle.HasSynced())
	})
}

// TestPolicy: an error policy stops the source only.
func TestPolicy(t *testing.T) {
	testkit.Reports(t)
	options := kinformer.Options{Errors: kinformer.Errors{Policy: kinformer.StopOnForbidden}}
	inBubble(t, options, func(r *rig) {
		forbidden := r.asks("b", "")
		forbidden.err = testkit.ErrForbidden
		r.set.Put("a", r.asks("a", ""))
		r.set.Put("b", forbidden)
		r.run()
		err := kinformer.WaitForSync(r.Context(), r.set.Source("b"))
		assert.True(r, apierrors.IsForbidden(err), err)
		assert.Equal(r, inspect.PhaseStopped, statusOf(r.set.Source("b")).Phase)
		r.write("a", "1", "x")
		assert.Equal(r, []string{"add a/1"}, r.handler.take())
		r.write("b", "1", "x")
		r.set.Put("b", r.asks("b", ""))
		require.NoError(r, kinformer.WaitForSync(r.Context(), r.set.Source("b"), r.informer))
		assert.Equal(r, []string{"add b/1 initial"}, r.handler.take())
	})
}

// TestWaitersOutliveReplacement: who waits for a source waits for whatever it asks for.
func TestWaitersOutliveReplacement(t *testing.T) {
	testkit.Reports(t)
	inBubble(t, kinformer.Options{}, func(r *rig) {
		forbidden := r.asks("b", "")
		forbidden.err = testkit.ErrForbidden
		r.set.Put("b", forbidden)
		r.run()
		waiting := make(chan error, 1)
		go func() { waiting <- kinformer.WaitForSync(r.Context(), r.set.Source("b")) }()
		synctest.Wait()
		r.set.Put("b", r.asks("b", ""))
		require.NoError(r, <-waiting)
		synctest.Wait()
		assert.True(r, r.informer.HasSynced())
	})
}

// TestFromHandler: handlers may put and remove sources.
func TestFromHandler(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.write("a", "1", "x")
		r.write("b", "1", "x")
		r.handler.also = func(call string) {
			switch call {
			case "add a/1 initial":
				r.set.Put("b", r.asks("b", ""))
			case "add b/1 initial":
				r.set.Put("a", r.asks("a", "y"))
			case "delete a/1 unseen":
				assert.NoError(r, r.set.Remove("b"))
			}
		}
		r.set.Put("a", r.asks("a", ""))
		r.run()
		assert.Equal(r, []string{"add a/1 initial", "add b/1 initial", "delete a/1 unseen", "delete b/1 unseen"}, r.handler.take())
	})
}

// TestResync: the informer has one timer, whatever the number of sources.
func TestResync(t *testing.T) {
	inBubble(t, kinformer.Options{ResyncPeriod: time.Minute}, func(r *rig) {
		r.write("a", "1", "x")
		r.write("b", "1", "x")
		r.set.Put("a", r.asks("a", ""))
		r.set.Put("b", r.asks("b", ""))
		r.run()
		r.handler.take()
		for range 3 {
			time.Sleep(time.Minute)
			assert.Equal(r, []string{"resync a/1", "resync b/1"}, r.handler.take())
		}
	})
}

// TestVersions: each source has a version, and can be waited for and asked again by itself.
func TestVersions(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		first := r.write("a", "1", "x")
		r.set.Put("a", r.asks("a", ""))
		assert.Empty(r, r.informer.LastSyncResourceVersion())
		r.run()
		assert.Equal(r, first, r.informer.LastSyncResourceVersion(), "of the only source")
		r.set.Put("b", r.asks("b", ""))
		synctest.Wait()
		assert.Empty(r, r.informer.LastSyncResourceVersion())
		second := r.write("a", "2", "x")
		a, b := r.set.Source("a"), r.set.Source("b")
		require.NoError(r, kinformer.WaitForVersion(r.Context(), a, second))
		assert.Equal(r, second, a.LastSyncResourceVersion())
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
	})
}

// TestRelist: what a relist lacks leaves with a tombstone.
func TestRelist(t *testing.T) {
	testkit.Reports(t)
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.write("a", "1", "x")
		r.write("a", "2", "x")
		r.write("b", "1", "x")
		r.set.Put("a", r.asks("a", ""))
		r.set.Put("b", r.asks("b", ""))
		r.run()
		r.handler.take()
		heal := r.server.Partition()
		r.server.Delete("a", "1")
		r.write("a", "3", "x")
		r.server.Compact(r.server.ResourceVersion())
		heal()
		settle()
		assert.Equal(r, []string{"add a/3", "delete a/1 unseen", "resync a/2", "resync b/1"}, r.handler.take())
	})
}

// TestBadSources: what is not there, and what cannot run, says so.
func TestBadSources(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		require.ErrorIs(r, kinformer.WaitForSync(r.Context(), r.set.Source("none")), sources.ErrUnknown)
		r.set.Put("nil", nil)
		r.run()
		require.ErrorContains(r, kinformer.WaitForSync(r.Context(), r.set.Source("nil")), "ListerWatcher")
		assert.False(r, r.informer.HasSynced())
		r.set.Put("nil", r.asks("", ""))
		require.NoError(r, kinformer.WaitForSync(r.Context(), r.set.Source("nil"), r.informer))
	})
	informer, set := sources.New(&corev1.Pod{}, kinformer.Options{Queue: kinformer.Queue{Limit: -1}})
	set.Put("a", &cache.ListWatch{})
	require.Error(t, kinformer.WaitForSync(t.Context(), informer))
	informer.RunWithContext(t.Context())
}

// TestTransform: each source transforms by itself, and the informer tells of all that was refused.
func TestTransform(t *testing.T) {
	testkit.Reports(t)
	inBubble(t, kinformer.Options{Queue: kinformer.Queue{KeepCached: true}}, func(r *rig) {
		require.NoError(r, r.informer.SetTransform(func(obj any) (any, error) {
			if obj.(*corev1.Pod).Labels["app"] == "bad" {
				return nil, testkit.ErrInternal
			}
			obj.(*corev1.Pod).ResourceVersion = ""
			return obj, nil
		}))
		r.write("a", "1", "x")
		r.write("b", "1", "bad")
		slow := r.asks("", "x")
		r.set.Put("a", r.asks("a", ""))
		r.set.Put("b", r.asks("b", ""))
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

// TestReplacement: of a request that is replaced handlers hear the difference, and nothing else.
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
	})
}

// TestRoom: sources wait together for a handler that blocks, and go on together.
func TestRoom(t *testing.T) {
	inBubble(t, kinformer.Options{Queue: kinformer.Queue{Limit: 1}}, func(r *rig) {
		release := make(chan struct{})
		slow := &mirror{known: map[string]*corev1.Pod{}, also: func(string) { <-release }}
		_, err := r.informer.AddEventHandler(kinformer.Deliver(slow, kinformer.Delivery{Overflow: kinformer.OverflowBlock, Max: 1}))
		require.NoError(r, err)
		for _, namespace := range []string{"a", "b", "c"} {
			r.set.Put(namespace, r.asks(namespace, ""))
		}
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
		assert.Len(r, r.handler.versions(), 3)
		assert.Equal(r, r.handler.versions(), slow.versions())
		for key, version := range r.server.Versions() {
			assert.Equal(r, version, slow.versions()[key])
		}
	})
}

// TestDeaf: nobody waits for a ListerWatcher that ignores the end of its context.
func TestDeaf(t *testing.T) {
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

// TestReady: a source that fails for long makes the informer not ready, if that is asked for.
func TestReady(t *testing.T) {
	testkit.Reports(t)
	inBubble(t, kinformer.Options{}, func(r *rig) {
		ready := inspect.Ready(inspect.ReadyOptions{MaxOutage: time.Minute}, r.informer)
		forbidden := r.asks("b", "")
		forbidden.err = testkit.ErrForbidden
		r.set.Put("a", r.asks("a", ""))
		r.run()
		require.NoError(r, ready.Check(nil))
		r.set.Put("b", forbidden)
		time.Sleep(30 * time.Second)
		require.NoError(r, ready.Check(nil))
		time.Sleep(5 * time.Minute)
		require.ErrorContains(r, ready.Check(nil), "requests fail")
		require.NoError(r, r.set.Remove("b"))
		require.NoError(r, ready.Check(nil))
	})
}

// TestDoors: what looks at informers looks at a source, too, or says that it does not.
func TestDoors(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.write("a", "1", "x")
		r.set.Put("a", r.asks("a", ""))
		r.set.Put("b", r.asks("b", ""))
		r.run()
		all, err := inspect.Of(r.informer)
		require.NoError(r, err)
		assert.Len(r, all.Handlers, 1)
		one, err := inspect.Of(r.set.Source("a"))
		require.NoError(r, err)
		assert.Equal(r, 1, one.Status.Objects)
		assert.EqualValues(r, 1, one.Lists.Ended)
		_, err = audit.Once(r.Context(), r.set.Source("a"), audit.Options{})
		require.ErrorIs(r, err, inspect.ErrForeign)
		_, err = audit.Once(r.Context(), r.informer, audit.Options{})
		require.ErrorIs(r, err, audit.ErrUnvouched)
	})
}
