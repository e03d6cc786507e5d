// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Indices is a parameter type of NewThreadSafeStore, there so that client-go's calls compile. A store keeps its indices
// to itself: what is given is left untouched, and nothing can be read from it.
type Indices map[string]*index

// index is one secondary index of a store.
//
// Invariants: key is in postings[v] exactly when v is in byKey[key]; no posting is empty; byKey holds no empty slice.
type index struct {
	name     string
	valuesOf IndexFunc
	byKey    map[string][]string
	postings map[string]sets.Set[string]
}

func newIndex(name string, valuesOf IndexFunc) *index {
	return &index{name: name, valuesOf: valuesOf, byKey: map[string][]string{}, postings: map[string]sets.Set[string]{}}
}

// values asks the user's function for the values of obj. An error or a panic of that function is reported, and means that
// the object is not in this index: the store keeps it all the same.
func (ix *index) values(key string, obj any) []string {
	values, err := callIndexFunc(ix.valuesOf, obj)
	if err != nil {
		utilruntime.HandleError(fmt.Errorf("index %q leaves out the object with key %q: %w", ix.name, key, err))
		return nil
	}
	return values
}

func callIndexFunc(valuesOf IndexFunc, obj any) (values []string, err error) {
	defer func() {
		if r := recover(); r != nil {
			values, err = nil, fmt.Errorf("index function panicked: %v", r)
		}
	}()
	return valuesOf(obj)
}

// put makes values the ones that key is found under. The index owns the slice from here on.
func (ix *index) put(key string, values []string) {
	old := ix.byKey[key]
	if len(old) == 1 && len(values) == 1 && old[0] == values[0] {
		return
	}
	for _, value := range old {
		ix.drop(value, key)
	}
	for _, value := range values {
		posting := ix.postings[value]
		if posting == nil {
			posting = sets.Set[string]{}
			ix.postings[value] = posting
		}
		posting.Insert(key)
	}
	if len(values) == 0 {
		delete(ix.byKey, key)
	} else {
		ix.byKey[key] = values
	}
}

func (ix *index) drop(value, key string) {
	posting := ix.postings[value]
	posting.Delete(key)
	if len(posting) == 0 {
		delete(ix.postings, value)
	}
}

// keys returns the keys under any of the values, each once. The set belongs to the index when there is one value.
func (ix *index) keys(values []string) sets.Set[string] {
	if len(values) == 1 {
		return ix.postings[values[0]]
	}
	union := sets.Set[string]{}
	for _, value := range values {
		for key := range ix.postings[value] {
			union.Insert(key)
		}
	}
	return union
}

// filled returns a new index with the same function over the given objects.
func (ix *index) filled(items map[string]any) *index {
	fresh := newIndex(ix.name, ix.valuesOf)
	for key, obj := range items {
		fresh.put(key, ix.values(key, obj))
	}
	return fresh
}
