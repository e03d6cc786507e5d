// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

func TestResync(t *testing.T) {
	onStage(t, []informerCase{
		{name: "goes to the handlers that are due only", run: resyncDue},
		{name: "tells the same object twice and asks no server", run: resyncSameObject},
		{name: "does not resurrect", run: resyncDeleted},
		{name: "handlers keep periods of their own", run: resyncPeriods},
		{name: "a period is at least one second", run: resyncFloor},
		{name: "a shorter period before the start shortens the check", run: resyncShorterBefore},
		{name: "a shorter period after the start is raised to the check", run: resyncShorterAfter},
		{name: "no period on the informer, none for its handlers", run: resyncNever},
		{name: "a handler's options", run: resyncOptions},
		{name: "unchanged updates of the watch go to due handlers only", run: resyncUnchanged},
		{name: "unchanged updates go to every handler before the first check", run: resyncBeforeFirstCheck},
		{name: "unchanged objects of a relist go to due handlers only", run: resyncRelist},
		{name: "unchanged objects of a relist go to every handler without resyncs", run: resyncRelistWithout},
		{name: "watch updates without a version", run: resyncNoVersion},
		{name: "relisted objects without a version", run: resyncRelistNoVersion},
		{name: "a transform that blanks the version", run: resyncBlanked},
	})
}

// resyncing starts an informer with a check period of a minute on one pod, with a handler that is
// due every minute and one that never is, and lets the first check pass.
func (s *stage) resyncing(t *testing.T, transform cache.TransformFunc) (informer cache.SharedIndexInformer, due, never *recorder) {
	informer = s.shared(cache.SharedIndexInformerOptions{ResyncPeriod: time.Minute})
	due, never = &recorder{}, &recorder{}
	add(t, informer, due)
	addEvery(t, informer, never, 0)
	require.NoError(t, informer.SetTransform(transform))
	s.source.put(pod("a", ""))
	s.start(informer)
	pass(time.Minute + time.Second)
	due.take()
	never.take()
	return informer, due, never
}

func resyncDue(t *testing.T, s *stage) {
	_, due, never := s.resyncing(t, nil)
	pass(2 * time.Minute)
	assert.Equal(t, []string{"update a@11 a@11", "update a@11 a@11"}, due.take())
	assert.Empty(t, never.take())
	s.source.put(pod("a", ""))
	settle()
	assert.Equal(t, []string{"update a@11 a@12"}, due.take())
	assert.Equal(t, []string{"update a@11 a@12"}, never.take(), "changes go to all")
}

func resyncSameObject(t *testing.T, s *stage) {
	informer, due, _ := s.resyncing(t, nil)
	s.source.takeRequests()
	pass(time.Minute)
	raw := due.takeRaw()
	require.Len(t, raw, 1)
	stored, _, err := informer.GetStore().GetByKey("ns/a")
	require.NoError(t, err)
	assert.Same(t, stored, raw[0])
	assert.Empty(t, s.source.takeRequests())
	assert.Equal(t, "11", informer.GetStore().LastStoreSyncResourceVersion())
}

func resyncDeleted(t *testing.T, s *stage) {
	informer, due, _ := s.resyncing(t, nil)
	pass(58 * time.Second)
	s.source.remove("a")
	pass(2 * time.Minute)
	assert.Equal(t, []string{"delete a@12"}, due.take())
	assert.Empty(t, informer.GetStore().List())
}

// resyncTimes starts the informer on one pod and returns when the handler was told of resyncs
// within the time.
func (s *stage) resyncTimes(informer cache.SharedIndexInformer, rec *recorder, within time.Duration) []time.Duration {
	s.source.put(pod("a", ""))
	start := time.Now()
	s.start(informer)
	rec.take()
	pass(within)
	return rec.times(start)
}

func every(period, within time.Duration) []time.Duration {
	out := []time.Duration{}
	for at := period; at <= within; at += period {
		out = append(out, at)
	}
	return out
}

func resyncPeriods(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{ResyncPeriod: 10 * time.Second})
	one, two := &recorder{}, &recorder{}
	addEvery(t, informer, one, 10*time.Second)
	addEvery(t, informer, two, 25*time.Second)
	start := time.Now()
	assert.Equal(t, every(10*time.Second, 61*time.Second), s.resyncTimes(informer, one, 61*time.Second))
	assert.Equal(t, []time.Duration{30 * time.Second, 60 * time.Second}, two.times(start)[1:], "rounded up to the check")
}

func resyncFloor(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{ResyncPeriod: time.Minute})
	rec := &recorder{}
	addEvery(t, informer, rec, time.Millisecond)
	assert.Equal(t, every(time.Second, 5500*time.Millisecond), s.resyncTimes(informer, rec, 5500*time.Millisecond))
}

func resyncShorterBefore(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{ResyncPeriod: time.Minute})
	slow, fast := &recorder{}, &recorder{}
	add(t, informer, slow)
	addEvery(t, informer, fast, 10*time.Second)
	start := time.Now()
	assert.Equal(t, every(10*time.Second, 65*time.Second), s.resyncTimes(informer, fast, 65*time.Second))
	assert.Equal(t, []time.Duration{time.Minute}, slow.times(start)[1:])
}

