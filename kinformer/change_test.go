// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
)

// changeRecorder is a ChangeHandler that notes each change in one line. Its Version must be that of the
// new state, or of the last one.
type changeRecorder struct{ testkit.Journal }

func (h *changeRecorder) OnChange(c kinformer.Change) {
	states, version := "", ""
	for _, state := range []any{c.Old, c.New} {
		if pod, is := state.(*corev1.Pod); is {
			states, version = states+" "+pod.Name, pod.ResourceVersion
		} else {
			states += " -"
		}
	}
	if c.Version == "" || c.Version != version {
		h.Note("version %q, not %q", c.Version, version)
	}
	h.Note("%s %s%s %s", c.Type, c.Key, states, c.Cause)
}

// sorted returns the noted changes in alphabetical order, and clears them.
func (h *changeRecorder) sorted() []string {
	told := h.Take()
	slices.Sort(told)
	return told
}

// TestCauses: each change has its cause, with lists and with watch-lists, and the three other methods
// are not called.
func TestCauses(t *testing.T) {
	informers.InRelisting(t, func(t *testing.T, r *informers.Relisting) {
		var handler, wanting changeRecorder
		_, err := r.AddEventHandlerWithResyncPeriod(&handler, 0)
		require.NoError(t, err)
		_, err = r.AddEventHandlerWithResyncPeriod(&wanting, 12*time.Hour)
		require.NoError(t, err)
		r.Calm()
		late := []string{"Added ns/a - a Initial", "Added ns/b - b Initial", "Added ns/c - c Initial"}
		require.Equal(t, late, handler.sorted())
		require.Equal(t, late, wanting.sorted())

		r.Put(testkit.Pod("a", "2"))
		r.Put(testkit.Pod("d", "1"))
		r.Delete("ns", "d")
		r.Calm()
		require.Equal(t, []string{"Updated ns/a a a Watch", "Added ns/d - d Watch", "Deleted ns/d d - Watch"}, handler.Take())
		wanting.Take()

		good, store := r.Pods(), r.GetStore()
		require.NoError(t, store.Delete(good["a"]))
		wrong := good["b"].DeepCopy()
		wrong.ResourceVersion = "0"
		require.NoError(t, store.Update(wrong))
		require.NoError(t, store.Add(testkit.PodAt("x", "1")))
		require.NoError(t, kinformer.Relist(r))
		r.Calm()
		require.Equal(t, []string{"Added ns/a - a Relist", "Deleted ns/x x - Relist", "Updated ns/b b b Relist"}, handler.sorted())
		wanting.Take()

		time.Sleep(12 * time.Hour)
		r.Calm()
		require.Empty(t, handler.Take())
		require.Equal(t, []string{"Updated ns/a a a Resync", "Updated ns/b b b Resync", "Updated ns/c c c Resync"}, wanting.sorted())
	}, kinformer.Options{ResyncPeriod: 12 * time.Hour})
}

// TestCausesOfTheFirstList checks the causes of handlers that are added before the first list, also of
// one with parallel calls.
func TestCausesOfTheFirstList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := cachetest.Of(testkit.Pod("a", "1"), testkit.Pod("b", "1"))
		informer := kinformer.New(source, &corev1.Pod{}, kinformer.Options{})
		handlers := []*changeRecorder{{}, {}}
		informers.Handle(t, informer, handlers[0])
		informers.Handle(t, informer, kinformer.Deliver(handlers[1], kinformer.Delivery{Parallel: 3}))
		defer informers.Run(t, informer)()
		synctest.Wait()
		for _, handler := range handlers {
			require.Equal(t, []string{"Added ns/a - a Initial", "Added ns/b - b Initial"}, handler.sorted())
		}
	})
}

// TestCausesWithoutAFanOut checks the causes in an informer that calls its only handler itself.
func TestCausesWithoutAFanOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, handler := cachetest.Of(testkit.Pod("a", "1")), &changeRecorder{}
		_, controller := cache.NewInformerWithOptions(cache.InformerOptions{
			ListerWatcher: source, ObjectType: &corev1.Pod{}, Handler: handler, ResyncPeriod: time.Hour,
		})
		defer testkit.InBackground(t, controller.RunWithContext)()
		synctest.Wait()
		source.Delete("ns", "a")
		source.Put(testkit.Pod("b", "1"))
		synctest.Wait()
		require.Equal(t, []string{"Added ns/a - a Initial", "Deleted ns/a a - Watch", "Added ns/b - b Watch"}, handler.Take())
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, []string{"Updated ns/b b b Resync"}, handler.Take())
	})
}

// TestCausesOfMergedChanges: a merged change has the cause of the last change with new content, except
// that an object which the handler has not seen yet keeps the cause of the first list.
func TestCausesOfMergedChanges(t *testing.T) {
	informers.InRelisting(t, func(t *testing.T, r *informers.Relisting) {
		var handler changeRecorder
		blocked, release := make(chan struct{}), make(chan struct{})
		first := true
		_, err := r.AddEventHandler(kinformer.Deliver(kinformer.ChangeFunc(func(c kinformer.Change) {
			if first {
				first = false
				close(blocked)
				<-release
			}
			handler.OnChange(c)
		}), kinformer.Delivery{Overflow: kinformer.OverflowCoalesce}))
		require.NoError(t, err)
		<-blocked
		for version := range 3 {
			for _, name := range []string{"a", "b", "c", "d"} {
				r.Put(testkit.Pod(name, fmt.Sprint(version+2)))
			}
			r.Calm()
		}
		close(release)
		r.Calm()
		told := handler.sorted()
		require.Contains(t, told, "Added ns/d - d Watch")
		initial := slices.DeleteFunc(slices.Clone(told), func(line string) bool { return line[len(line)-7:] != "Initial" })
		require.Len(t, initial, 3, told)
	}, kinformer.Options{})
}

// TestChangeFuncOfAnotherInformer: client-go calls the three other methods.
func TestChangeFuncOfAnotherInformer(t *testing.T) {
	var told []kinformer.Change
	var handler clientgo.ResourceEventHandler = kinformer.ChangeFunc(func(c kinformer.Change) { told = append(told, c) })
	a, b := testkit.Pod("a", "1"), testkit.Pod("a", "2")
	handler.OnAdd(a, true)
	handler.OnUpdate(a, b)
	handler.OnDelete(b)
	handler.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/a", Obj: a})
	handler.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/a"})
	assert.Equal(t, []kinformer.Change{
		{Type: cache.Added, Key: "ns/a", New: a},
		{Type: cache.Updated, Key: "ns/a", Old: a, New: b},
		{Type: cache.Deleted, Key: "ns/a", Old: b},
		{Type: cache.Deleted, Key: "ns/a", Old: a},
		{Type: cache.Deleted, Key: "ns/a"},
	}, told)
}
