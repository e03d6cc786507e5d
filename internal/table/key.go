// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"unsafe"
)

// Key returns the table's own string of a key, for callers that have its bytes and want to share
// the memory. It may miss a key that is being changed; the caller then uses its own string. text is
// compared and not kept.
func (t *Table) Key(text []byte) (key string, ok bool) {
	c := t.core.Load()
	gen := c.published.Load()
	wanted := unsafe.String(unsafe.SliceData(text), len(text))
	for s := c.keys.search(c.hash(wanted)); ; {
		r := s.next()
		if r == nil {
			return "", false
		}
		if v := r.look(); v.gen <= gen && !v.none() && v.key() == wanted {
			return v.key(), true
		}
	}
}
