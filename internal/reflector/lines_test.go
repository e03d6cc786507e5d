// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// TestHangLines: whoever comes in what order, lines are a second apart, and each ticket is
// written or counted once.
func TestHangLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var lines hangLines
		now := time.Unix(1e9, 0)
		var last time.Time
		var open []uint64
		var asked, told uint64
		come := func(i int) {
			wait, others, mine := lines.turn(open[i], now)
			if wait > 0 {
				assert.Equal(t, last.Add(hangPace), now.Add(wait), "when the line before is a second old")
				return
			}
			open = append(open[:i:i], open[i+1:]...)
			if mine {
				assert.GreaterOrEqual(t, now.Sub(last), hangPace)
				last, told = now, told+1+others
			}
			assert.LessOrEqual(t, told, asked)
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				open = append(open, lines.ask())
				asked++
			case 1:
				if len(open) > 0 {
					come(rapid.IntRange(0, len(open)-1).Draw(t, "who"))
				}
			default:
				now = now.Add(time.Duration(rapid.IntRange(1, 1500).Draw(t, "ms")) * time.Millisecond)
			}
		}
		for len(open) > 0 {
			now = now.Add(hangPace)
			come(0)
		}
		assert.Equal(t, asked, told)
	})
}
