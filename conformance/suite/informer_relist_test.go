// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

func TestRelist(t *testing.T) {
	onStage(t, []informerCase{
		{name: "deletes come before adds and updates", run: relistOrder},
		{name: "adds and updates come in the order of the list", run: relistListOrder, only: byList},
		{name: "the store is complete before the first notification", run: relistAtomic},
		{name: "tombstones are values with key and last state", run: relistTombstones},
		{name: "an object that came and went is deleted", run: relistShortLived},
		{name: "another object of the same name is an update", run: relistRecreated},
		{name: "what comes later is not initial", run: relistNotInitial},
		{name: "an empty list deletes everything", run: relistEmpty},
		{name: "a list with duplicate keys", run: relistDuplicates, only: byList},
		{name: "the first events of a watch without a version do not move it", run: relistSynthetic},
		{name: "versions follow watch, bookmarks and lists", run: relistVersions},
		{name: "events of a watch come in order", run: relistEventOrder},
		{name: "a stream without its bookmark is opened again", run: relistStreamWithoutEnd, only: byStream},
		{name: "streams that never bring their bookmark", run: relistStreamNeverEnds, only: byStream},
	})
}

// relisted starts an informer on the pods and returns it after its handler has seen them.
func (s *stage) relisted(t *testing.T, names ...string) (cache.SharedIndexInformer, *recorder) {
	for _, name := range names {
		s.source.put(pod(name, ""))
	}
	informer := s.shared(cache.SharedIndexInformerOptions{Indexers: cache.Indexers{"app": byLabel("app")}})
	rec := &recorder{}
	add(t, informer, rec)
	s.start(informer)
	require.Len(t, rec.take(), len(names))
	return informer, rec
}

// relist makes the reflector fetch the state again.
func (s *stage) relist() {
	s.source.expire()
	pass(time.Minute)
}

func relistOrder(t *testing.T, s *stage) {
	_, rec := s.relisted(t, "a", "b", "c", "d")
	s.source.miss([]*corev1.Pod{pod("b", ""), pod("e", "")}, "a", "d")
	s.relist()
	lines := rec.take()
	require.Len(t, lines, 5)
	assert.ElementsMatch(t, []string{"delete gone(a@11)", "delete gone(d@14)"}, lines[:2])
	assert.ElementsMatch(t, []string{"update b@12 b@15", "update c@13 c@13", "add e@16"}, lines[2:])
}

func relistListOrder(t *testing.T, s *stage) {
	_, rec := s.relisted(t, "c", "e")
	s.source.miss([]*corev1.Pod{pod("d", ""), pod("a", ""), pod("c", ""), pod("f", "")})
	s.relist()
	assert.Equal(t, []string{"add a@14", "update c@11 c@15", "add d@13", "update e@12 e@12", "add f@16"}, rec.take())
}

func relistAtomic(t *testing.T, s *stage) {
	informer, rec := s.relisted(t, "a", "b")
	var seen []string
	rec.hook = func(string) {
		if seen == nil {
			seen = append(sorted(informer.GetStore().List()), informer.GetStore().LastStoreSyncResourceVersion())
			seen = append(seen, members(t, informer.GetIndexer(), "app", "x")...)
		}
	}
	s.source.miss([]*corev1.Pod{pod("b", ""), labelled("c", "", "app", "x")}, "a")
	s.relist()
	assert.Equal(t, []string{"b@13", "c@14", "15", "c@14"}, seen)
}

func relistTombstones(t *testing.T, s *stage) {
	_, rec := s.relisted(t, "a")
	s.source.miss(nil, "a")
	s.relist()
	raw := rec.takeRaw()
	require.Len(t, raw, 1)
	tombstone, ok := raw[0].(cache.DeletedFinalStateUnknown)
	require.True(t, ok, "%T", raw[0])
	assert.Equal(t, "ns/a", tombstone.Key)
	assert.Equal(t, "a@11", label(tombstone.Obj))
}

func relistShortLived(t *testing.T, s *stage) {
	informer, rec := s.relisted(t)
	s.source.put(pod("a", ""))
	s.source.miss(nil, "a")
	s.relist()
	assert.Equal(t, []string{"add a@11", "delete gone(a@11)"}, rec.take())
	assert.Empty(t, informer.GetStore().List())
}

func relistRecreated(t *testing.T, s *stage) {
	informer, rec := s.relisted(t, "a")
	again := pod("a", "")
	again.UID = "two"
	s.source.miss([]*corev1.Pod{again})
	s.relist()
	assert.Equal(t, []string{"update a@11 a@12"}, rec.take())
	obj, _, err := informer.GetStore().GetByKey("ns/a")
	require.NoError(t, err)
	assert.Equal(t, types.UID("two"), obj.(*corev1.Pod).UID)
}

func relistNotInitial(t *testing.T, s *stage) {
	_, rec := s.relisted(t, "a")
	s.source.put(pod("b", ""))
	settle()
	s.source.miss([]*corev1.Pod{pod("c", "")}, "a", "b")
	s.relist()
	assert.ElementsMatch(t, []string{"add b@12", "delete gone(a@11)", "delete gone(b@12)", "add c@13"}, rec.take())
}

func relistEmpty(t *testing.T, s *stage) {
	informer, rec := s.relisted(t, "a", "b")
	s.source.miss(nil, "a", "b")
	s.relist()
	assert.ElementsMatch(t, []string{"delete gone(a@11)", "delete gone(b@12)"}, rec.take())
	assert.Empty(t, informer.GetStore().ListKeys())
	assert.Equal(t, "14", informer.GetStore().LastStoreSyncResourceVersion())
}

