// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"unsafe"
)

// This file has the types that refer to each other. Types that refer to none of these (records,
// leaves, slots, ids) are in files below it; operations, from the note of a change up to a whole
// write, are in files above it. No two files depend on each other.

// Table is an indexed set of objects with one writer at a time and readers that do not wait for
// writes. See the package documentation for the guarantees. Create it with New.
type Table struct {
	core    atomic.Pointer[core]
	seed    maphash.Seed
	options Options
	reads
	_ [56]byte // readers load core, and store all fields below

	pins pins

	// kept is the number of versions kept for pins, forgotten that of forgotten snapshots.
	kept      atomic.Int64
	forgotten atomic.Uint64

	// functions is held while index functions of the user run, for at most one block of objects:
	// they run one at a time. Functions known not to be user code run without it.
	functions sync.Mutex

	w struct {
		sync.Mutex
		filing filing
		// left are the released pins that are being examined, steps is the number of pins and
		// versions examined so far.
		left  *pin
		steps int
	}
}

// reads are the reads of a table or of one of its snapshots.
type reads struct {
	table *Table
	// of is nil for a table, whose reads are of the newest state.
	of *hold
}

// hold is an open state. It outlives a forgotten snapshot.
type hold struct {
	view  view
	meta  meta
	table *Table
	pin   *pin
	// users is the number of reads in progress, plus holdOpen until Close. The pin is released when
	// users falls to 0, so that Close does not drop versions while another goroutine reads them.
	users atomic.Int64
}

// view is the table at one generation.
//
// A pinned view sees exactly that generation. A glance has no pin: a record or leaf may change at
// any moment, and its older version may be dropped. A glance reports ok == false when it meets one
// that has changed since gen, and the caller takes a pin. Otherwise its answer is that of a state
// that was the newest during the call: the state at gen, or a later one.
type view struct {
	core   *core
	gen    uint64
	pinned bool
}

// core is one body of the table, from one Replace to the next.
//
// published is the newest generation that readers may see. Storing it is the only step that makes a
// batch visible. Everything newer is the writer's draft.
type core struct {
	published atomic.Uint64
	// For each call, readers load published and the fields below. For each batch, the writer stores
	// published only. They are on separate cache lines.
	_ [56]byte

	seed    maphash.Seed
	keys    hashtab[record, unsafe.Pointer]
	records slab
	indexes atomic.Pointer[[]*index]
	_       [56]byte
	metas   metas

	// What follows is the writer's.

	// born is the generation at which the body replaced another one: older pins see that. Its objects
	// may be older, because a draft does not know when it will be installed.
	born uint64
	n    int
	rows *rows
	log  changes
}

// indexer is a named function with the number of its failures. It outlives the postings, which a
// Replace builds again.
type indexer struct {
	name     string
	fn       IndexFunc
	single   func(obj any) (value string, err error) // equivalent to fn, with exactly one value; or nil
	failures atomic.Uint64
}

// indexValues are the values of one object in one index. They are empty, or lacking, if the
// function failed.
type indexValues = []string

// index holds the postings of one indexer.
//
//	value ──hash──▶ values ──▶ posting ──▶ leaves ──▶ object ids
//	object id ──▶ row ──▶ (posting, position)          writer only
type index struct {
	*indexer
	// born is the generation in which the index was built. Older states lack it.
	born uint64
	seed maphash.Seed

	values hashtab[posting, struct{}]

	// What follows is the writer's.

	// rows has the places of the objects with one value, in the column of that number.
	rows   *rows
	column int
	// many has the places of the objects with several values, ordered by value; their place in rows
	// is refMany.
	many map[uint32][]ref
	// lacking is the set of objects for which the function failed.
	lacking map[uint32]struct{}
	log     *changes

	// lacks is len(lacking), for any goroutine.
	lacks atomic.Int64
}

// textLen is the room for a value in its posting. Most values are at most as long as a UID, which
// has 36 bytes.
const textLen = 48

