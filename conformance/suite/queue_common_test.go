// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"
)

// queueKind is one way to make a queue. known may be nil.
type queueKind struct {
	name string
	// atomic queues pass a Replace and a Resync on as one delta and know no objects.
	atomic bool
	// deltas says that Pop hands out cache.Deltas; FIFO hands out objects.
	deltas bool
	// early says that HasSynced is true while the last item of the initial list is processed, not
	// only after it.
	early bool
	make  func(implementation, queueParts) cache.Queue
}

// queueParts is what the kinds' options have in common.
type queueParts struct {
	key       cache.KeyFunc // nil: keyOrRefuse
	known     cache.KeyListerGetter
	transform cache.TransformFunc
	name      string
}

// known returns the store as known objects, an empty one when there is none.
func (p queueParts) orEmpty() cache.KeyListerGetter {
	if p.known == nil {
		return cache.NewStore(keyOrRefuse)
	}
	return p.known
}

func (p queueParts) keyFunc() cache.KeyFunc {
	if p.key == nil {
		return keyOrRefuse
	}
	return p.key
}

func makeReal(opts cache.RealFIFOOptions) func(implementation, queueParts) cache.Queue {
	return func(impl implementation, parts queueParts) cache.Queue {
		opts := opts
		opts.KeyFunction, opts.Transformer, opts.Name = parts.keyFunc(), parts.transform, parts.name
		if !opts.AtomicEvents {
			opts.KnownObjects = parts.orEmpty()
		}
		return impl.queues.real(opts)
	}
}

func makeDelta(replaced bool) func(implementation, queueParts) cache.Queue {
	return func(impl implementation, parts queueParts) cache.Queue {
		return impl.queues.delta(cache.DeltaFIFOOptions{
			KeyFunction: parts.keyFunc(), KnownObjects: parts.known, Transformer: parts.transform, Name: parts.name,
			EmitDeltaTypeReplaced: replaced,
		})
	}
}

var queueKinds = []queueKind{
	{name: "DeltaFIFO", deltas: true, early: true, make: makeDelta(true)},
	{name: "DeltaFIFO with Sync for Replaced", deltas: true, early: true, make: makeDelta(false)},
	{name: "RealFIFO", deltas: true, make: makeReal(cache.RealFIFOOptions{})},
	{name: "RealFIFO atomic", deltas: true, atomic: true, make: makeReal(cache.RealFIFOOptions{AtomicEvents: true})},
	{name: "RealFIFO atomic unlocking", deltas: true, atomic: true,
		make: makeReal(cache.RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true})},
	{name: "RealFIFO atomic with bookmarks", deltas: true, atomic: true,
		make: makeReal(cache.RealFIFOOptions{AtomicEvents: true, EmitDeltaTypeBookmark: true})},
	{name: "RealFIFO as in informers", deltas: true, atomic: true,
		make: makeReal(cache.RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true, EmitDeltaTypeBookmark: true})},
	{name: "FIFO", make: func(impl implementation, parts queueParts) cache.Queue { return impl.queues.fifo(parts.keyFunc()) }},
}

// popped is what a process function was given.
type popped struct {
	what    string
	initial bool
}

// patience closes a queue that has kept a Pop waiting for so long that the case has failed.
func patience(q cache.Queue) *time.Timer { return time.AfterFunc(10*time.Second, q.Close) }

// pop pops one item and returns its label.
func pop(t *testing.T, q cache.Queue) popped {
	t.Helper()
	defer patience(q).Stop()
	var got popped
	_, err := q.Pop(func(obj any, initial bool) error {
		got = popped{label(obj), initial}
		return nil
	})
	require.NoError(t, err)
	return got
}

// drain pops until the queue is empty, closing it, and returns the labels.
func drain(t *testing.T, q cache.Queue) []string {
	t.Helper()
	q.Close()
	out := []string{}
	for {
		_, err := q.Pop(func(obj any, _ bool) error {
			out = append(out, label(obj))
			return nil
		})
		if errors.Is(err, cache.ErrFIFOClosed) {
			return out
		}
		require.NoError(t, err)
	}
}

