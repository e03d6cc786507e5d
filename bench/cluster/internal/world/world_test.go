// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// follower is what a client would have: it follows the log of a resource.
type follower struct {
	t       *testing.T
	shelf   *Shelf
	next    uint64
	version uint64
	objects map[uint32]Object
}

func follow(t *testing.T, s *Shelf) *follower {
	snapshot := s.Snapshot()
	f := &follower{t: t, shelf: s, next: snapshot.Next, version: snapshot.Version, objects: map[uint32]Object{}}
	for _, o := range snapshot.Objects {
		f.objects[o.Serial] = o
	}
	require.Len(t, f.objects, len(snapshot.Objects), "serial numbers are used once")
	return f
}

// read takes over all changes, each of which must be possible.
func (f *follower) read() (changes []Change) {
	buffer := make([]Change, 100)
	for {
		n, _, _, err := f.shelf.Read(f.next, buffer)
		require.NoError(f.t, err)
		for _, c := range buffer[:n] {
			f.take(c)
		}
		changes = append(changes, buffer[:n]...)
		if f.next += uint64(n); n == 0 {
			return changes
		}
	}
}

func (f *follower) take(c Change) {
	before, known := f.objects[c.Object.Serial]
	require.Equal(f.t, c.Kind != Added, known, "%s: %+v", f.shelf.resource, c)
	require.Greater(f.t, c.Object.Version, f.version)
	f.version = c.Object.Version
	switch c.Kind {
	case Deleted:
		require.Equal(f.t, before.Changes, c.Object.Changes)
		delete(f.objects, c.Object.Serial)
	case Modified:
		require.Equal(f.t, before.Changes+1, c.Object.Changes)
		fallthrough
	default:
		f.objects[c.Object.Serial] = c.Object
	}
}

func (f *follower) state() (s State) {
	for _, o := range f.objects {
		s.Add(UID(f.shelf.resource, o.Serial), o.Version)
	}
	return s
}

// TestChangesLeadToTheState: who follows the log has what a list has.
func TestChangesLeadToTheState(t *testing.T) {
	w := New(Config{Nodes: 40, Seed: 3, Churn: 20})
	w.Epoch(1_790_000_000_000_000_000)
	var followers []*follower
	for _, r := range All() {
		followers = append(followers, follow(t, w.Shelf(r)))
	}
	for at := time.Duration(0); at < 5*time.Minute; at += 10 * time.Second {
		w.Advance(at)
		for _, f := range followers {
			for _, c := range f.read() {
				since := time.Duration(c.Object.Due - 1_790_000_000_000_000_000)
				assert.True(t, since <= at && since > at-10*time.Second, "due at %s, done at %s", since, at)
			}
			state, changes := f.shelf.State()
			require.Equal(t, state, f.state())
			require.Equal(t, changes, f.next)
			require.Len(t, f.objects, state.Objects)
		}
	}
	for _, f := range followers {
		assert.Positive(t, f.next, "%s changed", f.shelf.resource)
	}
}

// TestSameSeedSameChanges, also if time passes in other steps; another seed makes others.
func TestSameSeedSameChanges(t *testing.T) {
	states := func(seed uint64, step time.Duration) (all [Resources]State) {
		w := New(Config{Nodes: 20, Seed: seed, Churn: 10})
		for at := step; at <= time.Minute; at += step {
			w.Advance(at)
		}
		for _, r := range All() {
			all[r], _ = w.Shelf(r).State()
		}
		return all
	}
	one := states(1, time.Second)
	assert.Equal(t, one, states(1, 20*time.Second))
	assert.NotEqual(t, one, states(2, time.Second))
}

// TestHowOftenThingsHappen at the size and the pace of a real cluster.
func TestHowOftenThingsHappen(t *testing.T) {
	const nodes, seconds = 1000, 600
	w := New(Config{Nodes: nodes, Seed: 1})
	state, _ := w.Shelf(Pods).State()
	assert.Equal(t, nodes*PodsPerNode, state.Objects)
	w.Advance(seconds * time.Second)
	for r, each := range map[Resource]float64{ // per second for 1000 nodes, after the comment of the periods
		Leases: 100, Nodes: 3.6, Pods: 22, Slices: 14, Events: 21, ReplicaSets: 4.3,
	} {
		assert.InEpsilon(t, each, float64(w.Shelf(r).Next())/seconds, 0.25, "%s", r)
	}
	state, _ = w.Shelf(Pods).State()
	assert.InDelta(t, nodes*PodsPerNode, state.Objects, nodes/10, "those that end and those that begin")
	state, _ = w.Shelf(Events).State()
	assert.InDelta(t, nodes*EventsPerNode, state.Objects, nodes/10)
	state, _ = w.Shelf(ReplicaSets).State()
	assert.Equal(t, 2*w.Deployments(), state.Objects)
}

