// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

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
)

// nothings are what a transform may return in place of an object and an error.
var nothings = map[string]any{
	"nil":         nil,
	"nil pointer": (*corev1.Pod)(nil),
	"nil map":     map[string]any(nil),
	"nil slice":   []any(nil),
}

// losing is a transform that returns nothing for bad pods.
func losing(nothing any) TransformFunc {
	return func(obj any) (any, error) {
		if obj.(*corev1.Pod).Labels["v"] == "bad" {
			return nothing, nil
		}
		return obj, nil
	}
}

// TestQueuesRefuseANilTransformed: whatever call it comes with, nothing is queued, and the error is counted.
func TestQueuesRefuseANilTransformed(t *testing.T) {
	for what, nothing := range nothings {
		for name, q := range map[string]interface {
			Add(obj any) error
			Update(obj any) error
			Delete(obj any) error
			Replace(list []any, version string) error
		}{
			"RealFIFO":        NewRealFIFO(MetaNamespaceKeyFunc, NewStore(MetaNamespaceKeyFunc), losing(nothing)),
			"atomic RealFIFO": NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true, Transformer: losing(nothing)}),
			"DeltaFIFO": NewDeltaFIFOWithOptions(DeltaFIFOOptions{
				KnownObjects: knownPods(t, badPod("a", "1")), Transformer: losing(nothing),
			}),
			"an informer's queue":           queueOf(openPipeline(newStore(MetaNamespaceKeyFunc, nil), queueOptions{transform: losing(nothing)})),
			"an informer's coalesced queue": queueOf(openPipeline(newStore(MetaNamespaceKeyFunc, nil), queueOptions{transform: losing(nothing), queueConfig: queueConfig{coalesced: true}})),
		} {
			for call, err := range map[string]error{
				"Add":     q.Add(badPod("a", "2")),
				"Update":  q.Update(badPod("a", "2")),
				"Delete":  q.Delete(badPod("a", "2")),
				"Replace": q.Replace([]any{pod("b", "2"), badPod("a", "2")}, "2"),
			} {
				assert.ErrorIs(t, err, errNilTransformed, "%s for %s: %s", what, name, call)
			}
			stats, _ := QueueStatsOf(q)
			assert.Zero(t, stats.Depth, "%s for %s", what, name)
			assert.EqualValues(t, 4, stats.TransformErrors, "%s for %s", what, name)
			assert.Equal(t, 1, stats.Untransformed, "%s for %s", what, name)
			assert.ErrorIs(t, stats.LastTransformError, errNilTransformed)
		}
	}
}

func knownPods(t *testing.T, pods ...*corev1.Pod) Store {
	store := NewStore(MetaNamespaceKeyFunc)
	for _, pod := range pods {
		require.NoError(t, store.Add(pod))
	}
	return store
}

// TestInformerWhoseTransformReturnsNil: by list, in pages, by stream or by watch, the object stays as it is cached, which
// handlers hear of as little as readers, and the informer says so.
func TestInformerWhoseTransformReturnsNil(t *testing.T) {
	texts := reports(t)
	for what, nothing := range nothings {
		for way, server := range waysOf(badPod("a", "5"), podAt("b", "5")) {
			for _, keeps := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					var seen handled
					handler, options, before := &journal{}, []Option{WithPageSize(1)}, len(texts())
					if keeps {
						options = append(options, WithCachedOnTransformError())
					}
					s, stop := informerOn(t, server(), func(s *sharedIndexInformer) {
						require.NoError(t, s.SetTransform(losing(nothing)))
						require.NoError(t, s.SetWatchErrorHandlerWithContext(seen.handle))
						_, err := s.AddEventHandler(handler)
						require.NoError(t, err)
					}, options...)
					defer stop()
					message := []any{"%s by %s, keeps %v", what, way, keeps}
					if taken := keeps || way == "watch"; taken {
						require.Len(t, s.store.List(), 1, message...)
						assert.Equal(t, "b@5", nameAt(s.store.List()[0]), message...)
						assert.Len(t, handler.take(), 1, message...)
						require.Len(t, texts(), before+1, message...)
						assert.Contains(t, texts()[before], errNilTransformed.Error(), message...)
					} else {
						assert.Empty(t, s.store.List(), message...)
						require.NotEmpty(t, seen.errors(), message...)
						assert.ErrorIs(t, seen.errors()[0], errNilTransformed, message...)
					}
					stats, _ := QueueStatsOf(s)
					assert.Equal(t, 1, stats.Untransformed, message...)
					status, err := StatusOf(s)
					require.NoError(t, err)
					assert.Contains(t, status.Degraded, "1 objects are not as on the server: the transform function refused them", message...)
				})
			}
		}
	}
}

// waysOf are the ways in which a server can tell of the objects.
func waysOf(pods ...*corev1.Pod) map[string]func() *fakeServer {
	list, events, initial := podList("5"), []watch.Event(nil), []watch.Event(nil)
	for _, pod := range pods {
		list.Items = append(list.Items, *pod)
		events = append(events, watch.Event{Type: watch.Modified, Object: pod})
		initial = append(initial, watch.Event{Type: watch.Added, Object: pod})
	}
	return map[string]func() *fakeServer{
		"list":  func() *fakeServer { return &fakeServer{noStream: true, list: listOf(list), watch: watches(sent())} },
		"pages": func() *fakeServer { return &fakeServer{noStream: true, list: itemByItem(list), watch: watches(sent())} },
		"watch-list": func() *fakeServer {
			return &fakeServer{list: listOf(list), watch: watches(sent(append(initial, endMark("5"))...))}
		},
		"watch": func() *fakeServer {
			return &fakeServer{noStream: true, list: listOf(podList("1")), watch: watches(sent(events...))}
		},
	}
}

// itemByItem answers with one item of the list at a time.
func itemByItem(list *corev1.PodList) func(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
	return func(_ int, _ context.Context, options metav1.ListOptions) (runtime.Object, error) {
		page := podList(list.ResourceVersion)
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
		s := NewStore(MetaNamespaceKeyFunc, WithTransformer(losing(nothing)))
		require.NoError(t, s.Add(pod("b", "1")))
		assert.ErrorIs(t, s.Add(badPod("a", "1")), errNilTransformed, what)
		assert.ErrorIs(t, s.Update(badPod("b", "2")), errNilTransformed, what)
		assert.ErrorIs(t, s.Replace([]any{badPod("a", "1")}, "2"), errNilTransformed, what)
		assert.Equal(t, []string{"ns/b"}, s.ListKeys(), what)
	}
}
