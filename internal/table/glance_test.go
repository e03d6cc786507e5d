// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The tests here step a glance by hand: the writer changes the posting between
// two of the leaves that the glance looks at.

// filled returns a table with n objects under the value "v", in the order in
// which they are in the posting.
func filled(n int) (table *Table, keys []string) {
	table = newValueTable()
	for i := range n {
		keys = append(keys, strconv.Itoa(i))
		put(table, keys[i], &half{value: "v"})
	}
	return table, keys
}

// TestGlanceAnswersFromAState is the same at random: after any member that a
// glance has found, the writer may make changes around a multiple of leafLen.
// An answer of which the glance is sure is that of one of the states.
func TestGlanceAnswersFromAState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "leaves")*leafLen + rapid.IntRange(-1, 2).Draw(t, "more")
		table, keys := filled(n)
		if rapid.Bool().Draw(t, "hold") {
			defer table.Snapshot().Close()
		}
		stops := rapid.SliceOfN(rapid.IntRange(0, n-1), 1, 3).Draw(t, "stops")
		states := []string{valuesNow(t, table)}
		v, at, found := table.glance(), 0, []string{}
		p, err := v.posting("value", "v")
		require.NoError(t, err)
		sure := v.each(p, func(_ uint32, key string, obj any) bool {
			found = append(found, key+"="+strconv.Itoa(obj.(*half).count))
			if slices.Contains(stops, at) {
				table.Apply(someOps(t, keys, at), nil)
				states = append(states, valuesNow(t, table))
			}
			at++
			return true
		})
		slices.Sort(found)
		if sure {
			require.Contains(t, states, strings.Join(found, " "))
		}
	})
}

// someOps draws a batch that adds and removes members, or changes them: most
// of those that come before at, some of the others.
func someOps(t *rapid.T, keys []string, at int) []Op {
	ops := make([]Op, rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(t, "ops"))
	for i := range ops {
		among := keys[:at+1]
		if rapid.IntRange(0, 3).Draw(t, "any") == 0 {
			among = keys
		}
		ops[i].Key = rapid.SampledFrom(among).Draw(t, "key")
		switch rapid.IntRange(0, 5).Draw(t, "change") {
		case 0:
			ops[i].Object = &half{value: "v", count: rapid.IntRange(1, 9).Draw(t, "count")}
		case 1:
			ops[i] = Op{Key: "new-" + strconv.Itoa(rapid.IntRange(0, 2).Draw(t, "new")), Object: &half{value: "v"}}
		case 2:
			ops[i].Object = &half{value: "w"}
		default:
			ops[i].Delete = true
		}
	}
	return ops
}

// valuesNow tells what a reader with a pin finds under the value.
func valuesNow(t require.TestingT, table *Table) string {
	seq, err := table.ByIndexSeq("value", "v")
	require.NoError(t, err)
	found := []string{}
	for key, obj := range seq {
		found = append(found, key+"="+strconv.Itoa(obj.(*half).count))
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}
