// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shard divides the objects of a collection by their UIDs, as servers with the feature gate
// ShardedListAndWatch do (KEP-5866): by the range in which the 64 bits of the FNV-1a hash lie.
package shard

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Range is a part of the objects of a collection. A nil Range is all of them.
type Range struct {
	first, last uint64 // hashes
	selector    string // as requests have it
}

// ErrOther is about an object that is of another shard.
var ErrOther = errors.New("the object is of another shard")

// RangeOf returns the i-th of n parts, which are about of one size and are all objects together.
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

// boundary returns i/n of all hashes.
func boundary(i, n int) uint64 {
	of, _ := bits.Div64(uint64(i), 0, uint64(n))
	return of
}

// Narrow has a request ask for the part only. A server may ignore that.
func (r *Range) Narrow(o metav1.ListOptions) metav1.ListOptions {
	if r != nil {
		o.ShardSelector = r.selector
	}
	return o
}

// Has reports whether an object is of the part.
func (r *Range) Has(obj metav1.Object) bool { return r == nil || r.HasHash(Hash(obj.GetUID())) }

// HasHash reports whether an object is of the part whose UID has that hash.
func (r *Range) HasHash(hash uint64) bool { return hash >= r.first && hash <= r.last }

// Hash returns the hash of a UID: FNV-1a, by Fowler, Noll and Vo.
func Hash[T ~string | ~[]byte](uid T) uint64 {
	hash := uint64(14695981039346656037)
	for i := range len(uid) {
		hash = (hash ^ uint64(uid[i])) * 1099511628211
	}
	return hash
}

// IsServed reports whether the server that has sent the list has left other objects out.
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
