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
//  3. No waiting. Get takes no lock, retries nothing and looks at each group of
//     the hash table once at most. All other reads take no lock either; a read
//     that runs into a concurrent change is done again once, with a pin. The
//     one loop that may repeat is in Snapshot, when a state is published in the
//     few nanoseconds between its two loads.
//  4. No waiting for readers. A write takes the writers' mutex and no other,
//     and never looks whether a reader has finished. It does bounded work for
//     what pins have kept. Growing the hash table (by half) and shrinking the
//     body (to a quarter) are O(n), paid for by as many changes.
//  5. User code runs before the first change of a batch, or on a body that
//     nobody sees yet, under the writers' mutex only. If it fails, panics or
//     exits its goroutine, the table is whole. An object whose IndexFunc fails
//     is stored, and is in that index under no value.
//  6. Indexers returns a copy; AddIndexers builds aside.
//  7. A superseded version is kept only as long as a snapshot, a loop or a call
//     in progress can see it. Open snapshots and kept versions are counted.
//
// # Structure
//
// Everything that a reader may see is a cell: a pointer to the newest version,
// and from each version to the next older one that somebody still needs. A
// version carries the generation that wrote it.
//
//	Table ──▶ core: one body, from one Replace to the next
//	            published   newest generation that readers may see
//	            meta        cell of (resourceVersion, number of objects)
//	            keys        hash table: 7 tags and 7 pointers a cache line
//	              │ key
//	              ▼
//	           version{gen 7, key, obj} ─prev─▶ version{gen 3, key, obj}
//	              ▲ id
//	            records     slab of cells: chunks of 128, ids are reused
//	            indexes     for each index
//	              values    hash table: value ──▶ posting
//	                posting ──▶ leaves: cells of up to 64 ids of records
//	              refs      record id ──▶ (posting, position): writer only
//	            limbo       superseded versions that pins need: writer only
//
// List walks records, ByIndex goes from ids in leaves to records, Get comes by
// keys straight to the newest version. An update with the same index values
// makes one version and touches nothing else. The removal of a member from a
// posting of any size makes at most two leaf versions: the last member takes
// the place of the one that goes.
//
// # A write, step by step
//
//  1. Lock out other writers. Run the stamp and the index functions on the new
//     objects: all user code of the batch.
//  2. gen := published + 1. Change each cell: the first change makes a version
//     of generation gen in front of the old one, further changes are made in
//     it. Nobody reads more of it than gen and key, because gen > published.
//  3. publish: store gen in published. The batch is visible.
//  4. settle: look at the pins. For each version superseded by the batch, cut
//     it out of its chain if no pin is at a generation from its own up to the
//     one that superseded it; else file it in limbo under such a pin.
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
// Get loads the core, finds the newest version v of its key and then compares
// v.gen with published. If v is a draft it takes v.prev, and looks at published
// again: if the draft is published by now then it answers v, else v.prev was
// not yet cut when it was loaded. Either was the current one during the call.
//
// ByIndex and Count on one value first glance: they load published, then the
// leaves, then the records, and give up at the first head that is newer. If
// there is none, all of them were current together when the first was loaded.
//
// All other reads, and a glance that gave up, pin:
//
//  1. take a pin with a generation that was published: "arriving";
//  2. load the core and its published generation gen;
//  3. set the pin to gen: "settled". Read each cell at gen: the first version
//     of the chain that is not newer;
//  4. free the pin. If something was kept for it, tidy up or have it done.
//
// The writer publishes before it looks at the pins, and the reader announces
// itself before it loads what is published. So either the writer sees the pin
// and keeps all that it may choose to read, or the reader sees at least the
// generation that the writer has just published.
//
// # Limbo
//
// A version in limbo is named once, under one pinned generation that needs it.
// When no pin is at that generation any longer, the version is looked at again:
// it is cut, or filed under another generation that needs it. A write looks at
// four times as many of them as it has changes and 128; who leaves a pin for
// which something was kept does a step if no writer is busy, and starts a
// goroutine for the rest, which ends when there is none.
//
// # Invariants
//
// Table.verify checks them; with the race detector or the tag "invariants" it
// runs after the writes.
//
//   - A chain has one key and strictly falling generations; its head is not
//     newer than published, except within a write.
//   - keys and records lead to the same head for each key. Ids in use, entries
//     of keys and cells with a version are equally many.
//   - A deleted record has an older version behind it.
//   - All leaves of a posting are full, but the last one with members.
//   - refs and leaves say the same. Every posting has a member for somebody.
//   - limbo names each version that is not a head exactly once.
//
// # Locks
//
// There is one: Table.w. Nobody holds it while calling user code other than
// index functions, stamps and the sequence of a Replace, and no read takes it
// but by TryLock, after its answer is complete.
package table
