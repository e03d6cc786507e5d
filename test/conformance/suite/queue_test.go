// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/minor"
)

// queueKind is a constructor of a queue and its properties. queueParts.known may be nil.
type queueKind struct {
	name string
	// atomic queues emit a Replace and a Resync as one delta and have no known objects.
	atomic bool
	// deltas means that Pop returns cache.Deltas. FIFO returns objects.
	deltas bool
	// early means that HasSynced is true already while the last item of the initial list is processed.
	early bool
	make  func(implementation, queueParts) cache.Queue
}

// queueParts holds the options common to the kinds.
type queueParts struct {
	key       cache.KeyFunc // nil means keyOrRefuse
	known     cache.KeyListerGetter
	transform cache.TransformFunc
	name      string
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
		opts.KeyFunction, opts.Transformer, opts.Name = parts.key, parts.transform, parts.name
		if !opts.AtomicEvents {
			opts.KnownObjects = parts.known
		}
		return newReal(impl, opts)
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

// pop pops one item and returns its label. It closes the queue after ten seconds, to end a Pop that blocks
// because the case has failed.
func pop(t *testing.T, q cache.Queue) string {
	t.Helper()
	defer time.AfterFunc(10*time.Second, q.Close).Stop()
	p := &processed{}
	_, err := q.Pop(p.one)
	require.NoError(t, err)
	return p.Take()[0]
}

// drain closes the queue, pops until it is empty, and returns the labels.
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
		{"keys that fail are KeyErrors", queueKeyErrors},
		{"a panic in process leaves the queue usable", queueProcessPanic},
		{"the checker's name", queueName},
	}
	var all []directCase
	for _, kind := range queueKinds {
		for _, c := range cases {
			all = append(all, directCase{kind.name + "/" + c.name, func(t *testing.T, impl implementation) { c.run(t, impl, kind) }})
		}
	}
	onEach(t, all)
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

// waiting calls wake while a Pop blocks, and returns the label and the error of the Pop.
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

func TestDeltaFIFO(t *testing.T) {
	onEach(t, []directCase{
		{"Replace deletes what lookups fail for, without object", deltaReplaceBrokenLookups},
		{"a Replace that is refused in the middle", deltaReplaceRefused},
	})
}

// known returns client-go's store with the objects. Queues only read it.
func known(objs ...any) cache.Store {
	store := cache.NewStore(keyOrRefuse)
	for _, obj := range objs {
		if err := store.Add(obj); err != nil {
			panic(err)
		}
	}
	return store
}

func newDelta(impl implementation, known cache.KeyListerGetter) cache.Queue {
	return makeDelta(true)(impl, queueParts{known: known})
}

// broken has the key ns/a whose lookups fail, or find nothing.
type broken struct{ err error }

func (broken) ListKeys() []string { return []string{"ns/a"} }

func (b broken) GetByKey(string) (any, bool, error) { return nil, false, b.err }

var brokenLookups = []cache.KeyListerGetter{broken{errors.New("lookup failed")}, broken{}}

func deltaReplaceBrokenLookups(t *testing.T, impl implementation) {
	for _, lookups := range brokenLookups {
		q := newDelta(impl, lookups)
		require.NoError(t, q.Replace(nil, "1"))
		assert.Equal(t, []string{"[Deleted gone(nil)]"}, drain(t, q))
		q = newDelta(impl, lookups)
		require.NoError(t, q.Resync())
		assert.Empty(t, drain(t, q))
	}
}

// refuse is a transform that fails for objects named "bad".
func refuse(obj any) (any, error) {
	if p, ok := obj.(interface{ GetName() string }); ok && p.GetName() == "bad" {
		return nil, errRefused
	}
	return obj, nil
}

var errRefused = errors.New("refused")

func deltaReplaceRefused(t *testing.T, impl implementation) {
	for name, refused := range map[string]any{"no key": "junk", "no transform": pod("bad", "2")} {
		q := makeDelta(true)(impl, queueParts{transform: refuse})
		assert.Error(t, q.Replace([]any{pod("a", "1"), refused, pod("b", "3")}, "3"), name)
		assert.False(t, q.HasSynced())
		assert.Equal(t, differs(t, impl, "a Replace that is refused queues nothing; client-go queues what comes before",
			[]string{"[Replaced a@1]"}, []string{}), drain(t, q), name)
	}
}

