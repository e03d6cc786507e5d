// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package owners

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/beside"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/store"
	"github.com/kinformer/cache/internal/table"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/draw"
)

// sharedRig is a store of several sources, with a map for each of them as the model, and a handler
// that checks its calls.
type sharedRig struct {
	t        require.TestingT
	contents store.Contents
	applier  *store.Applier
	reader   *event.Reader
	batch    []event.Record

	sources []*modelSource
	shown   map[string]int    // the version that the store must have of each key
	floor   map[string]int    // the same if it is of a source that has lost the object, and newer than those of the others
	heard   map[string]string // the objects known to the handler
	calls   []string
	version int
	asked   string // the version that lists are asked for; at "0" they prove nothing
}

// modelSource is a source, with its objects according to the model.
type modelSource struct {
	*Session
	has map[string]int
}

func newSharedRig(t require.TestingT, sources int) *sharedRig {
	r := &sharedRig{t: t, asked: "0", reader: &event.Reader{}, shown: map[string]int{}, floor: map[string]int{}, heard: map[string]string{}}
	r.contents.Init(nil, table.Options{})
	r.applier = store.NewApplier(&r.contents)
	Share(r.applier)
	r.reader.Keys.Init(nil, true)
	for range sources {
		r.sources = append(r.sources, &modelSource{&Session{Source: &Source{}}, map[string]int{}})
	}
	return r
}

// event queues an event of a watch, and applies it to the model.
func (r *sharedRig) event(s *modelSource, key string, version int) {
	typ := clientgo.Updated
	if s.has[key] == 0 {
		typ = clientgo.Added
	}
	r.queue(s.Session, typ, key, strconv.Itoa(version))
	r.add(s, key, version, false)
}

func (r *sharedRig) deleted(s *modelSource, key string, version int) {
	r.queue(s.Session, clientgo.Deleted, key, strconv.Itoa(version))
	r.drop(s, key)
}

// stage returns a stage of a session, which queues its list.
func (r *sharedRig) stage(session *Session) *stage {
	return NewStage(r.reader, session, r.applier, event.Staging{Asked: r.asked}, func(rec event.Record) { r.batch = append(r.batch, rec) })
}

// publish queues the list of a stage, with more pods.
func (r *sharedRig) publish(into *stage, version string, pods ...*v1.Pod) {
	for _, pod := range pods {
		require.NoError(r.t, into.Put(pod))
	}
	require.NoError(r.t, into.Publish(version))
}

func (r *sharedRig) queue(session *Session, typ clientgo.DeltaType, key, at string) {
	r.batch = append(r.batch, event.Record{Type: typ, Key: "ns/" + key, Version: at, Object: testkit.PodAt(key, at), State: session})
}

// state queues a full list, of the current session or the next one.
func (r *sharedRig) state(s *modelSource, has map[string]int, next bool) {
	next = next || s.Number == 0
	if next {
		s.Session = &Session{Source: s.Source, Number: s.Number + 1, Stored: s.Stored}
	}
	var pods []*v1.Pod
	for _, key := range slices.Sorted(maps.Keys(has)) {
		pods = append(pods, testkit.PodAt(key, strconv.Itoa(has[key])))
	}
	r.version++
	r.publish(r.stage(s.Session), strconv.Itoa(r.version), pods...)
	for key := range maps.Clone(s.has) {
		if has[key] == 0 {
			r.drop(s, key)
		}
	}
	for key, version := range has {
		r.add(s, key, version, next || r.asked == "")
	}
}

func (r *sharedRig) remove(s *modelSource) {
	s.Session = &Session{Source: s.Source, Number: s.Number + 1}
	r.batch = append(r.batch, NewGone(s.Session))
	for key := range maps.Clone(s.has) {
		r.drop(s, key)
	}
}

// add and drop are the model of owners.add and owners.remove.
func (r *sharedRig) add(s *modelSource, key string, version int, ends bool) {
	if ends || version >= r.floor[key] {
		delete(r.floor, key)
	}
	delete(s.has, key)
	if version >= max(r.newest(key), r.floor[key]) {
		r.shown[key] = version
	}
	s.has[key] = version
}

