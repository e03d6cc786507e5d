// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/kinformer/cache/inspect"
)

// TestRepairedMeanwhile: the findings of an audit that began before another audit's repair are
// dropped.
func TestRepairedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h history
		note := func(took time.Duration) {
			h.note(inspect.AuditResult{Outcome: outcomeDifferent, At: time.Now(), Took: took}, map[Kind]int{Stale: 1}, 0)
		}
		h.noteRepaired()
		time.Sleep(time.Second)
		note(2 * time.Second)
		n, _ := h.Differing()
		assert.Zero(t, n)
		assert.EqualValues(t, 1, h.Stats().Ended[outcomeDifferent])

		note(time.Second / 2)
		n, _ = h.Differing()
		assert.Equal(t, 1, n)
	})
}
