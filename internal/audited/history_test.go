// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audited

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestRepairedMeanwhile: the finding of an audit that began before another one had the cache
// repaired is over.
func TestRepairedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h History
		found := func(took time.Duration) Audit {
			return Audit{Outcome: Differs, At: time.Now(), Took: took, Found: map[string]int{"stale": 1}}
		}
		h.Repaired()
		time.Sleep(time.Second)
		h.Note(found(2*time.Second), 0)
		n, _ := h.Differing()
		assert.Zero(t, n)
		assert.EqualValues(t, 1, h.Figures().Audits[string(Differs)])

		h.Note(found(time.Second/2), 0)
		n, _ = h.Differing()
		assert.Equal(t, 1, n)
	})
}