func (r *sharedRig) drop(s *modelSource, key string) {
	if s.has[key] == 0 {
		return
	}
	delete(s.has, key)
	delete(r.floor, key)
	switch newest := r.newest(key); {
	case newest == 0:
		delete(r.shown, key)
	case r.shown[key] > newest:
		r.floor[key] = r.shown[key]
	}
}

// newest returns the newest version that a source has of a key, or 0.
func (r *sharedRig) newest(key string) (newest int) {
	for _, s := range r.sources {
		newest = max(newest, s.has[key])
	}
	return newest
}

func (r *sharedRig) holders(key string) (n int) {
	for _, s := range r.sources {
		if s.has[key] > 0 {
			n++
		}
	}
	return n
}

// apply applies the queued records, and compares the store with the model.
func (r *sharedRig) apply() {
	r.calls = nil
	for _, c := range r.applier.Apply(r.batch, true) {
		r.hear(&c)
	}
	r.applier.Done()
	r.batch = nil
	stored, want := map[string]string{}, map[string]string{}
	for _, obj := range r.contents.Table.List() {
		stored["ns/"+obj.(*v1.Pod).Name] = obj.(*v1.Pod).ResourceVersion
	}
	for key, version := range r.shown {
		want["ns/"+key] = strconv.Itoa(version)
	}
	require.Equal(r.t, want, stored)
	require.Equal(r.t, want, r.heard)
	r.checkOwners()
}

// checkOwners compares the invariants of owners with the model.
func (r *sharedRig) checkOwners() {
	shared := r.applier.Sharing.(*owners).shared
	for key := range r.shown {
		want := r.holders(key)
		if r.floor[key] > 0 {
			want++
		}
		if want == 1 {
			want = 0 // its only source is found by its keys
		}
		require.Len(r.t, shared["ns/"+key], want, key)
	}
	for key := range shared {
		require.Positive(r.t, r.shown[key[len("ns/"):]], key)
	}
	for _, s := range r.sources {
		require.Len(r.t, s.keys, len(s.has))
		require.Equal(r.t, len(s.has), s.Len())
		if _, known := r.applier.Sharing.(*owners).sources[s.Source]; !known {
			require.Empty(r.t, s.has)
		}
		r.checkState(s)
	}
}

// checkState compares the State of a source with the model.
func (r *sharedRig) checkState(s *modelSource) {
	state := beside.StateOf(r.applier, s.Session)
	if state == nil {
		require.Empty(r.t, s.has)
		return
	}
	defer state.Close()
	has := map[string]int{}
	for key, obj := range state.All() {
		origin, shown := state.Origin(key, obj)
		has[key[len("ns/"):]], _ = strconv.Atoi(origin.Version)
		require.Equal(r.t, origin.Version == obj.(*v1.Pod).ResourceVersion, shown)
	}
	want := maps.Clone(s.has)
	for key := range want {
		if r.floor[key] > 0 {
			want[key] = r.shown[key] // no source vouches for it
		}
	}
	require.Equal(r.t, want, has)
	require.Equal(r.t, len(s.has), state.Len())
	require.Equal(r.t, s.Version(), state.Version())
	for key := range r.shown {
		_, is := state.Get("ns/" + key)
		require.Equal(r.t, s.has[key] > 0, is, key)
	}
}

// hears applies the queued records, and compares the calls of the handler.
func (r *sharedRig) hears(want ...string) {
	r.apply()
	require.Equal(r.t, want, r.calls)
}

func (r *sharedRig) hear(c *event.Change) {
	if c.Many != nil {
		for i := range c.Many.Len() {
			one := c.Single(i)
			r.hear(&one)
		}
		return
	}
	known, has := r.heard[c.Key]
	version := func(obj any) string { return obj.(*v1.Pod).ResourceVersion }
	switch c.Kind {
	case event.ChangeAdd:
		require.False(r.t, has, "second Add of %s", c.Key)
		r.heard[c.Key] = version(c.New)
		r.calls = append(r.calls, fmt.Sprint("add ", c.Key, " ", version(c.New), map[bool]string{true: " initial"}[c.Initial]))
	case event.ChangeUpdate:
		require.True(r.t, has, "Update of unknown %s", c.Key)
		require.Equal(r.t, known, version(c.Old), c.Key)
		r.heard[c.Key] = version(c.New)
		r.calls = append(r.calls, fmt.Sprint("update ", c.Key, " ", version(c.New), map[bool]string{true: " resync"}[c.Resync]))
	case event.ChangeDelete:
		require.True(r.t, has, "Delete of nothing: %s", c.Key)
		delete(r.heard, c.Key)
		_, tombstone := c.Old.(clientgo.DeletedFinalStateUnknown)
		r.calls = append(r.calls, fmt.Sprint("delete ", c.Key, map[bool]string{true: " unseen"}[tombstone]))
	}
}

