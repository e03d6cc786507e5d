// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// This file is what the table is: the types that hold each other. What they hold
// themselves (records, leaves, slots, ids, pins) is in files that need none of these;
// what is done with them, from the notes of a change up to a whole write, is in those
// that need this one. No two files need each other.

// Table is an indexed set of objects: one writer at a time, readers that never
// wait. See the package documentation for the guarantees. Create it with New.
type Table struct {
	core    atomic.Pointer[core]
	seed    maphash.Seed
	options Options
	_       [56]byte // of the above readers load the core, of what follows all store

	pins pins

	// opened counts the open snapshots, kept the versions in limbo, forgotten the
	// lost snapshots. janitor is set while a goroutine is about to look at the
	// pins that were left.
	opened    atomic.Int64
	kept      atomic.Int64
	forgotten atomic.Uint64
	janitor   atomic.Bool

	// functions is held while index functions run, for a block of objects at
	// most: there is never but one. Those that are known not to be the user's do
	// without.
	functions sync.Mutex

	w struct {
		sync.Mutex
		limbo  limbo
		filing filing
	}
}

// core is one whole body of the table, from one Replace to the next.
//
// published is the newest generation that readers may see; storing it is the
// only act that makes a batch visible. Everything newer is the writer's draft.
type core struct {
	published atomic.Uint64
	// Readers load published and what follows for each call, the writer stores
	// only published for each batch: keep them on separate cache lines.
	_ [56]byte

	seed    maphash.Seed
	keys    keytab
	records slab
	indexes atomic.Pointer[[]*index]
	_       [56]byte
	metas   metas

	// What follows is the writer's.

	n    int
	rows *rows
	log  changes
}

// indexer is a named function with its count of failures. It outlives the
// postings, which a Replace builds anew.
type indexer struct {
	name     string
	fn       IndexFunc
	single   func(obj any) (value string, err error) // fn, if that always has one value; or nil
	failures atomic.Uint64
}

// indexValues are the values of one object in one index: none, or lacking, if
// its function failed.
type indexValues = []string

// index holds the postings of one indexer.
//
//	value ──hash──▶ values ──▶ posting ──▶ leaves ──▶ object ids
//	object id ──▶ row ──▶ (posting, position)          writer only
type index struct {
	*indexer
	// born is the generation that made the index: older states lack it.
	born uint64
	seed maphash.Seed

	values hashtab[posting]

	// What follows is the writer's.

	// rows has the places of the objects with one value; the index's column is
	// the one at column.
	rows   *rows
	column int
	// many has the places of the objects with several values, in the order of
	// the values; their place in rows is refMany.
	many map[uint32][]ref
	// lacking are the objects for which the function failed.
	lacking map[uint32]struct{}
	log     *changes

	// lacks is len(lacking), for any goroutine.
	lacks atomic.Int64
}

// textLen is room for a UID, as most values are at most.
const textLen = 48

// posting is the set of objects with one value in one index: ids in leaves,
// all full but the last one with members, so that a change costs the same in a
// posting of any size.
type posting struct {
	value string
	// first is nil before the first member comes. It is replaced by a larger or
	// smaller one as the members ask for.
	first atomic.Pointer[leaf]
	// more holds the leaves after the first one, of full size. The slice is
	// shared with readers: elements in use are never overwritten.
	more atomic.Pointer[[]*leaf]

	// The fields below are the writer's; index never changes.
	index *index
	n     uint32
	// dropped says that the posting is not in values any more.
	dropped bool

	// text has the bytes of the value, if that is not longer.
	text [textLen]byte
}

// ref is the place of one object in one posting: the position of the object's
// id there.
type ref struct {
	post *posting
	pos  uint32
}

// rows has for each record a row of places, one for each index: an update
// looks at all of them. Writer only.
type rows struct {
	width  int
	chunks [][]ref
}

// filing is memory of a writer: for each index, or for each object and each index, the values of
// an object. For one object posts has the posting that it was in, where that is just one.
type filing struct {
	values  []indexValues
	singles []string
	posts   []*posting
	warm    int // keeps the compiler from leaving out loads that only warm caches
}

// changes lists the records and leaves that the current batch has changed, and
// has the memory for what they were before.
//
// While a body or an index is built aside nothing is superseded; only leaves
// that lost a member are then of interest.
type changes struct {
	building bool

	records []*record
	leaves  []leafRef

	// pasts are free. olds are for this batch, those from next on free. A batch
	// that nobody had a pin at leaves its pasts and olds to the next one: nobody
	// can look at them any longer, for who came after it was published does not
	// go back before it. What is new is cold, and that is what it costs.
	//
	// If somebody had, olds are given up as a whole: notes of two batches that
	// lie in one block would keep each other alive.
	pasts []*past
	olds  []leafOld
	next  int
}

type leafRef struct {
	post *posting
	i    uint32
}

// limbo holds what is superseded and still kept. Each such version is named
// exactly once: by the newest holder that needs it, or in the queue after that
// was left. So a version is looked at once for each generation that needed it,
// whatever the number of writes meanwhile, and not at all by a write that comes
// after. Snapshots that are closed in the order in which they were taken have
// each version looked at once.
type limbo struct {
	// holders are in the rising order of their generations. spare is one to be
	// used again.
	holders []*holder
	spare   *holder
	// arriving is the lowest generation at which a pin that arrived at the last
	// look may settle. landing holds what is kept for such pins, whose generation
	// is not known yet.
	arriving uint64
	landing  holder
	queue    [][]oldVersion
	// n counts all versions.
	n int
	// steps counts the pins and versions that were looked at.
	steps int
}

// holder is a generation that pins are at, with what is kept for it.
type holder struct {
	gen   uint64
	pins  int
	items []oldVersion
}

// kept names a superseded version that a pinned generation needs, by the
// generation that wrote it: of leaf i of a posting or, where post is nil, of
// record i of a body.
type oldVersion struct {
	core *core
	post *posting
	i    uint32
	gen  uint64
}
