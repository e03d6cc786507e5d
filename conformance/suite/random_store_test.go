// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"
)

// storeCall is one step of a script on an indexer.
type storeCall struct {
	name string
	run  func(cache.Indexer) string
}

// answer writes what a read returned, in order, and tells nil from empty.
func answer[T any](items []T, err error) string {
	return fmt.Sprint(sorted(items), " nil=", items == nil, " ", told(err))
}

// drawStoreCall draws the next write. Index functions fail in other tests: client-go panics.
func drawStoreCall(t *rapid.T, v *versions, indexNames []string) storeCall {
	name := rapid.SampledFrom([]string{"add", "update", "delete", "replace", "transaction", "index"}).Draw(t, "call")
	switch name {
	case "replace":
		list, rv := drawList(t, v), v.next()
		return storeCall{name, func(s cache.Indexer) string { return told(s.Replace(slices.Clone(list), rv)) }}
	case "transaction":
		return drawTransaction(t, v)
	case "index":
		added := cache.Indexers{}
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(indexNames), 0, 2).Draw(t, "names") {
			added[name] = byLabel("app")
		}
		return storeCall{name, func(s cache.Indexer) string { return told(s.AddIndexers(added)) }}
	}
	obj := v.drawAny(t, false)
	return storeCall{name, func(s cache.Indexer) string {
		return told(map[string]func(any) error{"add": s.Add, "update": s.Update, "delete": s.Delete}[name](obj))
	}}
}

func drawList(t *rapid.T, v *versions) []any {
	list := make([]any, rapid.IntRange(0, 4).Draw(t, "objects"))
	for i := range list {
		list[i] = v.drawAny(t, false)
	}
	return list
}

// drawTransaction draws one whose last object is stored: of another one's version the two make
// something else.
func drawTransaction(t *rapid.T, v *versions) storeCall {
	types := []cache.TransactionType{cache.TransactionTypeAdd, cache.TransactionTypeUpdate, cache.TransactionTypeDelete}
	var txns []cache.Transaction
	for _, obj := range append(drawList(t, v), v.drawPod(t)) {
		txns = append(txns, cache.Transaction{Type: rapid.SampledFrom(types).Draw(t, "type"), Object: obj})
	}
	return storeCall{"transaction", func(s cache.Indexer) string {
		err := s.(cache.TransactionStore).Transaction(txns...)
		if err == nil {
			return "ok"
		}
		text := fmt.Sprint(err.SuccessfulIndices, " of ", err.TotalTransactions)
		for _, failed := range err.Errors {
			text += " " + told(failed)
		}
		return text
	}}
}

// readAll is everything that the reads say.
func readAll(s cache.Indexer, indexNames []string) []string {
	keys := s.ListKeys()
	lines := []string{answer(s.List(), nil), answer(keys, nil), s.LastStoreSyncResourceVersion()}
	for _, key := range append(keys, "ns/none") {
		obj, exists, err := s.GetByKey(key)
		lines = append(lines, fmt.Sprint(key, label(obj), exists, told(err)))
	}
	for _, obj := range []any{pod("a", "0"), "junk", cache.DeletedFinalStateUnknown{Key: "ns/a"}} {
		got, exists, err := s.Get(obj)
		lines = append(lines, fmt.Sprint(label(got), exists, told(err)))
	}
	for _, name := range indexNames {
		lines = append(lines, answer(s.ListIndexFuncValues(name), nil), answer(s.Index(name, labelled("q", "0", "app", "x,z"))))
		for _, value := range []string{"x", "y", "none"} {
			lines = append(lines, answer(s.ByIndex(name, value)), answer(s.IndexKeys(name, value)))
		}
	}
	slices.Sort(lines[3 : 3+len(keys)])
	return lines
}

// TestRandomStores plays random scripts on client-go's indexer and ours.
func TestRandomStores(t *testing.T) {
	reference, ours := pair(t)
	indexNames := []string{"app", "second", "third", "missing"}
	for name, key := range keyFuncs {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				var features storeFeatures
				if rapid.Bool().Draw(t, "transform") {
					features.transformer = refuse
				}
				var sides []cache.Indexer
				for _, impl := range []implementation{reference, ours} {
					sides = append(sides, impl.stores.indexer(key, cache.Indexers{"app": byApp}, features))
				}
				var v versions
				for i := range rapid.IntRange(0, 12).Draw(t, "calls") {
					call := drawStoreCall(t, &v, indexNames[:3])
					require.Equal(t, call.run(sides[0]), call.run(sides[1]), "call %d: %s", i, call.name)
					require.Equal(t, readAll(sides[0], indexNames), readAll(sides[1], indexNames), "after call %d: %s", i, call.name)
				}
			})
		})
	}
}
