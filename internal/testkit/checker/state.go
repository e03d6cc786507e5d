// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package checker checks the contract of informers: order, no loss, no invented objects, and
// finally a store that equals the server. It serves informers of client-go and of kinformer, and
// imports neither.
//
// A Ledger records the writes acknowledged by the server. A Replica is a handler that checks its
// calls, and Reads checks the answers to one reader; both use the Ledger if there is one. Compare
// compares a store and its indexes with a quorum LIST.
//
//	order   a call does not follow from the previous one about the object, or comes after the end
//	lost    an acknowledged state was not reported, and not skipped by a list
//	content an object was never written, or differs from the one acknowledged at its version
//	back    a read is older than an earlier one of the same reader, by any method
//	mixed   a read shows states of different moments, or an index has an object under a wrong value
package checker

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	clientgo "k8s.io/client-go/tools/cache"
)

// ValueLabel is the label that holds the value of an object of a Resource.
const ValueLabel = "value"

// State identifies a state of an object, with its value.
type State struct {
	UID   types.UID
	RV    uint64
	Value string
}

func (s State) String() string { return fmt.Sprintf("%d %q (%.8s)", s.RV, s.Value, s.UID) }

// Contents maps keys to the state of the objects.
type Contents map[string]State

// StateOf returns the key and the state of an object. A value that no API server sends, such as
// nil, has a key that describes the problem, and the zero State.
func StateOf(obj any) (string, State) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Sprintf("invalid %T: %v", obj, err), State{}
	}
	rv, err := strconv.ParseUint(accessor.GetResourceVersion(), 10, 64)
	if err != nil {
		return fmt.Sprintf("invalid resourceVersion of %s: %v", accessor.GetName(), err), State{}
	}
	key, err := clientgo.MetaNamespaceKeyFunc(obj)
	if err != nil {
		return fmt.Sprintf("invalid key of %s: %v", accessor.GetName(), err), State{}
	}
	return key, State{UID: accessor.GetUID(), RV: rv, Value: accessor.GetLabels()[ValueLabel]}
}

// ContentsOf returns the contents of a store or a list.
func ContentsOf[T any](objects []T) Contents {
	c := make(Contents, len(objects))
	for _, obj := range objects {
		key, state := StateOf(obj)
		c[key] = state
	}
	return c
}

// ContentsOfList returns the contents of the answer to a LIST.
func ContentsOfList(list runtime.Object) (Contents, error) {
	items, err := meta.ExtractList(list)
	return ContentsOf(items), err
}

// Difference describes up to ten keys in which have and want differ. It returns "" if they are
// equal.
func Difference(have, want Contents) string {
	if maps.Equal(have, want) {
		return ""
	}
	keys := maps.Clone(have)
	maps.Copy(keys, want)
	text, n := "", 0
	for key := range keys {
		if have[key] != want[key] {
			if n++; n <= 10 {
				text += fmt.Sprintf(" %s: have %v, want %v;", key, have[key], want[key])
			}
		}
	}
	return fmt.Sprintf("%d of %d objects differ:%s", n, len(want), text)
}

// Compare returns the differences between want and the contents of a store, its keys, and all its
// indexes.
func Compare(indexer clientgo.Indexer, want Contents) error {
	var errs []error
	note := func(what string, have Contents) {
		if d := Difference(have, want); d != "" {
			errs = append(errs, fmt.Errorf("%s: %s", what, d))
		}
	}
	note("the store", ContentsOf(indexer.List()))
	if keys := indexer.ListKeys(); !slices.Equal(slices.Sorted(slices.Values(keys)), slices.Sorted(maps.Keys(want))) {
		errs = append(errs, fmt.Errorf("%d keys, want %d", len(keys), len(want)))
	}
	for name, function := range indexer.GetIndexers() {
		all := Contents{}
		for _, value := range indexer.ListIndexFuncValues(name) {
			objects, err := indexer.ByIndex(name, value)
			errs = append(errs, err, Misplaced(function, value, objects))
			maps.Copy(all, ContentsOf(objects))
		}
		note("index "+name, all)
	}
	return errors.Join(errs...)
}

// Misplaced returns an error if an index has an object under a value that the index function does
// not return.
func Misplaced(function clientgo.IndexFunc, value string, objects []any) error {
	for _, obj := range objects {
		if values, err := function(obj); err != nil || !slices.Contains(values, value) {
			key, state := StateOf(obj)
			return fmt.Errorf("%s at %v under %q, and belongs under %q (%v)", key, state, value, values, err)
		}
	}
	return nil
}
