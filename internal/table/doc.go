// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package table implements the store's engine: an indexed set of objects with
// one writer at a time and readers that never block.
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
//  1. One state. Every call answers from one state: the state after some Apply,
//     Replace or AddIndexers. Each of these is visible as a whole or not at all.
//  2. No going back. A goroutine that has observed a state never observes an
//     older one, by any call. Get, Len, RV, Count and the other reads are
//     linearizable together.
//  3. Reads do not block. No read takes a lock. A read that meets a concurrent
//     change is repeated once, with a pin, and then succeeds whatever the writer
//     does.
//  4. Readers do not block writes. A write takes the writers' mutex and no other
//     lock, and never waits for a reader. The work that it does for versions
//     kept for pins is bounded, and does not grow with the number of snapshots,
//     open or closed. Growing the hash table (by a third) and shrinking the body
//     (to a quarter) are O(n), amortized over as many changes.
//  5. User code runs before the first change of a batch, or on a body that is
//     not yet published, and under no lock other than those named below. If it
//     returns an error, panics or exits its goroutine, the table stays
//     consistent. An object whose IndexFunc fails is stored, and has no value in
//     that index. Index functions run one at a time, except those called by
//     Index.
//  6. Indexers returns a copy. AddIndexers builds the new indexes before it
//     publishes them.
//  7. A superseded version is kept only while a snapshot, a loop or a call in
//     progress can see it, and until the janitor has run. The janitor is a
//     goroutine, one per table, that ends when it has nothing left to do. Open
//     snapshots and kept versions are counted.
//
// # Structure
//
// Records and leaves are changed in place. A change first notes the value that
// it overwrites, with the generation that wrote that value, then stores its own
// generation, then the new value. A reader at an older generation therefore
// detects the change, and finds the overwritten value in the note.
//
//	Table ──▶ core: one body, from one Replace to the next
//	            published   newest state visible to readers:
//	                        generation, resource version, number of objects
//	            keys        hash table: 7 tags, 7 pointers to records and to
//	              │ key     their keys, in two cache lines
//	              ▼
//	            records     slab: chunks of 128, ids are reused
//	              record{key, object, gen 7, undo} ──▶ past{gen 3, object}
//	              ▲ id
//	            indexes     for each index
//	              values    hash table: value ──▶ posting
//	                posting ──▶ leaves of up to 64 record ids
//	                  leaf{gen 7, ids, old} ──▶ old{3 to 7, ids}
//	            rows        record id ──▶ (posting, position) in each index: writer only
//	      ──▶ pins: the generations at which readers read
//	      ──▶ limbo: superseded versions that pins need: writer only
//
// List walks records, ByIndex follows the ids in leaves to records, and Get
// looks in keys. An update with the same index values changes one record and
// nothing else. Removing a member from a posting of any size changes at most two
// leaves: the last member moves to the position of the removed one.
//
// Most of the time is spent waiting for memory, so independent loads are issued
// together. A slot of keys therefore also points to the bytes of the key, as its
// record does. That pointer is a hint: a slot may be given to another key
// between two loads. The record is authoritative, and a reader that finds the
// two inconsistent searches again by the records alone. A record keeps the first
// string that it was given for its key until the record is given to another key.
// Replace and Draft process many objects at a time, one short step for all of
// them, so that their cache misses overlap: see builder and Draft.
//
// Package unsafe is used for three things: a record keeps the two words of the
// object's interface value apart, so that each can be loaded and stored
// atomically; the ids of a leaf follow it in memory; a short value is stored in
// its posting.
//
// An update with the same index values reads this memory, which may be cold, from
// left to right; loads named together are issued together:
//
//	group, both lines ─▶ record, key's bytes ─▶ row ─▶ posting and value, of each index
//
// # A write, step by step
//
//  1. Lock out other writers. Call the stamp and the index functions for the
//     new objects: all user code of the batch. The record of a single change is
//     looked up before that, see Table.one.
//  2. gen := published + 1. Change each record and leaf, as above. Readers
//     ignore these changes, because gen > published.
//  3. publish: store a pointer to gen, the resource version and the number of
//     objects in published. The batch is visible.
//  4. settle: look at the pins that no earlier look has counted, and at those
//     that were released. A noted version is dropped if no pin is at a
//     generation from the one that wrote it up to gen; otherwise it is filed in
//     limbo under the newest such generation, a leaf as a whole. If there is no
//     pin at all the memory is reused by the next batch: a reader that arrives
//     now does not look behind gen.
//  5. A deleted record without older versions is removed from the hash table,
//     and its id is free. A posting without members is removed, too.
//
// Replace does step 2 in a new core that is not yet visible; its step 3 is the
// store of the Table's pointer to that core. AddIndexers builds postings of
// generation gen and publishes the list of indexes before gen; readers at older
// generations skip an index born after theirs.
//
// # A read, step by step
//
// Each read first loads the core and its published generation. From a record it
// then loads key and object, and last the record's generation. If that is not
// newer than the published generation was, the record did not change in between,
// and key and object belong together. The same holds for the ids of a leaf.
//
// Get, ByIndex and Count of a table read without a pin: a glance. A glance
// gives up at the first record or leaf that is newer than the generation it
// loaded first. If there is none, everything it found was so in every state
// since. An object that it did not find may have existed at that generation,
// but did not exist in the state that was the newest when Get looked for the
// key (when the others looked for the value or, before the first leaf, for the
// list of the leaves). So the answer is that of a state that was the newest at
// some moment of the call.
//
// The gain of a glance: 8 readers beside a writer that never pauses, on two
// cores, by go test -bench BesideAWriter -benchtime 1s ./internal/table; time of
// a read, and thousands of writes a second.
//
//	                                    30 objects             10 objects
//	a glance                            280-400 ns, 150-197    131-139 ns, 234-402
//	a pin, the reader tidies up         273-326 ns, 8-29       134-140 ns, 6-41
//	a pin, the janitor tidies up        486 ns, 158            220 ns, 133
//
// Without it, readers would lose a fourth to a half of their speed, or the
// writer nearly all of its speed.
//
// All other reads, which a table shares with its snapshots, and a glance that
// gave up, pin:
//
//  1. take a pin with a generation that was published: "arriving";
//  2. load the core and its published generation gen;
//  3. set the pin to gen: "settled". Read each record and leaf; for one that is
//     newer than gen, read its newest note that is not newer;
//  4. release the pin. If a version may be kept for it, call the janitor.
//
// The writer publishes before it looks at the pins, and the reader takes its pin
// before it loads published. So either the writer sees the pin and keeps every
// version that the reader may choose, or the reader sees at least the generation
// that the writer has just published.
//
// Looking at a pin and acting on its state are one step: the writer counts a
// settled pin, or marks an arriving one, by a compare-and-swap of the pin's
// state, which fails if the reader changes it first. So a reader always knows,
// when it leaves, whether versions are kept for it. A look without a batch, by
// the janitor, skips pins that are neither counted nor marked: they arrived
// after the last batch, and need no version that was superseded by then.
//
// A record may be given to another key, and a leaf to other members, while a
// slow reader without a pin looks at it. That is a newer generation, too: the
// reader trusts no key and no id before it has checked the generation.
//
// # Limbo
//
// A version in limbo is listed once: under the newest pinned generation that
// needs it or, if only arriving pins may need it, under landing. When no pin is
// at that generation any longer, or the oldest of the arriving pins has settled,
// the version is examined again: it is cut, or filed under another generation
// that needs it. A write examines up to 128 such versions plus four for each of
// its changes, and as many released pins. A step of the janitor is what a write
// without changes does: at most 128 of each, about 10 us.
//
// A reader that releases a pin with kept versions only calls the janitor; the
// janitor waits for the writer, the reader does not. A reader that tidied up
// itself, whenever no writer is busy, would sometimes be preempted while it
// holds the writers' lock: beside 8 readers in a loop a writer would lose nine
// tenths of its speed, see the table above.
//
// # When the janitor runs
//
// The flag Table.janitor is set by the goroutine that starts a janitor, if it is
// not set. The janitor clears it, under the writers' lock, before it looks at the
// pins. So a reader that releases a pin either finds the flag clear and starts
// another janitor, which looks after the release, or finds it set by a janitor
// that has not looked yet. A janitor continues if there is more to examine and no
// other janitor was started meanwhile. That includes pins released since it took
// the list of released pins: their readers may have found the flag set. A caller
// of Snapshot that passes more than 64 pins in use also calls the janitor, which
// counts them even if no write follows.
//
// # Invariants
//
// Table.verify, of the tests, checks them; with the race detector or the tag
// "invariants" it runs after the writes.
//
//   - Generations fall strictly along a chain of notes; the first is not newer
//     than published, except within a write.
//   - keys maps each key to its record and to no other, and points to the same
//     bytes of the key as the record. Ids in use and entries of keys are equally
//     many. An idle record is empty, and a free slot has no key.
//   - A deleted record has an older version behind it.
//   - All leaves of a posting are full, except the last one with members. Outside
//     of a write, the older versions of a leaf are full copies.
//   - rows and leaves agree. Every posting has a member in some visible state.
//     An object for which an index function failed has no place in that index.
//   - limbo lists each kept version exactly once, and has as many pins at each
//     generation as are counted and not yet discounted.
//
// # Schedules
//
// The orders of loads and stores described above are tested with every schedule
// of a few preemptions, in tables of a few objects: see package interleave, make
// interleave and the schedule files. Each of the orders has a mutant in
// testdata/mutants that fails in a schedule, with two exceptions. A trimmed list
// of leaves is copied when it grows because of the race detector. Get compares
// the pointer to the key in the slot with the one in the record only to make the
// bytes safe to read; the generations alone imply that they are equal.
//
// # Locks
//
// Writers hold Table.w, and so does the janitor for one step at a time. No user
// code is called under it other than index functions, stamps and the sequence of
// a Replace. No reader takes it, nor tries to: the schedules bar readers from it.
//
// A goroutine that calls index functions, to write or to fill a draft, holds
// Table.functions for at most one block of objects, and takes no lock under it.
// So a writer waits for at most one block; a draft does not wait, but postpones
// the functions of its block.
package table
