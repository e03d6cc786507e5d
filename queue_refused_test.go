// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit"
)

// refusals are the ways in which a transform can fail for an object.
var refusals = map[string]func() (any, error){
	"error":       func() (any, error) { return nil, errTransform },
	"panic":       func() (any, error) { panic("cannot transform") },
	"nil":         func() (any, error) { return nil, nil },
	"nil pointer": func() (any, error) { return (*corev1.Pod)(nil), nil },
}

// refusing returns a transform that fails, in that way, for objects with the label v=bad.
func refusing(way func() (any, error)) cache.TransformFunc {
	return func(obj any) (any, error) {
		if obj.(*corev1.Pod).Labels["v"] == "bad" {
			return way()
		}
		return obj, nil
	}
}

// refusedCase runs do with a synced informer, which has an index by label, for each kind of queue
// and each way to refuse.
func refusedCase(t *testing.T, do func(*testing.T, *relisting)) {
	for kind, options := range map[string][]cache.Option{
		"arrivals": nil, "limited": {cache.WithQueueLimit(1)},
		"cached": {cache.WithCachedOnTransformError()},
	} {
		for way, refuse := range refusals {
			t.Run(kind+"/"+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := &relisting{Source: cachetest.New()}
					r.SharedIndexInformer = cache.InformerFunc(options...)(r.Source, &corev1.Pod{}, 0, cache.Indexers{"v": byLabelV})
					require.NoError(t, r.SetTransform(refusing(refuse)))
					_, err := r.AddEventHandler(&r.recorder)
					require.NoError(t, err)
					defer running(t, r)()
					synctest.Wait()
					do(t, r)
				})
			})
		}
	}
}

func byLabelV(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Labels["v"]}, nil }

// refuses makes the object one that is refused from now on.
func (r *relisting) refuses(name string) {
	cachetest.PatchAs(r.Source, "ns", name, func(p *corev1.Pod) { p.Labels = map[string]string{"v": "bad"} })
	synctest.Wait()
}

// requireRight requires that all that the informer says of itself is about so many objects that are
// behind, and that the store is as far as the server.
func (r *relisting) requireRight(t *testing.T, behind int) {
	t.Helper()
	synctest.Wait()
	seen, err := inspect.Of(r)
	require.NoError(t, err)
	require.Equal(t, behind, seen.Queue.Untransformed)
	if behind == 0 {
		require.Empty(t, seen.Status.Degraded)
	} else {
		require.Len(t, seen.Status.Degraded, 1)
	}
	require.Equal(t, fmt.Sprint(r.ResourceVersion()), r.LastSyncResourceVersion())
}

// TestRefusedObjectsThatComeAndGo leave nothing behind, and no handler hears of them.
func TestRefusedObjectsThatComeAndGo(t *testing.T) {
	testkit.Reports(t)
	refusedCase(t, func(t *testing.T, r *relisting) {
		for i := range 3 {
			r.Create(badPod(fmt.Sprint("job", i), ""))
			r.requireRight(t, 1)
			r.Delete("ns", fmt.Sprint("job", i))
			r.requireRight(t, 0)
		}
		assert.Empty(t, r.GetStore().List())
		assert.Empty(t, r.recorder.Take())
		stats, _ := cache.QueueStatsOf(r)
		assert.EqualValues(t, 6, stats.TransformErrors, "the transform is asked about deletions")
	})
}

// TestRefusedDeletion: the cached object leaves, with the last state that anybody knows, and comes
// back when it is created again.
func TestRefusedDeletion(t *testing.T) {
	texts := testkit.Reports(t)
	refusedCase(t, func(t *testing.T, r *relisting) {
		before := len(texts())
		r.Create(testkit.Pod("a", "good"))
		r.refuses("a")
		r.requireRight(t, 1)
		r.Delete("ns", "a")
		r.requireRight(t, 0)
		assert.Empty(t, r.GetStore().List())
		assert.Empty(t, r.GetIndexer().ListIndexFuncValues("v"))
		assert.Equal(t, []string{"add ns/a 2", "delete ns/a 2 unknown"}, r.recorder.Take())
		assert.NoError(t, cache.WaitForVersion(t.Context(), r, fmt.Sprint(r.ResourceVersion())))
		told := strings.Join(texts()[before:], "\n")
		assert.Contains(t, told, "without its last state")
		r.Create(testkit.Pod("a", "again"))
		r.requireRight(t, 0)
		assert.Len(t, r.GetStore().List(), 1)
		seen, _ := inspect.Of(r)
		assert.Equal(t, map[string]int64{"refused": 1}, seen.Drops, "the update: a deletion that was made is no change that was dropped")
	})
}