// posting is the set of objects with one value in one index. Their ids are in leaves, all of them
// full except the last one with members, so that a change costs the same in a posting of any size.
//
//	value "node-7", n 130
//	first ─▶ leaf [64 ids]
//	more  ─▶ leaf [64 ids], leaf [2 ids]
type posting struct {
	value string
	// first is nil before the first member is added. It is replaced by a larger or smaller leaf as
	// the number of members changes.
	first atomic.Pointer[leaf]
	// more holds the leaves after the first one, of full size. The slice is
	// shared with readers: elements in use are never overwritten.
	more atomic.Pointer[[]*leaf]

	// The fields below are the writer's; index never changes.
	index *index
	n     uint32
	// dropped means that the posting was removed from values.
	dropped bool

	// text has the bytes of a value of at most textLen bytes.
	text [textLen]byte
}

// ref is the place of one object in one posting: the position of its id.
type ref struct {
	post *posting
	pos  uint32
}

// rows has a row of places for each record, one place for each index, because an update reads all
// of them. Writer only.
type rows struct {
	width  int
	chunks [][]ref
}

// filing is scratch memory of a writer: the values of an object for each index, or for each object
// and each index. For a single object, posts has the posting in which it is filed, if it is filed
// in exactly one.
type filing struct {
	values  []indexValues
	singles []string
	posts   []*posting
	warm    int // keeps the compiler from removing loads that only warm caches
}

// changes lists the records and leaves that the current batch has changed, and has the memory for
// their overwritten versions.
//
// While a body or an index is under construction no version is superseded; only leaves that lost a
// member are listed then.
type changes struct {
	building bool

	records []*record
	leaves  []leafRef

	// pasts are free. olds are the notes of this batch; those from next on are free. If no pin
	// is older than a batch, its pasts and olds are reused by the next one: no reader can see them
	// any longer, because a reader that pins after the publication does not look behind it.
	// Reused memory is warm, new memory is not, and most of the cost is that.
	//
	// Otherwise olds are given up as a whole: notes of two batches in one block would keep each
	// other alive.
	pasts []*past
	olds  []leafOld
	next  int
}

type leafRef struct {
	post *posting
	i    uint32
}

// pins are the readers that pin a generation, in the order in which they came. So generations rise
// along the list, and times nearly so.
//
//	oldest ─▶ gen 4, {record 3 of gen 2} ⇄ gen 9 ⇄ gen 9, {record 3 of gen 7} ◀─ newest
//	left   ─▶ gen 5, {leaf 0 of gen 4}                                        ◀─ last
//
// The mutex is held for a few instructions at a time, and no lock is taken under it.
type pins struct {
	sync.Mutex
	// busy is set while a pin is in the list. The writer clears it.
	busy           atomic.Bool
	oldest, newest *pin
	snapshots      int // in the list
	// spare is a pin for reuse, which no write has seen, or nil.
	spare *pin
	// left are the released pins that have yet to be examined. last is the last of them, if any.
	left, last *pin
	// looked is the generation at which the writer has last looked at the pins. Versions may be kept
	// for older ones only.
	looked uint64
	// janitor is set from the start of a janitor until it has found nothing left to examine.
	janitor bool
}

// pin is a reader at a generation: a snapshot, a loop, or a call that needs older versions.
type pin struct {
	gen uint64
	// since is the time at which a snapshot was taken, in Unix nanoseconds; 0 for a call.
	since int64
	// older and newer are the neighbors in the list. When the pin is released, older remains: no other
	// pin inherits its versions. newer is then the pin that was released next.
	older, newer *pin
	// kept has the superseded versions for which this is the newest pin that needs them. It belongs to
	// the writer, also after the release.
	kept []oldVersion
}

// oldVersion identifies a superseded version that a pinned generation needs, by the generation gen
// that wrote it: of leaf i of post or, if post is nil, of record i of core.
type oldVersion struct {
	core *core
	post *posting
	i    uint32
	gen  uint64
}
