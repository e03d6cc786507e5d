// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func TestTransform(t *testing.T) {
	onStage(t, []informerCase{
		{name: "of adds, updates and deletes", run: transformKinds},
		{name: "how often", run: transformCount},
		{name: "not of tombstones and resyncs", run: transformNotAgain},
		{name: "into another object", run: transformReplacement},
		{name: "before indexing", run: transformIndexed},
		{name: "does not touch the reflector's version", run: transformVersion},
		{name: "an error drops the event and is reported", run: transformEventError},
		{name: "an error of a deletion", run: transformDeletionError},
		{name: "an error in the initial state", run: transformStateError},
		{name: "into something without metadata", run: transformJunk},
		{name: "into something without metadata in the initial state", run: transformJunkState},
	})
}

// transformer counts its calls by what it was given.
type transformer struct {
	mu    sync.Mutex
	calls map[string]int
	do    cache.TransformFunc
}

func (f *transformer) transform(obj any) (any, error) {
	f.mu.Lock()
	if f.calls == nil {
		f.calls = map[string]int{}
	}
	f.calls[label(obj)]++
	f.mu.Unlock()
	if f.do == nil {
		return obj, nil
	}
	return f.do(obj)
}

func (f *transformer) take() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.calls
	f.calls = nil
	return out
}

// transforming starts an informer with the transform and one handler.
func (s *stage) transforming(t *testing.T, transform cache.TransformFunc, opts cache.SharedIndexInformerOptions) (cache.SharedIndexInformer, *recorder) {
	informer := s.shared(opts)
	require.NoError(t, informer.SetTransform(transform))
	rec := &recorder{}
	add(t, informer, rec)
	s.start(informer)
	return informer, rec
}

func transformKinds(t *testing.T, s *stage) {
	s.source.put(pod("a", ""))
	informer, rec := s.transforming(t, annotate, cache.SharedIndexInformerOptions{})
	s.source.put(pod("b", ""))
	s.source.put(pod("a", ""))
	s.source.remove("b")
	settle()
	raw := append(rec.takeRaw(), informer.GetStore().List()...)
	assert.Len(t, raw, 4+1)
	for _, obj := range raw {
		assert.Equal(t, "yes", obj.(*corev1.Pod).Annotations["seen"], label(obj))
	}
}

func transformCount(t *testing.T, s *stage) {
	s.source.put(pod("a", ""))
	f := &transformer{}
	s.transforming(t, f.transform, cache.SharedIndexInformerOptions{})
	want := 1
	if s.source.mode == byStream {
		want = differs(t, s.impl, "the initial state is transformed once, in client-go twice when it is streamed", 2, 1)
	}
	assert.Equal(t, map[string]int{"a@11": want}, f.take())
	s.source.put(pod("a", ""))
	s.source.remove("a")
	settle()
	assert.Equal(t, map[string]int{"a@12": 1, "a@13": 1}, f.take())
}

func transformNotAgain(t *testing.T, s *stage) {
	s.source.put(pod("a", ""))
	s.source.put(pod("b", ""))
	f := &transformer{}
	_, rec := s.transforming(t, f.transform, cache.SharedIndexInformerOptions{ResyncPeriod: time.Minute})
	f.take()
	rec.take()
	pass(2*time.Minute + time.Second)
	assert.Len(t, rec.take(), 4)
	assert.Empty(t, f.take())
	s.source.miss(nil, "a", "b")
	s.source.expire()
	pass(10 * time.Second)
	assert.Len(t, rec.take(), 2)
	assert.Empty(t, f.take())
}

func transformReplacement(t *testing.T, s *stage) {
	s.source.put(pod("a", ""))
	informer, rec := s.transforming(t, func(obj any) (any, error) {
		p, ok := obj.(*corev1.Pod)
		if !ok {
			return obj, nil
		}
		return &corev1.ConfigMap{ObjectMeta: p.ObjectMeta}, nil
	}, cache.SharedIndexInformerOptions{})
	s.source.put(pod("b", ""))
	settle()
	for _, obj := range append(rec.takeRaw(), informer.GetStore().List()...) {
		assert.IsType(t, &corev1.ConfigMap{}, obj)
	}
}

func transformIndexed(t *testing.T, s *stage) {
	s.source.put(pod("a", ""))
	informer, _ := s.transforming(t, func(obj any) (any, error) {
		if p, ok := obj.(*corev1.Pod); ok {
			p.Labels = map[string]string{"app": "x"}
		}
		return obj, nil
	}, cache.SharedIndexInformerOptions{Indexers: cache.Indexers{"app": byLabel("app")}})
	assert.Equal(t, []string{"a@11"}, members(t, informer.GetIndexer(), "app", "x"))
}

