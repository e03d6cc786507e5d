// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shard divides the objects of a collection by the 64-bit FNV-1a hash of their UIDs, like
// servers with the feature gate ShardedListAndWatch (KEP-5866). Each shard is a range of hashes:
//
//	0 ─────── shard 0 of 3 ─────── shard 1 of 3 ─────── shard 2 of 3 ─── 2^64-1
package shard

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"
)

// Range is a shard: the objects whose hashes are in a range. A nil Range is the whole collection.
type Range struct {
	first, last uint64 // hashes, both inclusive
	selector    string // for ListOptions.ShardSelector
}

// ErrOther is the error about an object of another shard.
var ErrOther = errors.New("the object is of another shard")

// RangeOf returns shard i of n. The n shards have about the same size and together contain all
// objects.
func RangeOf(i, n int) (*Range, error) {
	if i < 0 || i >= n {
		return nil, fmt.Errorf("there is no shard %d of %d: shards count from 0, and are less than their number", i, n)
	}
	if n == 1 {
		return nil, nil
	}
	r, end := &Range{first: boundary(i, n), last: math.MaxUint64}, "0x10000000000000000"
	if i+1 < n {
		next := boundary(i+1, n)
		r.last, end = next-1, fmt.Sprintf("0x%016x", next)
	}
	r.selector = fmt.Sprintf("shardRange(object.metadata.uid, '0x%016x', '%s')", r.first, end)
	return r, nil
}

// boundary returns 2^64 * i/n.
func boundary(i, n int) uint64 {
	of, _ := bits.Div64(uint64(i), 0, uint64(n))
	return of
}

// Narrow returns o with the selector of the shard. A server may ignore the selector.
func (r *Range) Narrow(o metav1.ListOptions) metav1.ListOptions {
	if r != nil {
		o.ShardSelector = r.selector
	}
	return o
}

// Has reports whether the object is in the shard.
func (r *Range) Has(obj metav1.Object) bool { return r == nil || r.HasHash(Hash(obj.GetUID())) }

// HasHash reports whether an object whose UID has the given hash is in the shard. r must not be
// nil.
func (r *Range) HasHash(hash uint64) bool { return hash >= r.first && hash <= r.last }

// Hash returns the FNV-1a hash (Fowler, Noll, Vo) of a UID.
func Hash[T ~string | ~[]byte](uid T) uint64 {
	hash := uint64(14695981039346656037)
	for i := range len(uid) {
		hash = (hash ^ uint64(uid[i])) * 1099511628211
	}
	return hash
}

// Divide removes objects of other shards from a list.
func (r *Range) Divide(list runtime.Object) error {
	if r == nil {
		return nil
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	return meta.SetList(list, slices.DeleteFunc(items, r.IsOther))
}

// IsOther reports whether an object with metadata is in another shard.
func (r *Range) IsOther(obj runtime.Object) bool {
	accessor, err := meta.Accessor(obj)
	return err == nil && !r.Has(accessor)
}

// Of returns the ListerWatcher behind a ListerWatcher of one shard, such as that of package sources,
// and its shard. For any other ListerWatcher, it returns lw and nil. The reflectors of this module
// unwrap with Of, because they can drop objects of other shards before decoding them.
func Of(lw clientgo.ListerWatcher) (all clientgo.ListerWatcher, part *Range) {
	if l, ok := lw.(interface {
		ShardOf() (clientgo.ListerWatcher, *Range)
	}); ok {
		return l.ShardOf()
	}
	return lw, nil
}

// IsServed reports whether the server applied the selector to the list, which then contains no
// objects of other shards.
func (r *Range) IsServed(list metav1.ListInterface) bool {
	if r == nil {
		return true
	}
	if untyped, ok := list.(*unstructured.UnstructuredList); ok {
		_, tells, _ := unstructured.NestedMap(untyped.Object, "metadata", "shardInfo")
		return tells
	}
	sharded, ok := list.(metav1.ShardedListInterface)
	return ok && sharded.GetShardInfo() != nil
}