// TestSharedModel compares the store and the handler with the model, for any records of several
// sources in any batches. When an object is lost by one of its sources, the other is found.
func TestSharedModel(t *testing.T) { draw.Check(t, playShared) }

func FuzzSharedModel(f *testing.F) { draw.Fuzz(f, playShared) }

func playShared(t *draw.T) {
	r := newSharedRig(t, draw.Int(t, 1, 4))
	overlap := t.Bool()
	for range draw.Int(t, 1, 60) {
		n := draw.Int(t, 0, len(r.sources)-1)
		r.step(t, r.sources[n], func() string {
			key := strconv.Itoa(draw.Int(t, 0, 5))
			if !overlap {
				key = fmt.Sprint(n, "-", key)
			}
			return key
		})
		if draw.Int(t, 0, 2) == 0 {
			r.apply()
		}
	}
	r.apply()
	for _, s := range r.sources {
		r.remove(s)
	}
	r.apply()
	assert.Empty(t, r.heard)
	assert.Empty(t, r.applier.Sharing.(*owners).sources)
}

// step makes a source queue a record.
func (r *sharedRig) step(t *draw.T, s *modelSource, drawKey func() string) {
	key := drawKey()
	newer := func(key string) int { // newer than the source's version, but perhaps not than that of others
		r.version++
		return draw.Int(t, s.has[key]+1, r.version+1)
	}
	what := draw.Of(t, "event", "event", "event", "delete", "state", "replacement", "remove", "retired", "bookmark")
	if s.Number == 0 {
		what = "state"
	}
	switch what {
	case "event":
		r.version = max(r.version, s.has[key])
		r.event(s, key, newer(key))
	case "delete":
		r.deleted(s, key, r.version+1)
	case "state", "replacement":
		has := map[string]int{}
		for range draw.Int(t, 0, 5) {
			key := drawKey()
			has[key] = draw.Int(t, max(1, s.has[key]), r.version+1)
		}
		r.version++
		r.state(s, has, what == "replacement")
	case "remove":
		r.remove(s)
		s.Session = &Session{Source: &Source{}} // another source with the same name
	case "retired": // events and a list of an earlier session
		if s.Number > 1 {
			earlier := &Session{Source: s.Source, Number: s.Number - 1}
			r.publish(r.stage(earlier), "1000", testkit.PodAt(key, "1000"))
			r.queue(earlier, clientgo.Added, key, "1000")
			r.queue(earlier, clientgo.Deleted, key, "1000")
		}
	case "bookmark":
		r.batch = append(r.batch, event.Record{Type: clientgo.Bookmark, Version: strconv.Itoa(r.version + 1), State: s.Session})
	}
}

// TestSharedCalls checks the calls of handlers for two overlapping sources.
func TestSharedCalls(t *testing.T) {
	r := newSharedRig(t, 2)
	a, b := r.sources[0], r.sources[1]
	stored := 0
	b.Stored = func() { stored++ }
	r.state(a, map[string]int{"x": 1, "y": 2}, false)
	r.hears("add ns/x 1 initial", "add ns/y 2 initial")
	r.state(b, map[string]int{"y": 2, "z": 3}, false)
	r.hears("add ns/z 3 initial")
	assert.Equal(t, 1, stored)
	r.event(a, "y", 5)
	r.event(b, "y", 4)
	r.event(b, "y", 5)
	r.hears("update ns/y 5")
	r.deleted(a, "y", 6)
	r.hears()
	r.deleted(b, "y", 6)
	r.hears("delete ns/y")
	r.event(a, "x", 7)
	r.event(a, "new", 8)
	r.hears("update ns/x 7", "add ns/new 8")
	r.state(a, map[string]int{"x": 7, "new": 9}, false)
	r.hears("update ns/new 9", "update ns/x 7 resync")
	r.state(a, map[string]int{"x": 7, "other": 9}, true)
	r.hears("delete ns/new unseen", "add ns/other 9")
	r.remove(b)
	r.hears("delete ns/z unseen")
	assert.Equal(t, 1, stored, "not for the removal")
	assert.Empty(t, r.contents.Table.RV())
	assert.Equal(t, strconv.Itoa(r.version), a.Version())
}

