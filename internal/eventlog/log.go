// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package eventlog is an append-only log in memory that many cursors read, each at its own pace. An
// entry is stored once, however many cursors there are, and is garbage as soon as the last of them
// has left its segment.
//
//	             slots            slots            slots
//	             ▲                ▲                ▲
//	(garbage)    segment ──next──▶ segment ──next──▶ segment ◀── Log.tail
//	                 ▲                                ▲
//	              cursor                         cursor, cursor
//
// Write: fill slots of the tail, publish their number, link a new tail when it is full. Read: what
// is published of the own segment, then its successor. Segments know only their successors, so
// nothing holds what all cursors have left behind: its memory is used again. When the last cursor
// leaves, the tail goes too.
//
// Invariants:
//
//   - slots[:filled] of a segment never change while any cursor may reach them;
//   - a segment has a successor only if it is full;
//   - a segment is used again when no cursor can come to it any more: its users are the cursors in
//     it, the segment before it, and the log if it is the tail. A cursor that was abandoned stays a
//     user for ever, and leaves the segment to the garbage collector;
//   - the log has a tail exactly while it has cursors.
package eventlog

import (
	"sync"
	"sync/atomic"
)

type segment[T any] struct {
	// slots are allocated apart, so that whoever holds what Read returned does not hold the
	// segments that follow.
	slots  *[SegmentSize]T
	filled atomic.Int32 // how many of slots are published
	next   atomic.Pointer[segment[T]]
	users  atomic.Int32
	spare  *sync.Pool // nil: not to be used again
}

// release takes one user away. Without users the segment is spare, empty, and its successor has one
// user less.
func (s *segment[T]) release() {
	for s != nil && s.users.Add(-1) == 0 && s.spare != nil {
		next := s.next.Load()
		clear(s.slots[:s.filled.Load()])
		s.filled.Store(0)
		s.next.Store(nil)
		s.spare.Put(s)
		s = next
	}
}

// Log is the writer's end. Its methods, and those of a Cursor that take the log, are called by one
// goroutine at a time. The zero value is an empty log that reuses no memory.
type Log[T any] struct {
	// Spare, if set, holds segments between their uses. Logs of the same T may share it.
	Spare *sync.Pool

	tail    *segment[T] // nil without cursors
	cursors int
}

// Append writes entries behind all others, for the cursors that are in the log. The log keeps a
// copy. Without cursors it does nothing: nobody could ever read them.
func (l *Log[T]) Append(entries []T) {
	if l.tail == nil {
		return
	}
	for len(entries) > 0 {
		used := int(l.tail.filled.Load())
		if used == SegmentSize {
			l.extend()
			used = 0
		}
		n := copy(l.tail.slots[used:], entries)
		l.tail.filled.Store(int32(used + n))
		entries = entries[n:]
	}
}

// extend makes an empty segment the tail.
func (l *Log[T]) extend() {
	full, fresh := l.tail, l.newSegment()
	l.tail = fresh
	fresh.users.Store(1)
	if full != nil {
		fresh.users.Store(2)
		full.next.Store(fresh)
		full.release()
	}
}

func (l *Log[T]) newSegment() *segment[T] {
	if l.Spare != nil {
		if spare, ok := l.Spare.Get().(*segment[T]); ok {
			return spare
		}
	}
	return &segment[T]{slots: new([SegmentSize]T), spare: l.Spare}
}

// Cursors returns how many cursors are in the log.
func (l *Log[T]) Cursors() int { return l.cursors }

// Cursor is a place in a log. The zero value is in no log: it reads nothing. Read methods may be
// called while the writer writes, by one goroutine at a time.
type Cursor[T any] struct {
	segment  *segment[T]
	position int
}

// Enter puts a cursor that is in no log behind the last entry.
func (c *Cursor[T]) Enter(l *Log[T]) {
	if l.tail == nil {
		l.extend()
	}
	l.cursors++
	l.tail.users.Add(1)
	c.segment, c.position = l.tail, int(l.tail.filled.Load())
}

// Leave takes the cursor out of the log. Its reader holds nothing that Peek returned.
func (c *Cursor[T]) Leave(l *Log[T]) {
	left := c.segment
	c.Abandon(l)
	left.release()
}

// Abandon takes the cursor out of the log while its reader may hold what Peek returned, which stays
// as it is.
func (c *Cursor[T]) Abandon(l *Log[T]) {
	*c = Cursor[T]{}
	if l.cursors--; l.cursors == 0 {
		tail := l.tail
		l.tail = nil
		tail.release()
	}
}

// InLog tells whether the cursor is in a log.
func (c *Cursor[T]) InLog() bool { return c.segment != nil }

// Peek returns the entries that are next, up to the end of a segment; none when the cursor has read
// all. They must not be changed, nor looked at after the next Peek. Whoever holds them keeps no
// other entries alive.
func (c *Cursor[T]) Peek() []T {
	for c.segment != nil {
		if filled := int(c.segment.filled.Load()); c.position < filled {
			return c.segment.slots[c.position:filled:filled]
		}
		if !c.advance() {
			return nil
		}
	}
	return nil
}

// advance is for a cursor that has found nothing more in its segment. It moves to the successor,
// unless the segment, which then is full, became so since: then there is something to be found. It
// returns false if there is no successor.
func (c *Cursor[T]) advance() bool {
	next := c.segment.next.Load()
	if next == nil {
		return false
	}
	if c.position == SegmentSize {
		next.users.Add(1)
		c.segment.release()
		c.segment, c.position = next, 0
	}
	return true
}

// Skip moves the cursor on by n entries, at most as many as Peek returned last.
func (c *Cursor[T]) Skip(n int) { c.position += n }
