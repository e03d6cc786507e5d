// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"slices"
	"sort"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// entryKind is the effect of a log entry on a stream.
type entryKind int

const (
	// change is a write: streams deliver it, lists are rebuilt from it, and later watches replay it.
	change entryKind = iota
	// injected is a scripted event: only streams that were open when it was appended deliver it.
	injected
	// bookmark sends the current counter to the open streams that requested bookmarks.
	bookmark
	// cut ends the open streams after all earlier entries.
	cut
)

// entry is one position of the log. Its objects are immutable.
type entry struct {
	kind entryKind
	// seq is the position in the log, which is contiguous.
	seq uint64
	// rv is the source's counter after the entry was appended. It does not decrease along the log, and
	// no two changes have the same.
	rv uint64

	// event is the event that a change or an injected entry delivers.
	event watch.Event
	// key and prev belong to changes and to resent ones: prev is the object that the change replaced or
	// removed, nil if there was none.
	key  string
	prev runtime.Object
	// lost marks a change that no stream delivers.
	lost bool
}

// isWrite reports whether the entry is a write, or a resent one.
func (e *entry) isWrite() bool { return e.key != "" }

// eventLog has the entries in order. It has no lock and no goroutine: Source guards it.
//
// Invariants: entries[i].seq == entries[0].seq+i; the rv's do not decrease; every change after
// compacted is in entries.
type eventLog struct {
	entries []entry
	// next is the seq of the next entry.
	next uint64
	// compacted is the oldest resourceVersion from which a reader can start. Older entries may be kept
	// for open streams.
	compacted uint64
}

// append puts e at the end.
func (l *eventLog) append(e entry) {
	e.seq = l.next
	l.next++
	l.entries = append(l.entries, e)
}

// first returns the seq of the oldest entry, or next if there is none.
func (l *eventLog) first() uint64 {
	return l.next - uint64(len(l.entries))
}

// at returns the entry at seq, which must lie in [first, next).
func (l *eventLog) at(seq uint64) *entry {
	return &l.entries[seq-l.first()]
}

// after returns the position from which a reader continues that has everything up to and including rv.
func (l *eventLog) after(rv uint64) uint64 {
	return l.first() + uint64(l.indexAfter(rv))
}

func (l *eventLog) indexAfter(rv uint64) int {
	return sort.Search(len(l.entries), func(i int) bool { return l.entries[i].rv > rv })
}

// replayable reports whether all entries after rv are kept.
func (l *eventLog) replayable(rv uint64) bool { return rv >= l.compacted }

// compact refuses readers from before rv, and removes the entries up to and including rv that lie
// before the position inUse. It keeps them while they are the smaller half, so that moving the rest
// costs no more than it frees.
func (l *eventLog) compact(rv, inUse uint64) {
	l.compacted = max(l.compacted, rv)
	forget := min(l.after(l.compacted), inUse) - l.first()
	if 2*forget >= uint64(len(l.entries)) {
		l.entries = append([]entry(nil), l.entries[forget:]...)
	}
}

// rewind removes and returns the entries after rv.
func (l *eventLog) rewind(rv uint64) []entry {
	keep := l.indexAfter(rv)
	undone := slices.Clone(l.entries[keep:])
	clear(l.entries[keep:])
	l.next = l.first() + uint64(keep)
	l.entries = l.entries[:keep]
	return undone
}

// undo returns the changes to the current state that restore the state as of rv: for each key that was
// changed since, the object at rv, or nil. rv must be replayable.
func (l *eventLog) undo(rv uint64) map[string]runtime.Object {
	then := map[string]runtime.Object{}
	for i := len(l.entries) - 1; i >= 0 && l.entries[i].rv > rv; i-- {
		if e := &l.entries[i]; e.kind == change {
			then[e.key] = e.prev
		}
	}
	return then
}

// changeAt returns the change with version rv, or nil if there is none or it was compacted.
func (l *eventLog) changeAt(rv uint64) *entry {
	for i := l.indexAfter(rv - 1); i < len(l.entries) && l.entries[i].rv == rv; i++ {
		if l.entries[i].kind == change {
			return &l.entries[i]
		}
	}
	return nil
}
