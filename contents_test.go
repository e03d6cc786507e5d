// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/table"
)

// storeRig is a store without an informer: what it reads waits until it is applied.
type storeRig struct {
	reader   reader
	contents contents
	applier  *applier
	waiting  []record
}

func newStoreRig(functions map[string]table.IndexFunc, options table.Options) *storeRig {
	r := &storeRig{}
	r.contents.init(functions, options)
	r.applier = newApplier(&r.contents)
	r.reader.keys.init(clientgo.MetaNamespaceKeyFunc, true)
	r.reader.keys.known, r.reader.logger = r.contents.table, klog.Background()
	return r
}

func (r *storeRig) take(rec record) { r.waiting = append(r.waiting, rec) }

// stage begins a whole state.
func (r *storeRig) stage(size int, reuse bool) *stateStage {
	return newStateStage(&r.reader, &r.contents, size, reuse && r.contents.table.Len() > 0, r.take)
}

// put reads an event of the watch.
func (r *storeRig) put(typ clientgo.DeltaType, obj any) error {
	rec, err := r.reader.record(typ, obj)
	if err == nil {
		r.take(rec)
	}
	return err
}

// apply applies what waits, and passes on what it means.
func (r *storeRig) apply(initial bool, told func(changes []change)) {
	batch := r.waiting
	r.waiting = nil
	defer r.applier.done()
	told(r.applier.apply(batch, initial))
}

func byName(obj any) ([]string, error) { return []string{obj.(metav1.Object).GetName()}, nil }

// TestEachWriteTellsItsVersion to the callback, after it is done; a write that changes nothing tells nothing.
func TestEachWriteTellsItsVersion(t *testing.T) {
	r := newStoreRig(nil, table.Options{})
	var told []string
	r.contents.onVersion = func(version string) {
		assert.Equal(t, r.contents.table.RV(), version)
		told = append(told, version)
	}
	to := func(version string) table.Stamp { return func(string) string { return version } }
	failure := errors.New("no more")

	r.contents.apply([]table.Op{{Key: "a", Object: podAt("a", "1")}}, to("1"))
	assert.True(t, r.contents.tryApply(nil, to("2")))
	r.contents.apply(nil, func(string) string {
		assert.False(t, r.contents.tryApply(nil, to("never")), "another writer is at work")
		return "3"
	})
	r.contents.replace(func(func(string, any) bool) {}, 0, "4")
	require.NoError(t, r.contents.fill(0, "5", func(func(string, any)) error { return nil }))
	require.Equal(t, failure, r.contents.fill(0, "never", func(func(string, any)) error { return failure }))
	draft := r.contents.table.Draft(0)
	draft.Complete()
	r.contents.install(draft, "6")
	require.Equal(t, []string{"1", "2", "3", "4", "5", "6"}, told)
}

// TestPaceFollowsTheIndexFunctions: only the user's make it unknown, also when their first failure panics, and not those that
// are refused.
func TestPaceFollowsTheIndexFunctions(t *testing.T) {
	usual := func(f table.IndexFunc) func(any) (string, error) {
		if values, _ := f(podAt("usual", "1")); len(values) == 1 {
			return func(obj any) (string, error) { return obj.(metav1.Object).GetName(), nil }
		}
		return nil
	}
	users := func(obj any) ([]string, error) {
		if nameAt(obj) == "bad@1" {
			return nil, errInternal
		}
		return nil, nil
	}
	r := newStoreRig(map[string]table.IndexFunc{"name": byName}, table.Options{
		SingleValued:    usual,
		OnIndexFailures: func(failures []table.IndexFailure) { panic(failures[0].Err) },
	})
	r.contents.apply([]table.Op{{Key: "bad", Object: podAt("bad", "1")}}, nil)
	require.True(t, r.contents.pace.is(paceUsual))
	require.NoError(t, r.contents.addIndexers(map[string]table.IndexFunc{"again": byName}))
	require.ErrorIs(t, r.contents.addIndexers(map[string]table.IndexFunc{"again": users}), table.ErrIndexExists)
	require.True(t, r.contents.pace.is(paceUsual))
	require.PanicsWithValue(t, errInternal, func() {
		_ = r.contents.addIndexers(map[string]table.IndexFunc{"users": users})
	})
	require.True(t, r.contents.pace.is(paceUnknown))
	assert.Contains(t, r.contents.table.Indexers(), "users")

	r = newStoreRig(map[string]table.IndexFunc{"name": byName}, table.Options{})
	assert.True(t, r.contents.pace.is(paceUnknown), "nobody says that it is none of the user's")
}

