// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/table"
	"github.com/kinformer/cache/internal/testkit"
)

// storeRig is a store without an informer. Its records wait until they are applied.
type storeRig struct {
	reader   event.Reader
	contents Contents
	applier  *Applier
	waiting  []event.Record
}

func newStoreRig(functions map[string]table.IndexFunc, options table.Options) *storeRig {
	r := &storeRig{}
	r.contents.Init(functions, options)
	r.applier = NewApplier(&r.contents)
	r.reader.Keys.Init(clientgo.MetaNamespaceKeyFunc, true)
	r.reader.Keys.Known, r.reader.Logger = r.contents.Table, klog.Background()
	return r
}

func (r *storeRig) take(rec event.Record) { r.waiting = append(r.waiting, rec) }

// stage begins a full list.
func (r *storeRig) stage(size int, reuse bool) *stage {
	return NewStage(&r.reader, &r.contents, event.Staging{Size: size}, reuse && r.contents.Table.Len() > 0, r.take)
}

// put reads an event of the watch.
func (r *storeRig) put(typ clientgo.DeltaType, obj any) error {
	rec := event.Record{Type: typ, Object: obj}
	rec.Version, _ = event.VersionOf(obj)
	err := r.reader.Complete(&rec)
	if err == nil {
		r.take(rec)
	}
	return err
}

// apply applies the waiting records, and passes on the notifications.
func (r *storeRig) apply(initial bool, told func(changes []event.Change)) {
	batch := r.waiting
	r.waiting = nil
	defer r.applier.Done()
	told(r.applier.Apply(batch, initial))
}

func byName(obj any) ([]string, error) { return []string{obj.(metav1.Object).GetName()}, nil }

// TestEachWriteTellsItsVersion checks that the callback gets the version after each write, and is
// not called if nothing changes.
func TestEachWriteTellsItsVersion(t *testing.T) {
	r := newStoreRig(nil, table.Options{})
	var told []string
	r.contents.OnVersion = func(version string) {
		assert.Equal(t, r.contents.Table.RV(), version)
		told = append(told, version)
	}
	to := func(version string) table.Stamp { return func(string) string { return version } }
	failure := errors.New("no more")

	r.contents.Apply([]table.Op{{Key: "a", Object: testkit.PodAt("a", "1")}}, to("1"))
	r.waiting = []event.Record{{Type: clientgo.Bookmark, Version: "2"}}
	r.apply(false, func([]event.Change) {})
	r.contents.Apply(nil, to("3"))
	r.contents.Replace(func(func(string, any) bool) {}, 0, "4")
	require.NoError(t, r.contents.Fill(0, "5", func(func(string, any)) error { return nil }))
	require.Equal(t, failure, r.contents.Fill(0, "never", func(func(string, any)) error { return failure }))
	draft := r.contents.Table.Draft(0)
	draft.Complete()
	r.contents.install(draft, "6")
	require.Equal(t, []string{"1", "2", "3", "4", "5", "6"}, told)
}

// TestOnlyUsersIndexFunctionsMayBeSlow checks that only the user's functions count as possibly slow: also if
// their first failure panics, but not if they are refused.
func TestOnlyUsersIndexFunctionsMayBeSlow(t *testing.T) {
	usual := func(f table.IndexFunc) func(any) (string, error) {
		if values, _ := f(testkit.PodAt("usual", "1")); len(values) == 1 {
			return func(obj any) (string, error) { return obj.(metav1.Object).GetName(), nil }
		}
		return nil
	}
	users := func(obj any) ([]string, error) {
		if testkit.NameAt(obj) == "bad@1" {
			return nil, testkit.ErrInternal
		}
		return nil, nil
	}
	r := newStoreRig(map[string]table.IndexFunc{"name": byName}, table.Options{
		SingleValued:    usual,
		OnIndexFailures: func(failures []table.IndexFailure) { panic(failures[0].Err) },
	})
	r.contents.Apply([]table.Op{{Key: "bad", Object: testkit.PodAt("bad", "1")}}, nil)
	require.False(t, r.contents.slow.Load())
	require.NoError(t, r.contents.AddIndexers(map[string]table.IndexFunc{"again": byName}))
	require.ErrorIs(t, r.contents.AddIndexers(map[string]table.IndexFunc{"again": users}), table.ErrIndexExists)
	require.False(t, r.contents.slow.Load())
	require.PanicsWithValue(t, testkit.ErrInternal, func() {
		_ = r.contents.AddIndexers(map[string]table.IndexFunc{"users": users})
	})
	require.True(t, r.contents.slow.Load())
	assert.Contains(t, r.contents.Table.Indexers(), "users")

	r = newStoreRig(map[string]table.IndexFunc{"name": byName}, table.Options{})
	require.True(t, r.contents.slow.Load(), "the function may be the user's")
}

