// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"sync"
	"weak"

	"github.com/kinformer/cache/internal/decode"
)

// maxTexts is how much memory the texts that objects share take, for the whole process.
const maxTexts = 16 << 20

// Texts is what the table of the process holds, as of labels and names, that the objects of all
// informers share.
type Texts struct {
	Count, Bytes, Limit int64 // Bytes with the table's own
}

// texts is the table of the process. There is one as long as somebody has it: informers, which have
// it from their first decoder on until they end, and what decodes at the moment.
var texts struct {
	sync.Mutex
	table weak.Pointer[decode.Intern]
}

// textsUse is the use of the table by an informer. As it is nothing but a pointer, none is left
// when the informer is not, however it ends. The zero value is that of an informer that does not
// run. The lock of texts guards it.
type textsUse struct {
	runs  bool
	table *decode.Intern // nil: it has no decoder that needs it
}

// begin begins a use, for which a table is made when it is asked for.
func (u *textsUse) begin() {
	texts.Lock()
	defer texts.Unlock()
	u.runs = true
}

func (u *textsUse) end() {
	texts.Lock()
	defer texts.Unlock()
	*u = textsUse{}
}

// get returns the table of the process. Who asks for it before the begin or after the end has it
// for himself, and no longer than he keeps it.
func (u *textsUse) get() *decode.Intern {
	texts.Lock()
	defer texts.Unlock()
	table := texts.table.Value()
	if table == nil {
		table = decode.NewIntern(maxTexts)
		texts.table = weak.Make(table)
	}
	if u.runs {
		u.table = table
	}
	return table
}

// status is zero while the table is not used.
func (u *textsUse) status() Texts {
	texts.Lock()
	table := u.table
	texts.Unlock()
	if table == nil {
		return Texts{}
	}
	s := table.Status()
	return Texts{s.Texts, s.Bytes, s.Limit}
}
