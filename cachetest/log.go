// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"slices"
	"sort"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// entryKind says what a log entry makes a stream do.
type entryKind int

const (
	// change is a write: streams deliver it, lists are rebuilt from it, and
	// watches started later replay it.
	change entryKind = iota
	// injected is a scripted event: only streams that were open when it was
	// appended deliver it.
	injected
	// bookmark tells the open streams that asked for bookmarks how far the
	// counter has come.
	bookmark
	// cut ends the open streams, after everything before it.
	cut
)

// entry is one position of the log. Objects are never changed after they were
// put in.
type entry struct {
	kind entryKind
	// seq is the position in the log; each entry's is one greater than the
	// one's before.
	seq uint64
	// rv is the source's counter once the entry was appended. It does not
	// decrease along the log, and no two changes share one.
	rv uint64

	// event is what a change or an injected entry delivers.
	event watch.Event
	// key and prev belong to changes, and to what is sent again of them: prev is
	// the object that the change replaced or removed, nil when there was none.
	key  string
	prev runtime.Object
	// lost says of a change that no stream delivers it.
	lost bool
}

// isWrite reports whether the entry is a write, or one that is sent again.
func (e *entry) isWrite() bool { return e.key != "" }

// eventLog holds the entries in order. It has no lock and no goroutine: Source
// guards it.
//
// Invariants: entries[i].seq == entries[0].seq+i; the rv's do not decrease;
// every change after compacted is in entries.
type eventLog struct {
	entries []entry
	// next is the seq of the entry appended next.
	next uint64
	// compacted is the oldest resourceVersion that a reader can start from.
	// Older entries may still be there, for the streams that are open.
	compacted uint64
}

// append puts e at the end.
func (l *eventLog) append(e entry) {
	e.seq = l.next
	l.next++
	l.entries = append(l.entries, e)
}

// first is the seq of the oldest entry held, next when there is none.
func (l *eventLog) first() uint64 {
	return l.next - uint64(len(l.entries))
}

// at returns the entry at seq, which must lie in [first, next).
func (l *eventLog) at(seq uint64) *entry {
	return &l.entries[seq-l.first()]
}

// after returns the position where a reader starts who knows everything up to
// and with rv.
func (l *eventLog) after(rv uint64) uint64 {
	return l.first() + uint64(l.indexAfter(rv))
}

func (l *eventLog) indexAfter(rv uint64) int {
	return sort.Search(len(l.entries), func(i int) bool { return l.entries[i].rv > rv })
}

// replayable reports whether everything after rv is still held.
func (l *eventLog) replayable(rv uint64) bool { return rv >= l.compacted }

// compact refuses readers from before rv, and forgets the entries up to and
// with rv that lie before the position inUse. It leaves them where they are
// while they are the smaller half: moving the rest costs as much as it frees.
func (l *eventLog) compact(rv, inUse uint64) {
	l.compacted = max(l.compacted, rv)
	forget := min(l.after(l.compacted), inUse) - l.first()
	if 2*forget >= uint64(len(l.entries)) {
		l.entries = append([]entry(nil), l.entries[forget:]...)
	}
}

// rewind takes the entries after rv out, and returns them.
func (l *eventLog) rewind(rv uint64) []entry {
	keep := l.indexAfter(rv)
	undone := slices.Clone(l.entries[keep:])
	clear(l.entries[keep:])
	l.next = l.first() + uint64(keep)
	l.entries = l.entries[:keep]
	return undone
}

// undo returns what has to be put into the current state to get the state as
// of rv: for each key changed since, the object of then, nil for none. The
// caller has checked that rv is replayable.
func (l *eventLog) undo(rv uint64) map[string]runtime.Object {
	then := map[string]runtime.Object{}
	for i := len(l.entries) - 1; i >= 0 && l.entries[i].rv > rv; i-- {
		if e := &l.entries[i]; e.kind == change {
			then[e.key] = e.prev
		}
	}
	return then
}

// changeAt returns the change that was given rv, nil when there is none or it
// was compacted.
func (l *eventLog) changeAt(rv uint64) *entry {
	for i := l.indexAfter(rv - 1); i < len(l.entries) && l.entries[i].rv == rv; i++ {
		if l.entries[i].kind == change {
			return &l.entries[i]
		}
	}
	return nil
}
