// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/sources"
)

// TestRelistRepairs: after Relist the store equals the server: missing, superfluous and wrong objects,
// also those with the right version, are corrected, and handlers were called for them.
func TestRelistRepairs(t *testing.T) {
	for _, memory := range []int64{math.MaxInt64, 1 << 20} {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(memory))
		informers.InRelisting(t, func(t *testing.T, r *informers.Relisting) {
			good, store := r.Pods(), r.GetStore()
			require.NoError(t, store.Delete(good["a"]))
			wrong := good["b"].DeepCopy()
			wrong.Labels = map[string]string{"is": "wrong"}
			require.NoError(t, store.Update(wrong))
			require.NoError(t, store.Add(testkit.PodAt("x", "1")))

			require.NoError(t, kinformer.Relist(r))
			r.Calm()
			assert.Equal(t, good, r.Pods())
			heard := r.Recorder.Take()
			for _, want := range []string{"add ns/a", "update ns/b", "delete ns/x"} {
				assert.True(t, slices.ContainsFunc(heard, func(event string) bool { return strings.HasPrefix(event, want) }), "%s: %q", want, heard)
			}
			assert.Equal(t, 2, r.Lists())
			all := informers.Inspected(t, r)
			assert.Equal(t, map[string]int64{"asked": 1}, all.Relists)
			assert.Equal(t, map[string]int64{"asked": 1}, all.WatchEnds)
			assert.Empty(t, all.Errors)
		}, kinformer.Options{})
	}
}

// TestRelistOfUnchangedObjects: several calls lead to one request, which begins after the last of them. No
// handler is called for an unchanged object, not even one with a resync period. Objects with other
// content or without a version count as changed.
func TestRelistOfUnchangedObjects(t *testing.T) {
	informers.InRelisting(t, func(t *testing.T, r *informers.Relisting) {
		var resynced cachetest.Recorder
		_, err := r.AddEventHandlerWithResyncPeriod(&resynced, time.Hour)
		require.NoError(t, err)
		r.Calm()
		resynced.Take()
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() { assert.NoError(t, kinformer.Relist(r)) })
		}
		all.Wait()
		r.Calm()
		assert.Equal(t, 2, r.Lists())
		assert.Empty(t, r.Recorder.Take())
		assert.Empty(t, resynced.Take())
		wrong := r.Pods()["b"].DeepCopy()
		wrong.Labels = map[string]string{"is": "wrong"}
		require.NoError(t, r.GetStore().Update(wrong))
		require.NoError(t, kinformer.Relist(r))
		r.Calm()
		assert.Len(t, r.Recorder.Take(), 1)
		assert.Len(t, resynced.Take(), 1)
	}, kinformer.Options{})
}

// TestRelistWhileListing: a request that began before the call does not fulfill it.
func TestRelistWhileListing(t *testing.T) {
	informers.InRelisting(t, func(t *testing.T, r *informers.Relisting) {
		answer := make(chan struct{})
		r.Script(r.Verb, cachetest.Fault{Until: answer})
		require.NoError(t, kinformer.Relist(r))
		r.Calm()
		require.Equal(t, 2, r.Lists(), "the second one is under way")
		require.NoError(t, kinformer.Relist(r))
		require.NoError(t, kinformer.Relist(r))
		before := len(r.Requests())
		close(answer)
		r.Calm()
		assert.Equal(t, 3, r.Lists())
		if r.Verb == cachetest.VerbList {
			assert.Len(t, r.Requests(), before+2, "a list and its watch: none before the wish is fulfilled")
		}
		assert.Equal(t, map[string]int64{"asked": 2}, informers.Inspected(t, r).Relists)
	}, kinformer.Options{})
}

// TestRelistFromHandler: a handler may call Relist.
func TestRelistFromHandler(t *testing.T) {
	informers.InRelisting(t, func(t *testing.T, r *informers.Relisting) {
		doubts := clientgo.ResourceEventHandlerFuncs{UpdateFunc: func(_, now any) {
			if now.(*v1.Pod).Labels["in"] == "doubt" {
				assert.NoError(t, kinformer.Relist(r))
			}
		}}
		informers.Handle(t, r, doubts)
		cachetest.PatchAs(r.Source, "ns", "c", func(p *v1.Pod) { p.Labels = map[string]string{"in": "doubt"} })
		synctest.Wait()
		cachetest.PatchAs(r.Source, "ns", "c", func(p *v1.Pod) { p.Labels = nil })
		r.Calm()
		assert.Equal(t, 2, r.Lists())
	}, kinformer.Options{})
}

