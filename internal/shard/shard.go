// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shard divides the objects of a collection by the 64-bit FNV-1a hash of their UIDs or
// namespaces, like servers with the feature gate ShardedListAndWatch (KEP-5866). A shard is one range of
// hashes, or several:
//
//	0 ─────── shard 0 of 3 ─────── shard 1 of 3 ─────── shard 2 of 3 ─── 2^64-1
package shard

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Range is a shard: the objects whose hashes are in one of its spans. A nil Range is the whole
// collection.
type Range struct {
	of       Field
	spans    []span
	selector string // for ListOptions.ShardSelector
	inner    *Range // a shard of which this is a part, or nil
}

// Field is the field of an object that is hashed, as a selector names it.
type Field string

const (
	UID       Field = "object.metadata.uid"
	Namespace Field = "object.metadata.namespace"
)

// span is a range of hashes, both inclusive.
type span struct{ first, last uint64 }

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
	part, end := span{boundary(i, n), math.MaxUint64}, noBound
	if i+1 < n {
		next := boundary(i+1, n)
		part.last, end = next-1, fmt.Sprintf("0x%016x", next)
	}
	return &Range{of: UID, spans: []span{part}, selector: fmt.Sprintf("shardRange(%s, '0x%016x', '%s')", UID, part.first, end)}, nil
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

// Within returns the part of r that is also in inner. Either may be nil. Its requests have the selector
// of r, unless r is nil.
func (r *Range) Within(inner *Range) *Range {
	if r == nil || inner == nil {
		return cmp.Or(r, inner)
	}
	part := *r
	part.inner = r.inner.Within(inner)
	return &part
}

// hashes reports whether a hash of the field divides the objects of r or of a shard of which r is a part.
func (r *Range) hashes(field Field) bool {
	for ; r != nil; r = r.inner {
		if r.of == field {
			return true
		}
	}
	return false
}

// Has reports whether the object is in the shard.
func (r *Range) Has(obj metav1.Object) bool {
	for ; r != nil; r = r.inner {
		text := string(obj.GetUID())
		if r.of == Namespace {
			text = obj.GetNamespace()
		}
		if !r.has(Hash(text)) {
			return false
		}
	}
	return true
}

// Excludes reports whether an object is known not to be in the shard by the fields that read returns,
// which are empty if they are not known.
func (r *Range) Excludes(read func(Field) []byte) bool {
	for ; r != nil; r = r.inner {
		if text := read(r.of); len(text) > 0 && !r.has(Hash(text)) {
			return true
		}
	}
	return false
}

func (r *Range) has(hash uint64) bool {
	return slices.ContainsFunc(r.spans, func(s span) bool { return hash >= s.first && hash <= s.last })
}

// Hash returns the FNV-1a hash (Fowler, Noll, Vo) of a field.
func Hash[T ~string | ~[]byte](text T) uint64 {
	hash := uint64(14695981039346656037)
	for i := range len(text) {
		hash = (hash ^ uint64(text[i])) * 1099511628211
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

// Serves reports whether the server applied the selector to the list, which then contains no objects of
// other shards. It returns an error if the server applied another selector.
func (r *Range) Serves(list metav1.ListInterface) (bool, error) {
	applied, served := applied(list)
	if r != nil && served && applied != r.selector {
		return false, fmt.Errorf("the server applied the shard selector %q, and not %q", applied, r.selector)
	}
	return r == nil || served, nil
}

// applied returns the selector that a server applied to a list.
func applied(list metav1.ListInterface) (selector string, served bool) {
	if untyped, ok := list.(*unstructured.UnstructuredList); ok {
		info, served, _ := unstructured.NestedMap(untyped.Object, "metadata", "shardInfo")
		selector, _ = info["selector"].(string)
		return selector, served
	}
	if sharded, ok := list.(metav1.ShardedListInterface); ok && sharded.GetShardInfo() != nil {
		return sharded.GetShardInfo().Selector, true
	}
	return "", false
}