// twice is a source whose lists name the pod "a" twice.
type twice struct{ *source }

func (s twice) ListWithContext(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	list, err := s.source.ListWithContext(ctx, opts)
	if err != nil {
		return nil, err
	}
	pods := list.(*corev1.PodList)
	pods.Items = append([]corev1.Pod{*pod("a", "1")}, pods.Items...)
	return pods, nil
}

func relistDuplicates(t *testing.T, s *stage) {
	s.source.put(pod("a", ""))
	s.source.put(pod("b", ""))
	informer := s.impl.informers.shared(twice{s.source}, &corev1.Pod{}, cache.SharedIndexInformerOptions{})
	rec := &recorder{}
	handle := add(t, informer, rec)
	s.start(informer)
	assert.Equal(t, differs(t, s.impl, "of objects with the same key the last one counts, and handlers hear of it once",
		[]string{"add a@1 initial", "add a@11 initial", "add b@12 initial"},
		[]string{"add a@11 initial", "add b@12 initial"}), rec.take())
	assert.Equal(t, []string{"a@11", "b@12"}, sorted(informer.GetStore().List()))
	assert.True(t, handle.HasSynced())
}

func relistSynthetic(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	rec := &recorder{}
	add(t, informer, rec)
	s.source.mu.rv = 0
	s.start(informer)
	assert.Equal(t, "0", informer.LastSyncResourceVersion())
	s.source.send(watch.Event{Type: watch.Added, Object: pod("b", "8")})
	settle()
	s.source.send(watch.Event{Type: watch.Added, Object: pod("a", "3")})
	settle()
	if s.source.mode == byList {
		assert.Equal(t, "0", informer.LastSyncResourceVersion(), "they are in no order")
	}
	s.source.send(watch.Event{Type: watch.Modified, Object: pod("a", "9")})
	settle()
	assert.Equal(t, "9", informer.LastSyncResourceVersion())
	assert.Equal(t, []string{"add b@8", "add a@3", "update a@3 a@9"}, rec.take())
}

func relistVersions(t *testing.T, s *stage) {
	informer, _ := s.relisted(t, "a")
	both := func() [2]string {
		return [2]string{informer.LastSyncResourceVersion(), informer.GetStore().LastStoreSyncResourceVersion()}
	}
	assert.Equal(t, [2]string{"11", "11"}, both())
	s.source.put(pod("b", ""))
	settle()
	assert.Equal(t, [2]string{"12", "12"}, both())
	s.source.send(bookmark("30", false))
	settle()
	assert.Equal(t, [2]string{"30", "30"}, both())
	s.source.remove("b")
	settle()
	assert.Equal(t, "13", informer.LastSyncResourceVersion())
	s.source.miss(nil, "a")
	s.relist()
	assert.Equal(t, [2]string{"14", "14"}, both())
}

func relistEventOrder(t *testing.T, s *stage) {
	_, rec := s.relisted(t)
	var want []string
	for i := range 300 {
		name := strconv.Itoa(i % 7)
		rv := s.source.put(pod(name, ""))
		if i < 7 {
			want = append(want, "add "+name+"@"+rv)
			continue
		}
		before, err := strconv.Atoi(rv)
		require.NoError(t, err)
		want = append(want, "update "+name+"@"+strconv.Itoa(before-7)+" "+name+"@"+rv)
	}
	settle()
	assert.Equal(t, want, rec.take(), "every event, each with its predecessor")
}

// streaming starts an informer on a source whose first streams break.
func (s *stage) streaming(t *testing.T, cuts int) (cache.SharedIndexInformer, *recorder) {
	s.source.put(pod("a", ""))
	informer := s.impl.informers.shared(&cutStreams{source: s.source, left: cuts}, &corev1.Pod{}, cache.SharedIndexInformerOptions{})
	rec := &recorder{}
	add(t, informer, rec)
	s.start(informer)
	pass(time.Minute)
	return informer, rec
}

func relistStreamWithoutEnd(t *testing.T, s *stage) {
	informer, rec := s.streaming(t, 2)
	assert.Equal(t, []string{"add a@11 initial"}, rec.take(), "what a broken stream brought is forgotten")
	assert.True(t, informer.HasSynced())
	assert.Equal(t, []string{"stream@"}, verbs(s.source.takeRequests()), "no LIST was needed")
}

func relistStreamNeverEnds(t *testing.T, s *stage) {
	informer, rec := s.streaming(t, 7)
	assert.Equal(t, []string{"add a@11 initial"}, rec.take())
	assert.True(t, informer.HasSynced())
	assert.Equal(t, differs(t, s.impl, "after three streams that broke in a row LIST is used; client-go tries streams for ever",
		"stream@", "list@0"), verbs(s.source.takeRequests())[0])
}

// cutStreams is a source whose first streams end after one object, without their bookmark.
type cutStreams struct {
	*source
	left int
}

func (s *cutStreams) WatchWithContext(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	if s.left == 0 || opts.SendInitialEvents == nil {
		return s.source.WatchWithContext(ctx, opts)
	}
	s.left--
	w := newStream()
	w.send(watch.Event{Type: watch.Added, Object: pod("ghost", "5")})
	w.Stop()
	return w, nil
}
