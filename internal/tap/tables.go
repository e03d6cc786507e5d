// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/kinformer/cache/internal/decode"
)

const (
	// maxTexts is the most memory that the texts take that objects share, for the whole process.
	maxTexts = 16 << 20
	// maxParts is that for parts: the most that the table keeps alive of objects that are gone,
	// with the bytes by which it finds parts.
	maxParts = 64 << 20
	// textShare: of so many bytes of what is cached, one is for texts.
	textShare = 16
	// smallTable: a table may always have one part in so many of the most.
	smallTable = 64
)

// cachedBytes is about what the objects that all informers cache have on the wire: the sum of their counts.
var cachedBytes atomic.Int64

// table is one of the process, that the objects of all informers share. There is one as long as
// somebody has it: informers, which have it from their first decoder on until they end, and what
// decodes at the moment.
type table[T any] struct {
	most   int64 // bytes
	share  int64 // of what is cached it takes one byte in so many
	made   func(limit int64) *T
	resize func(t *T, limit int64)

	limit atomic.Int64 // see fit; 0 at first

	sync.Mutex
	weak weak.Pointer[T]
}

// texts has texts, as of labels and names, and parts, if informers want that, parts of objects.
var (
	texts = table[decode.Intern]{most: maxTexts, share: textShare, made: decode.NewIntern, resize: (*decode.Intern).SetLimit}
	parts = table[decode.Parts]{most: maxParts, share: 1, made: decode.NewParts, resize: (*decode.Parts).SetLimit}
)

// limitFor returns how many bytes a table may take, a power of two, if it may take limit now: its share of what is
// cached, or up to four times as much after there was more.
func (t *table[T]) limitFor(cached, limit int64) int64 {
	if cached /= t.share; cached <= limit && cached > limit/4 {
		return limit
	}
	return min(max(1<<bits.Len64(uint64(max(cached-1, 0))), t.most/smallTable), t.most)
}

// fit has the table take as much as is right for what is cached. It looks again after a change, because another
// goroutine may have changed cachedBytes meanwhile and seen the limit that was before.
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

// tableUse is the use of a table by an informer. As it is nothing but a pointer, none is left when
// the informer is not, however it ends. The zero value is that of an informer that does not run.
// The table's lock guards it.
type tableUse[T any] struct {
	runs  bool
	table *T // nil: it has no decoder that needs it
}

// begin begins a use, for which a table is made when it is asked for.
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

// get returns the table of the process. Who asks for it before the begin or after the end has it
// for himself, and no longer than he keeps it.
func (t *table[T]) get(u *tableUse[T]) *T {
	t.Lock()
	defer t.Unlock()
	got := t.weak.Value()
	if got == nil {
		t.limit.Store(t.limitFor(cachedBytes.Load(), t.limit.Load()))
		got = t.made(t.limit.Load())
		t.weak = weak.Make(got)
	}
	if u.runs {
		u.table = got
	}
	return got
}

// used returns the table if an informer uses it, else nil.
func (t *table[T]) used(u *tableUse[T]) *T {
	t.Lock()
	defer t.Unlock()
	return u.table
}

// Texts is what the table of the process holds, as of labels and names, that the objects of all
// informers share.
type Texts struct {
	Count, Bytes, Limit int64 // Bytes with the table's own
}

// Parts is what the table of parts holds, and was asked.
type Parts struct {
	Count, Bytes, Limit int64 // Bytes with the table's own, and an estimate of the parts
	Hits, Misses        int64 // of all informers
}

// textsOf is zero while the table is not used.
func textsOf(u *tableUse[decode.Intern]) Texts {
	table := texts.used(u)
	if table == nil {
		return Texts{}
	}
	s := table.Status()
	return Texts{s.Entries, s.Bytes, s.Limit}
}

// partsOf is zero while the table is not used.
func partsOf(u *tableUse[decode.Parts]) Parts {
	table := parts.used(u)
	if table == nil {
		return Parts{}
	}
	s := table.Status()
	return Parts{s.Entries, s.Bytes, s.Limit, s.Hits, s.Misses}
}