func TestRealFIFO(t *testing.T) {
	onEach(t, []directCase{
		{"Replace deletes what lookups fail for, without object", realReplaceBrokenLookups},
		{"options that do not fit together panic", realRefusals},
		{"names", realName},
		{"defaults", realDefaults},
		{"writers wait while an item is processed", realLocked},
		{"writers go on while an item is processed, unlocking", realUnlocked},
		{"a resync ends at an object without a key", realResyncError},
		{"metrics", realMetrics},
		{"the depth after a bookmark", realBookmarkDepth},
	})
}

// newReal returns a RealFIFO with defaults that fit its options.
func newReal(impl implementation, opts cache.RealFIFOOptions) cache.QueueWithBatch {
	if opts.KeyFunction == nil {
		opts.KeyFunction = keyOrRefuse
	}
	if opts.KnownObjects == nil && !opts.AtomicEvents {
		opts.KnownObjects = known()
	}
	return impl.queues.real(opts)
}

func newAtomic(impl implementation) cache.QueueWithBatch {
	return newReal(impl, cache.RealFIFOOptions{AtomicEvents: true, EmitDeltaTypeBookmark: true})
}

func realResyncError(t *testing.T, impl implementation) {
	q := newReal(impl, cache.RealFIFOOptions{KnownObjects: known(pod("a", "1")), KeyFunction: func(any) (string, error) { return "", errUnkeyable }})
	err := q.Resync()
	require.Error(t, err)
	if !impl.reference || minor.Since38 { // before v0.38 client-go's error has no cause
		assert.ErrorIs(t, err, errUnkeyable)
	}
}

func realReplaceBrokenLookups(t *testing.T, impl implementation) {
	for _, lookups := range brokenLookups {
		q := newReal(impl, cache.RealFIFOOptions{KnownObjects: lookups})
		require.NoError(t, q.Replace(nil, "1"))
		require.NoError(t, q.Resync())
		assert.Equal(t, "[Deleted gone(nil)] initial", pop(t, q))
		assert.True(t, q.HasSynced(), "synthetic deletes belong to the first list")
		require.NoError(t, q.Resync())
		assert.Empty(t, drain(t, q), "nothing to sync without the object")
	}
}

func realRefusals(t *testing.T, impl implementation) {
	for what, opts := range map[string]cache.RealFIFOOptions{
		"atomic with known objects":    {AtomicEvents: true, KnownObjects: known()},
		"unlocking without atomic":     {UnlockWhileProcessing: true, KnownObjects: known()},
		"bookmarks without atomic":     {EmitDeltaTypeBookmark: true, KnownObjects: known()},
		"neither atomic nor knowledge": {},
	} {
		assert.Panics(t, func() { impl.queues.real(opts) }, what)
	}
}

func realName(t *testing.T, impl implementation) {
	id := reservedName(t, "informer")
	assert.Equal(t, "RealFIFO", newAtomic(impl).HasSyncedChecker().Name())
	named := newReal(impl, cache.RealFIFOOptions{AtomicEvents: true, Name: "mine", Identifier: id, MetricsProvider: &metrics{}})
	assert.Equal(t, "informer", named.HasSyncedChecker().Name(), "the identifier's name is stronger")
}

func realDefaults(t *testing.T, impl implementation) {
	q := impl.queues.real(cache.RealFIFOOptions{AtomicEvents: true})
	require.NoError(t, q.Add(pod("a", "1")), "the key function defaults to MetaNamespaceKeyFunc")
	assert.Error(t, q.Add("junk"))
	assert.Equal(t, []string{"[Added a@1]"}, drain(t, q))
	delta := impl.queues.delta(cache.DeltaFIFOOptions{})
	require.NoError(t, delta.Add(pod("a", "1")))
	assert.Equal(t, []string{"[Added a@1]"}, drain(t, delta))
}

