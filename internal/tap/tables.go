// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"sync"
	"weak"

	"github.com/kinformer/cache/internal/decode"
)

const (
	// maxTexts is how much memory the texts that objects share take, for the whole process.
	maxTexts = 16 << 20
	// maxParts is that for parts: the most that the table keeps alive of objects that are gone,
	// with the bytes by which it finds parts.
	maxParts = 64 << 20
)

// table is one of the process, that the objects of all informers share. There is one as long as
// somebody has it: informers, which have it from their first decoder on until they end, and what
// decodes at the moment.
type table[T any] struct {
	sync.Mutex
	made func() *T
	weak weak.Pointer[T]
}

// texts has texts, as of labels and names, and parts, if informers want that, parts of objects.
var (
	texts = table[decode.Intern]{made: func() *decode.Intern { return decode.NewIntern(maxTexts) }}
	parts = table[decode.Parts]{made: func() *decode.Parts { return decode.NewParts(maxParts) }}
)

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
		got = t.made()
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
