// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package eventlog implements an append-only log in memory with any number of cursors, each of
// which reads at its own pace. An entry is stored once, however many cursors there are, and is
// garbage as soon as the last cursor has left its segment.
//
//	             slots            slots            slots
//	             ▲                ▲                ▲
//	(garbage)    segment ──next──▶ segment ──next──▶ segment ◀── Log.tail
//	                 ▲                                ▲
//	              cursor                         cursor, cursor
//
// A write fills slots of the tail, publishes their number, and links a new tail when the tail is
// full. A read returns the published slots of the cursor's segment, then continues in the
// successor. Segments refer only to their successors, so the segments behind all cursors are
// unreachable, and their memory is reused. When the last cursor leaves, the tail is dropped too.
//
// Invariants:
//
//   - slots[:filled] of a segment never change while a cursor may reach them;
//   - a segment has a successor only if it is full;
//   - a segment is reused when no cursor can reach it any more. Its users are the cursors in it,
//     the previous segment, and the log if it is the tail. An abandoned cursor remains a user for
//     ever, and leaves the segment to the garbage collector;
//   - the log has a tail exactly while it has cursors.
package eventlog

import (
	"sync"
	"sync/atomic"
)

type segment[T any] struct {
	// slots is a separate allocation, so that a slice returned by Peek does not keep the following
	// segments alive.
	slots  *[SegmentSize]T
	filled atomic.Int32 // the number of published slots
	next   atomic.Pointer[segment[T]]
	users  atomic.Int32
	spare  *sync.Pool // nil if segments are not reused
}

// release removes one user. A segment without users is cleared and becomes spare, and its successor
// loses one user.
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

// Log is the writer's end of a log. Its methods, and those of a Cursor that have a log parameter,
// must be called by one goroutine at a time. The zero value is an empty log that reuses no memory.
type Log[T any] struct {
	// Spare, if not nil, holds segments for reuse. Logs of the same T may share it.
	Spare *sync.Pool

	tail    *segment[T] // nil if there are no cursors
	cursors int
}

// Append appends a copy of entries, for the cursors that are in the log. Without cursors it does
// nothing, because no cursor could ever read them.
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

// extend appends an empty segment and makes it the tail.
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

// Cursors returns the number of cursors in the log.
func (l *Log[T]) Cursors() int { return l.cursors }

// Cursor is a position in a log. The zero value is in no log and reads nothing. Peek and Skip may
// be called beside the writer, by one goroutine at a time.
type Cursor[T any] struct {
	segment  *segment[T]
	position int
}

// Enter puts a cursor, which must be in no log, behind the last entry.
func (c *Cursor[T]) Enter(l *Log[T]) {
	if l.tail == nil {
		l.extend()
	}
	l.cursors++
	l.tail.users.Add(1)
	c.segment, c.position = l.tail, int(l.tail.filled.Load())
}

// Leave removes the cursor from its log. The slice that Peek returned last must no longer be used.
func (c *Cursor[T]) Leave(l *Log[T]) {
	left := c.segment
	c.Abandon(l)
	left.release()
}

// Abandon removes the cursor from its log, although its reader may still use the slice that Peek
// returned. The slice remains unchanged.
func (c *Cursor[T]) Abandon(l *Log[T]) {
	*c = Cursor[T]{}
	if l.cursors--; l.cursors == 0 {
		tail := l.tail
		l.tail = nil
		tail.release()
	}
}

// InLog reports whether the cursor is in a log.
func (c *Cursor[T]) InLog() bool { return c.segment != nil }

// Peek returns the next entries, up to the end of a segment, or none if the cursor has read all.
// They must not be changed, nor used after the next Peek. The slice keeps no other entries alive
// than those of its segment.
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

// advance is called when a cursor has found no entry in its segment. If there is no successor, it
// returns false. Otherwise the segment is full: advance moves to the successor, unless the segment
// was filled since and has entries left to read.
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

// Skip moves the cursor forward by n entries, at most the number that Peek returned last.
func (c *Cursor[T]) Skip(n int) { c.position += n }
