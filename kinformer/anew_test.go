// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/sources"
)

// forgetful is a server without a history: each watch begins with the present objects if it begins anew, and is
// closed after a while.
type forgetful struct {
	mu      sync.Mutex
	anew    bool
	newest  bool          // the present objects are sent from the newest to the oldest, and no bookmark follows
	length  time.Duration // of a watch
	version int
	pods    map[string]int // the version of each
	lists   []time.Time
}

// set changes the server.
func (f *forgetful) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// listed returns the times of the lists.
func (f *forgetful) listed() []time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.lists)
}

func (f *forgetful) put(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version++
	f.pods[name] = f.version
}

func (f *forgetful) remove(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version++
	delete(f.pods, name)
}

func (f *forgetful) reached() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.version
}

func (f *forgetful) list(context.Context, metav1.ListOptions) (runtime.Object, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists = append(f.lists, time.Now())
	list := &v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(f.version)}}
	for name, version := range f.pods {
		list.Items = append(list.Items, *testkit.PodAt(name, strconv.Itoa(version)))
	}
	return list, nil
}

func (f *forgetful) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := watch.NewRaceFreeFake()
	from, _ := strconv.Atoi(o.ResourceVersion)
	names := slices.SortedFunc(maps.Keys(f.pods), func(a, b string) int { return f.pods[a] - f.pods[b] })
	if f.newest {
		slices.Reverse(names)
	}
	for _, name := range names {
		if version := f.pods[name]; f.anew || version > from {
			w.Add(testkit.PodAt(name, strconv.Itoa(version)))
		}
	}
	end, quiet := time.After(f.length), f.newest
	go func() {
		defer w.Stop()
		every := time.Tick(time.Minute)
		for {
			if !quiet {
				w.Action(watch.Bookmark, &v1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.Itoa(f.reached())}})
			}
			select {
			case <-ctx.Done():
				return
			case <-end:
				return
			case <-every:
			}
		}
	}()
	return w, nil
}

// followsForgetful runs a test with an informer of a forgetful server, as the only source and as one of several.
func followsForgetful(t *testing.T, anew bool, length time.Duration, test func(t *testing.T, f *forgetful, informer cache.SharedIndexInformer)) {
	testkit.Reports(t)
	for _, several := range []bool{false, true} {
		t.Run(fmt.Sprint("several ", several), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &forgetful{anew: anew, length: length, version: 10, pods: map[string]int{}}
				lw := &cache.ListWatch{ListWithContextFunc: f.list, WatchFuncWithContext: f.watch}
				options := kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList}}
				informer := kinformer.New(lw, &v1.Pod{}, options)
				if several {
					var set *sources.Set
					informer, set = sources.New(&v1.Pod{}, options)
					set.Put("forgetful", lw)
				}
				f.put("a")
				f.put("b")
				defer testkit.InBackground(t, informer.RunWithContext)()
				time.Sleep(time.Second)
				synctest.Wait()
				require.True(t, informer.HasSynced())
				test(t, f, informer)
			})
		})
	}
}

// TestServerBeginsAnew checks that the informer of a server which begins its watches anew lists again, at most
// once a minute, drops what was deleted between two watches, and says so until the server has a history.
func TestServerBeginsAnew(t *testing.T) {
	for _, length := range []time.Duration{5 * time.Second, 50 * time.Second, 5 * time.Minute} {
		followsForgetful(t, true, length, func(t *testing.T, f *forgetful, informer cache.SharedIndexInformer) {
			for n := range 10 {
				name := fmt.Sprint("ghost", n)
				f.put(name)
				time.Sleep(2*length + 2*time.Minute)
				assert.Contains(t, informer.GetStore().ListKeys(), "ns/"+name)
				assert.Contains(t, informers.Causes(informers.Status(t, informer)), "anew")
				f.remove(name)
				time.Sleep(2*length + 2*time.Minute)
				assert.NotContains(t, informer.GetStore().ListKeys(), "ns/"+name)
			}
			again := f.listed()[1:]
			for i := range again[1:] {
				assert.GreaterOrEqual(t, again[i+1].Sub(again[i]), time.Minute)
			}
			of, err := inspect.Of(informer)
			require.NoError(t, err)
			assert.EqualValues(t, len(again), of.Relists["anew"])
			assert.InDelta(t, of.Relists["anew"], of.WatchEnds["anew"], 1) // a list may be due
			f.set(func() { f.anew = false })
			time.Sleep(2 * length)
			f.put("new")
			time.Sleep(2 * length)
			assert.NotContains(t, informers.Causes(informers.Status(t, informer)), "anew")
		})
	}
}

// TestServerWithHistoryDoesNotBeginAnew checks that nothing is listed again if watches continue, and after one odd watch.
func TestServerWithHistoryDoesNotBeginAnew(t *testing.T) {
	followsForgetful(t, false, 20*time.Second, func(t *testing.T, f *forgetful, informer cache.SharedIndexInformer) {
		for n := range 20 {
			f.put(fmt.Sprint("p", n))
			f.set(func() { f.anew = n == 10 }) // for one watch
			time.Sleep(20 * time.Second)
		}
		assert.Len(t, f.listed(), 1)
		assert.Len(t, informer.GetStore().ListKeys(), 22)
		assert.False(t, slices.Contains(informers.Causes(informers.Status(t, informer)), "anew"))
	})
}

// TestServerBeginsAnewFromTheNewest checks that ghosts are found if each watch ends with the oldest object, and exactly that
// is deleted.
func TestServerBeginsAnewFromTheNewest(t *testing.T) {
	followsForgetful(t, true, 5*time.Minute, func(t *testing.T, f *forgetful, informer cache.SharedIndexInformer) {
		f.set(func() { f.newest = true })
		want := []string{"ns/a", "ns/b"}
		for n := range 8 {
			f.put(fmt.Sprint("p", n))
			want = append(want, fmt.Sprint("ns/p", n))
		}
		time.Sleep(11 * time.Minute)
		for n := range 4 {
			f.remove(fmt.Sprint("p", n))
			want = slices.Delete(want, 2, 3)
			time.Sleep(11 * time.Minute)
			synctest.Wait()
			assert.ElementsMatch(t, want, informer.GetStore().ListKeys())
		}
	})
}

// TestServerBeginsAnewWithinAPause checks that a list which has to wait follows in a watch that lasts.
func TestServerBeginsAnewWithinAPause(t *testing.T) {
	followsForgetful(t, true, 20*time.Second, func(t *testing.T, f *forgetful, informer cache.SharedIndexInformer) {
		time.Sleep(25 * time.Second) // the list that the second watch is due has begun the third one
		require.Len(t, f.listed(), 2)
		f.remove("b")
		f.set(func() { f.length = 24 * time.Hour })
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		assert.Equal(t, []string{"ns/a"}, informer.GetStore().ListKeys())
		assert.Len(t, f.listed(), 3)
	})
}