func resyncShorterAfter(t *testing.T, s *stage) {
	informer, _, _ := s.resyncing(t, nil)
	late := &recorder{}
	addEvery(t, informer, late, 10*time.Second)
	settle()
	late.take()
	pass(5 * time.Minute)
	assert.Len(t, late.take(), 4, "a minute, due a second after the check")
}

func resyncNever(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{})
	before, after := &recorder{}, &recorder{}
	addEvery(t, informer, before, 10*time.Second)
	assert.Empty(t, s.resyncTimes(informer, before, time.Hour))
	addEvery(t, informer, after, 10*time.Second)
	settle()
	after.take()
	pass(time.Hour)
	assert.Empty(t, after.take())
}

func resyncOptions(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{ResyncPeriod: 10 * time.Second})
	inherits, own, none := &recorder{}, &recorder{}, &recorder{}
	period, zero := 20*time.Second, time.Duration(0)
	for rec, opts := range map[*recorder]cache.HandlerOptions{
		inherits: {}, own: {ResyncPeriod: &period}, none: {ResyncPeriod: &zero},
	} {
		_, err := informer.AddEventHandlerWithOptions(rec, opts)
		require.NoError(t, err)
	}
	assert.Len(t, s.resyncTimes(informer, inherits, 41*time.Second), 4)
	assert.Len(t, own.take(), 1+2)
	assert.Len(t, none.take(), 1)
}

func resyncUnchanged(t *testing.T, s *stage) {
	_, due, never := s.resyncing(t, nil)
	s.source.send(watch.Event{Type: watch.Modified, Object: labelled("a", "11", "changed", "yes")})
	settle()
	assert.Equal(t, []string{"update a@11 a@11"}, due.take())
	assert.Empty(t, never.take())
}

func resyncBeforeFirstCheck(t *testing.T, s *stage) {
	informer := s.shared(cache.SharedIndexInformerOptions{ResyncPeriod: time.Minute})
	never := &recorder{}
	addEvery(t, informer, never, 0)
	s.source.put(pod("a", ""))
	s.start(informer)
	never.take()
	s.source.send(watch.Event{Type: watch.Modified, Object: pod("a", "11")})
	settle()
	assert.Equal(t, []string{"update a@11 a@11"}, never.take())
}

func resyncRelist(t *testing.T, s *stage) {
	_, due, never := s.resyncing(t, nil)
	s.source.miss([]*corev1.Pod{pod("b", "")})
	s.source.expire()
	pass(10 * time.Second)
	assert.ElementsMatch(t, []string{"update a@11 a@11", "add b@12"}, due.take())
	assert.Equal(t, []string{"add b@12"}, never.take())
}

func resyncRelistWithout(t *testing.T, s *stage) {
	_, rec := s.relisted(t, "a")
	s.relist()
	assert.Equal(t, []string{"update a@11 a@11"}, rec.take(), "no check ever says that it is not due")
}

func resyncNoVersion(t *testing.T, s *stage) {
	_, due, never := s.resyncing(t, nil)
	s.source.send(watch.Event{Type: watch.Modified, Object: pod("a", "")})
	settle()
	never.take()
	due.take()
	s.source.send(watch.Event{Type: watch.Modified, Object: labelled("a", "", "changed", "yes")})
	settle()
	assert.Equal(t, []string{"update a@ a@"}, due.take())
	assert.Equal(t, differs(t, s.impl, "watch updates without a version cannot be told apart and reach every handler",
		[]string{}, []string{"update a@ a@"}), never.take())
}

func resyncRelistNoVersion(t *testing.T, s *stage) {
	_, due, never := s.resyncing(t, nil)
	s.source.keep(pod("a", ""))
	s.source.expire()
	pass(10 * time.Second)
	assert.Equal(t, []string{"update a@11 a@"}, due.take())
	assert.Equal(t, []string{"update a@11 a@"}, never.take())
	s.source.expire()
	pass(10 * time.Second)
	assert.Equal(t, []string{"update a@ a@"}, due.take())
	assert.Empty(t, never.take())
}

// blank removes the resource version, as transforms that save memory do.
func blank(obj any) (any, error) {
	p, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	p.ResourceVersion = ""
	return p, nil
}

func resyncBlanked(t *testing.T, s *stage) {
	informer, due, never := s.resyncing(t, blank)
	s.source.put(pod("a", ""))
	settle()
	assert.Equal(t, []string{"update a@ a@"}, due.take())
	const reason = "what a resync is, is decided on the version as received"
	assert.Equal(t, differs(t, s.impl, reason, []string{}, []string{"update a@ a@"}), never.take())
	assert.Equal(t, differs(t, s.impl, "the store's version is the one received, whatever a transform does", "", "12"),
		informer.GetStore().LastStoreSyncResourceVersion())
	pass(time.Minute)
	assert.Equal(t, []string{"update a@ a@"}, due.take())
	assert.Empty(t, never.take())
}