// TestPace: who may store how many objects in the goroutine that reads, after functions that took so long.
func TestPace(t *testing.T) {
	var p indexPace
	limits := func() []bool {
		return []bool{p.allowsReader(1), p.allowsReader(table.BlockLen), p.allowsReader(table.BlockLen + 1)}
	}
	assert.Equal(t, []bool{true, true, true}, limits(), "the usual functions")
	assert.Zero(t, p.start(), "nothing to measure")
	p.end(p.start(), 1)
	assert.True(t, p.is(paceUsual))
	p.reset()
	assert.Equal(t, []bool{false, false, false}, limits(), "unknown")
	assert.NotZero(t, p.start())
	p.end(p.start(), 0)
	assert.True(t, p.is(paceUnknown), "nothing ran")
	for range 2 {
		p.note(slowIndexing, slowIndexing)
		assert.Equal(t, []bool{true, true, false}, limits(), "quick")
		p.note(slowIndexing+1, slowIndexing)
		assert.Equal(t, []bool{false, false, false}, limits(), "slow")
	}
}

// TestProgress: what the server vouches for, and what wakes who waits.
func TestProgress(t *testing.T) {
	for name, test := range map[string]struct {
		batch   []record
		vouched bool
	}{
		"nothing":                            {nil, false},
		"a list":                             {[]record{{typ: ReplacedAll, version: "7"}}, true},
		"a list at 0":                        {[]record{{typ: ReplacedAll, version: "0"}}, false},
		"synthetic events":                   {[]record{{typ: Added, version: "7"}}, false},
		"synthetic events and a bookmark":    {[]record{{typ: Added, version: "7"}, {typ: Bookmark, version: "7"}}, true},
		"an update":                          {[]record{{typ: Updated, version: "7"}}, true},
		"a deletion":                         {[]record{{typ: Deleted, version: "7"}}, true},
		"a deletion without a version":       {[]record{{typ: ReplacedAll, version: "7"}, {typ: Deleted}}, false},
		"a resync, which says nothing of it": {[]record{{typ: ReplacedAll, version: "7"}, {typ: SyncAll}}, true},
	} {
		var p progress
		done := p.await()
		changed := p.next()
		assert.False(t, clientgo.IsDone(doneWhen(changed)))
		p.note(test.batch)
		assert.True(t, clientgo.IsDone(doneWhen(changed)), "%s: woken", name)
		for version, want := range map[string]bool{"6": test.vouched, "7": test.vouched, "8": false} {
			reached, err := p.reached(always("7"), version)
			require.NoError(t, err)
			assert.Equal(t, want, reached, "%s: %s", name, version)
		}
		changed = p.next()
		done()
		p.note(test.batch)
		assert.False(t, clientgo.IsDone(doneWhen(changed)), "nobody waits")
	}
	var p progress
	p.note([]record{{typ: Bookmark, version: "abc"}})
	_, err := p.reached(always("abc"), "7")
	assert.ErrorIs(t, err, errNotComparable)
}

