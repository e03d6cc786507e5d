// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/draw"
)

// The random tests play one script on client-go's implementation and on kinformer's, and compare the
// results and visible effects of every call. Intended differences are not drawn, or are played so that
// the difference shows: comments at these places name the row of docs/migration.md. The tables of cases
// cover the remaining calls.

// keyFuncs are the key functions of both implementations. Kinformer has fast paths for the first two.
var keyFuncs = map[string]cache.KeyFunc{
	"usual":             cache.MetaNamespaceKeyFunc,
	"usual, deletions":  cache.DeletionHandlingMetaNamespaceKeyFunc,
	"one of the user's": keyOrRefuse,
}

// versions gives each drawn object the next version; other tests cover older versions.
type versions int

func (v *versions) next() string {
	*v++
	return strconv.Itoa(int(*v))
}

// drawPod draws a pod with one of a few names and labels. The pod d has no namespace.
func (v *versions) drawPod(t *draw.T) any {
	name := draw.Of(t, "a", "b", "c", "d")
	p := labelled(name, v.next(), "app", draw.Of(t, "", "x", "y", "x,y,x", "y,z"))
	if name == "d" {
		p.Namespace = ""
	}
	return p
}

// drawAny draws an argument of a queue: mostly pods, but also objects with another key, without a key,
// or rejected by refuse. Deltas instead of an object are drawn if wrapped is set: client-go's RealFIFO
// accepts them but then loses their keys.
func (v *versions) drawAny(t *draw.T, wrapped bool) any {
	p := v.drawPod(t)
	key, _ := keyOrRefuse(p)
	switch draw.Of(t, "pod", "pod", "pod", "pod", "tombstone", "deltas", "odd") {
	case "tombstone":
		return draw.Of(t, cache.DeletedFinalStateUnknown{Key: key, Obj: p}, cache.DeletedFinalStateUnknown{Key: key})
	case "deltas":
		if !wrapped {
			return cache.Deltas{}
		}
		return draw.Of[any](t,
			cache.Deltas{{Type: cache.Added, Object: p}}, cache.Deltas{}, cache.Delta{Type: cache.Updated, Object: p},
			cache.Deltas{{Type: cache.Deleted, Object: cache.DeletedFinalStateUnknown{Key: key, Obj: p}}},
		)
	case "odd":
		return draw.Of[any](t, "junk", cache.ExplicitKey(key), pod("bad", v.next()))
	}
	return p
}

// loud applies refuse, and shout to a copy: both implementations receive the same object.
func loud(obj any) (any, error) {
	obj, err := refuse(obj)
	if p, ok := obj.(*corev1.Pod); ok {
		obj = p.DeepCopy()
	}
	if err != nil {
		return nil, err
	}
	return shout(obj)
}

// told formats an error for comparison: its kind, its subject and its root cause. The implementations'
// wordings differ.
func told(err error) string {
	var keyErr cache.KeyError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &keyErr):
		return fmt.Sprintf("KeyError of %s: %s", label(keyErr.Obj), root(keyErr.Err))
	case strings.HasSuffix(err.Error(), errRefused.Error()): // client-go's Replace does not wrap it
		return errRefused.Error()
	default:
		return err.Error()
	}
}

