// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interleave

package table

// configs are the configurations, those of one matter together. Under the build tag leaves have up
// to 4 members, chunks 2 records, and groups of the hash tables 2 entries. Keys and values that
// differ in their case have one hash.
var configs = []config{
	// One record.
	{name: "update", setup: "a=v", writes: "a=v; a=v",
		readers: [][]call{{ask(get("a"), get("a"))}}},
	{name: "update of a second candidate", setup: "a=v A=v", writes: "a=v A=v; A=v",
		readers: [][]call{{ask(get("A"), get("a"))}}},
	{name: "draft of an object", setup: "a=v", writes: "a=w a=v",
		readers: [][]call{{ask(get("a"))}, {ask(byIndex("v"), count("w"))}}, more: 1},
	{name: "first object", writes: "a=v", readers: [][]call{{ask(get("a"), list())}}},
	{name: "key that is gone and comes again", setup: "a=v", writes: "-a; a=v",
		readers: [][]call{{ask(get("a"), get("a"))}}},
	{name: "record and slot for another key", setup: "a=v b=w", writes: "-a; A=v",
		readers: [][]call{{ask(get("a"))}, {ask(get("A"))}}, more: 1},
	{name: "record and slot for another key, listed", setup: "a=v b=w", writes: "-a; A=v",
		readers: [][]call{{ask(listKeys(), list())}}},

	// Hash tables.
	{name: "keys that grow", setup: "a=v", writes: "b=v; c=v; d=v",
		readers: [][]call{{ask(get("a"), get("c"))}}},
	{name: "group that overflows", setup: "a=v A=v", writes: "B=v b=v; -a; c=v",
		readers: [][]call{{ask(get("A"))}, {ask(get("b"))}}},
	{name: "values that grow", setup: "a=v", writes: "b=V; c=w; d=x",
		readers: [][]call{{ask(byIndex("v"), count("w"))}}},

	// Postings.
	{name: "first leaf grows", setup: "a=v", writes: "b=v; c=v; d=v",
		readers: [][]call{{ask(byIndex("v"))}, {ask(count("v"))}}},
	{name: "first leaf shrinks", setup: "a=v b=v c=v", writes: "-c; -b",
		readers: [][]call{{ask(indexKeys("v"))}, {ask(byIndex("v"))}}, more: 1},
	{name: "last member moves within a leaf", setup: "a=v b=v c=v", writes: "-a; d=v",
		readers: [][]call{{ask(byIndex("v"), count("v"))}}},
	{name: "last member moves to the first leaf", setup: "a=v b=v c=v d=v e=v", writes: "-a",
		readers: [][]call{{ask(byIndex("v"), indexKeys("v"))}}},
	{name: "last member moves and comes again", setup: "a=v b=v c=v d=v e=v", writes: "-a; a=v",
		readers: [][]call{{ask(byIndex("v"))}, {ask(count("v"))}}, more: 1},
	{name: "second leaf comes and goes", setup: "a=v b=v c=v d=v", writes: "e=v; -e",
		readers: [][]call{{ask(byIndex("v"), count("v"))}}},
	{name: "third leaf", setup: "a=v b=v c=v d=v e=v f=v g=v h=v", writes: "A=v; -a; B=v",
		readers: [][]call{{ask(byIndex("v"))}}},
	{name: "leaf with many notes", setup: "a=v b=v c=v d=v", writes: "-a -b -c; a=v b=v",
		readers: [][]call{{ask(byIndex("v"))}, {snapshot(byIndex("v"), count("v"))}}},
	{name: "posting is dropped", setup: "a=v b=w", writes: "-a; c=v",
		readers: [][]call{{ask(byIndex("v"), values())}}},
	{name: "posting for another value", setup: "a=v b=w", writes: "a=V; a=x",
		readers: [][]call{{ask(byIndex("v"), byIndex("V"))}, {ask(byIndex("x"), values())}}},
	{name: "object moves between postings", setup: "a=v b=w", writes: "a=w; a=v",
		readers: [][]call{{snapshot(byIndex("v"), byIndex("w"))}, {ask(byIndex("w"))}}},
	{name: "object with several values", setup: "a=vw b=v", writes: "a=wx; a=v",
		readers: [][]call{{snapshot(byIndex("v"), byIndex("w"), byIndex("x"))}}},

	// Bodies.
	{name: "replace", setup: "a=v b=v", writes: "replace a=v c=w",
		readers: [][]call{{ask(get("a"), list())}, {ask(byIndex("v"))}}, more: 1},
	{name: "replace with a snapshot", setup: "a=v b=v",
		writes: "a=w; replace b=v; b=w", hold: []int{1},
		readers: [][]call{{snapshot(list(), byIndex("v"))}, {askFirst(byIndex("v"), get("b"))}}},
	{name: "install", setup: "a=v b=v", writes: "install a=v b=w c=v; a=w",
		readers: [][]call{{snapshot(get("a"), byIndex("v"))}}},
	{name: "body that shrinks", setup: "a=v b=v c=v d=v e=v f=v g=v h=v A=v; -a -b -c -d -e -f",
		writes:  "-g; A=w",
		readers: [][]call{{ask(byIndex("v"), get("A"))}, {snapshot(list(), length())}}},
	{name: "body that shrinks, held", hold: []int{1, 2},
		setup:   "a=v b=v c=v d=v e=v f=v g=v h=v A=v; -a -b -c -d -e -f",
		writes:  "-g; A=w",
		readers: [][]call{{askFirst(list()), closeHeld(0)}, {closeHeld(1)}}},
	{name: "index that is added", setup: "a=v b=w", writes: "late; b=v",
		readers: [][]call{{ask(byIndexOf("late", "v"), byIndexOf("late", "v"))},
			{snapshot(byIndexOf("late", "v"), byIndexOf("late", "w"), byIndex("v"))}}},

	{name: "index that a snapshot has or has not", setup: "a=v", writes: "late",
		readers: [][]call{{snapshot(byIndexOf("late", "v"), byIndexOf("late", "v"))}}},

	// Pins.
	{name: "snapshot comes and goes", setup: "a=v", writes: "a=w; a=v",
		readers: [][]call{{snapshot(get("a"), byIndex("v"), version())}}},
	{name: "two snapshots", setup: "a=v", writes: "a=w; -a",
		readers: [][]call{{snapshot(get("a"))}, {snapshot(byIndex("v"))}}},
	{name: "more pins than are spared", setup: "a=v; a=v", writes: "a=v; a=v", hold: []int{1},
		readers: [][]call{{snapshot(get("a")), snapshot(get("a"))}, {ask(list())}}},
	{name: "snapshot stays open", setup: "a=v; a=w", writes: "a=v; b=v; -a", hold: []int{1},
		readers: [][]call{{keep(get("a")), closeHeld(0)}}},
	{name: "two snapshots, one stays open", setup: "a=v", writes: "a=w; a=v",
		readers: [][]call{{keep(get("a"))}, {snapshot(get("a"))}}},
	{name: "two snapshots and a free pin", setup: "a=v", pins: 1, writes: "a=w; a=v",
		readers: [][]call{{keep(get("a"))}, {snapshot(get("a"))}}},
	{name: "free pin that is taken off the list", setup: "a=v", pins: 2, writes: "a=w; a=v",
		readers: [][]call{{keep(get("a")), keep(get("a")), closeHeld(0)}}},
	{name: "pin that comes before one that is counted", setup: "a=v", hold: []int{1},
		writes:  "a=w; a=v",
		readers: [][]call{{keep(get("a"))}}},
	{name: "oldest snapshot behind free pins", setup: "a=v", pins: 3, writes: "a=w",
		readers: [][]call{{keep(get("a")), keep(get("a")), oldest}}},
	{name: "pin that arrives while others tidy up", setup: "a=v", hold: []int{1}, writes: "a=w",
		readers: [][]call{{snapshot(get("a"))}, {closeHeld(0)}}},
	{name: "oldest snapshot", setup: "a=v", pins: 2, writes: "a=w; a=v",
		readers: [][]call{{oldest, snapshot(get("a")), oldest}}},
	{name: "held snapshots are closed", setup: "a=v; a=w; b=v", hold: []int{1, 2, 3},
		writes:  "a=v; -b",
		readers: [][]call{{closeHeld(0), closeHeld(2)}, {askFirst(get("a")), closeHeld(1)}}},
	{name: "held snapshots are closed, newest first", setup: "a=v; a=w; a=v", hold: []int{1, 2, 3},
		writes:  "-a",
		readers: [][]call{{closeHeld(2), closeHeld(0)}, {closeHeld(1)}}},
	{name: "held snapshots are closed at once", setup: "a=v; a=w; b=v", hold: []int{1, 2},
		readers: [][]call{{closeHeld(0)}, {closeHeld(1)}}, more: 1},
	{name: "snapshot is closed while it is read", setup: "a=v b=v", hold: []int{1}, writes: "-a",
		readers: [][]call{{askFirst(get("a"), list())}, {closeHeld(0)}}},
	{name: "pins without writes", setup: "a=v; a=w", hold: []int{1},
		readers: [][]call{{snapshot(get("a"))}, {closeHeld(0)}}, writes: "b=v"},
	{name: "loop", setup: "a=v b=v", writes: "-a; c=v",
		readers: [][]call{{loop("", always)}, {loop("v", always)}}},
	{name: "loop that is left", setup: "a=v b=v", writes: "a=w; -b",
		readers: [][]call{{loop("", byBreak), ask(get("a"))}, {loop("v", byPanic)}}},
	{name: "reader that exits in a loop", setup: "a=v", writes: "a=w; a=v",
		readers: [][]call{{loop("v", byExit)}, {loop("", byExit)}}},

	// Versions.
	{name: "ring of numbers", setup: "a=v", writes: "b=v; c=v; d=v; e=v",
		readers: [][]call{{ask(length(), version())}}},
	{name: "ring of versions", setup: "a=v", writes: "b=v; -b; b=v; -b",
		readers: [][]call{{ask(version()), snapshot(length(), version())}}},
	{name: "version of a snapshot", setup: "a=v", writes: "b=v; -b",
		readers: [][]call{{snapshot(version(), length(), list())}, {ask(version(), get("b"))}}},

	// Drafts and other calls.
	{name: "draft beside a writer", setup: "a=v b=v", writes: "a=w; -b",
		readers: [][]call{{draftOf("a", "b")}}},
	{name: "other calls", setup: "a=v b=w", writes: "-a; A=v; b=v",
		readers: [][]call{{union("v", "w"), spelled("a"), spelled("A")}}},

	// Other writers.
	{name: "tidying reader is in the way", setup: "a=v; a=v", hold: []int{1},
		writes:  "try a=v; try -a",
		readers: [][]call{{closeHeld(0)}, {ask(get("a"))}}},
}
