// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package json

import (
	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/decode/share"
)

// sharedNode reads a value that objects share if it was written alike before: a list, a map, or a
// struct behind a pointer.
type sharedNode struct {
	node
	site share.Site
}

func (s *sharedNode) json(d *reader, p mem.Place) bool {
	b, sought := d.Part()
	if !sought {
		return s.node.json(d, p)
	}
	known, x := d.Find(&s.site, d.Data[b.Begin:b.End])
	if known != nil {
		if d.Due() {
			known = d.Checked(known, d.Names(), func(raw []byte, p mem.Place) bool { return s.anew(d.Depth, raw, p) })
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

// anew decodes a part that was found once more, for a check.
func (s *sharedNode) anew(depth int, raw []byte, p mem.Place) bool {
	r := newReader(raw, share.Options{})
	r.Depth = depth
	return r.release(s.node.json(r, p)) == nil
}