// TestRelistDuringOutage: the call stays pending during an outage and is fulfilled by the request after
// it.
func TestRelistDuringOutage(t *testing.T) {
	informers.InRelisting(t, func(t *testing.T, r *informers.Relisting) {
		heal := r.Partition()
		r.Compact(r.Tick())
		r.Calm()
		before := r.Lists()
		require.NoError(t, kinformer.Relist(r))
		heal()
		r.Calm()
		assert.Equal(t, before+1, r.Lists())
		r.Calm()
		assert.Equal(t, before+1, r.Lists(), "and no other")
	}, kinformer.Options{})
}

// TestRelistRefused: Relist returns an error for an informer that makes no further requests.
func TestRelistRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := cachetest.Of(testkit.Pod("a", "1"))
		theirs := clientgo.NewSharedIndexInformer(source, &v1.Pod{}, 0, clientgo.Indexers{})
		assert.ErrorIs(t, kinformer.Relist(theirs), inspect.ErrForeign)

		_, simple := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: source, ObjectType: &v1.Pod{}})
		assert.NoError(t, kinformer.Relist(simple))
		stop := informers.Run(t, simple)
		synctest.Wait()
		time.Sleep(time.Minute)
		assert.Empty(t, informers.Inspected(t, simple).Relists, "the first request is the one that was asked for")
		assert.NoError(t, kinformer.Relist(simple))
		synctest.Wait()
		time.Sleep(time.Minute)
		assert.Equal(t, map[string]int64{"asked": 1}, informers.Inspected(t, simple).Relists)
		stop()
		assert.ErrorContains(t, kinformer.Relist(simple), "has stopped")
	})
}

// sealed returns the pod a with a UID and content.
func sealed(uid types.UID, version, content string) *v1.Pod {
	pod := testkit.PodAt("a", version)
	pod.UID, pod.Annotations = uid, map[string]string{"content": content}
	return pod
}

// TestReuse: the objects in the store after a relist of one source, or of one of several, and the calls of handlers.
func TestReuse(t *testing.T) {
	const scarce, plenty = 1 << 20, math.MaxInt64
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	for name, test := range map[string]struct {
		memory        int64
		first, second *v1.Pod
		kept          bool
	}{
		"identical":              {scarce, sealed("uid", "1", "x"), sealed("uid", "1", "x"), true},
		"no scarcity":            {plenty, sealed("uid", "1", "x"), sealed("uid", "1", "x"), false},
		"same version, other":    {scarce, sealed("uid", "1", "x"), sealed("uid", "1", "y"), false},
		"other version":          {scarce, sealed("uid", "1", "x"), sealed("uid", "2", "x"), false},
		"nothing to go by":       {scarce, sealed("", "1", "x"), sealed("", "1", "x"), false},
		"nor a version to go by": {scarce, sealed("uid", "", "x"), sealed("uid", "", "x"), false},
	} {
		debug.SetMemoryLimit(test.memory)
		for n := range 4 {
			stream, several := n&1 != 0, n&2 != 0
			synctest.Test(t, func(t *testing.T) {
				again := testkit.FailedWith(testkit.ErrExpired)
				server := &testkit.Server{NoStream: !stream, OnWatch: testkit.Watches(testkit.Sent(again))}
				server.OnList = func(n int, _ context.Context, _ metav1.ListOptions) (apiruntime.Object, error) {
					return testkit.PodList(fmt.Sprint(4+n), []*v1.Pod{test.first, test.second}[n-1]), nil
				}
				if stream {
					first, second := watch.Event{Type: watch.Added, Object: test.first}, watch.Event{Type: watch.Added, Object: test.second}
					server.OnWatch = testkit.Watches(testkit.Sent(first, testkit.EndMark("5"), again), testkit.Sent(second, testkit.EndMark("6")))
				}
				informer := informers.Of(server, kinformer.Options{})
				if several {
					var set *sources.Set
					informer, set = sources.New(&v1.Pod{}, kinformer.Options{})
					set.Put("pods", server)
				}
				updates := make(chan [2]any, 10)
				informers.Handle(t, informer, cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, current any) { updates <- [2]any{old, current} }})
				defer informers.Run(t, informer)()
				require.NoError(t, kinformer.WaitForSync(t.Context(), informer))
				before, _, _ := informer.GetStore().GetByKey("ns/a")
				heard := <-updates
				after, _, _ := informer.GetStore().GetByKey("ns/a")
				assert.Equal(t, test.kept, before == after, "%s, stream %t, several %t", name, stream, several)
				assert.Equal(t, test.second, after)
				assert.Same(t, before, heard[0])
				assert.Same(t, after, heard[1])
			})
		}
	}
}