// TestSharedDoesNotGoBack checks that after a source has lost an object, an older version of it
// from a slow source does not replace the newer one, nor does a relist. A list of the server's most
// recent state may, because a restored server restarts its versions.
func TestSharedDoesNotGoBack(t *testing.T) {
	r := newSharedRig(t, 2)
	fast, slow := r.sources[0], r.sources[1]
	r.state(fast, map[string]int{"x": 1}, false)
	r.state(slow, map[string]int{"x": 1}, false)
	r.hears("add ns/x 1 initial")
	r.event(fast, "x", 8)
	r.hears("update ns/x 8")
	r.deleted(fast, "x", 9) // it no longer matches the selector
	r.event(slow, "x", 6)
	r.hears()
	r.state(slow, map[string]int{"x": 7}, false)
	r.hears()
	r.asked = ""
	r.state(slow, map[string]int{"x": 7}, false)
	r.hears("update ns/x 7")
	r.asked = "0"
	r.event(slow, "x", 8)
	r.event(slow, "x", 9)
	r.hears("update ns/x 8", "update ns/x 9")
	r.state(fast, map[string]int{"x": 3}, false)
	r.hears()
	r.state(slow, map[string]int{"x": 3}, false)
	r.hears("update ns/x 3")
}

// TestSharedRestart checks which lists prove that the versions of a server began again: those that are
// older, or have an older object, than what the session had. They end the order of all sources that have
// objects in common, and of those that get one later.
func TestSharedRestart(t *testing.T) {
	for name, c := range map[string]struct {
		asked, version string
		x              int
		replaced, is   bool
	}{
		"older list":                {"", "2", 9, false, true},
		"asked for at a version":    {"90", "2", 9, false, true},
		"older object":              {"", "95", 3, false, true},
		"of any age":                {"0", "2", 3, false, false},
		"first list of the session": {"", "2", 3, true, false},
		"newer":                     {"", "95", 9, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newSharedRig(t, 4)
			r.version = 90
			lapsed := map[int]int{}
			for i, has := range []map[string]int{{"x": 9}, {"x": 9, "y": 8}, {"y": 8}, {"z": 7}} {
				s := r.sources[i]
				r.state(s, has, true)
				s.Lapsed = func() { lapsed[i]++ }
			}
			r.apply()
			a := r.sources[0]
			if c.replaced {
				a.Session = &Session{Source: a.Source, Number: 2}
			}
			r.asked = c.asked
			r.publish(r.stage(a.Session), c.version, testkit.PodAt("x", strconv.Itoa(c.x)))
			r.applier.Apply(r.batch, true)
			r.applier.Done()
			r.batch = nil
			if !c.is {
				assert.Empty(t, lapsed)
				return
			}
			assert.Equal(t, map[int]int{1: 1, 2: 1}, lapsed)
			assert.Empty(t, r.sources[2].Version())
			obj, _ := r.contents.Table.Get("ns/x")
			assert.Equal(t, strconv.Itoa(c.x), obj.(*v1.Pod).ResourceVersion)
			r.queue(r.sources[1].Session, clientgo.Updated, "x", "91") // of the time before
			r.queue(a.Session, clientgo.Added, "z", "5")
			r.applier.Apply(r.batch, true)
			r.applier.Done()
			assert.Equal(t, map[int]int{1: 2, 2: 1, 3: 1}, lapsed, "the first one is reminded")
			for key, want := range map[string]string{"x": strconv.Itoa(c.x), "z": "5"} {
				obj, _ := r.contents.Table.Get("ns/" + key)
				assert.Equal(t, want, obj.(*v1.Pod).ResourceVersion, key)
			}
		})
	}
}