// TestProgressWhileTheStoreMoves: a list is applied, or the first events of a watch without a version, while somebody asks.
func TestProgressWhileTheStoreMoves(t *testing.T) {
	list := []record{{typ: ReplacedAll, version: "9"}}
	afresh := []record{{typ: ReplacedAll}, {typ: Added, version: "500"}}
	for name, test := range map[string]struct {
		before   []record
		then     func(p *progress)
		shown    string
		reaches  bool
		afterAll bool
	}{
		"read before the first list, which then comes": {nil, func(p *progress) { p.expect(list); p.note(list) }, "", false, true},
		"read from what is being applied":              {list, func(p *progress) { p.expect(afresh) }, "500", false, false},
		"read from what has been applied":              {list, func(p *progress) { p.expect(afresh); p.note(afresh) }, "500", false, false},
		"read before a list that changes nothing":      {list, func(p *progress) { p.expect(list) }, "9", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			var p progress
			p.note(test.before)
			reached, err := p.reached(func() string { test.then(&p); return test.shown }, "9")
			require.NoError(t, err)
			assert.Equal(t, test.reaches, reached)
			reached, err = p.reached(always("9"), "9")
			require.NoError(t, err)
			assert.Equal(t, test.afterAll, reached)
		})
	}
}

func always(version string) func() string { return func() string { return version } }

type doneWhen <-chan struct{}

func (doneWhen) Name() string            { return "" }
func (c doneWhen) Done() <-chan struct{} { return c }

// TestApplierNotesProgress of what it has applied, and not of what it has refused.
func TestApplierNotesProgress(t *testing.T) {
	r := newStoreRig(nil, table.Options{})
	reached := func(version string) bool {
		reached, err := r.applier.progress.reached(r.contents.table.RV, version)
		require.NoError(t, err)
		return reached
	}
	r.waiting = []record{{typ: Bookmark, version: "7"}}
	r.contents.apply(nil, func(string) string {
		_, ok := r.applier.tryApply(r.waiting, false)
		r.applier.done()
		assert.False(t, ok)
		return "7"
	})
	assert.False(t, reached("7"), "nobody vouches for it")
	r.apply(false, func(changes []change) { assert.Empty(t, changes) })
	assert.True(t, reached("7"))

	r = newStoreRig(nil, table.Options{})
	_, ok := r.applier.tryApply([]record{{typ: Updated, key: "a", version: "8", object: podAt("a", "8")}}, false)
	r.applier.done()
	assert.True(t, ok)
	assert.True(t, reached("8"))
	unvouched := []record{{typ: Deleted, key: "a"}, {typ: Added, key: "b", version: "500", object: podAt("b", "500")}}
	r.contents.onVersion = func(string) { assert.False(t, reached("8"), "readers may see what the server does not vouch for") }
	r.applier.apply(unvouched, false)
	r.applier.done()
	assert.False(t, reached("8"))
}

// TestBookmarksDoNotSplitABatch: its first change is not there before its last one. An index function looks.
func TestBookmarksDoNotSplitABatch(t *testing.T) {
	r := newStoreRig(nil, table.Options{})
	stored := r.contents.table
	var seen []string
	require.NoError(t, r.contents.addIndexers(map[string]table.IndexFunc{"i": func(any) ([]string, error) {
		seen = append(seen, stored.ListKeys()...)
		return nil, nil
	}}))
	r.waiting = []record{
		{typ: Added, key: "ns/a", version: "1", object: podAt("a", "1")}, {typ: Bookmark, version: "2"},
		{typ: Added, key: "ns/b", version: "3", object: podAt("b", "3")}, {typ: Bookmark, version: "7"},
		{typ: Deleted, key: "ns/a", version: "5", object: podAt("a", "5")},
	}
	var told []changeKind
	r.apply(false, func(changes []change) {
		for _, c := range changes {
			told = append(told, c.kind)
		}
	})
	assert.Equal(t, []changeKind{changeAdd, changeAdd, changeDelete}, told)
	assert.Empty(t, seen)
	assert.Equal(t, []string{"ns/b"}, slices.Sorted(slices.Values(stored.ListKeys())))
	assert.Equal(t, "7", stored.RV())
}
