// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// changesSince applies the changes from a number on to there, checks that each is possible, and
// returns the number of the next change.
func changesSince(t *testing.T, s *Shelf, from uint64, there map[uint32]Object) uint64 {
	buffer := make([]Change, 100)
	for {
		n, _, _, err := s.Read(from, buffer)
		require.NoError(t, err)
		if from += uint64(n); n == 0 {
			return from
		}
		for _, c := range buffer[:n] {
			before, known := there[c.Object.Serial]
			require.Equal(t, c.Kind != Added, known, "%s: %+v", s.resource, c)
			require.Greater(t, c.Object.Version, before.Version)
			there[c.Object.Serial] = c.Object
			if c.Kind == Deleted {
				delete(there, c.Object.Serial)
			}
		}
	}
}

// TestChangesLeadToTheState checks that the changes of the log add up to the state, and that equal
// seeds make equal changes.
func TestChangesLeadToTheState(t *testing.T) {
	w, twin := New(Config{Nodes: 40, Seed: 3, Churn: 20}), New(Config{Nodes: 40, Seed: 3, Churn: 20})
	var next [Resources]uint64
	there := map[Resource]map[uint32]Object{}
	for _, r := range All() {
		there[r] = map[uint32]Object{}
		for _, o := range w.Shelf(r).Snapshot().Objects {
			there[r][o.Serial] = o
		}
	}
	for at := time.Duration(0); at < 5*time.Minute; at += 10 * time.Second {
		w.Advance(at)
		for _, r := range All() {
			next[r] = changesSince(t, w.Shelf(r), next[r], there[r])
			var followed State
			for _, o := range there[r] {
				followed.Add(UID(r, o.Serial), o.Version)
			}
			state, changes := w.Shelf(r).State()
			require.Equal(t, state, followed)
			require.Equal(t, changes, next[r])
		}
	}
	twin.Advance(5*time.Minute - 10*time.Second)
	for _, r := range All() {
		state, changes := w.Shelf(r).State()
		same, _ := twin.Shelf(r).State()
		assert.Equal(t, state, same)
		assert.Positive(t, changes, "%s changed", r)
	}
}

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

// TestStillWorldsRepeatVersions checks that Rewind and Feed make the same versions again.
func TestStillWorldsRepeatVersions(t *testing.T) {
	w := NewStill(Pods, 70, 30)
	assert.Equal(t, 3, w.Deployments())
	s := w.Shelf(Pods)
	first, _ := s.State()
	w.Feed()
	fed, changes := s.State()
	assert.Equal(t, 70, fed.Objects)
	assert.Equal(t, uint64(70), changes)
	assert.NotEqual(t, first, fed)
	w.Rewind()
	again, _ := s.State()
	assert.Equal(t, first, again)
	w.Feed()
	again, _ = s.State()
	assert.Equal(t, fed, again)
}

// TestIdleWorldsChangeByTouch checks that Touch changes the object with that number, and no other.
func TestIdleWorldsChangeByTouch(t *testing.T) {
	w := NewIdle(70, 3)
	assert.Equal(t, 3, w.Deployments())
	pods := w.Shelf(Pods)
	before := pods.Snapshot()
	assert.Len(t, before.Objects, 70)
	assert.Len(t, w.Shelf(Leases).Snapshot().Objects, 3)
	_, changed, _, err := pods.Read(before.Next, nil)
	require.NoError(t, err)
	version := w.Touch(Pods, 41)
	<-changed
	after := pods.Snapshot()
	assert.Equal(t, version, after.Version)
	before.Objects[41].Changes, before.Objects[41].Version = 1, version
	assert.Equal(t, before.Objects, after.Objects)
	_, err = pods.Since(before.Version - 1)
	assert.ErrorIs(t, err, ErrGone)
}