// TestPodsLive: each step of a pod is one of a life, and rollouts come to their end.
func TestPodsLive(t *testing.T) {
	w := New(Config{Nodes: 10, Seed: 5, Churn: 100})
	f := follow(t, w.Shelf(Pods))
	steps := map[[2]Shape]int{}
	for at := time.Duration(0); at < 3*time.Minute; at += time.Second {
		w.Advance(at)
		before := map[uint32]Shape{}
		for serial, o := range f.objects {
			before[serial] = o.Shape
		}
		for _, c := range f.read() {
			if c.Kind == Modified {
				steps[[2]Shape{before[c.Object.Serial], c.Object.Shape}]++
			} else if c.Kind == Deleted {
				assert.Equal(t, Terminating, c.Object.Shape)
			}
			before[c.Object.Serial] = c.Object.Shape
		}
	}
	for _, step := range [][2]Shape{{Pending, Scheduled}, {Scheduled, Starting}, {Starting, Ready}, {Ready, Starting}, {Ready, Terminating}} {
		assert.Positive(t, steps[step], "%v", step)
		delete(steps, step)
	}
	for step := range steps {
		assert.Equal(t, Terminating, step[1], "%v: only the end may come at any time", step)
	}
}

func TestWhereToFollowFrom(t *testing.T) {
	w := New(Config{Nodes: 3, Seed: 1})
	s := w.Shelf(Leases)
	first := s.Snapshot()
	w.Advance(time.Minute)
	next, err := s.Since(first.Version)
	require.NoError(t, err)
	assert.Equal(t, first.Next, next)
	changes := make([]Change, 3)
	n, _, _, err := s.Read(next, changes)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	next, err = s.Since(changes[1].Object.Version)
	require.NoError(t, err)
	assert.Equal(t, first.Next+2, next, "the change after that of the version")
	next, err = s.Since(s.Snapshot().Version)
	require.NoError(t, err)
	assert.Equal(t, s.Next(), next)
	_, err = s.Since(FirstVersion)
	assert.ErrorIs(t, err, ErrGone, "before the world")

	latest := s.Snapshot().Version
	s.Compact()
	_, err = s.Since(latest)
	assert.ErrorIs(t, err, ErrGone)
	_, err = s.Since(s.Snapshot().Version)
	assert.NoError(t, err)
}

// TestTheLogForgets what came first: who is so far behind cannot go on.
func TestTheLogForgets(t *testing.T) {
	w := New(Config{Nodes: 5, Seed: 1, Log: 8})
	s := w.Shelf(Leases)
	f := follow(t, s)
	early := s.Snapshot().Version
	for at := time.Second; s.Next() < 30; at += time.Second {
		w.Advance(at)
		f.read()
	}
	state, _ := s.State()
	assert.Equal(t, state, f.state())
	_, err := s.Since(early)
	assert.ErrorIs(t, err, ErrGone)
	_, _, _, err = s.Read(s.Next()-9, make([]Change, 1))
	assert.ErrorIs(t, err, ErrGone)
	n, _, _, err := s.Read(s.Next()-8, make([]Change, 100))
	require.NoError(t, err)
	assert.Equal(t, 8, n)
	next, err := s.Since(s.loggedLocked(s.Next() - 3).Object.Version)
	require.NoError(t, err)
	assert.Equal(t, s.Next()-2, next)
}

// TestReadersBesideTheWriter take whole states and follow them.
func TestReadersBesideTheWriter(t *testing.T) {
	w := New(Config{Nodes: 20, Seed: 1, Churn: 50})
	var readers sync.WaitGroup
	done := make(chan struct{})
	for _, r := range All() {
		readers.Go(func() {
			f := follow(t, w.Shelf(r))
			for ended := false; !ended; {
				_, changed, _, err := f.shelf.Read(f.next, nil)
				assert.NoError(t, err)
				select {
				case <-changed:
				case <-done:
					ended = true
				}
				f.read()
			}
			state, _ := f.shelf.State()
			assert.Equal(t, state, f.state())
		})
	}
	for at := time.Duration(0); at < time.Minute; at += 100 * time.Millisecond {
		w.Advance(at)
	}
	close(done)
	readers.Wait()
}

func TestUIDs(t *testing.T) {
	seen := map[string]bool{}
	for r := range Resources {
		for serial := range uint32(1000) {
			uid := UID(r, serial)
			assert.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$`, uid)
			seen[uid] = true
		}
	}
	assert.Len(t, seen, int(Resources)*1000)
}

// TestStatesDiffer for another object, or another version.
func TestStatesDiffer(t *testing.T) {
	var a, b, c, d State
	a.Add("x", 1)
	a.Add("y", 2)
	b.Add("y", 2)
	b.Add("x", 1)
	c.Add("x", 2)
	c.Add("y", 1)
	d.Add("x", 1)
	assert.Equal(t, a, b)
	assert.NotEqual(t, a, c)
	assert.NotEqual(t, a, d)
}

// TestStatesOfThePast are those that were there at their version.
func TestStatesOfThePast(t *testing.T) {
	w := New(Config{Nodes: 20, Seed: 1, Churn: 100})
	for _, r := range All() {
		s := w.Shelf(r)
		past := map[uint64]State{}
		for range 20 {
			w.Advance(w.plan.now + 2*time.Second)
			state, _ := s.State()
			past[s.Snapshot().Version] = state
		}
		for version, want := range past {
			at, err := s.At(version)
			require.NoError(t, err)
			var got State
			for _, o := range at.Objects {
				got.Add(UID(r, o.Serial), o.Version)
			}
			assert.Equal(t, want, got, "%s", r)
			assert.Equal(t, version, at.Version)
		}
		_, err := s.At(FirstVersion)
		assert.ErrorIs(t, err, ErrGone)
	}
}
