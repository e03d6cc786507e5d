// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/draw"
	"github.com/kinformer/cache/view"
)

func TestMain(m *testing.M) { testkit.RunTests(m) }

// indexers of pods: "node" fails for pods without one, "tolerates" has many values and panics for
// pods named "bad".
var indexers = cache.Indexers{
	"namespace": cache.MetaNamespaceIndexFunc,
	"node": func(obj any) ([]string, error) {
		if node := obj.(*corev1.Pod).Spec.NodeName; node != "" {
			return []string{node}, nil
		}
		return []string{""}, errors.New("no node")
	},
	"tolerates": func(obj any) (keys []string, _ error) {
		pod := obj.(*corev1.Pod)
		if pod.Name == "bad" {
			panic("bad")
		}
		for _, toleration := range pod.Spec.Tolerations {
			keys = append(keys, toleration.Key)
		}
		return keys, nil
	},
}

// pod returns one of few pods, so that random pods meet random conditions.
func pod(random *rand.Rand) *corev1.Pod {
	few := func(prefix string) string { return prefix + strconv.Itoa(random.IntN(4)) }
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: few("ns"), Name: "p" + strconv.Itoa(random.IntN(60))}}
	if random.IntN(20) == 0 {
		p.Name = "bad"
	}
	if p.Labels = map[string]string{"app": few("a")}; random.IntN(4) == 0 {
		p.Labels = nil
	}
	if random.IntN(4) > 0 {
		p.Spec.NodeName = few("n")
	}
	for range random.IntN(3) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: few("t")})
	}
	p.Generation = random.Int64N(5)
	return p
}

// asked is a query, with an equivalent predicate.
type asked struct {
	view.Query
	meets func(*corev1.Pod) bool
}

func (a asked) and(meets func(*corev1.Pod) bool) asked {
	before := a.meets
	a.meets = func(p *corev1.Pod) bool { return before(p) && meets(p) }
	return a
}

func (a asked) term(index, value string) asked {
	a.Where = append(a.Where, view.Term{Index: index, Value: value})
	return a.and(func(p *corev1.Pod) bool {
		switch index {
		case "namespace":
			return p.Namespace == value
		case "node":
			return p.Spec.NodeName == value && value != ""
		default:
			return p.Name != "bad" && slices.ContainsFunc(p.Spec.Tolerations, func(t corev1.Toleration) bool { return t.Key == value })
		}
	})
}

var terms = []view.Term{
	{Index: "namespace", Value: "ns0"}, {Index: "namespace", Value: "ns3"}, {Index: "node", Value: "n1"}, {Index: "node", Value: "n2"},
	{Index: "node"}, {Index: "node", Value: "none"}, {Index: "tolerates", Value: "t0"}, {Index: "tolerates", Value: "t1"},
}

// drawQuery draws a query of Any, terms, labels and Match.
func drawQuery(d *draw.T, depth int) asked {
	a := asked{meets: func(*corev1.Pod) bool { return true }}
	if depth > 0 && draw.Int(d, 0, 2) == 0 {
		var queries []view.Query
		var each []asked
		for range draw.Int(d, 0, 3) {
			one := drawQuery(d, depth-1)
			each, queries = append(each, one), append(queries, one.Query)
		}
		a.Query = view.Any(queries...)
		a = a.and(func(p *corev1.Pod) bool {
			return slices.ContainsFunc(each, func(one asked) bool { return one.meets(p) })
		})
	}
	for range draw.Int(d, 0, 3) {
		t := draw.Of(d, terms...)
		a = a.term(t.Index, t.Value)
	}
	switch draw.Int(d, 0, 3) {
	case 0:
		a.Labels = labels.Everything()
	case 1:
		a.Labels = labels.SelectorFromSet(labels.Set{"app": "a1"})
		a = a.and(func(p *corev1.Pod) bool { return p.Labels["app"] == "a1" })
	}
	if draw.Int(d, 0, 3) == 0 {
		a.Match = func(obj any) bool { return obj.(*corev1.Pod).Generation > 1 }
		a = a.and(func(p *corev1.Pod) bool { return p.Generation > 1 })
	}
	return a
}

