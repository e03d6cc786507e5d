// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// roomyParts is a table with so many slots that no part is in the way of another.
func roomyParts() *Parts {
	table := NewParts(1 << 20)
	table.fewest = 1 << 14
	table.clear()
	return table
}

// watched is two sets of options that share parts by one table, of which the second one has each
// part checked that is found, and how many were found that somebody had written to.
type watched struct {
	plain, checking Options
	written         int
}

func newWatched() *watched {
	w := new(watched)
	w.plain.Share = NewSharing(roomyParts()).Report(func(part *Written) {
		if part != nil {
			w.written++
		}
	})
	w.checking = w.plain
	w.checking.Checks = true
	return w
}

// untilUnchecked repeats a test in which a part was checked by chance before it was to be.
func untilUnchecked(t *testing.T, test func(*watched) (unchecked bool)) {
	for !test(newWatched()) {
		require.NoError(t, t.Context().Err())
	}
}

// TestWrittenStaysAway: once it was found that somebody has written to a part, no new object has
// what was written, although that is in smaller parts, too.
func TestWrittenStaysAway(t *testing.T) {
	for _, w := range writersOf(t) {
		t.Run(w.name, func(t *testing.T) {
			untilUnchecked(t, func(o *watched) bool {
				right := w.decode(Options{})
				for range 4 {
					require.Equal(t, right, w.decode(o.plain))
				}
				w.write(w.decode(o.plain))
				if same := reflect.DeepEqual(right, w.decode(o.plain)); o.written > 0 {
					return false
				} else if same {
					require.Fail(t, "the part is not shared")
				}
				require.Equal(t, right, w.decode(o.checking))
				for range 4 {
					require.Equal(t, right, w.decode(o.plain))
				}
				require.Equal(t, 1, o.written)
				o.plain.Share.table.check(t)
				return true
			})
		})
	}
}

// commandOf returns the command of the first container of a pod of that name, in JSON or protobuf,
// which all such pods have, in a list of containers of their own.
func commandOf(t *testing.T, name string, wire bool, o Options) []string {
	data := fmt.Appendf(nil, `{"spec":{"containers":[{"name":"%s","command":["some","command","of","texts"]}]}}`, name)
	plan, pod := planOf(t, reflect.TypeFor[corev1.Pod]()), new(corev1.Pod)
	if !wire {
		require.NoError(t, plan.JSON(data, pod, o))
		return pod.Spec.Containers[0].Command
	}
	require.NoError(t, json.Unmarshal(data, pod))
	message, err := pod.Marshal()
	require.NoError(t, err)
	*pod = corev1.Pod{}
	require.NoError(t, plan.Protobuf(message, pod, o))
	return pod.Spec.Containers[0].Command
}

// TestWrittenStaysAwayFromOthers: nor has an object in which it is in a larger part.
func TestWrittenStaysAwayFromOthers(t *testing.T) {
	for _, wire := range []bool{false, true} {
		untilUnchecked(t, func(o *watched) bool {
			right := commandOf(t, "a", wire, Options{})
			for range 4 {
				commandOf(t, "a", wire, o.plain)
				commandOf(t, "b", wire, o.plain)
			}
			written := commandOf(t, "a", wire, o.plain)
			written[1] = "hunter2"
			others := commandOf(t, "b", wire, o.plain)
			if o.written > 0 {
				return false
			}
			require.Same(t, &written[0], &others[0], "all share it")
			require.Equal(t, right, commandOf(t, "c", wire, o.checking), "of which no larger part is known")
			require.Equal(t, 1, o.written)
			for range 4 {
				for _, name := range []string{"a", "b", "c"} {
					require.Equal(t, right, commandOf(t, name, wire, o.plain), "protobuf: %v", wire)
				}
			}
			return true
		})
	}
}