// TestProgress checks when the server vouches for a version, and when waiting callers are woken.
func TestProgress(t *testing.T) {
	for name, test := range map[string]struct {
		batch   []event.Record
		vouched bool
	}{
		"nothing":                            {nil, false},
		"a list":                             {[]event.Record{{Type: clientgo.ReplacedAll, Version: "7"}}, true},
		"a list at 0":                        {[]event.Record{{Type: clientgo.ReplacedAll, Version: "0"}}, false},
		"synthetic events":                   {[]event.Record{{Type: clientgo.Added, Version: "7"}}, false},
		"synthetic events and a bookmark":    {[]event.Record{{Type: clientgo.Added, Version: "7"}, {Type: clientgo.Bookmark, Version: "7"}}, true},
		"an update":                          {[]event.Record{{Type: clientgo.Updated, Version: "7"}}, true},
		"a deletion":                         {[]event.Record{{Type: clientgo.Deleted, Version: "7"}}, true},
		"a deletion without a version":       {[]event.Record{{Type: clientgo.ReplacedAll, Version: "7"}, {Type: clientgo.Deleted}}, false},
		"a resync, which says nothing of it": {[]event.Record{{Type: clientgo.ReplacedAll, Version: "7"}, {Type: clientgo.SyncAll}}, true},
	} {
		var a Applier
		p := &a.Progress
		done := p.Await()
		changed := p.Next()
		assert.False(t, clientgo.IsDone(doneWhen(changed)))
		a.end(nil, a.begin(test.batch))
		assert.True(t, clientgo.IsDone(doneWhen(changed)), "%s: woken", name)
		for version, want := range map[string]bool{"6": test.vouched, "7": test.vouched, "8": false} {
			reached, err := p.Reached(always("7"), version)
			require.NoError(t, err)
			assert.Equal(t, want, reached, "%s: %s", name, version)
		}
		changed = p.Next()
		done()
		a.end(nil, a.begin(test.batch))
		assert.False(t, clientgo.IsDone(doneWhen(changed)), "there is no waiting caller")
	}
	var a Applier
	a.end(nil, a.begin([]event.Record{{Type: clientgo.Bookmark, Version: "abc"}}))
	_, err := a.Progress.Reached(always("abc"), "7")
	assert.ErrorIs(t, err, ErrNotComparable)
}

// TestProgressWhileTheStoreMoves calls Reached while a list is applied, or the first events of a
// watch without a version.
func TestProgressWhileTheStoreMoves(t *testing.T) {
	list := []event.Record{{Type: clientgo.ReplacedAll, Version: "9"}}
	afresh := []event.Record{{Type: clientgo.ReplacedAll}, {Type: clientgo.Added, Version: "500"}}
	for name, test := range map[string]struct {
		before   []event.Record
		then     func(a *Applier)
		shown    string
		reaches  bool
		afterAll bool
	}{
		"read before the first list, which then comes": {nil, func(a *Applier) { a.end(nil, a.begin(list)) }, "", false, true},
		"read while a batch is applied":                {list, func(a *Applier) { a.begin(afresh) }, "500", false, false},
		"read after a batch is applied":                {list, func(a *Applier) { a.end(nil, a.begin(afresh)) }, "500", false, false},
		"read before a list that changes nothing":      {list, func(a *Applier) { a.begin(list) }, "9", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			var a Applier
			p := &a.Progress
			a.end(nil, a.begin(test.before))
			reached, err := p.Reached(func() string { test.then(&a); return test.shown }, "9")
			require.NoError(t, err)
			assert.Equal(t, test.reaches, reached)
			reached, err = p.Reached(always("9"), "9")
			require.NoError(t, err)
			assert.Equal(t, test.afterAll, reached)
		})
	}
}