// byBruteForce returns the sorted keys that a query selects.
func (a asked) byBruteForce(s *view.Snapshot) (keys []string) {
	for key, obj := range s.All() {
		if a.meets(obj.(*corev1.Pod)) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// TestOfStoresOfThisModule: Of knows every store that the root package makes.
func TestOfStoresOfThisModule(t *testing.T) {
	safe := cache.NewThreadSafeStore(cache.Indexers{}, cache.Indices{})
	safe.Add("ns/a", testkit.PodAt("a", "1"))
	undelta := cache.NewUndeltaStore(func([]any) {}, cache.MetaNamespaceKeyFunc)
	require.NoError(t, undelta.Add(testkit.PodAt("a", "1")))
	for _, store := range []any{safe, undelta} {
		s, err := view.Of(store)
		require.NoError(t, err)
		assert.Equal(t, 1, s.Len())
		s.Close()
	}
}

// TestQueriesModel compares results with a full scan of the same snapshot, while a writer changes
// the store.
func TestQueriesModel(t *testing.T) {
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)
	writeBeside(t, store)
	draw.Check(t, func(t *draw.T) {
		snapshot, err := view.Of(store)
		require.NoError(t, err)
		defer snapshot.Close()
		a := drawQuery(t, 2)
		want := a.byBruteForce(snapshot)

		pods, err := view.Select[*corev1.Pod](snapshot, a.Query)
		require.NoError(t, err)
		var got []string
		for key := range pods {
			got = append(got, key)
		}
		slices.Sort(got)
		require.Equal(t, want, got, "each once")
		n, err := snapshot.Count(a.Query)
		require.NoError(t, err)
		require.Equal(t, len(want), n)
		plan, err := snapshot.Explain(a.Query)
		require.NoError(t, err)
		require.Equal(t, len(want), plan.Found, plan)
		require.GreaterOrEqual(t, plan.Looked, plan.Found)

		size := draw.Int(t, 1, 9)
		same := func() *view.Snapshot { return snapshot }
		require.Equal(t, want, keysOf(pagesOf(t, same, a.Query, view.ByKey, size)))
		byGeneration := pagesOf(t, same, a.Query, olderGeneration, size)
		require.True(t, slices.IsSortedFunc(byGeneration, func(a, b entry) int { return cmp.Compare(a.Object.Generation, b.Object.Generation) }))
		require.Equal(t, want, slices.Sorted(slices.Values(keysOf(byGeneration))))
	})
}

// writeBeside changes the store until the test ends.
func writeBeside(t *testing.T, store cache.Indexer) {
	random := rand.New(rand.NewPCG(1, 40))
	write := func() {
		if p := pod(random); random.IntN(3) == 0 {
			_ = store.Delete(p)
		} else {
			_ = store.Update(p)
		}
	}
	for range 300 {
		write()
	}
	t.Cleanup(testkit.InBackground(t, func(ctx context.Context) {
		for ctx.Err() == nil {
			write()
		}
	}))
}

type entry = view.Entry[*corev1.Pod]

func olderGeneration(a, b entry) int { return cmp.Compare(a.Object.Generation, b.Object.Generation) }

// pagesOf reads all pages, each from the next snapshot.
func pagesOf(t require.TestingT, snapshot func() *view.Snapshot, q view.Query, compare func(a, b entry) int, size int) (all []entry) {
	var after *entry
	for first := true; first || after != nil; first = false {
		page, next, err := view.Page(snapshot(), q, compare, after, size)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page), size)
		if next != nil {
			require.Len(t, page, size, "only the last page is shorter")
			require.Equal(t, page[size-1], *next)
		}
		all, after = append(all, page...), next
	}
	return all
}

func keysOf(entries []entry) (keys []string) {
	for _, e := range entries {
		keys = append(keys, e.Key)
	}
	return keys
}

// TestPagesOfLaterSnapshots: an object that keeps its place is on exactly one page, whatever is
// added, deleted and moved between two pages, including the last object of the page before.
func TestPagesOfLaterSnapshots(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)
		random := rand.New(rand.NewPCG(t.Uint64(), 0))
		stays := map[string]*corev1.Pod{}
		for range 80 {
			p := pod(random)
			_ = store.Add(p)
			stays[p.Namespace+"/"+p.Name] = p
		}
		between := func() *view.Snapshot {
			for range random.IntN(20) {
				p := pod(random)
				delete(stays, p.Namespace+"/"+p.Name)
				if random.IntN(2) == 0 {
					_ = store.Delete(p)
				} else {
					_ = store.Update(p)
				}
			}
			s, err := view.Of(store)
			require.NoError(t, err)
			t.Cleanup(s.Close)
			return s
		}
		compare := draw.Of(t, view.ByKey[*corev1.Pod], olderGeneration)
		times := map[string]int{}
		for _, e := range pagesOf(t, between, view.Query{}, compare, draw.Int(t, 1, 20)) {
			times[e.Key]++
		}
		for key := range stays {
			require.Equal(t, 1, times[key], key)
		}
	})
}

// TestPlanTakesTheRarestTerm: the rarest term is used, whatever the order of the terms.
func TestPlanTakesTheRarestTerm(t *testing.T) {
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)
	for i := range 1000 {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "all", Name: fmt.Sprint(i)}}
		p.Spec.NodeName = fmt.Sprint(i % 100)
		p.Spec.Tolerations = []corev1.Toleration{{Key: fmt.Sprint(i % 2)}}
		require.NoError(t, store.Add(p))
	}
	snapshot, err := view.Of(store)
	require.NoError(t, err)
	defer snapshot.Close()
	explain := func(q view.Query) string {
		plan, err := snapshot.Explain(q)
		require.NoError(t, err)
		return plan.String()
	}
	few, many := view.Term{Index: "node", Value: "7"}, view.Term{Index: "tolerates", Value: "1"}
	require.Equal(t, `node="7": looked at 10 objects, found 10`, explain(view.Query{Where: []view.Term{many, few}}))
	require.Equal(t, `node="7": looked at 10 objects, found 10`, explain(view.Query{Where: []view.Term{few, many}}))
	require.Equal(t, "all objects: looked at 1000 objects, found 0", explain(view.Query{Labels: labels.SelectorFromSet(labels.Set{"a": "b"})}))
	either := view.Any(view.Query{Where: []view.Term{few}}, view.Query{Where: []view.Term{few, many}})
	require.Equal(t, `node="7" or node="7": looked at 20 objects, found 10`, explain(either))
	either.Where = []view.Term{{Index: "node", Value: "8"}}
	require.Equal(t, `node="8": looked at 10 objects, found 0`, explain(either))
	require.Equal(t, ": looked at 0 objects, found 0", explain(view.Any()))
}

