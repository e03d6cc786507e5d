// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"sync/atomic"
	"unsafe"
)

const (
	// leafLen ids a leaf: see leafBits.
	leafLen  = 1 << leafBits
	leafMask = leafLen - 1
)

// leaf is a run of up to leafLen ids of a posting. Like a record it is changed
// in place, in the same order: old, then gen, then the rest. The ids follow
// the leaf in memory.
type leaf struct {
	gen atomic.Uint64
	// old leads to what the last changes have overwritten, as far as somebody
	// may need it.
	old     atomic.Pointer[leafOld]
	n, room uint32
}

// leafOld says what a leaf was from one generation up to another.
//
// A change of the draft, or of a batch that is not yet settled, is noted as
// small as can be: n members, and this id at pos. All notes of one batch taken
// together, from the newest to the oldest, turn the leaf back. Where there are
// many, and for pins that outlive the batch, all members are copied to full.
type leafOld struct {
	from, upTo uint64
	prev       atomic.Pointer[leafOld]
	full       *[leafLen]uint32
	n, pos, id uint32
	// notes is the number of notes of the batch up to this one.
	notes uint32
}

// ids returns the room for the ids, used or not.
func (l *leaf) ids() []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Add(unsafe.Pointer(l), unsafe.Sizeof(leaf{}))), l.room)
}

// size is read for who needs their number only.
func (l *leaf) size(gen uint64) (n uint32, unchanged bool) {
	n = atomic.LoadUint32(&l.n)
	return n, l.gen.Load() <= gen
}

// read copies the ids that the leaf has now to buf. unchanged tells that they
// are those of generation gen; if not, the caller has no use for them but in
// before.
func (l *leaf) read(gen uint64, buf *[leafLen]uint32) (n uint32, unchanged bool) {
	n = atomic.LoadUint32(&l.n)
	for i, ids := 0, l.ids()[:n]; i < len(ids); i++ {
		buf[i&leafMask] = atomic.LoadUint32(&ids[i])
	}
	return n, l.gen.Load() <= gen
}

// before returns the ids that the leaf had at a generation at which the caller
// holds a pin, after read. Every place that was changed since is overwritten
// from the notes, as the note of a change comes before the change.
func (l *leaf) before(gen uint64, buf *[leafLen]uint32) []uint32 {
	for o := l.old.Load(); o != nil; o = o.prev.Load() {
		switch {
		case o.from > gen:
		case o.full != nil:
			return o.full[:o.n]
		default:
			buf[o.pos] = o.id
			if o.notes == 1 {
				return buf[:o.n]
			}
		}
	}
	return nil
}

// set stores an id, or the number of members, which readers may look at.
func (l *leaf) set(pos, id uint32)    { atomic.StoreUint32(&l.ids()[pos], id) }
func (l *leaf) setLen(members uint32) { atomic.StoreUint32(&l.n, members) }

// bare tells that a leaf is empty, and was so for all who may look.
func (l *leaf) bare() bool { return l == nil || l.n == 0 && l.old.Load() == nil }