func always(version string) func() string { return func() string { return version } }

type doneWhen <-chan struct{}

func (doneWhen) Name() string { return "" }

func (c doneWhen) Done() <-chan struct{} { return c }

// TestApplierNotesProgress checks that progress is made by applied batches, and not by refused
// ones.
func TestApplierNotesProgress(t *testing.T) {
	r := newStoreRig(nil, table.Options{})
	reached := func(version string) bool {
		reached, err := r.applier.Progress.Reached(r.contents.Table.RV, version)
		require.NoError(t, err)
		return reached
	}
	r.contents.Apply(nil, func(string) string { return "7" })
	assert.False(t, reached("7"), "the server does not vouch for it")
	r.waiting = []event.Record{{Type: clientgo.Bookmark, Version: "7"}}
	r.apply(false, func(changes []event.Change) { assert.Empty(t, changes) })
	assert.True(t, reached("7"))

	r = newStoreRig(nil, table.Options{})
	r.waiting = []event.Record{{Type: clientgo.Updated, Key: "a", Version: "8", Object: testkit.PodAt("a", "8")}}
	r.apply(false, func([]event.Change) {})
	assert.True(t, reached("8"))
	unvouched := []event.Record{{Type: clientgo.Deleted, Key: "a"}, {Type: clientgo.Added, Key: "b", Version: "500", Object: testkit.PodAt("b", "500")}}
	r.contents.OnVersion = func(string) {
		assert.False(t, reached("8"), "readers may see a version that the server does not vouch for")
	}
	r.applier.Apply(unvouched, false)
	r.applier.Done()
	assert.False(t, reached("8"))
}

// TestVersionIsPublishedInOrder: one writer at a time publishes the version, so the last one publishes the newest.
func TestVersionIsPublishedInOrder(t *testing.T) {
	r := newStoreRig(nil, table.Options{})
	last := "" // without a lock of its own
	r.contents.OnVersion = func(version string) {
		runtime.Gosched()
		last = version
	}
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			for n := range 1000 {
				r.contents.Apply(nil, func(string) string { return strconv.Itoa(4*n + i) })
			}
		})
	}
	writers.Wait()
	assert.Equal(t, r.contents.Table.RV(), last)
}

// TestBookmarksDoNotSplitABatch checks, in an index function, that the first change of a batch is
// not visible before its last one.
func TestBookmarksDoNotSplitABatch(t *testing.T) {
	r := newStoreRig(nil, table.Options{})
	stored := r.contents.Table
	var seen []string
	calls := 0
	require.NoError(t, r.contents.AddIndexers(map[string]table.IndexFunc{"i": func(any) ([]string, error) {
		calls++
		seen = append(seen, stored.ListKeys()...)
		return nil, nil
	}}))
	r.waiting = []event.Record{
		{Type: clientgo.Added, Key: "ns/a", Version: "1", Object: testkit.PodAt("a", "1")}, {Type: clientgo.Bookmark, Version: "2"},
		{Type: clientgo.Added, Key: "ns/b", Version: "3", Object: testkit.PodAt("b", "3")}, {Type: clientgo.Bookmark, Version: "7"},
		{Type: clientgo.Deleted, Key: "ns/a", Version: "5", Object: testkit.PodAt("a", "5")},
	}
	var told []event.Kind
	r.apply(false, func(changes []event.Change) {
		for _, c := range changes {
			told = append(told, c.Kind)
		}
	})
	assert.Equal(t, []event.Kind{event.ChangeAdd, event.ChangeAdd, event.ChangeDelete}, told)
	assert.Positive(t, calls)
	assert.Empty(t, seen)
	assert.Equal(t, []string{"ns/b"}, slices.Sorted(slices.Values(stored.ListKeys())))
	assert.Equal(t, "7", stored.RV())
}

func TestMain(m *testing.M) { testkit.RunTests(m) }
