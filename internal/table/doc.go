// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package table implements the store's engine: an indexed set of objects with
// one writer at a time and readers that do not wait for writes.
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
//  3. Reads do not wait for writes. A read that meets a concurrent change is
//     repeated once, with a pin, and then succeeds whatever the writer does. It
//     takes one lock, that of the pins, as do snapshots, loops and the reads that
//     need many records. Little is done under that lock: see Locks. A reader can
//     wait for another reader or the writer to release it, which takes longer if
//     that is preempted just then, and for nothing else. Len and RV of a table
//     retry if three batches are published between two of their loads, which are
//     a few nanoseconds apart.
//  4. Readers do not block writes. A write takes the writers' mutex, and that of
//     the pins once if there may be a pin, for which it can wait as a reader can.
//     It looks at the pins taken since it published, and at one more; and it
//     examines a bounded number of released pins and kept versions. So its work
//     does not grow with the number of snapshots, open or closed, with one
//     exception: to cut a version it passes all newer ones kept of the same record
//     or leaf. Growing the hash table (by a third) and shrinking the body (to a
//     quarter) are O(n), amortized over as many changes.
//  5. User code runs before the first change of a batch, or on a body that is
//     not yet published, and under no lock other than those named below. If it
//     returns an error, panics or exits its goroutine, the table stays
//     consistent. An object whose IndexFunc fails is stored, and has no value in
//     that index. Index functions run one at a time, except those called by
//     Index and by Test of a Snapshot.
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
//	            published   newest generation visible to readers
//	            metas       (resourceVersion, number of objects) of recent generations
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
//	      ──▶ pins: the readers that pin a generation, in order
//	            pin{gen 7} ──▶ the superseded versions kept for it: writer only
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
//  3. publish: store gen in published. The batch is visible.
//  4. settle: look for the newest pin that is older than gen. The batch has
//     superseded versions that were visible until gen, so a noted version is
//     dropped if it is newer than that pin: no pin needs it. Otherwise it is kept
//     and filed under the pin, a leaf as a whole. If there is no such pin the
//     memory is reused by the next batch: a reader that pins now does not look
//     behind gen.
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
// A glance takes no lock, and no version is kept for it.
//
// All other reads, which a table shares with its snapshots, and a glance that
// gave up, pin:
//
//  1. under the lock of the pins, load the core and its published generation gen,
//     and add a pin at gen to the list;
//  2. read each record and leaf; for one that is newer than gen, read its newest
//     note that is not newer;
//  3. under the lock, remove the pin. If a write has seen it, versions may be
//     kept for it: start the janitor.
//
// The writer publishes before it looks at the pins, and takes their lock to look.
// So either it finds the pin, or the reader loads the generation that the writer
// has just published, or a later one. A writer without pins takes no lock: it only
// loads the flag busy, which a reader sets before it loads the generation.
//
// All pins are taken at the newest generation of their time. So the list is in the
// order of generations, and both ends of it are all that is needed. The time of a
// snapshot is read before that, without the lock: times are in order except for
// those of snapshots that are taken side by side.
//
// A record may be given to another key, and a leaf to other members, while a
// slow reader without a pin looks at it. That is a newer generation, too: the
// reader trusts no key and no id before it has checked the generation.
//
// # Kept versions
//
// A kept version is filed under one pin: the newest that needs it. When that is
// released, the pin before it in the list is its heir: it inherits the versions
// that are not newer than itself. The others are cut, since no pin is between the
// two, and none will come. Released pins are examined in the order of their
// release, so each is examined after those that it inherits from, although the
// heir may be released meanwhile. A version is examined once for each generation
// that needed it, however many writes happen. Among pins of one generation the one
// that has fewer versions passes them, so that each is passed a few times at most,
// and all of them in one step if the heir has none.
//
// A write examines up to 128 released pins and versions, plus four for each of its
// changes. A step of the janitor examines 128, in about 10 us, and more if many
// versions of one record are kept: 5,000 take 0.5 ms. It looks at no open pin.
//
// # When the janitor runs
//
// A reader that releases a pin seen by a write only starts the janitor; the janitor
// waits for the writer, the reader does not. A reader that tidied up itself would
// sometimes be preempted while it holds the writers' lock.
//
// The flag pins.janitor is set from the start of a janitor until it finds nothing
// left to examine. It is changed under the lock of the pins, like the list of the
// released pins: a reader either releases its pin before the janitor looks for the
// last time, or finds the flag clear and starts another one.
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
//   - The pins are ordered by generation. Each kept version is filed once, under a
//     pin that needs it, and counted.
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
// Readers and the writer hold Table.pins for a few instructions, and take no lock
// and allocate nothing under it: the schedules count their atomic operations. The
// writer takes it under Table.w, and does not hold it while it works. Two loops run
// under it: a write passes the pins taken since it published, and Snapshots those
// of calls that began before the oldest snapshot.
//
// A goroutine that calls index functions, to write or to fill a draft, holds
// Table.functions for at most one block of objects, and takes no lock under it.
// So a writer waits for at most one block; a draft does not wait, but postpones
// the functions of its block.
package table
