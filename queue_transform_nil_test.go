// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
)

// nothings are what a transform may return in place of an object and an error.
var nothings = map[string]any{
	"nil":         nil,
	"nil pointer": (*corev1.Pod)(nil),
	"nil map":     map[string]any(nil),
	"nil slice":   []any(nil),
}

// losing is a transform that returns nothing for bad pods.
func losing(nothing any) cache.TransformFunc {
	return func(obj any) (any, error) {
		if obj.(*corev1.Pod).Labels["v"] == "bad" {
			return nothing, nil
		}
		return obj, nil
	}
}

// TestQueuesRefuseANilTransformed: whatever call it comes with, nothing is queued, and the error is
// counted.
func TestQueuesRefuseANilTransformed(t *testing.T) {
	for what, nothing := range nothings {
		for name, q := range map[string]interface {
			Add(obj any) error
			Update(obj any) error
			Delete(obj any) error
			Replace(list []any, version string) error
		}{
			"RealFIFO":        cache.NewRealFIFO(cache.MetaNamespaceKeyFunc, cache.NewStore(cache.MetaNamespaceKeyFunc), losing(nothing)),
			"atomic RealFIFO": cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true, Transformer: losing(nothing)}),
			"DeltaFIFO": cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{
				KnownObjects: knownPods(t, badPod("a", "1")), Transformer: losing(nothing),
			}),
			"an informer's queue": cache.InformersQueue(losing(nothing)),
		} {
			for call, err := range map[string]error{
				"Add":     q.Add(badPod("a", "2")),
				"Update":  q.Update(badPod("a", "2")),
				"Delete":  q.Delete(badPod("a", "2")),
				"Replace": q.Replace([]any{testkit.Pod("b", "2"), badPod("a", "2")}, "2"),
			} {
				assert.ErrorIs(t, err, event.ErrNilTransformed, "%s for %s: %s", what, name, call)
			}
			stats, _ := cache.QueueStatsOf(q)
			assert.Zero(t, stats.Depth, "%s for %s", what, name)
			assert.EqualValues(t, 4, stats.TransformErrors, "%s for %s", what, name)
			assert.Equal(t, 1, stats.Untransformed, "%s for %s", what, name)
			assert.ErrorIs(t, stats.LastTransformError, event.ErrNilTransformed)
		}
	}
}

func knownPods(t *testing.T, pods ...*corev1.Pod) cache.Store {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	for _, pod := range pods {
		require.NoError(t, store.Add(pod))
	}
	return store
}

// TestInformerWhoseTransformReturnsNil: by list, in pages, by stream or by watch, the object stays
// as it is cached, which handlers hear of as little as readers, and the informer says so.
func TestInformerWhoseTransformReturnsNil(t *testing.T) {
	texts := testkit.Reports(t)
	for what, nothing := range nothings {
		for way, server := range waysOf(badPod("a", "5"), testkit.PodAt("b", "5")) {
			for _, keeps := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					var seen testkit.Handled
					handler, options, before := &testkit.Journal{}, []cache.Option{cache.WithPageSize(1)}, len(texts())
					if keeps {
						options = append(options, cache.WithCachedOnTransformError())
					}
					s, stop := informerOn(t, server(), func(s cache.SharedIndexInformer) {
						require.NoError(t, s.SetTransform(losing(nothing)))
						require.NoError(t, s.SetWatchErrorHandlerWithContext(seen.Handle))
						_, err := s.AddEventHandler(handler)
						require.NoError(t, err)
					}, options...)
					defer stop()
					message := []any{"%s by %s, keeps %v", what, way, keeps}
					if taken := keeps || way == "watch"; taken {
						require.Len(t, s.GetIndexer().List(), 1, message...)
						assert.Equal(t, "b@5", testkit.NameAt(s.GetIndexer().List()[0]), message...)
						assert.Len(t, handler.Take(), 1, message...)
						require.Len(t, texts(), before+1, message...)
						assert.Contains(t, texts()[before], event.ErrNilTransformed.Error(), message...)
					} else {
						assert.Empty(t, s.GetIndexer().List(), message...)
						require.NotEmpty(t, seen.Errors(), message...)
						assert.ErrorIs(t, seen.Errors()[0], event.ErrNilTransformed, message...)
					}
					stats, _ := cache.QueueStatsOf(s)
					assert.Equal(t, 1, stats.Untransformed, message...)
					status, err := cache.StatusOf(s)
					require.NoError(t, err)
					assert.Contains(t, status.Degraded, "1 objects are not as on the server: the transform function refused them", message...)
				})
			}
		}
	}
}

// waysOf are the ways in which a server can tell of the objects.
func waysOf(pods ...*corev1.Pod) map[string]func() *testkit.Server {
	list, events, initial := testkit.PodList("5"), []watch.Event(nil), []watch.Event(nil)
	for _, pod := range pods {
		list.Items = append(list.Items, *pod)
		events = append(events, watch.Event{Type: watch.Modified, Object: pod})
		initial = append(initial, watch.Event{Type: watch.Added, Object: pod})
	}
	return map[string]func() *testkit.Server{
		"list": func() *testkit.Server {
			return &testkit.Server{NoStream: true, OnList: testkit.ListOf(list), OnWatch: testkit.Watches(testkit.Sent())}
		},
		"pages": func() *testkit.Server {
			return &testkit.Server{NoStream: true, OnList: itemByItem(list), OnWatch: testkit.Watches(testkit.Sent())}
		},
		"watch-list": func() *testkit.Server {
			return &testkit.Server{OnList: testkit.ListOf(list), OnWatch: testkit.Watches(testkit.Sent(append(initial, testkit.EndMark("5"))...))}
		},
		"watch": func() *testkit.Server {
			return &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("1")), OnWatch: testkit.Watches(testkit.Sent(events...))}
		},
	}
}

// itemByItem answers with one item of the list at a time.
func itemByItem(list *corev1.PodList) func(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
	return func(_ int, _ context.Context, options metav1.ListOptions) (runtime.Object, error) {
		page := testkit.PodList(list.ResourceVersion)
		page.Items = list.Items[len(options.Continue):][:1]
		if next := len(options.Continue) + 1; next < len(list.Items) {
			page.Continue = "xxxxxxxx"[:next]
		}
		return page, nil
	}
}

// TestStoreRefusesANilTransformed: a call of a store WithTransformer changes nothing then.
func TestStoreRefusesANilTransformed(t *testing.T) {
	for what, nothing := range nothings {
		s := cache.NewStore(cache.MetaNamespaceKeyFunc, cache.WithTransformer(losing(nothing)))
		require.NoError(t, s.Add(testkit.Pod("b", "1")))
		assert.ErrorIs(t, s.Add(badPod("a", "1")), event.ErrNilTransformed, what)
		assert.ErrorIs(t, s.Update(badPod("b", "2")), event.ErrNilTransformed, what)
		assert.ErrorIs(t, s.Replace([]any{badPod("a", "1")}, "2"), event.ErrNilTransformed, what)
		assert.Equal(t, []string{"ns/b"}, s.ListKeys(), what)
	}
}
