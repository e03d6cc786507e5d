// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/kinformer/cache/internal/decode"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/tap"
)

// partsWritten is the number of modified parts found, in all informers. After an increment, no
// former object is returned again, because it may contain the modification.
var partsWritten atomic.Int64

// checkedPart returns a function that records the check of a part in l. If w is not nil, a program has
// modified the part. The first such part is reported.
func checkedPart(l *tap.Ledger) func(w *decode.Written) {
	return func(w *decode.Written) {
		l.Checked.Add(1)
		if w == nil {
			return
		}
		partsWritten.Add(1)
		if where := writtenTo(w); l.WroteTo(where) {
			event.Report(context.Background(), fmt.Errorf("a caller has modified a part that objects of an informer share: %s", where), "Objects were written to")
		}
	}
}
