// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"sync/atomic"
	"unsafe"
)

const (
	// leafLen is the number of ids in a full leaf: see leafBits.
	leafLen  = 1 << leafBits
	leafMask = leafLen - 1
)

// leaf is a run of up to leafLen ids of a posting. Like a record it is changed in place, in the
// same order: old, then gen, then the rest.
//
//	leaf{gen 7, old, n 3, room 6} [4 9 2 · · ·]
//
// The ids follow the leaf in memory.
type leaf struct {
	gen atomic.Uint64
	// old is the newest of the overwritten versions that readers may need.
	old     atomic.Pointer[leafOld]
	n, room uint32
}

// leafOld is the content of a leaf from one generation up to another.
//
// A change of the draft, or of a batch that is not yet settled, is noted in the smallest form: the
// leaf had n members, and this id at pos. All notes of one batch, applied from the newest to the
// oldest, restore the leaf. If there are many notes, or pins outlive the batch, all members are
// copied to full.
//
//	l.old ─▶ note 2 {n, pos, id} ─▶ note 1 {n, pos, id} ─▶ full copy of an earlier batch
type leafOld struct {
	from, upTo uint64
	prev       atomic.Pointer[leafOld]
	full       *[leafLen]uint32
	n, pos, id uint32
	// notes is the number of notes of the batch up to this one.
	notes uint32
}

// ids returns the memory for the ids, used or not. That is safe because newLeaf allocates each leaf
// together with room ids after it.
func (l *leaf) ids() []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Add(unsafe.Pointer(l), unsafe.Sizeof(leaf{}))), l.room)
}

// size is read for callers that need only the number of ids.
func (l *leaf) size(gen uint64) (n uint32, unchanged bool) {
	n = atomic.LoadUint32(&l.n)
	return n, l.gen.Load() <= gen
}

// read copies the current ids of the leaf to buf. unchanged reports whether they are those of
// generation gen; if not, the caller may only pass buf to before.
func (l *leaf) read(gen uint64, buf *[leafLen]uint32) (n uint32, unchanged bool) {
	n = atomic.LoadUint32(&l.n)
	for i, ids := 0, l.ids()[:n]; i < len(ids); i++ {
		buf[i&leafMask] = atomic.LoadUint32(&ids[i])
	}
	return n, l.gen.Load() <= gen
}

// before returns the ids that the leaf had at gen. The caller must hold a pin at gen and have
// called read. Every position changed since is restored from the notes, because the note of a
// change is stored before the change.
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

// set and setLen store an id and the number of members beside readers.
func (l *leaf) set(pos, id uint32)    { atomic.StoreUint32(&l.ids()[pos], id) }
func (l *leaf) setLen(members uint32) { atomic.StoreUint32(&l.n, members) }

// bare reports whether a leaf is empty in every visible state.
func (l *leaf) bare() bool { return l == nil || l.n == 0 && l.old.Load() == nil }