func TestQueue(t *testing.T) {
	cases := []struct {
		name string
		run  func(*testing.T, implementation, queueKind)
	}{
		{"closed and empty is ErrFIFOClosed", queueClosed},
		{"Close wakes a waiting Pop", queueCloseWakes},
		{"Add wakes a waiting Pop", queueAddWakes},
		{"a closed queue still takes and gives", queueClosedDrains},
		{"keys that fail are KeyErrors", queueKeyErrors},
		{"a process error comes back and the item is gone", queueProcessError},
		{"a panic in process leaves the queue usable", queueProcessPanic},
		{"order of arrival", queueOrder},
		{"synced by any first write", queueSyncedByWrite},
		{"synced after the first list was processed", queueSyncedByList},
		{"synced at once by an empty list", queueSyncedByEmptyList},
		{"the checker's name", queueName},
	}
	for _, impl := range implementations {
		t.Run(impl.name, func(t *testing.T) {
			for _, kind := range queueKinds {
				t.Run(kind.name, func(t *testing.T) {
					for _, c := range cases {
						t.Run(c.name, func(t *testing.T) { c.run(t, impl, kind) })
					}
				})
			}
		})
	}
}

func ignore(any, bool) error { return nil }

func queueClosed(t *testing.T, impl implementation, kind queueKind) {
	q := kind.make(impl, queueParts{})
	closable, ok := q.(interface{ IsClosed() bool })
	require.True(t, ok)
	assert.False(t, closable.IsClosed())
	q.Close()
	q.Close()
	assert.True(t, closable.IsClosed())
	obj, err := q.Pop(ignore)
	assert.Nil(t, obj)
	assert.Equal(t, cache.ErrFIFOClosed, err)
	if batch, ok := q.(cache.QueueWithBatch); ok {
		assert.Equal(t, cache.ErrFIFOClosed, batch.PopBatch(nil, nil))
	}
}