func root(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// shelf holds the known objects of one side, as stored by its process function.
type shelf map[string]any

func (s shelf) ListKeys() []string { return slices.Sorted(maps.Keys(s)) }

func (s shelf) GetByKey(key string) (any, bool, error) {
	if key == "ns/d" {
		return nil, false, errors.New("lookup failed")
	}
	obj, exists := s[key]
	return obj, exists, nil
}

func (s shelf) store(obj any) {
	deltas, ok := obj.(cache.Deltas)
	if !ok {
		return
	}
	for _, d := range deltas {
		key, err := keyOrRefuse(d.Object)
		switch {
		case err != nil:
		case d.Type == cache.Deleted:
			delete(s, key)
		default:
			s[key] = d.Object
		}
	}
}

// playedQueue is one side of a script: a closed queue, which works like an open one but never blocks.
type playedQueue struct {
	cache.Queue
	known shelf
	shown []string // arguments of the process functions in the last call
}

// show is the process function.
func (q *playedQueue) show(obj any, initial bool) error {
	q.shown = append(q.shown, fmt.Sprint(label(obj), " initial=", initial, " synced=", cache.IsDone(q.HasSyncedChecker())))
	q.known.store(obj)
	return nil
}

// showAndFail is a process function that fails.
func (q *playedQueue) showAndFail(obj any, initial bool) error {
	_ = q.show(obj, initial)
	return errors.New("not processed")
}

func (q *playedQueue) showBatch(deltas []cache.Delta, initial bool) error {
	q.shown = append(q.shown, "batch")
	return q.show(cache.Deltas(deltas), initial)
}

func (q *playedQueue) pop(process cache.PopProcessFunc) string {
	obj, err := q.Pop(process)
	return label(obj) + " " + told(err)
}

// queueCall is one step of a script.
type queueCall struct {
	name string
	run  func(*playedQueue) string
	// harmless means that kinformer, on purpose, changes nothing where client-go makes a partial change.
	// The call is played on kinformer only, which must refuse it.
	harmless bool
}

// drawQueueCall draws the next step.
func drawQueueCall(t *draw.T, v *versions, kind queueKind, key cache.KeyFunc, refuses bool) queueCall {
	switch name := draw.Of(t, "add", "update", "delete", "replace", "resync", "pop", "fail", "batch", "bookmark", "key"); name {
	case "add", "update", "delete":
		obj := v.drawAny(t, kind.early || !kind.deltas)
		return queueCall{name: name, run: func(q *playedQueue) string {
			return told(map[string]func(any) error{"add": q.Add, "update": q.Update, "delete": q.Delete}[name](obj))
		}}
	case "replace":
		return drawReplace(t, v, kind, key, refuses)
	case "fail":
		return queueCall{name: name, run: func(q *playedQueue) string { return q.pop(q.showAndFail) }}
	case "batch":
		return queueCall{name: name, run: playBatch}
	case "bookmark":
		rv := v.next()
		return queueCall{name: name, run: func(q *playedQueue) string {
			if store, ok := q.Queue.(cache.ReflectorBookmarkStore); ok {
				return told(store.Bookmark(rv))
			}
			return "no bookmarks"
		}}
	case "key":
		obj := v.drawAny(t, kind.early || !kind.deltas)
		return queueCall{name: name, run: func(q *playedQueue) string { return keyOfQueue(q, obj) }}
	case "resync":
		return queueCall{name: name, run: func(q *playedQueue) string { return told(q.Resync()) }}
	}
	return queueCall{name: "pop", run: func(q *playedQueue) string { return q.pop(q.show) }}
}

func playBatch(q *playedQueue) string {
	batches, ok := q.Queue.(cache.QueueWithBatch)
	if !ok {
		return "no batches"
	}
	return told(batches.PopBatch(q.showBatch, q.show))
}

// keyOfQueue calls KeyOf, which returns the error of the key function itself.
func keyOfQueue(q *playedQueue, obj any) string {
	keyer, ok := q.Queue.(interface{ KeyOf(any) (string, error) })
	if !ok {
		return "no KeyOf"
	}
	key, err := keyer.KeyOf(obj)
	return fmt.Sprintf("%q %T %v", key, err, err)
}

// drawReplace draws a list. If a queue must refuse it, kinformer queues nothing; client-go queues the
// objects before the invalid one, or refuses the list when it is popped. Client-go's FIFO returns a list
// in any order, so its lists have at most one object.
func drawReplace(t *draw.T, v *versions, kind queueKind, key cache.KeyFunc, refuses bool) queueCall {
	most := 4
	if !kind.deltas {
		most = 1
	}
	list := make([]any, draw.Int(t, 0, most))
	harmless := false
	for i := range list {
		list[i] = v.drawAny(t, kind.early || !kind.deltas)
		harmless = harmless || kind.deltas && (!takes(list[i], kind, key) || refuses && isRefused(list[i]))
	}
	rv := v.next()
	return queueCall{name: "replace", harmless: harmless, run: func(q *playedQueue) string { return told(q.Replace(list, rv)) }}
}

func isRefused(obj any) bool {
	_, err := refuse(obj)
	return err != nil
}

// takes reports whether the object has a key for the reference queue, other than a FIFO.
func takes(obj any, kind queueKind, key cache.KeyFunc) bool {
	if deltas, ok := obj.(cache.Deltas); ok {
		if len(deltas) == 0 {
			return false
		}
		obj = deltas.Newest().Object
	}
	if _, tombstone := obj.(cache.DeletedFinalStateUnknown); tombstone {
		return true
	}
	if delta, ok := obj.(cache.Delta); ok && !kind.early {
		obj = delta.Object
	}
	_, err := key(obj)
	return err == nil
}

// TestRandomQueues plays random scripts on the queues of both implementations.
func TestRandomQueues(t *testing.T) {
	testkit.Reports(t)
	reference, ours := implementations[0], implementations[1]
	for _, kind := range queueKinds {
		for name, key := range keyFuncs {
			t.Run(kind.name+"/"+name, func(t *testing.T) {
				draw.Check(t, func(t *draw.T) { playQueues(t, reference, ours, kind, key) })
			})
		}
	}
}

func playQueues(t *draw.T, reference, ours implementation, kind queueKind, key cache.KeyFunc) {
	refuses, knows := t.Bool(), t.Bool()
	sides := make([]*playedQueue, 2)
	for i, impl := range []implementation{reference, ours} {
		side := &playedQueue{known: shelf{"ns/d": nil}}
		parts := queueParts{key: key}
		if refuses {
			parts.transform = loud
		}
		if knows {
			parts.known = side.known
		}
		side.Queue = kind.make(impl, parts)
		side.Close()
		sides[i] = side
	}
	var v versions
	for i := range draw.Int(t, 0, 20) {
		call := drawQueueCall(t, &v, kind, key, refuses)
		want, got := play(t, sides[0], sides[1], call)
		require.Equal(t, want, got, "call %d: %s", i, call.name)
	}
	for range 2 * int(v) {
		want, got := play(t, sides[0], sides[1], queueCall{name: "pop", run: func(q *playedQueue) string { return q.pop(q.show) }})
		require.Equal(t, want, got, "in the end")
	}
}

// play makes the call on both sides and returns their visible states.
func play(t *draw.T, reference, ours *playedQueue, call queueCall) (want, got []string) {
	if call.harmless {
		require.NotEqual(t, "ok", call.run(ours))
		return state(reference), state(ours)
	}
	reference.shown, ours.shown = nil, nil
	want, got = []string{call.run(reference)}, []string{call.run(ours)}
	return append(append(want, reference.shown...), state(reference)...), append(append(got, ours.shown...), state(ours)...)
}

func state(q *playedQueue) []string {
	transforming, ok := q.Queue.(cache.TransformingStore)
	transforms := ok && transforming.Transformer() != nil
	return []string{fmt.Sprint("synced=", q.HasSynced(), cache.IsDone(q.HasSyncedChecker()), " transforms=", transforms)}
}

// storeCall is one step of a script on an indexer.
type storeCall struct {
	name string
	run  func(cache.Indexer) string
}

// answer formats the result of a read, sorted, and distinguishes nil from empty.
func answer[T any](items []T, err error) string {
	return fmt.Sprint(sorted(items), " nil=", items == nil, " ", told(err))
}

// drawStoreCall draws the next write. Other tests cover failing index functions: client-go panics.
func drawStoreCall(t *draw.T, v *versions, indexNames []string) storeCall {
	name := draw.Of(t, "add", "update", "delete", "replace", "transaction", "index", "bookmark")
	switch name {
	case "replace":
		list, rv := drawList(t, v), draw.Of(t, v.next(), "")
		return storeCall{name, func(s cache.Indexer) string { return told(s.Replace(slices.Clone(list), rv)) }}
	case "transaction":
		return drawTransaction(t, v)
	case "bookmark":
		rv := v.next()
		return storeCall{name, func(s cache.Indexer) string { s.Bookmark(rv); return "ok" }}
	case "index":
		added := cache.Indexers{}
		for _, name := range draw.Slice(t, 0, 2, func() string { return draw.Of(t, indexNames...) }) {
			added[name] = byLabel("app")
		}
		return storeCall{name, func(s cache.Indexer) string { return told(s.AddIndexers(added)) }}
	}
	obj := v.drawAny(t, false)
	return storeCall{name, func(s cache.Indexer) string {
		return told(map[string]func(any) error{"add": s.Add, "update": s.Update, "delete": s.Delete}[name](obj))
	}}
}

func drawList(t *draw.T, v *versions) []any {
	return draw.Slice(t, 0, 4, func() any { return v.drawAny(t, false) })
}

// drawTransaction draws a transaction whose last object is stored: the implementations treat the version
// of another last object differently.
func drawTransaction(t *draw.T, v *versions) storeCall {
	types := []cache.TransactionType{cache.TransactionTypeAdd, cache.TransactionTypeUpdate, cache.TransactionTypeDelete}
	var txns []cache.Transaction
	for _, obj := range append(drawList(t, v), v.drawPod(t)) {
		txns = append(txns, cache.Transaction{Type: draw.Of(t, types...), Object: obj})
	}
	return storeCall{"transaction", func(s cache.Indexer) string {
		err := s.(cache.TransactionStore).Transaction(txns...)
		if err == nil {
			return "ok"
		}
		text := fmt.Sprint(err.SuccessfulIndices, " of ", err.TotalTransactions)
		for _, failed := range err.Errors {
			text += " " + told(failed)
		}
		return text
	}}
}

// readAll returns the results of all reads.
func readAll(s cache.Indexer, indexNames []string) []string {
	keys := s.ListKeys()
	lines := []string{answer(s.List(), nil), answer(keys, nil), s.LastStoreSyncResourceVersion()}
	for _, key := range append(keys, "ns/none") {
		obj, exists, err := s.GetByKey(key)
		lines = append(lines, fmt.Sprint(key, label(obj), exists, told(err)))
	}
	for _, obj := range []any{pod("a", "0"), "junk", cache.ExplicitKey("ns/a"), cache.DeletedFinalStateUnknown{Key: "ns/a"}} {
		got, exists, err := s.Get(obj)
		lines = append(lines, fmt.Sprint(label(got), exists, told(err)))
	}
	for _, name := range indexNames {
		lines = append(lines, answer(s.ListIndexFuncValues(name), nil), answer(s.Index(name, labelled("q", "0", "app", "x,z"))))
		for _, value := range []string{"x", "y", "none"} {
			lines = append(lines, answer(s.ByIndex(name, value)), answer(s.IndexKeys(name, value)))
		}
	}
	slices.Sort(lines[3 : 3+len(keys)])
	return lines
}

// TestRandomStores plays random scripts on the indexers of both implementations.
func TestRandomStores(t *testing.T) {
	testkit.Reports(t)
	reference, ours := implementations[0], implementations[1]
	indexNames := []string{"app", "second", "third", "missing"}
	for name, key := range keyFuncs {
		t.Run(name, func(t *testing.T) {
			draw.Check(t, func(t *draw.T) {
				var features storeFeatures
				if t.Bool() {
					features.transformer = loud
				}
				var sides []cache.Indexer
				for _, impl := range []implementation{reference, ours} {
					sides = append(sides, impl.stores.indexer(key, cache.Indexers{"app": byApp}, features))
				}
				var v versions
				for i := range draw.Int(t, 0, 12) {
					call := drawStoreCall(t, &v, indexNames[:3])
					require.Equal(t, call.run(sides[0]), call.run(sides[1]), "call %d: %s", i, call.name)
					require.Equal(t, readAll(sides[0], indexNames), readAll(sides[1], indexNames), "after call %d: %s", i, call.name)
				}
			})
		})
	}
}
