// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRatesOfChanges checks the rates of changes and the numbers of objects of 1,000 nodes.
func TestRatesOfChanges(t *testing.T) {
	const nodes, seconds = 1000, 600
	w := New(Config{Nodes: nodes, Seed: 1})
	w.Advance(seconds * time.Second)
	for r, each := range map[Resource]float64{ // changes per second of 1,000 nodes, which follow from the periods
		Leases: 100, Nodes: 3.6, Pods: 22, Slices: 14, Events: 21, ReplicaSets: 4.3,
	} {
		assert.InEpsilon(t, each, float64(w.Shelf(r).Next())/seconds, 0.25, "%s", r)
	}
	for r, n := range map[Resource]int{Pods: nodes * PodsPerNode, Events: nodes * EventsPerNode, ReplicaSets: 2 * w.Deployments()} {
		state, _ := w.Shelf(r).State()
		assert.InDelta(t, n, state.Objects, nodes/10)
	}
}

// TestWhereToFollowFrom checks that Since and Read accept a version unless it is compacted or no
// longer in the log.
func TestWhereToFollowFrom(t *testing.T) {
	w := New(Config{Nodes: 5, Seed: 1, Log: 8})
	s := w.Shelf(Leases)
	early := s.Snapshot()
	w.Advance(time.Minute)
	_, err := s.Since(early.Version)
	assert.ErrorIs(t, err, ErrGone)
	_, _, _, err = s.Read(s.Next()-9, nil)
	assert.ErrorIs(t, err, ErrGone)
	next, err := s.Since(s.loggedLocked(s.Next() - 3).Object.Version)
	require.NoError(t, err)
	assert.Equal(t, s.Next()-2, next)
	latest := s.Snapshot().Version
	s.Compact()
	_, err = s.Since(latest)
	assert.ErrorIs(t, err, ErrGone)
	_, err = s.Since(s.Snapshot().Version)
	assert.NoError(t, err)
}
