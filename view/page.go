// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Entry is an object with its key in the store.
type Entry[T any] struct {
	Key    string
	Object T
}

// ByKey orders entries by key, for Page.
func ByKey[T any](a, b Entry[T]) int { return strings.Compare(a.Key, b.Key) }

// Page returns at most n of the objects that q selects, in the order of compare: the first ones after
// the entry after, which is nil for the first page. compare is as for slices.SortFunc; entries that are
// equal in it are ordered by key. next is the argument for the following page: the last entry of this
// page, or nil if no object follows.
//
//	page, next, err := view.Page(snapshot, q, view.ByKey[*corev1.Pod], nil, 100)
//
// A page may be taken of a later snapshot. An object that exists throughout, and keeps its place in
// the order, is on exactly one page, even if the entry after no longer exists. An order that reads
// only keys needs only a key, say from a request: &Entry[T]{Key: key}. Other orders need the object
// as it was at the end of the page before.
//
// All objects that q selects are compared with the end of the page. The memory is that of the page,
// and of the conditions of q. The errors are those of Select, and one for an n below 1.
func Page[T comparable](s *Snapshot, q Query, compare func(a, b Entry[T]) int, after *Entry[T], n int) (page []Entry[T], next *Entry[T], err error) {
	if n < 1 {
		return nil, nil, fmt.Errorf("a page of %d objects: the size must be at least 1", n)
	}
	p, err := newPlan(s, q)
	if err != nil {
		return nil, nil, err
	}
	first, left := firstEntries[T]{compare: compare, n: min(n, p.size)}, 0
	for key, obj := range typed[T](p.objects) {
		e := Entry[T]{key, obj}
		if after == nil || first.order(*after, e) < 0 {
			first.add(e)
			left++
		}
	}
	if err := s.of.Err(); err != nil { // it may have been closed meanwhile
		return nil, nil, err
	}
	page = first.sorted()
	if left > len(page) {
		last := page[len(page)-1]
		next = &last
	}
	return page, next, nil
}

// firstEntries collects the first n of the added entries: a heap whose root is the last of them.
type firstEntries[T any] struct {
	compare func(a, b Entry[T]) int
	n       int
	heap    []Entry[T]
}

func (f *firstEntries[T]) order(a, b Entry[T]) int { return cmp.Or(f.compare(a, b), ByKey(a, b)) }

func (f *firstEntries[T]) add(e Entry[T]) {
	if len(f.heap) == f.n {
		if f.order(e, f.heap[0]) < 0 {
			f.heap[0] = e
			f.down(0)
		}
		return
	}
	if f.heap == nil {
		f.heap = make([]Entry[T], 0, f.n)
	}
	if f.heap = append(f.heap, e); len(f.heap) == f.n {
		for i := f.n/2 - 1; i >= 0; i-- {
			f.down(i)
		}
	}
}

// down moves the entry at i down until its children come before it.
func (f *firstEntries[T]) down(i int) {
	for {
		last := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(f.heap); child++ {
			if f.order(f.heap[last], f.heap[child]) < 0 {
				last = child
			}
		}
		if last == i {
			return
		}
		f.heap[i], f.heap[last] = f.heap[last], f.heap[i]
		i = last
	}
}

// sorted returns the entries in order, in the memory of the heap.
func (f *firstEntries[T]) sorted() []Entry[T] {
	slices.SortFunc(f.heap, f.order)
	return f.heap
}
