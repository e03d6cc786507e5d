// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/decode/scan"
	"github.com/kinformer/cache/internal/decode/share"
)

// sharedField decodes a field that is a list, a map, or a message behind a pointer. If the table
// has a part with the same bytes, the value of the part is used.
type sharedField struct {
	wireNode
	site share.Site
	tag  uint64
	many bool // the value takes all consecutive fields of the tag

	partial *fields // those of its messages, if only some are kept; see projectAll
}

func (s *sharedField) wire(d *decoder, p mem.Place, end int) bool {
	if !d.Shares() {
		return s.wireNode.wire(d, p, end)
	}
	begin, to := d.Pos, s.end(d, end)
	if !d.Seeks(to - begin) {
		return s.wireNode.wire(d, p, end)
	}
	raw := d.Data[begin:to]
	if s.partial != nil {
		at := len(d.kept)
		defer func() { d.kept = d.kept[:at] }()
		if !s.partial.projectAll(d, to) {
			return false
		}
		d.Pos, raw = begin, d.kept[at:]
	}
	known, x := d.Find(&s.site, raw)
	if known != nil {
		d.Skipped += to - begin - len(raw)
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

// take stores the value of a part that was found at p, and moves to its end.
func (s *sharedField) take(d *decoder, known *share.Part, p mem.Place, to int) bool {
	if d.Depth+known.Deep > scan.Deepest {
		return d.GiveUp("too deep")
	}
	if d.Due() {
		known = d.Checked(known, s.in, func(raw []byte, p mem.Place) bool { return s.decodeAgain(d.Depth, raw, p) })
	}
	d.reached = max(d.reached, d.Depth+known.Deep)
	known.Put(p)
	d.Pos = to
	return true
}

// in returns the name of the field.
func (s *sharedField) in() string { return s.site.In }

// decodeAgain decodes the bytes of a part without sharing, to check the value in the table.
func (s *sharedField) decodeAgain(depth int, raw []byte, p mem.Place) bool {
	r := newDecoder(raw, share.Options{})
	r.Depth = depth
	return r.release(s.wireNode.wire(r, p, len(raw))) == nil
}

// end returns the index of the end of the value, or -1 if the value is invalid. It does not move.
func (s *sharedField) end(d *decoder, end int) (to int) {
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