// addWhileProcessing adds an item from another goroutine during a Pop and returns which of them ended
// first.
func addWhileProcessing(t *testing.T, q cache.QueueWithBatch, wait bool) (order []string) {
	require.NoError(t, q.Add(pod("a", "1")))
	begun, ended := make(chan struct{}), make(chan struct{})
	events := make(chan string, 2)
	_, err := q.Pop(func(any, bool) error {
		go func() {
			defer close(ended)
			close(begun)
			assert.NoError(t, q.Add(pod("b", "2")))
			events <- "added"
		}()
		<-begun
		if wait {
			<-ended
		} else {
			for range 100 {
				runtime.Gosched()
			}
		}
		events <- "processed"
		return nil
	})
	require.NoError(t, err)
	<-ended
	return []string{<-events, <-events}
}

func realLocked(t *testing.T, impl implementation) {
	for _, opts := range []cache.RealFIFOOptions{{}, {AtomicEvents: true}} {
		assert.Equal(t, []string{"processed", "added"}, addWhileProcessing(t, newReal(impl, opts), false))
	}
}

func realUnlocked(t *testing.T, impl implementation) {
	q := newReal(impl, cache.RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true})
	assert.Equal(t, []string{"added", "processed"}, addWhileProcessing(t, q, true))
	assert.Equal(t, []string{"[Added b@2]"}, drain(t, q))
}

func realMetrics(t *testing.T, impl implementation) {
	m := &metrics{}
	id := reservedName(t, "fifo")
	q := newReal(impl, cache.RealFIFOOptions{AtomicEvents: true, Identifier: id, MetricsProvider: m})
	assert.Equal(t, []cache.InformerNameAndResource{id, id}, m.ids)
	assert.ElementsMatch(t, []string{"queued", "latency"}, m.made, "there is no store")
	require.NoError(t, q.Add(pod("a", "1")))
	require.NoError(t, q.Update(pod("a", "2")))
	require.NoError(t, q.Delete(pod("a", "3")))
	assert.Equal(t, 3.0, m.Depth.Last)
	require.NoError(t, q.Replace(nil, "4"))
	require.NoError(t, q.Resync())
	assert.Equal(t, 5.0, m.Depth.Last)
	assert.Equal(t, 0.0, m.Latencies.Last)
	for range 5 {
		pop(t, q)
	}
	assert.Equal(t, 0.0, m.Depth.Last)
	assert.Equal(t, 5.0, m.Latencies.Last, "one for each Pop")

	unreserved := &metrics{}
	newReal(impl, cache.RealFIFOOptions{AtomicEvents: true, MetricsProvider: unreserved})
	assert.Empty(t, unreserved.ids)
}

func realBookmarkDepth(t *testing.T, impl implementation) {
	m := &metrics{}
	q := newReal(impl, cache.RealFIFOOptions{
		AtomicEvents: true, EmitDeltaTypeBookmark: true, Identifier: reservedName(t, "fifo"), MetricsProvider: m,
	})
	require.NoError(t, q.Add(pod("a", "1")))
	require.NoError(t, q.(cache.ReflectorBookmarkStore).Bookmark("2"))
	assert.Equal(t, differs(t, impl, "the depth counts a bookmark when it is put, not only from the next write on", 1.0, 2.0), m.Depth.Last)
}

func TestPopBatch(t *testing.T) {
	onEach(t, []directCase{
		{"takes at most 1000", batchLimit},
		{"an item that lost its key, which ended the batch before v0.38", batchBrokenKeys},
		{"several changes of an object are in one batch since v0.38", batchRepeated},
		{"errors come back and the batch is gone", batchErrors},
		{"a panic leaves the queue usable", batchPanic},
		{"metrics", batchMetrics},
	})
}

func batchLimit(t *testing.T, impl implementation) {
	q := newAtomic(impl)
	for i := range 1500 {
		require.NoError(t, q.Add(pod(fmt.Sprint(i), "1")))
	}
	var sizes []int
	count := func(deltas []cache.Delta, _ bool) error {
		sizes = append(sizes, len(deltas))
		return nil
	}
	require.NoError(t, q.PopBatch(count, nil))
	require.NoError(t, q.PopBatch(count, nil))
	assert.Equal(t, []int{1000, 500}, sizes)
}

