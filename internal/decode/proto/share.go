// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/decode/scan"
	"github.com/kinformer/cache/internal/decode/share"
)

// sharedField reads a field whose value objects share if it was written alike before: a list, a
// map, or a message behind a pointer.
type sharedField struct {
	wireNode
	site share.Site
	tag  uint64
	many bool // it consists of all fields of this tag that follow one another
}

func (s *sharedField) wire(d *reader, p mem.Place, end int) bool {
	if !d.Shares() {
		return s.wireNode.wire(d, p, end)
	}
	begin, to := d.Pos, s.end(d, end)
	if !d.Seeks(to - begin) {
		return s.wireNode.wire(d, p, end)
	}
	known, x := d.Find(&s.site, d.Data[begin:to])
	if known != nil {
		return s.take(d, known, p, to)
	}
	reached := d.reached
	d.reached = d.Depth
	if !s.wireNode.wire(d, p, end) {
		return false
	}
	if d.Pos == to && d.Enters(x) {
		d.Add(x, share.ValueAt(s.site.Type, p), d.reached-d.Depth)
	}
	d.reached = max(d.reached, reached)
	return true
}

// take puts a part that was found to p.
func (s *sharedField) take(d *reader, known *share.Part, p mem.Place, to int) bool {
	if d.Depth+known.Deep > scan.Deepest {
		return d.GiveUp("too deep")
	}
	if d.Due() {
		known = d.Checked(known, s.site.In, func(raw []byte, p mem.Place) bool { return s.anew(d.Depth, raw, p) })
	}
	d.reached = max(d.reached, d.Depth+known.Deep)
	known.Put(p)
	d.Pos = to
	return true
}

// anew decodes a part that was found once more, for a check.
func (s *sharedField) anew(depth int, raw []byte, p mem.Place) bool {
	r := newReader(raw, share.Options{})
	r.Depth = depth
	return r.release(s.wireNode.wire(r, p, len(raw))) == nil
}

// end returns where the value ends; before its begin if it cannot be read.
func (s *sharedField) end(d *reader, end int) (to int) {
	begin, ok := d.Pos, false
	if s.many {
		_, to, ok = d.Run(s.tag, end)
	} else {
		to, ok = d.Length(end)
	}
	if d.Pos = begin; !ok {
		return -1
	}
	return to
}