// TestSharedProgress checks that each source has its own version, for which its server vouches.
func TestSharedProgress(t *testing.T) {
	r := newSharedRig(t, 2)
	a, b := r.sources[0], r.sources[1]
	reached := func(s *modelSource, version string) bool {
		yes, err := s.Progress.Reached(s.Version, version)
		require.NoError(t, err)
		return yes
	}
	r.state(a, map[string]int{"x": 1}, false)
	r.apply()
	assert.True(t, reached(a, "1"))
	assert.False(t, reached(a, "2"))
	assert.False(t, reached(b, "1"))
	defer a.Progress.Await()()
	changed := a.Progress.Next()
	r.batch = append(r.batch, event.Record{Type: clientgo.Bookmark, Version: "9", State: a.Session})
	r.apply()
	<-changed
	assert.True(t, reached(a, "9"))
	r.remove(a)
	r.apply()
	assert.False(t, reached(a, "1"))
	b.Session = &Session{Source: b.Source, Number: 1}
	r.publish(r.stage(b.Session), "")
	r.event(b, "x", 7)
	r.applier.Apply(r.batch, false)
	r.batch = nil
	assert.Equal(t, "7", b.Version())
	assert.False(t, reached(b, "5"), "the first objects are added in any order")
	assert.Nil(t, beside.StateOf(r.applier, nil))
}

// TestSharedTransactions checks that a list of a source, its replacement and its removal are each
// visible as one state.
func TestSharedTransactions(t *testing.T) {
	r := newSharedRig(t, 2)
	writes := 0
	r.contents.OnVersion = func(string) { writes++ }
	one := func() {
		t.Helper()
		writes = 0
		r.apply()
		assert.Equal(t, 1, writes)
	}
	a, b := r.sources[0], r.sources[1]
	r.state(a, map[string]int{"x": 1, "y": 2, "z": 3}, false)
	one()
	r.state(b, map[string]int{"y": 2, "z": 4, "b": 1}, false)
	one()
	r.state(a, map[string]int{"x": 3, "y": 4}, false)
	one()
	r.state(a, map[string]int{"x": 3, "q": 4}, true)
	one()
	r.event(a, "x", 7)
	r.event(b, "b", 7)
	one() // so are waiting events of any sources, if they are about different objects
	r.remove(b)
	one()
}

// TestSharedStored checks that callers that wait for a list, or for the end of a source, are called
// when the handlers have received all earlier changes.
func TestSharedStored(t *testing.T) {
	r := newSharedRig(t, 1)
	var told []string
	r.sources[0].Stored = func() { told = append(told, "stored") }
	r.state(r.sources[0], map[string]int{"x": 1}, false)
	r.batch = append(r.batch, NewEnd(func() { told = append(told, "over") }))
	assert.Len(t, r.applier.Apply(r.batch, false), 1)
	assert.Empty(t, told)
	r.applier.Done()
	assert.Equal(t, []string{"stored", "over"}, told)
}

// TestSharedKeepsCached checks that a listed object that cannot be transformed keeps its cached
// version if KeepCached is set, or an earlier one of the list, and counts as behind. Otherwise the list
// fails.
func TestSharedKeepsCached(t *testing.T) {
	testkit.Reports(t)
	r := newSharedRig(t, 1)
	s := r.sources[0]
	r.reader.Transform.Function = func(obj any) (any, error) {
		if obj.(*v1.Pod).ResourceVersion == "13" {
			return nil, testkit.ErrInternal
		}
		return obj, nil
	}
	r.state(s, map[string]int{"x": 1, "y": 2, "z": 3}, false)
	r.apply()
	require.ErrorIs(t, r.stage(s.Session).Put(testkit.PodAt("x", "13")), testkit.ErrInternal)
	r.reader.Transform.KeepCached = true
	stage := r.stage(s.Session)
	require.NoError(t, stage.Put(testkit.PodAt("gone", "14")))
	require.NoError(t, stage.Remove(testkit.PodAt("gone", "15")))
	require.NoError(t, stage.Put(testkit.PodAt("z", "13")))
	require.NoError(t, stage.Remove(testkit.PodAt("z", "15")))
	r.publish(stage, "16", testkit.PodAt("x", "13"), testkit.PodAt("new", "13"), testkit.PodAt("lapsed", "12"), testkit.PodAt("lapsed", "13"))
	r.add(s, "lapsed", 12, true)
	r.drop(s, "y")
	r.drop(s, "z")
	r.apply()
	assert.ElementsMatch(t, []string{"add ns/lapsed 12", "delete ns/y unseen", "delete ns/z unseen"}, r.calls)
	behind, _, _ := r.reader.Transform.Counts()
	assert.Equal(t, 3, behind)
}