func transformVersion(t *testing.T, s *stage) {
	s.source.put(pod("a", ""))
	informer, _ := s.transforming(t, blank, cache.SharedIndexInformerOptions{})
	s.source.put(pod("b", ""))
	settle()
	assert.Equal(t, "12", informer.LastSyncResourceVersion())
	s.source.remove("a")
	settle()
	assert.Equal(t, "13", informer.LastSyncResourceVersion())
	s.source.takeRequests()
	s.source.cut()
	pass(time.Minute)
	assert.Equal(t, []string{"watch@13"}, verbs(s.source.takeRequests()), "the watch goes on where it was")
}

func transformEventError(t *testing.T, s *stage) {
	informer, rec := s.transforming(t, refuse, cache.SharedIndexInformerOptions{})
	s.source.put(pod("bad", ""))
	s.source.put(pod("good", ""))
	settle()
	assert.Equal(t, []string{"add good@12"}, rec.take())
	assert.True(t, reported.mentions(errRefused.Error()), reported.errors())
	assert.Equal(t, "12", informer.LastSyncResourceVersion())
	assert.Equal(t, []string{"ns/good"}, informer.GetStore().ListKeys())
}

func transformDeletionError(t *testing.T, s *stage) {
	informer, _ := s.transforming(t, func(obj any) (any, error) {
		if p, ok := obj.(*corev1.Pod); ok && p.ResourceVersion == "12" {
			return nil, errRefused
		}
		return obj, nil
	}, cache.SharedIndexInformerOptions{})
	s.source.put(pod("a", ""))
	s.source.remove("a")
	settle()
	assert.True(t, reported.mentions(errRefused.Error()), reported.errors())
	kept := differs(t, s.impl, "an object leaves the store although its deletion cannot be transformed", []string{"ns/a"}, []string{})
	assert.Equal(t, kept, informer.GetStore().ListKeys())
}

// transformStateError: that LIST fails as a whole is pinned with the watch error handler.
func transformStateError(t *testing.T, s *stage) {
	s.source.put(pod("bad", ""))
	s.source.put(pod("good", ""))
	informer, rec := s.transforming(t, refuse, cache.SharedIndexInformerOptions{})
	fails := s.source.mode == byList ||
		!differs(t, s.impl, "one object that cannot be transformed fails a streamed state as it fails a list; client-go leaves it out", true, false)
	assert.True(t, reported.mentions(errRefused.Error()), reported.errors())
	assert.Equal(t, !fails, informer.HasSynced())
	if fails {
		assert.Empty(t, rec.take())
		return
	}
	assert.Equal(t, []string{"add good@12 initial"}, rec.take())
}

// junk makes strings of pods called "bad".
func junk(obj any) (any, error) {
	if p, ok := obj.(*corev1.Pod); ok && p.Name == "bad" {
		return "junk", nil
	}
	return obj, nil
}

func transformJunk(t *testing.T, s *stage) {
	informer, rec := s.transforming(t, junk, cache.SharedIndexInformerOptions{})
	s.source.put(pod("bad", ""))
	settle()
	s.source.put(pod("good", ""))
	settle()
	const reason = "the key is computed before the transform, so its result needs no metadata; client-go loses it silently"
	assert.Equal(t, differs(t, s.impl, reason, []string{"add good@12"}, []string{"add junk", "add good@12"}), rec.take())
	assert.Equal(t, differs(t, s.impl, reason, []string{"ns/good"}, []string{"ns/bad", "ns/good"}), sorted(informer.GetStore().ListKeys()))
	assert.Empty(t, reported.errors())
}

func transformJunkState(t *testing.T, s *stage) {
	s.source.put(pod("bad", ""))
	s.source.put(pod("good", ""))
	informer, rec := s.transforming(t, junk, cache.SharedIndexInformerOptions{})
	const reason = "the key is computed before the transform, so its result needs no metadata; client-go drops the list silently"
	want := differs(t, s.impl, reason, []string{}, []string{"add junk initial", "add good@12 initial"})
	assert.ElementsMatch(t, want, rec.take())
	assert.Len(t, informer.GetStore().List(), len(want))
	assert.True(t, informer.HasSynced(), "either way")
}
