// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/cachetest"
)

func TestWritersReturnWhatIsStored(t *testing.T) {
	src := cachetest.New()
	created := src.Create(pod("a")).(*corev1.Pod)
	require.Equal(t, "2", created.ResourceVersion)
	require.EqualValues(t, "uid-2", created.UID)
	require.WithinDuration(t, time.Now(), created.CreationTimestamp.Time, time.Minute)
	require.Zero(t, created.CreationTimestamp.Nanosecond(), "as it is stored")

	changed := pod("a")
	changed.Generation = 1
	updated := src.Update(changed).(*corev1.Pod)
	require.Equal(t, "3", updated.ResourceVersion)
	require.Equal(t, created.UID, updated.UID)
	require.Equal(t, created.CreationTimestamp, updated.CreationTimestamp)

	patched := cachetest.PatchAs(src, "default", "a", label("x"))
	require.Equal(t, "4", patched.ResourceVersion)
	require.Equal(t, "x", patched.Labels["l"])
	require.Equal(t, patched, src.Get("default", "a"))
	require.Equal(t, map[string]string{"default/a": "4"}, src.Versions())

	deleted := src.Delete("default", "a").(*corev1.Pod)
	require.Equal(t, "5", deleted.ResourceVersion)
	require.Equal(t, "x", deleted.Labels["l"])
	require.Nil(t, src.Get("default", "a"))

	again := src.Put(pod("a")).(*corev1.Pod)
	require.NotEqual(t, created.UID, again.UID)
	require.EqualValues(t, 6, src.ResourceVersion())
}

func TestUpdatesThatChangeNothingAreNoWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.New(pod("a"))
		w := open(t, src, bookmarksFrom("2"))
		stored := src.Get("default", "a")
		older := pod("a")
		older.ResourceVersion = "1"
		for name, write := range map[string]func() runtime.Object{
			"Update":       func() runtime.Object { return src.Update(pod("a")) },
			"of an answer": func() runtime.Object { return src.Update(stored) },
			"at a version": func() runtime.Object { return src.Update(older) },
			"Put":          func() runtime.Object { return src.Put(pod("a")) },
			"Patch":        func() runtime.Object { return src.Patch("default", "a", func(runtime.Object) {}) },
		} {
			require.Equal(t, stored, write(), name)
		}
		require.EqualValues(t, 2, src.ResourceVersion())
		requireSilent(t, w)
		relabel(src, "a", "1")
		require.Equal(t, []string{"MODIFIED a 3"}, take(t, w, 1))

		src = cachetest.NewSource(cachetest.Options{Share: true, Objects: pods("a")})
		require.Equal(t, "3", src.Update(pod("a")).(*corev1.Pod).ResourceVersion, "who shares is believed")
	})
}

// TestWhatIsGivenStays: a UID and a time that the test gives go before the source's.
func TestWhatIsGivenStays(t *testing.T) {
	given := pod("a")
	given.UID, given.CreationTimestamp = "mine", metav1.Unix(1e9, 0)
	src := cachetest.New(given)
	stored := src.Get("default", "a").(*corev1.Pod)
	require.Equal(t, given.ObjectMeta.UID, stored.UID)
	require.Equal(t, given.CreationTimestamp, stored.CreationTimestamp)
	given.CreationTimestamp = metav1.Unix(2e9, 0)
	given.Generation = 1
	require.Equal(t, stored.CreationTimestamp, src.Update(given).(*corev1.Pod).CreationTimestamp)
	given.UID = "another"
	replaced := src.Update(given).(*corev1.Pod)
	require.EqualValues(t, "another", replaced.UID)
	require.Equal(t, given.CreationTimestamp, replaced.CreationTimestamp)
}

func TestObjectsWithoutNamespace(t *testing.T) {
	src := cachetest.New(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	require.Equal(t, map[string]string{"n": "2"}, src.Versions())
	src.Delete("", "n")
	require.Empty(t, src.Versions())
}

func TestWritesThatTheServerWouldRefusePanic(t *testing.T) {
	src := cachetest.New(pod("a"))
	refused := func(is func(error) bool, write func()) {
		t.Helper()
		defer func() {
			err, ok := recover().(error)
			require.True(t, ok && is(err), "%v", err)
		}()
		write()
	}
	refused(apierrors.IsAlreadyExists, func() { src.Create(pod("a")) })
	refused(apierrors.IsNotFound, func() { src.Update(pod("b")) })
	refused(apierrors.IsNotFound, func() { relabel(src, "b", "1") })
	refused(apierrors.IsNotFound, func() { src.Delete("default", "b") })
	refused(apierrors.IsInvalid, func() { src.Create(pod("")) })
	require.EqualValues(t, 2, src.ResourceVersion())
}

func TestWhatIsHandedOverIsCopied(t *testing.T) {
	src := cachetest.NewSource(cachetest.Options{NewList: podList})
	mine := pod("a")
	returned := src.Create(mine).(*corev1.Pod)
	require.Empty(t, mine.ResourceVersion)
	list, err := src.List(metav1.ListOptions{})
	require.NoError(t, err)
	for _, p := range []*corev1.Pod{mine, returned, src.Get("default", "a").(*corev1.Pod), &list.(*corev1.PodList).Items[0]} {
		label("spoilt")(p)
	}
	require.Empty(t, src.Get("default", "a").(*corev1.Pod).Labels)
}

func TestShareCopiesNothing(t *testing.T) {
	src := cachetest.NewSource(cachetest.Options{Share: true})
	mine := pod("a")
	require.Same(t, mine, src.Create(mine))
	require.Same(t, mine, src.Get("default", "a"))
	first, second := open(t, src, metav1.ListOptions{}), open(t, src, metav1.ListOptions{})
	require.Same(t, mine, (<-first.ResultChan()).Object)
	require.Same(t, mine, (<-second.ResultChan()).Object)

	relabel(src, "a", "1")
	require.Empty(t, mine.Labels, "the version that was handed out has changed")
}

func TestPatchesOfManyWritersAddUp(t *testing.T) {
	src := cachetest.New(pod("a"))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				cachetest.PatchAs(src, "default", "a", func(p *corev1.Pod) { p.Generation++ })
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 400, src.Get("default", "a").(*corev1.Pod).Generation)
	require.EqualValues(t, 402, src.ResourceVersion())
}

func TestPatchStartsOverWhenAnotherWriterWasFaster(t *testing.T) {
	src := cachetest.New(pod("a"))
	calls := 0
	patched := cachetest.PatchAs(src, "default", "a", func(p *corev1.Pod) {
		if calls++; calls == 1 {
			relabel(src, "a", "theirs")
		}
		p.Generation++
	})
	require.Equal(t, 2, calls)
	require.Equal(t, "theirs", patched.Labels["l"])
	require.EqualValues(t, 1, patched.Generation)
}

func TestRewindGivesVersionsAgain(t *testing.T) {
	src := cachetest.New(pods("a", "b")...)
	w := open(t, src, metav1.ListOptions{ResourceVersion: "3"})
	relabel(src, "a", "1")
	src.Delete("default", "b")
	src.Create(pod("c"))
	require.Equal(t, []string{"MODIFIED a 4", "DELETED b 5", "ADDED c 6"}, take(t, w, 3))

	src.Rewind(3)
	requireEnd(t, w)
	require.Equal(t, map[string]string{"default/a": "2", "default/b": "3"}, src.Versions())
	require.Equal(t, "4", src.Create(pod("d")).(*corev1.Pod).ResourceVersion)
	require.Panics(t, func() { src.Rewind(5) })
	src.Compact(4)
	require.Panics(t, func() { src.Rewind(3) })
}