// waiting makes a queue, runs a Pop that blocks, then wake, and returns the label and error that
// the Pop ended with.
func waiting(t *testing.T, impl implementation, kind queueKind, wake func(cache.Queue)) (what string, err error) {
	synctest.Test(t, func(t *testing.T) {
		q := kind.make(impl, queueParts{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, err = q.Pop(func(obj any, _ bool) error {
				what = label(obj)
				return nil
			})
		}()
		synctest.Wait()
		wake(q)
		<-done
	})
	return what, err
}

func queueCloseWakes(t *testing.T, impl implementation, kind queueKind) {
	_, err := waiting(t, impl, kind, func(q cache.Queue) { q.Close() })
	assert.Equal(t, cache.ErrFIFOClosed, err)

	synctest.Test(t, func(t *testing.T) {
		q := kind.make(impl, queueParts{})
		for range 3 {
			go func() {
				_, err := q.Pop(ignore)
				assert.Equal(t, cache.ErrFIFOClosed, err)
			}()
		}
		synctest.Wait()
		q.Close()
	})
}

func queueAddWakes(t *testing.T, impl implementation, kind queueKind) {
	what, err := waiting(t, impl, kind, func(q cache.Queue) { assert.NoError(t, q.Add(pod("a", "1"))) })
	require.NoError(t, err)
	assert.Contains(t, what, "a@1")
	what, err = waiting(t, impl, kind, func(q cache.Queue) { assert.NoError(t, q.Replace([]any{pod("b", "2")}, "2")) })
	require.NoError(t, err)
	assert.Contains(t, what, "b@2")
}

func queueClosedDrains(t *testing.T, impl implementation, kind queueKind) {
	q := kind.make(impl, queueParts{})
	require.NoError(t, q.Add(pod("a", "1")))
	q.Close()
	require.NoError(t, q.Add(pod("b", "2")), "writes are not refused")
	assert.Len(t, drain(t, q), 2)
}

func queueKeyErrors(t *testing.T, impl implementation, kind queueKind) {
	q := kind.make(impl, queueParts{})
	for call, err := range map[string]error{"Add": q.Add("junk"), "Update": q.Update("junk"), "Delete": q.Delete("junk")} {
		var keyErr cache.KeyError
		require.ErrorAs(t, err, &keyErr, call)
		assert.Equal(t, "junk", keyErr.Obj, call)
		assert.ErrorIs(t, err, errUnkeyable, call)
	}
	err := q.Replace([]any{pod("a", "1"), "junk"}, "1")
	if kind.atomic && differs(t, impl, "an atomic Replace computes the keys at once, client-go when it is popped", true, false) {
		assert.NoError(t, err)
		return
	}
	assert.ErrorIs(t, err, errUnkeyable)
}

func queueProcessError(t *testing.T, impl implementation, kind queueKind) {
	q := kind.make(impl, queueParts{})
	errNo := errors.New("no")
	require.NoError(t, q.Add(pod("a", "1")))
	obj, err := q.Pop(func(any, bool) error { return errNo })
	assert.ErrorIs(t, err, errNo)
	assert.Contains(t, label(obj), "a@1", "Pop returns the item nevertheless")
	assert.Empty(t, drain(t, q))
}

func queueProcessPanic(t *testing.T, impl implementation, kind queueKind) {
	q := kind.make(impl, queueParts{})
	require.NoError(t, q.Add(pod("a", "1")))
	assert.PanicsWithValue(t, "oops", func() { _, _ = q.Pop(func(any, bool) error { panic("oops") }) })
	require.NoError(t, q.Add(pod("b", "2")))
	assert.Len(t, drain(t, q), 1)

	q = kind.make(impl, queueParts{})
	require.NoError(t, q.Replace([]any{pod("a", "1")}, "1"))
	assert.Panics(t, func() { _, _ = q.Pop(func(any, bool) error { panic("oops") }) })
	assert.True(t, q.HasSynced(), "its one object counts as processed")
}

func queueOrder(t *testing.T, impl implementation, kind queueKind) {
	q := kind.make(impl, queueParts{})
	names := []string{"c", "a", "d", "b"}
	for _, name := range names {
		require.NoError(t, q.Add(pod(name, "1")))
	}
	for _, name := range names {
		assert.Contains(t, pop(t, q).what, name+"@1")
	}
}

func queueSyncedByWrite(t *testing.T, impl implementation, kind queueKind) {
	for name, write := range map[string]func(cache.Queue) error{
		"Add":    func(q cache.Queue) error { return q.Add(pod("a", "1")) },
		"Update": func(q cache.Queue) error { return q.Update(pod("a", "1")) },
		"Delete": func(q cache.Queue) error { return q.Delete(pod("a", "1")) },
	} {
		q := kind.make(impl, queueParts{})
		assert.False(t, q.HasSynced(), name)
		assert.False(t, cache.IsDone(q.HasSyncedChecker()), name)
		require.NoError(t, write(q), name)
		assert.True(t, q.HasSynced(), "%s: no list to wait for", name)
		assert.True(t, cache.IsDone(q.HasSyncedChecker()), name)
		require.NoError(t, q.Replace([]any{pod("b", "2")}, "2"), name)
		assert.True(t, q.HasSynced(), "%s: and never again unsynced", name)
		assert.False(t, pop(t, q).initial, name)
	}
}

func queueSyncedByList(t *testing.T, impl implementation, kind queueKind) {
	q := kind.make(impl, queueParts{})
	require.NoError(t, q.Replace([]any{pod("a", "1"), pod("b", "2")}, "2"))
	require.NoError(t, q.Add(pod("c", "3")))
	pops := 2
	if kind.atomic {
		pops = 1
	}
	for i := range pops {
		assert.False(t, q.HasSynced())
		last := i == pops-1
		_, err := q.Pop(func(_ any, initial bool) error {
			assert.True(t, initial)
			assert.Equal(t, last && kind.early, cache.IsDone(q.HasSyncedChecker()))
			return nil
		})
		require.NoError(t, err)
	}
	assert.True(t, q.HasSynced())
	assert.True(t, cache.IsDone(q.HasSyncedChecker()))
	assert.False(t, pop(t, q).initial, "what came after the list")
}

func queueSyncedByEmptyList(t *testing.T, impl implementation, kind queueKind) {
	q := kind.make(impl, queueParts{})
	require.NoError(t, q.Replace(nil, "1"))
	if kind.atomic {
		assert.False(t, q.HasSynced(), "the empty list is an item too")
		assert.Equal(t, popped{"[ReplacedAll all@1[]]", true}, pop(t, q))
	}
	assert.True(t, q.HasSynced())
	assert.Empty(t, drain(t, q))
}

func queueName(t *testing.T, impl implementation, kind queueKind) {
	q := kind.make(impl, queueParts{name: "mine"})
	if !kind.deltas {
		assert.Equal(t, "FIFO", q.HasSyncedChecker().Name())
		return
	}
	assert.Equal(t, "mine", q.HasSyncedChecker().Name())
	unnamed := kind.make(impl, queueParts{}).HasSyncedChecker().Name()
	assert.Contains(t, kind.name, unnamed)
	assert.NotEmpty(t, unnamed)
}
