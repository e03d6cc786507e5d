// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

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