func batchBrokenKeys(t *testing.T, impl implementation) {
	lost := map[string]bool{}
	q := newReal(impl, cache.RealFIFOOptions{AtomicEvents: true, KeyFunction: func(obj any) (string, error) {
		key, err := keyOrRefuse(obj)
		if lost[key] {
			return "", errUnkeyable
		}
		return key, err
	}})
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		require.NoError(t, q.Add(pod(name, "1")))
	}
	lost["ns/a"], lost["ns/c"] = true, true
	assert.Equal(t, differs(t, impl, "keys are computed once, when an item is queued: a key function cannot fail later",
		map[bool][]string{
			false: {"[Added a@1]", "batch [Added b@1 Added c@1]", "batch [Added d@1 Added e@1]"},
			true:  {"batch [Added a@1 Added b@1 Added c@1 Added d@1 Added e@1]"},
		}[minor.Since38],
		[]string{"batch [Added a@1 Added b@1 Added c@1 Added d@1 Added e@1]"}), drainBatches(t, q))
}

func batchRepeated(t *testing.T, impl implementation) {
	q := newAtomic(impl)
	for _, version := range []string{"1", "2", "3"} {
		require.NoError(t, q.Add(pod("a", version)))
	}
	require.NoError(t, q.Delete(pod("a", "4")))
	want := []string{"[Added a@1]", "[Added a@2]", "[Added a@3]", "[Deleted a@4]"}
	if minor.Since38 {
		want = []string{"batch [Added a@1 Added a@2 Added a@3 Deleted a@4]"}
	}
	assert.Equal(t, want, drainBatches(t, q))
}

// drainBatches closes the queue and returns the calls made by PopBatch until it is empty.
func drainBatches(t *testing.T, q cache.QueueWithBatch) []string {
	t.Helper()
	q.Close()
	p := &processed{}
	for {
		err := q.PopBatch(p.many, p.one)
		if errors.Is(err, cache.ErrFIFOClosed) {
			return p.Take()
		}
		require.NoError(t, err)
	}
}

func batchErrors(t *testing.T, impl implementation) {
	q := newAtomic(impl)
	errBatch, errSingle := errors.New("batch"), errors.New("single")
	fail := func() error {
		return q.PopBatch(func([]cache.Delta, bool) error { return errBatch }, func(any, bool) error { return errSingle })
	}
	require.NoError(t, q.Add(pod("a", "1")))
	require.NoError(t, q.Add(pod("b", "2")))
	require.NoError(t, q.Add(pod("a", "3")))
	assert.ErrorIs(t, fail(), errBatch)
	if minor.Since38 { // else the second change of a is not in the batch
		require.NoError(t, q.Add(pod("c", "4")))
	}
	assert.ErrorIs(t, fail(), errSingle)
	assert.Empty(t, drain(t, q))
}

func batchPanic(t *testing.T, impl implementation) {
	for _, unlock := range []bool{false, true} {
		q := newReal(impl, cache.RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: unlock})
		require.NoError(t, q.Add(pod("a", "1")))
		require.NoError(t, q.Add(pod("b", "2")))
		assert.PanicsWithValue(t, "oops", func() {
			_ = q.PopBatch(func([]cache.Delta, bool) error { panic("oops") }, nil)
		})
		require.NoError(t, q.Add(pod("c", "3")))
		assert.Equal(t, []string{"[Added c@3]"}, drainBatches(t, q))
	}
}

func batchMetrics(t *testing.T, impl implementation) {
	m := &metrics{}
	q := newReal(impl, cache.RealFIFOOptions{AtomicEvents: true, Identifier: reservedName(t, "batch"), MetricsProvider: m})
	for _, name := range []string{"a", "b", "c", "a"} {
		require.NoError(t, q.Add(pod(name, "1")))
	}
	p := &processed{}
	batches := 1.0
	require.NoError(t, q.PopBatch(p.many, p.one))
	if !minor.Since38 { // the second change of a is left
		assert.Equal(t, 1.0, m.Depth.Last)
		require.NoError(t, q.PopBatch(p.many, p.one))
		batches++
	}
	assert.Equal(t, 0.0, m.Depth.Last)
	assert.Equal(t, batches, m.Latencies.Last, "one for each batch")
}