// TestQueriesRefused: unknown indexes in any part of a query, closed snapshots, and pages of no
// objects are errors.
func TestQueriesRefused(t *testing.T) {
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)
	require.NoError(t, store.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}}))
	snapshot, err := view.Of(store)
	require.NoError(t, err)
	unknown := view.Query{Where: []view.Term{{Index: "phase", Value: "Running"}}}
	for _, q := range []view.Query{unknown, view.Any(view.Query{}, unknown)} {
		_, err = view.Select[*corev1.Pod](snapshot, q)
		require.ErrorContains(t, err, "phase")
		require.ErrorContains(t, err, "namespace, node, tolerates")
	}
	_, _, err = view.Page(snapshot, view.Query{}, view.ByKey[*corev1.Pod], nil, 0)
	require.ErrorContains(t, err, "a page of 0 objects")

	pods, err := view.Select[*corev1.Pod](snapshot, view.Query{})
	require.NoError(t, err)
	snapshot.Close()
	lines := testkit.CaptureLog(t)
	require.Empty(t, maps.Collect(pods))
	require.Len(t, testkit.About("snapshot is closed before it began: collect the objects first", lines.Take()), 1)
	_, err = view.Select[*corev1.Pod](snapshot, view.Query{})
	require.ErrorIs(t, err, view.ErrClosed)
	_, err = snapshot.Count(view.Query{})
	require.ErrorIs(t, err, view.ErrClosed)

	bare, err := view.Of(cache.NewStore(cache.MetaNamespaceKeyFunc))
	require.NoError(t, err)
	defer bare.Close()
	_, err = bare.Count(unknown)
	require.ErrorContains(t, err, "AddIndexers")
}

// TestSelectByType: objects of another type are left out, and have no labels.
func TestSelectByType(t *testing.T) {
	store := cache.NewIndexer(func(obj any) (string, error) { return fmt.Sprint(obj), nil }, cache.Indexers{
		"all": func(any) ([]string, error) { return []string{""}, nil },
	})
	require.NoError(t, store.Add("text"))
	require.NoError(t, store.Add(7))
	snapshot, err := view.Of(store)
	require.NoError(t, err)
	defer snapshot.Close()
	texts, err := view.Select[string](snapshot, view.Query{Where: []view.Term{{Index: "all"}}})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"text": "text"}, maps.Collect(texts))
	page, next, err := view.Page(snapshot, view.Query{}, view.ByKey[int], nil, 1)
	require.NoError(t, err)
	require.Equal(t, []view.Entry[int]{{Key: "7", Object: 7}}, page)
	require.Nil(t, next)
	labeled := labels.SelectorFromSet(labels.Set{"a": "b"})
	n, err := snapshot.Count(view.Query{Labels: labeled})
	require.NoError(t, err)
	require.Zero(t, n)
}

// TestPagesOfTheCaller: a page may be modified before the next one is requested. If a snapshot is closed
// during a query, the query returns an error and no partial result.
func TestPagesOfTheCaller(t *testing.T) {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, store.Add(newConfigMap(name, "1")))
	}
	s, err := view.Of(store)
	require.NoError(t, err)
	defer s.Close()
	page, next, err := view.Page(s, view.Query{}, view.ByKey[*corev1.ConfigMap], nil, 2)
	require.NoError(t, err)
	slices.Reverse(page)
	page, _, err = view.Page(s, view.Query{}, view.ByKey[*corev1.ConfigMap], next, 2)
	require.NoError(t, err)
	require.Len(t, page, 1)

	for name, ask := range map[string]func(*view.Snapshot, view.Query) error{
		"count":   func(s *view.Snapshot, q view.Query) error { _, err := s.Count(q); return err },
		"explain": func(s *view.Snapshot, q view.Query) error { _, err := s.Explain(q); return err },
		"page": func(s *view.Snapshot, q view.Query) error {
			_, _, err := view.Page(s, q, view.ByKey[*corev1.ConfigMap], nil, 2)
			return err
		},
	} {
		s, err := view.Of(store)
		require.NoError(t, err)
		all := view.Query{Match: func(any) bool { s.Close(); return true }}
		require.ErrorIs(t, ask(s, view.Any(all, all)), view.ErrClosed, name)
	}
}
