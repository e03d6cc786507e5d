// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/bench/internal/report"
)

// results are a row that is twice as fast, and one whose memory is zero on
// both sides.
func results() []report.Row {
	get := report.Row{Name: "store/get"}
	get.Record(0, "CPU", "ns/op", 200)
	get.Record(1, "CPU", "ns/op", 100)
	get.Record(0, "allocations", "allocs/op", 0)
	get.Record(1, "allocations", "allocs/op", 0)
	get.Show(0, "rate", "events/s", 5)
	get.Show(1, "rate", "events/s", 5)
	return []report.Row{get}
}

func TestCheck(t *testing.T) {
	known := map[string]bool{"store/get": true, "store/slow": false}
	tests := map[string]struct {
		floors string
		want   error
	}{
		"reached":             {"store/get | CPU, ns/op | 1.5", nil},
		"just reached":        {"store/get | CPU, ns/op | 2", nil},
		"below":               {"store/get | CPU, ns/op | 2.1", ErrBelow},
		"no ratio":            {"store/get | allocations, allocs/op | 1", ErrBelow},
		"unknown row":         {"store/get | -\nstore/got | CPU, ns/op | 1", ErrUnknown},
		"unknown row, a dash": {"store/get | -\nstore/got | -", ErrUnknown},
		"unknown measure":     {"store/get | CPU, us/op | 1", ErrUnknown},
		"not compared":        {"store/get | rate, events/s | 1", ErrUnknown},
		"not run":             {"store/get | -\nstore/slow | CPU, ns/op | 1", ErrMissing},
		"without a floor":     {"# nothing", ErrUnguarded},
		"with a dash":         {"store/get | -\n\n# more", nil},
		"a pattern, reached":  {"store/* | CPU, ns/op | 1.5", nil},
		"a pattern, below":    {"store/* | CPU, ns/op | 2.1", ErrBelow},
		"a pattern of none":   {"store/get | -\nother/* | -", ErrUnknown},
		"a pattern of a slow": {"store/get | -\nstore/s* | -", ErrUnknown},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			floors, err := Parse(test.floors)
			require.NoError(t, err)
			err = floors.Check(results(), known)
			if test.want == nil {
				assert.NoError(t, err)
				return
			}
			assert.ErrorIs(t, err, test.want)
		})
	}
}

func TestEveryFindingIsNamed(t *testing.T) {
	floors, err := Parse("store/get | CPU, ns/op | 3\nstore/other | CPU, ns/op | 1")
	require.NoError(t, err)
	err = floors.Check(results(), map[string]bool{"store/get": true})
	assert.ErrorIs(t, err, ErrBelow)
	assert.ErrorIs(t, err, ErrUnknown)
	assert.ErrorContains(t, err, "store/get, CPU, ns/op: 2.00 is less than 3.00")
	assert.ErrorContains(t, err, "store/other")
}

func TestNoFloorsAcceptEverything(t *testing.T) {
	var none *Floors
	assert.NoError(t, none.Check(results(), nil))
}

func TestMalformedFloors(t *testing.T) {
	for _, text := range []string{"store/get", "store/get | CPU | x", "a | b | 1 | 2", "a | b | 1\na | b | 2"} {
		_, err := Parse(text)
		assert.Error(t, err, text)
		assert.ErrorContains(t, err, "line")
	}
}
