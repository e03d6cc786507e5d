// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLatenciesCountFromTheSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var done atomic.Bool
		// Time stands still while a goroutine runs, so the first read is the one that lets it pass:
		// four reads are late when it returns, and they take no time.
		latencies, err := onSchedule(time.Millisecond, func(i int) error {
			if i == 0 {
				<-time.After(4 * time.Millisecond)
				done.Store(true)
			}
			return nil
		}, &done)
		require.NoError(t, err)
		assert.Equal(t, []float64{4000, 3000, 2000, 1000}, latencies)
	})
}

func TestFailedReadsEndTheSchedule(t *testing.T) {
	var done atomic.Bool
	broken := errors.New("broken")
	_, err := onSchedule(time.Microsecond, func(i int) error {
		if i == 2 {
			return broken
		}
		return nil
	}, &done)
	assert.ErrorIs(t, err, broken)
}

func TestASnapshotThatMovesFailsTheRound(t *testing.T) {
	e := &env{sides: sides(), n: 20, seed: 1, kind: kind{n: 20}}
	population, err := e.population(t.Context())
	require.NoError(t, err)
	filled, err := newStores(e.sides, population, 1)
	require.NoError(t, err)
	_, err = holding(true).during(e.sides[1], filled[1], func() (outcome, error) {
		out, err := storeOutcome(filled[1], 0, nil)
		out.check.State++
		return out, err
	})
	assert.ErrorIs(t, err, errSnapshotMoved)
	_, err = holding(true).during(e.sides[0], filled[0], func() (outcome, error) { return storeOutcome(filled[0], 0, nil) })
	assert.NoError(t, err, "a side without snapshots")
}
