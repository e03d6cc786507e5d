// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/kinformer/cache/internal/decode"
	"github.com/kinformer/cache/internal/tap"
)

const (
	// maxTexts is the largest limit of the table of strings, in bytes, for the whole process.
	maxTexts = 16 << 20
	// maxParts is the largest limit of the table of parts, in bytes. It bounds the memory that the
	// table keeps alive for objects that are gone, including the bytes that are the keys of parts.
	maxParts = 64 << 20
	// textShare is the number of cached bytes per byte of the table of strings.
	textShare = 16
	// smallTable is the ratio of the largest limit to the smallest.
	smallTable = 64
)

// cachedBytes estimates the size on the wire, in bytes, of what all informers cache. It is the sum
// of their counts.
var cachedBytes atomic.Int64

// table is a table of the process, shared by the objects of all informers. It exists while it is
// referenced: by informers, from their first decoder to their end, and by decoding in progress.
//
//	texts ── weak ──▶ decode.Intern ◀── tableUse of informer 1
//	                                ◀── tableUse of informer 2
type table[T any] struct {
	most   int64 // the largest limit, in bytes
	share  int64 // the number of cached bytes per byte of the limit
	create func(limit int64) *T
	resize func(t *T, limit int64)

	limit atomic.Int64 // in bytes, set by fit; 0 at first

	sync.Mutex
	weak weak.Pointer[T]
}

// texts is the table of strings, such as labels and names. parts is the table of parts of objects,
// for the informers that share them.
var (
	texts = table[decode.Intern]{most: maxTexts, share: textShare, create: decode.NewIntern, resize: (*decode.Intern).SetLimit}
	parts = table[decode.Parts]{most: maxParts, share: 1, create: decode.NewParts, resize: (*decode.Parts).SetLimit}
)

// limitFor returns the limit, in bytes and a power of two, for a table whose limit is now limit:
// its share of the cached bytes, or up to four times as much after these have decreased.
func (t *table[T]) limitFor(cached, limit int64) int64 {
	if cached /= t.share; cached <= limit && cached > limit/4 {
		return limit
	}
	return min(max(1<<bits.Len64(uint64(max(cached-1, 0))), t.most/smallTable), t.most)
}

// fit adjusts the limit to the cached bytes. It checks again after a change, because another
// goroutine may have changed cachedBytes meanwhile and seen the previous limit.
func (t *table[T]) fit() {
	for limit := t.limit.Load(); t.limitFor(cachedBytes.Load(), limit) != limit; limit = t.limit.Load() {
		t.resized()
	}
}

func (t *table[T]) resized() {
	t.Lock()
	defer t.Unlock()
	limit := t.limitFor(cachedBytes.Load(), t.limit.Load())
	t.limit.Store(limit)
	if got := t.weak.Value(); got != nil {
		t.resize(got, limit)
	}
}

// tableUse is the use of a table by an informer. It only contains a pointer, so it ends with the
// informer, even if end is not called. The zero value is that of an informer that does not run. It
// is guarded by the mutex of the table.
type tableUse[T any] struct {
	runs  bool
	table *T // nil: the informer has no decoder that uses the table
}

// begin begins a use. The table is created by get.
func (t *table[T]) begin(u *tableUse[T]) {
	t.Lock()
	defer t.Unlock()
	u.runs = true
}

func (t *table[T]) end(u *tableUse[T]) {
	t.Lock()
	defer t.Unlock()
	*u = tableUse[T]{}
}

// get returns the table of the process. If u is not in use, only the caller references the table.
func (t *table[T]) get(u *tableUse[T]) *T {
	t.Lock()
	defer t.Unlock()
	got := t.weak.Value()
	if got == nil {
		t.limit.Store(t.limitFor(cachedBytes.Load(), t.limit.Load()))
		got = t.create(t.limit.Load())
		t.weak = weak.Make(got)
	}
	if u.runs {
		u.table = got
	}
	return got
}

// used returns the table if an informer uses it, and nil otherwise.
func (t *table[T]) used(u *tableUse[T]) *T {
	t.Lock()
	defer t.Unlock()
	return u.table
}

// uses are the tables of the process that an informer uses, and how much it decodes of its objects if none
// is kept whole.
type uses struct {
	texts tableUse[decode.Intern]
	parts tableUse[decode.Parts]
	read  decode.Read
}

// describe returns zero for a table while it is not used.
func (u *uses) describe() (t tap.Texts, p tap.Parts) {
	if table := texts.used(&u.texts); table != nil {
		s := table.Status()
		t = tap.Texts{Count: s.Entries, Bytes: s.Bytes, Limit: s.Limit}
	}
	if table := parts.used(&u.parts); table != nil {
		s := table.Status()
		p = tap.Parts{Count: s.Entries, Bytes: s.Bytes, Limit: s.Limit, Hits: s.Hits, Misses: s.Misses}
	}
	return t, p
}
