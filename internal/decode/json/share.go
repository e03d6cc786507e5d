// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package json

import (
	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/decode/share"
)

// sharedNode decodes a list, a map, or a struct behind a pointer. If the table has a part with the
// same bytes, the value of the part is used.
type sharedNode struct {
	node
	site share.Site
}

func (s *sharedNode) json(d *decoder, p mem.Place) bool {
	b, sought := d.Part()
	if !sought {
		return s.node.json(d, p)
	}
	known, x := d.Find(&s.site, d.Data[b.Begin:b.End])
	if known != nil {
		if d.Due() {
			known = d.Checked(known, d.Names, func(raw []byte, p mem.Place) bool { return s.decodeAgain(d.Depth, raw, p) })
		}
		known.Put(p)
		return d.Leap(b)
	}
	if !s.node.json(d, p) {
		return false
	}
	if d.Pos == int(b.End) && d.Enters(x) {
		d.Add(x, share.ValueAt(s.site.Type, p), 0)
	}
	return true
}

// decodeAgain decodes the bytes of a part without sharing, to check the value in the table.
func (s *sharedNode) decodeAgain(depth int, raw []byte, p mem.Place) bool {
	r := newDecoder(raw, share.Options{})
	r.Depth = depth
	return r.release(s.node.json(r, p)) == nil
}
