// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/sets"
	"pgregory.net/rapid"

	"github.com/kinformer/cache"
)

// item is the object of the queue and store tests: key and content.
type item struct {
	key   string
	value int
}

var errNoItem = errors.New("not an item")

func itemKey(obj any) (string, error) {
	if it, ok := obj.(item); ok {
		return it.key, nil
	}
	return "", errNoItem
}

// knownItems is a naive KeyListerGetter.
type knownItems map[string]item

func (k knownItems) ListKeys() []string { return sets.List(sets.KeySet(k)) }

func (k knownItems) GetByKey(key string) (any, bool, error) {
	it, ok := k[key]
	return it, ok, nil
}

func bare(obj any) any {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		return tombstone.Obj
	}
	return obj
}

func anyOf(items []item) []any {
	list := make([]any, len(items))
	for i, it := range items {
		list[i] = it
	}
	return list
}

var (
	drawItem = rapid.Custom(func(t *rapid.T) item {
		return item{key: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "key"), value: rapid.IntRange(0, 99).Draw(t, "value")}
	})
	drawItems = rapid.SliceOfNDistinct(drawItem, 0, 4, func(it item) string { return it.key })
)
