// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDraws checks the range of each kind of draw, and that each value of a small range, and both
// ends of a large one, are drawn.
func TestDraws(t *testing.T) {
	small, large, signed := map[int]bool{}, map[uint64]bool{}, map[int64]bool{}
	bools, words, lengths := map[bool]bool{}, map[string]bool{}, map[int]bool{}
	for seed := range 300 {
		r := &T{t, random(fmt.Sprint(seed))}
		small[Int(r, -3, 4)] = true
		large[Int[uint64](r, 5, math.MaxUint64)] = true
		signed[Int[int64](r, math.MinInt64, math.MaxInt64)] = true
		bools[r.Bool()], words[Of(r, "a", "b", "c")] = true, true
		lengths[len(Slice(r, 1, 3, r.Uint64))] = true
	}
	for n := range small {
		require.True(t, -3 <= n && n <= 4, n)
	}
	assert.Len(t, small, 8)
	assert.NotContains(t, large, uint64(4))
	for _, n := range []uint64{5, math.MaxUint64} {
		assert.True(t, large[n], n)
	}
	assert.Less(t, len(large), 300, "the ends are drawn often")
	assert.Greater(t, len(large), 150)
	assert.True(t, signed[math.MinInt64] && signed[math.MaxInt64])
	assert.Equal(t, []int{2, 3}, []int{len(bools), len(words)})
	assert.Equal(t, map[int]bool{1: true, 2: true, 3: true}, lengths)
	assert.Panics(t, func() { Int(&T{t, random("1")}, 1, 0) })
}

// TestUsedUpInput checks that a run ends, with the least values, when its bytes are used up.
func TestUsedUpInput(t *testing.T) {
	r := &T{t, []byte{1}}
	assert.Equal(t, []any{1, -7, "a", false, uint64(0), []bool{false, false}},
		[]any{Int(r, 0, 1), Int(r, -7, 1000), Of(r, "a", "b"), r.Bool(), r.Uint64(), Slice(r, 2, 9, r.Bool)})
	steps := 0
	r.Repeat(map[string]func(*T){"step": func(*T) { steps++ }})
	assert.Zero(t, steps)
	(&T{t, random("1")}).Repeat(map[string]func(*T){"skips": func(t *T) { t.Skip("always") }})
}

// TestRepeat checks the steps that Repeat calls, and that the invariant is called around each that
// does not skip.
func TestRepeat(t *testing.T) {
	total, kinds := 0, map[string]bool{}
	for seed := range 100 {
		var calls []string
		step := func(name string) func(*T) { return func(*T) { calls = append(calls, name) } }
		(&T{t, random(fmt.Sprint(seed))}).Repeat(map[string]func(*T){
			"": step("check"), "a": step("a"), "b": step("b"), "skips": func(t *T) { t.Skip() },
		})
		for i, name := range calls {
			require.Equal(t, i%2 == 0, name == "check", calls)
			kinds[name] = true
		}
		require.Equal(t, 1, len(calls)%2)
		total += len(calls) / 2
	}
	assert.Len(t, kinds, 3)
	assert.InDelta(t, 3100, total, 1000)
	assert.PanicsWithValue(t, "broken", func() {
		(&T{t, random("1")}).Repeat(map[string]func(*T){"breaks": func(*T) { panic("broken") }})
	})
}

// TestCheck checks that each run has a seed of its own, which determines its values.
func TestCheck(t *testing.T) {
	var drawn []uint64
	Check(t, func(t *T) {
		drawn = append(drawn, t.Uint64())
		_, seed, _ := strings.Cut(t.Name(), "=")
		assert.Equal(t, (&T{t.T, random(seed)}).Uint64(), drawn[len(drawn)-1])
	})
	want := 100
	if chosen != "" {
		want = 1
	}
	assert.Len(t, drawn, want)
	slices.Sort(drawn)
	assert.Len(t, slices.Compact(drawn), want)
}
