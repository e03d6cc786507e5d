// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package table is the engine of the store: an indexed set of objects with one
// writer at a time and readers that never wait.
//
//	t := table.New(map[string]table.IndexFunc{"node": byNode}, table.Options{})
//	t.Apply([]table.Op{{Key: "ns/a", Object: a}, {Key: "ns/b", Delete: true}}, nil)
//	obj, ok := t.Get("ns/a")
//	pods, err := t.ByIndex("node", "node-7")
//	s := t.Snapshot()
//	defer s.Close()
//
// # Guarantees
//
//  1. One state. Every call answers from one state, the one after some Apply,
//     Replace or AddIndexers. These are seen whole or not at all, by every call.
//  2. No going back. A goroutine that has seen a state, by any call, never sees
//     an older one. Get, Len, RV, Count and all others together are
//     linearizable.
//  3. No waiting. No read takes a lock. A read that runs into a concurrent
//     change is done again once, with a pin: then it finds what it looks for
//     whatever the writer does. Two loops may repeat, each when a state (for
//     Len and RV: three) was published in the few nanoseconds between two
//     loads: in Snapshot, and in Len and RV.
//  4. No waiting for readers. A write takes the writers' mutex and no other,
//     which no reader takes, and never looks whether a reader has finished. It
//     does bounded work for what pins have kept, and its work does not grow with
//     the number of open snapshots, nor of those that were open. Growing the hash table (by a
//     third) and shrinking the body (to a quarter) are O(n), paid for by as many
//     changes.
//  5. User code runs before the first change of a batch, or on a body that
//     nobody sees yet, under no lock but those named below. If it fails, panics
//     or exits its goroutine, the table is whole. An object whose IndexFunc fails
//     is stored, and is in that index under no value. Index functions run one at
//     a time, apart from those that readers call by Index.
//  6. Indexers returns a copy; AddIndexers builds aside.
//  7. A superseded version is kept only as long as a snapshot, a loop or a call
//     in progress can see it, and until the janitor has come: a goroutine, one a
//     table, that ends when it finds no more to do. Open snapshots and kept
//     versions are counted.
//
// # Structure
//
// Records and leaves are changed in place. Before a change, what it overwrites
// is noted, with the generation that wrote that; then comes the generation of
// the change, then the change. So a reader at an older generation can tell that
// it is too late, and finds what it is too late for.
//
//	Table ──▶ core: one body, from one Replace to the next
//	            published   newest generation that readers may see
//	            metas       (resourceVersion, number of objects) of the last ones
//	            keys        hash table: 7 tags, 7 records and where their keys
//	              │ key     are, in two cache lines
//	              ▼
//	            records     slab: chunks of 128, ids are reused
//	              record{key, object, gen 7, undo} ──▶ past{gen 3, object}
//	              ▲ id
//	            indexes     for each index
//	              values    hash table: value ──▶ posting
//	                posting ──▶ leaves of up to 64 ids of records
//	                  leaf{gen 7, ids, old} ──▶ old{3 to 7, ids}
//	            rows        record id ──▶ (posting, position) in each index: writer only
//	      ──▶ pins: who reads at which generation
//	      ──▶ limbo: what is noted and that pins need: writer only
//
// List walks records, ByIndex goes from ids in leaves to records, Get comes by
// keys. An update with the same index values touches one record and nothing
// else. The removal of a member from a posting of any size touches at most two
// leaves: the last member takes the place of the one that goes.
//
// Where the time goes is waiting for memory, and what can be waited for at once
// is. Therefore a slot of keys says what its record says, too: where the key's
// bytes are. It is a hint. A slot may go to another key between two loads; what
// counts is the record, and a reader that finds the two at odds searches again
// by the records alone. A record keeps the first string that it got for its key
// until it goes to another key. A Replace and a Draft take many objects at a
// time, one short step with all of them, so that their waits overlap: see
// builder and Draft.
//
// A record keeps the two words of the object's interface value apart, so that
// they can be loaded and stored atomically. This, the ids that follow a leaf in
// memory and the value in the text of a posting are all that package unsafe is
// used for.
//
// An update with the same index values reads, of memory that may be cold, one
// after the other, and those in a line at once:
//
//	group, both lines ─▶ record, key's bytes ─▶ row ─▶ posting and value, of each index
//
// # A write, step by step
//
//  1. Lock out other writers, or give up if there is one (TryApply). Run the
//     stamp and the index functions on the new objects: all user code of the
//     batch. A change that comes alone is looked up before that, see Table.one.
//  2. gen := published + 1. Change each record and leaf, as above. Nobody
//     trusts what it finds there, because gen > published.
//  3. publish: store gen in published. The batch is visible.
//  4. settle: look at the pins that no earlier look has counted, and at those
//     that were left. What was noted is dropped if no pin is at a generation from
//     that which wrote it up to gen; else it is filed in limbo under the newest
//     such, a leaf as a whole. If there is no pin at all the memory serves the
//     next batch: who comes now does not look behind gen.
//  5. A deletion that has nothing left behind it leaves the hash table, and its
//     id is free. So does a posting without members.
//
// Replace runs step 2 in a new core that nobody sees, and step 3 is the store
// of the Table's pointer to it. AddIndexers builds postings of generation gen
// and publishes the list of indexes before gen; readers at older generations
// skip an index born after theirs.
//
// # A read, step by step
//
// Each read loads the core and its published generation first. Of a record it
// then loads key and object, and the record's generation last: if that is not
// newer than the published one was, then nothing has changed in between, and
// key and object belong together. The same goes for the ids of a leaf.
//
// Get, and ByIndex, IndexKeys and Count on one value, do so without a pin: a
// glance. They give up at the first record or leaf that is newer than the
// generation loaded first. If there is none, then what they have found was so
// in every state since. What they have not found may have been there at that
// generation; but it was gone in the state that was the newest when Get looked
// for the key, or the others for the value or, before the first leaf, for the
// list of the leaves. So their answer is that of a state which was the newest
// at some moment of the call.
//
// What a glance buys: 8 readers beside a writer that never pauses, on two cores,
// by go test -bench BesideAWriter -benchtime 1s ./internal/table, each read and
// thousands of writes a second.
//
//	                                    30 objects             10 objects
//	a glance                            280-400 ns, 150-197    131-139 ns, 234-402
//	a pin, and who leaves tidies up     273-326 ns, 8-29       134-140 ns, 6-41
//	a pin, and the janitor tidies up    486 ns, 158            220 ns, 133
//
// So readers would lose a fourth to a half without it, or the writer nearly all.
//
// All other reads, and a glance that gave up, pin:
//
//  1. take a pin with a generation that was published: "arriving";
//  2. load the core and its published generation gen;
//  3. set the pin to gen: "settled". Read each record and leaf; for one that is
//     newer than gen look at what was noted, the newest that is not;
//  4. free the pin. If something may be kept for it, call the janitor.
//
// The writer publishes before it looks at the pins, and the reader announces
// itself before it loads what is published. So either the writer sees the pin
// and keeps all that it may choose to read, or the reader sees at least the
// generation that the writer has just published.
//
// The look at a pin and what the writer concludes from it are one step: it
// counts a settled pin, or marks an arriving one, by a change of the pin's state,
// which fails if the reader is faster. So nothing is kept for a pin whose reader
// does not know of it when it leaves. A look without a batch, by who tidies up,
// concludes nothing about pins that are neither: they came after the last batch,
// and need nothing that was superseded by then.
//
// A record may be given to another key, and a leaf to other members, while a
// slow reader without a pin looks at it. That is a newer generation, too: the
// reader compares no key and follows no id for good before it has checked.
//
// # Limbo
//
// A version in limbo is named once, under the newest pinned generation that
// needs it, or while pins arrive under none. When no pin is at that generation
// any longer, or the oldest of those that arrived has settled, the version is
// looked at again: it is cut, or filed under another generation that needs it. A
// write looks at four times as many of them as it
// has changes and 128, and at as many pins that were left. A step of the janitor
// is what a write without changes does: at most 128 of each, about 10 us.
//
// Who leaves a pin for which something may be kept only calls the janitor, which
// waits for the writer, not the reader. A reader that tidied up itself, whenever no
// writer is busy, would be preempted now and then while it holds their lock: beside
// 8 readers that do nothing else, a writer loses nine tenths of its speed: see
// what a glance buys.
//
// # The janitor's office
//
// The flag janitor is set by who calls a janitor, if it is not set, and cleared by
// the janitor, under the writers' lock, before it looks at the pins. So whoever
// leaves either finds it vacant and calls another one, who looks after that; or
// finds it taken by one who has not looked yet. A janitor goes on if there is more
// to look at and nobody else was called meanwhile. More to look at are also pins
// that were left since it took all that there were: their readers may have found
// it in office. Who opens a snapshot and passes by more than 64 pins that are in
// use calls it, too: it counts them, though nobody writes.
//
// # Invariants
//
// Table.verify, of the tests, checks them; with the race detector or the tag
// "invariants" it runs after the writes.
//
//   - Generations fall strictly along what was noted; the first is not newer
//     than published, except within a write.
//   - keys leads to the record of each key, and to no other, and has the key
//     that the record has. Ids in use and entries of keys are equally many. An
//     idle record is empty, and a free slot has no key.
//   - A deleted record has an older version behind it.
//   - All leaves of a posting are full, but the last one with members. Outside
//     of a write, what a leaf was is kept as a whole.
//   - rows and leaves say the same. Every posting has a member for somebody.
//     An object that is lacking in an index has no place there.
//   - limbo names each version that is kept exactly once, and has as many pins
//     at a generation as are counted and not discounted.
//
// # Schedules
//
// The orders of loads and stores that are argued for here are run by every
// schedule with a few preemptions, in tables of a few objects: see package
// interleave, make interleave and the schedule files. Each of the orders has a
// mutant in testdata/mutants that a schedule fails with, but for two: a trimmed
// list of leaves grows in memory of its own because of the race detector, and that
// Get compares the place of the key in the slot with that in the record follows
// from the generations. It makes the bytes safe to look at without them.
//
// # Locks
//
// Writers hold Table.w, and so does the janitor for one step at a time. Nobody
// holds it while calling user code other than index functions, stamps and the
// sequence of a Replace. No reader takes it, nor tries to: in schedules it is barred
// to them.
//
// Whoever runs index functions, a writer or who fills a draft, holds
// Table.functions, for a block of objects at most, and takes nothing under it.
// So nobody waits longer than for a block; a draft does not wait at all, it
// leaves the block for later.
package table
