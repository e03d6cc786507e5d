// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

// stagingQueue is a queue that takes a whole state in parts: each goes through stage as it arrives, and what the parts joined
// make through replaceStaged, or nowhere.
type stagingQueue interface {
	stage(part []any) (*replacement, error)
	replaceStaged(listed *replacement, resourceVersion string) error
	keyOf(obj any) (string, error)
	core() *recordQueue
}

var (
	_ stagingQueue = (*RealFIFO)(nil)
	_ stagingQueue = (*coalescedFIFO)(nil)
)

// replaceStaged queues a list that went through stage as one record. The queue owns it from here on.
func (q *recordQueue) replaceStaged(listed *replacement, version string) error {
	q.transform.replaced(listed.kept)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.appendLocked(record{typ: ReplacedAll, version: version, list: listed})
	q.populateInitialLocked(q.waiting.len())
	return nil
}

// replaceStaged is Replace for a list that went through stage.
func (f *RealFIFO) replaceStaged(listed *replacement, version string) error {
	if f.atomic {
		return f.recordQueue.replaceStaged(listed, version)
	}
	f.transform.replaced(listed.kept)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.appendLocked(f.expandLocked(listed)...)
	f.populateInitialLocked(f.waiting.len())
	return nil
}

// join adds a part, which the caller gives up, at the end.
func (r *replacement) join(part *replacement) {
	r.keys = append(r.keys, part.keys...)
	r.versions = append(r.versions, part.versions...)
	r.objects = append(r.objects, part.objects...)
	r.kept = append(r.kept, part.kept...)
}

// put sets the i-th object of part in the place of an earlier one of the same key.
func (r *replacement) put(place int, part *replacement, i int) {
	r.keys[place], r.versions[place], r.objects[place] = part.keys[i], part.versions[i], part.objects[i]
}

// compact leaves out the places without an object.
func (r *replacement) compact() {
	n := 0
	for i, obj := range r.objects {
		if obj != nil {
			r.put(n, r, i)
			n++
		}
	}
	clear(r.objects[n:])
	r.keys, r.versions, r.objects = r.keys[:n], r.versions[:n], r.objects[:n]
}

// keepRest leaves those of kept out that are listed: another state of theirs could be transformed.
func (r *replacement) keepRest() {
	if len(r.kept) == 0 {
		return
	}
	listed := sets.New(r.keys...)
	r.kept = slices.DeleteFunc(r.kept, listed.Has)
}
