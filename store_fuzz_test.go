// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	clientgo "k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/event"
)

// twoIndexers are our indexer and client-go's, which must answer alike whatever is done to both.
type twoIndexers struct{ ours, theirs cache.Indexer }

// byLabel indexes a pod by its labels, some of which share their values.
func byLabel(obj any) ([]string, error) {
	var values []string
	for _, value := range obj.(*v1.Pod).Labels {
		values = append(values, value)
	}
	return values, nil
}

var drawPod = rapid.Custom(func(t *rapid.T) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace:       rapid.SampledFrom([]string{"", "ns", "other"}).Draw(t, "namespace"),
		Name:            rapid.SampledFrom([]string{"a", "b", "c", "d/e"}).Draw(t, "name"),
		ResourceVersion: strconv.Itoa(rapid.IntRange(1, 99).Draw(t, "version")),
		Labels:          rapid.MapOfN(rapid.SampledFrom([]string{"x", "y", "z"}), rapid.SampledFrom([]string{"", "1", "2"}), 0, 3).Draw(t, "labels"),
	}}
})

func podKey(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

var drawPods = rapid.SliceOfNDistinct(drawPod, 0, 6, podKey)

func (s twoIndexers) both(t *rapid.T, do func(cache.Indexer) error) {
	require.Equal(t, do(s.theirs), do(s.ours))
}

func (s twoIndexers) check(t *rapid.T) {
	pods := func(i cache.Indexer) []any { return sorted(i.List()) }
	require.Equal(t, pods(s.theirs), pods(s.ours))
	require.ElementsMatch(t, s.theirs.ListKeys(), s.ours.ListKeys())
	for name := range s.theirs.GetIndexers() {
		require.ElementsMatch(t, s.theirs.ListIndexFuncValues(name), s.ours.ListIndexFuncValues(name), name)
		for _, value := range []string{"", "1", "2", "ns", "other"} {
			want, err := s.theirs.ByIndex(name, value)
			require.NoError(t, err)
			got, err := s.ours.ByIndex(name, value)
			require.NoError(t, err)
			require.Equal(t, sorted(want), sorted(got), "%s %q", name, value)
			wantKeys, err := s.theirs.IndexKeys(name, value)
			require.NoError(t, err)
			gotKeys, err := s.ours.IndexKeys(name, value)
			require.NoError(t, err)
			require.ElementsMatch(t, wantKeys, gotKeys)
		}
	}
}

func sorted(objects []any) []any {
	objects = slices.Clone(objects)
	slices.SortFunc(objects, func(a, b any) int {
		x, y := a.(*v1.Pod), b.(*v1.Pod)
		return slices.Compare([]string{x.Namespace, x.Name}, []string{y.Namespace, y.Name})
	})
	if len(objects) == 0 {
		return nil
	}
	return objects
}

// storeOperations does the same to both indexers.
func storeOperations(t *rapid.T) {
	s := twoIndexers{cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}), clientgo.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})}
	put := func(call func(cache.Indexer, any) error) func(*rapid.T) {
		return func(t *rapid.T) {
			pod := drawPod.Draw(t, "pod")
			s.both(t, func(i cache.Indexer) error { return call(i, pod) })
		}
	}
	t.Repeat(map[string]func(*rapid.T){
		"add":    put(cache.Indexer.Add),
		"update": put(cache.Indexer.Update),
		"delete": put(cache.Indexer.Delete),
		"replace": func(t *rapid.T) {
			var list []any
			for _, pod := range drawPods.Draw(t, "list") {
				list = append(list, pod)
			}
			s.both(t, func(i cache.Indexer) error { return i.Replace(list, "100") })
		},
		"get": func(t *rapid.T) {
			pod := drawPod.Draw(t, "pod")
			want, wantOK, err := s.theirs.Get(pod)
			require.NoError(t, err)
			got, ok, err := s.ours.Get(pod)
			require.NoError(t, err)
			require.Equal(t, wantOK, ok)
			require.Equal(t, want, got)
		},
		"addIndexers": func(t *rapid.T) {
			name := rapid.SampledFrom([]string{"label", "label2", cache.NamespaceIndex}).Draw(t, "index")
			if _, ok := s.theirs.GetIndexers()[name]; ok {
				return
			}
			by := byLabel
			if name == cache.NamespaceIndex {
				by = cache.MetaNamespaceIndexFunc
			}
			s.both(t, func(i cache.Indexer) error { return i.AddIndexers(cache.Indexers{name: by}) })
		},
		"": s.check,
	})
}

func TestStoreOperationsLikeClientGo(t *testing.T) { rapid.Check(t, storeOperations) }

// FuzzStoreOperations does any operations to our indexer and client-go's, which must answer alike.
func FuzzStoreOperations(f *testing.F) { f.Fuzz(rapid.MakeFuzz(storeOperations)) }

// FuzzResourceVersions gives a store any resourceVersions: it takes all, never fails, and its own
// never goes back among those that can be compared.
func FuzzResourceVersions(f *testing.F) {
	for _, versions := range [][3]string{
		{"1", "2", "10"}, {"10", "9", ""}, {"0", "", "00"}, {"-1", "+1", "1e3"}, {"18446744073709551615", "18446744073709551616", "9"},
		{"340282366920938463463374607431768211456", "x", "٣"},
	} {
		f.Add(versions[0], versions[1], versions[2])
	}
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if order, err := resourceversion.CompareResourceVersion(a, b); err == nil {
			require.Equal(t, []string{b, a, a}[order+1], event.LaterVersion(a, b), "the greater one")
		} else {
			require.Equal(t, b, event.LaterVersion(a, b), "the one seen last")
		}
		s := cache.NewStore(cache.MetaNamespaceKeyFunc)
		require.NoError(t, s.Replace([]any{podOfVersion("a", a)}, a))
		require.Equal(t, a, s.LastStoreSyncResourceVersion())
		for i, step := range []func(){
			func() { require.NoError(t, s.Add(podOfVersion("b", b))) },
			func() { s.Bookmark(c) },
			func() { require.NoError(t, s.Update(podOfVersion("a", c))) },
			func() { require.NoError(t, s.Delete(podOfVersion("b", b))) },
		} {
			before := s.LastStoreSyncResourceVersion()
			step()
			order, err := resourceversion.CompareResourceVersion(before, s.LastStoreSyncResourceVersion())
			require.False(t, err == nil && order > 0, "step %d: from %q to %q", i, before, s.LastStoreSyncResourceVersion())
		}
		require.Equal(t, []string{"default/a"}, s.ListKeys())
	})
}

func podOfVersion(name, version string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: version}}
}