// TestRefusedAtRandom: whatever is refused, at rest the informer has what passed last of each
// object that is on the server, nothing else, says how many of them are behind, and has told that.
func TestRefusedAtRandom(t *testing.T) {
	testkit.Reports(t)
	for kind, options := range map[string][]cache.Option{
		"arrivals": nil, "limited": {cache.WithQueueLimit(2), cache.WithCachedOnTransformError()},
		"cached": {cache.WithCachedOnTransformError()},
	} {
		t.Run(kind, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				synctest.Test(t, func(t *testing.T) { refusedAtRandom(t, rt, strings.Contains(kind, "cached"), options) })
			})
		})
	}
}

func refusedAtRandom(t *testing.T, rt *rapid.T, relists bool, options []cache.Option) {
	source, mirror := cachetest.New(), testkit.NewMirror()
	slow := func(obj any) ([]string, error) { // so that changes wait in the queue
		time.Sleep(time.Millisecond)
		return byLabelV(obj)
	}
	informer := cache.InformerFunc(options...)(source, &corev1.Pod{}, 0, cache.Indexers{"v": slow})
	refused := rapid.SliceOfN(rapid.Bool(), 1, 40).Draw(rt, "refused")
	require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
		if version, _ := strconv.Atoi(obj.(*corev1.Pod).ResourceVersion); refused[version%len(refused)] {
			return nil, errTransform
		}
		return obj, nil
	}))
	_, err := informer.AddEventHandler(mirror)
	require.NoError(t, err)
	defer running(t, informer)()
	synctest.Wait()
	for range rapid.IntRange(1, 8).Draw(rt, "bursts") {
		for range rapid.IntRange(1, 8).Draw(rt, "changes") {
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "name")
			if deleted := rapid.IntRange(0, 2).Draw(rt, "deleted") == 0; !deleted {
				source.Put(testkit.Pod(name, fmt.Sprint(source.ResourceVersion())))
			} else if source.Get("ns", name) != nil {
				source.Delete("ns", name)
			}
		}
		if relists && rapid.IntRange(0, 3).Draw(rt, "relist") == 0 {
			require.NoError(t, cache.Relist(informer))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		requireAsPassed(t, source, informer, mirror)
	}
}

// requireAsPassed requires that the store, its index and the handler agree, have nothing that is
// not on the server, and that what differs otherwise is counted.
func requireAsPassed(t *testing.T, source *cachetest.Source, informer cache.SharedIndexInformer, mirror *testkit.Mirror) {
	held, behind := map[string]string{}, 0
	for _, obj := range informer.GetStore().List() {
		pod := obj.(*corev1.Pod)
		held["ns/"+pod.Name] = pod.ResourceVersion
		require.Contains(t, source.Versions(), "ns/"+pod.Name)
		require.Contains(t, informer.GetIndexer().ListIndexFuncValues("v"), pod.Labels["v"])
	}
	for key, version := range source.Versions() {
		if held[key] != version {
			behind++
		}
	}
	stats, _ := cache.QueueStatsOf(informer)
	require.Equal(t, behind, stats.Untransformed)
	known, problems, _ := mirror.State()
	problems = slices.DeleteFunc(slices.Clone(problems), func(p string) bool {
		return strings.HasPrefix(p, "delete of unknown") // as in client-go: handlers hear of a deletion that passes
	})
	require.Empty(t, problems)
	require.Equal(t, testkit.StateOfPods(slices.Values(informer.GetStore().List())), known)
}