// TestSharedDistrustedLists checks that a list requested because the cache is in doubt reports other
// contents under the cached version, and nothing else, also if another source has the object.
func TestSharedDistrustedLists(t *testing.T) {
	for _, sources := range []int{1, 2} {
		r := newSharedRig(t, sources)
		for _, s := range r.sources {
			r.state(s, map[string]int{"x": 1, "y": 2}, false)
		}
		r.apply()
		for _, s := range r.sources {
			wrong := testkit.PodAt("y", "2")
			wrong.Labels = map[string]string{"wrong": "yes"}
			r.contents.Table.Apply([]table.Op{{Key: "ns/y", Object: wrong}}, func(held string) string { return held })
			stage, stored := r.stage(s.Session), false
			stage.state.staging.Distrust, stage.state.staging.Stored = true, func() { stored = true }
			r.publish(stage, "3", testkit.PodAt("x", "1"), testkit.PodAt("y", "2"))
			r.hears("update ns/y 2")
			assert.True(t, stored)
			right, _ := r.contents.Table.Get("ns/y")
			assert.Empty(t, right.(*v1.Pod).Labels)
		}
	}
}

// TestSharedUnordered checks that of versions without an order the last one is stored, also within a
// batch, and that the claims to objects without versions are dropped with the overlap.
func TestSharedUnordered(t *testing.T) {
	r := newSharedRig(t, 2)
	for _, s := range r.sources {
		r.state(s, nil, false)
		r.queue(s.Session, clientgo.Updated, "x", "q")
		r.queue(s.Session, clientgo.Added, "bare", "")
	}
	r.applier.Apply(r.batch, false)
	r.batch = nil
	assert.Contains(t, r.applier.Sharing.(*owners).shared, "ns/bare")
	a := r.sources[0].Session
	r.queue(a, clientgo.Updated, "x", "p")
	r.queue(a, clientgo.Updated, "x", "q")
	r.queue(a, clientgo.Deleted, "bare", "")
	r.applier.Apply(r.batch, false)
	assert.NotContains(t, r.applier.Sharing.(*owners).shared, "ns/bare")
	assert.Equal(t, 2, r.contents.Table.Len())
	stored, _ := r.contents.Table.Get("ns/x")
	assert.Equal(t, "q", stored.(*v1.Pod).ResourceVersion)
}

// TestSharedReceived checks that the received version of an object that does not show it is known
// while the object is stored.
func TestSharedReceived(t *testing.T) {
	r := newSharedRig(t, 1)
	r.reader.Transform.Function = func(obj any) (any, error) {
		obj.(*v1.Pod).ResourceVersion = ""
		return obj, nil
	}
	for _, version := range []int{1, 2} {
		r.state(r.sources[0], map[string]int{"x": version}, false)
		r.applier.Apply(r.batch, false)
		r.batch = nil
		stored, _ := r.contents.Table.Get("ns/x")
		assert.Equal(t, strconv.Itoa(version), r.applier.Received.Version("ns/x", stored))
	}
	r.remove(r.sources[0])
	r.applier.Apply(r.batch, false)
	assert.Empty(t, r.applier.Received)
}

// TestRemovedByTheProgram: if a list lacks an object that the program has removed from the store, handlers are not told of a
// deletion without an object.
func TestRemovedByTheProgram(t *testing.T) {
	r := newSharedRig(t, 1)
	r.state(r.sources[0], map[string]int{"a": 1, "b": 1}, true)
	r.applier.Apply(r.batch, false)
	r.applier.Done()
	r.contents.Apply([]table.Op{{Key: "ns/a", Delete: true}}, func(held string) string { return held })
	r.batch = nil
	r.state(r.sources[0], map[string]int{"b": 1}, false)
	for _, c := range r.applier.Apply(r.batch, false) {
		if c.Kind == event.ChangeDelete && c.Old.(clientgo.DeletedFinalStateUnknown).Obj == nil {
			t.Errorf("a deletion without an object: %#v", c.Old)
		}
	}
}
