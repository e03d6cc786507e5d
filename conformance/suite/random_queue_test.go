// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"
)

// shelf is the known objects of one side: what its process function has stored.
type shelf map[string]any

func (s shelf) ListKeys() []string {
	keys := []string{}
	for key := range s {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

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

// playedQueue is one side of a script: a closed queue, which takes and gives as an open one does,
// but never waits.
type playedQueue struct {
	cache.Queue
	known shelf
	shown []string // what the last call showed to its process functions
}

// show is the process function.
func (q *playedQueue) show(obj any, initial bool) error {
	q.shown = append(q.shown, fmt.Sprint(label(obj), " initial=", initial, " synced=", cache.IsDone(q.HasSyncedChecker())))
	q.known.store(obj)
	return nil
}

// showAndFail is one that fails.
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
	// harmless says that on purpose ours changes nothing where client-go goes half of the way: it
	// is played on ours only, which must refuse.
	harmless bool
}

// drawQueueCall draws the next step.
func drawQueueCall(t *rapid.T, v *versions, kind queueKind, key cache.KeyFunc, refuses bool) queueCall {
	switch name := rapid.SampledFrom([]string{"add", "update", "delete", "replace", "resync", "pop", "fail", "batch", "bookmark", "key"}).
		Draw(t, "call"); name {
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

// keyOfQueue is KeyOf, whose error is that of the key function itself.
func keyOfQueue(q *playedQueue, obj any) string {
	keyer, ok := q.Queue.(interface{ KeyOf(any) (string, error) })
	if !ok {
		return "no KeyOf"
	}
	key, err := keyer.KeyOf(obj)
	return fmt.Sprintf("%q %T %v", key, err, err)
}

// drawReplace draws a list. Of one that a queue has to refuse, ours queues nothing; client-go's
// queues what came before the object in question, or refuses it when it is popped. A FIFO of
// client-go's gives a list in any order, so it gets none with two objects.
func drawReplace(t *rapid.T, v *versions, kind queueKind, key cache.KeyFunc, refuses bool) queueCall {
	most := 4
	if !kind.deltas {
		most = 1
	}
	list := make([]any, rapid.IntRange(0, most).Draw(t, "objects"))
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

// takes reports whether an object has a key for the reference queue, which is no FIFO.
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

// TestRandomQueues plays random scripts on client-go's queues and ours.
func TestRandomQueues(t *testing.T) {
	reference, ours := pair(t)
	for _, kind := range queueKinds {
		for name, key := range keyFuncs {
			t.Run(kind.name+"/"+name, func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) { playQueues(t, reference, ours, kind, key) })
			})
		}
	}
}

func playQueues(t *rapid.T, reference, ours implementation, kind queueKind, key cache.KeyFunc) {
	refuses, knows := rapid.Bool().Draw(t, "transform"), rapid.Bool().Draw(t, "known")
	sides := make([]*playedQueue, 2)
	for i, impl := range []implementation{reference, ours} {
		side := &playedQueue{known: shelf{"ns/d": nil}}
		parts := queueParts{key: key}
		if refuses {
			parts.transform = refuse
		}
		if knows {
			parts.known = side.known
		}
		side.Queue = kind.make(impl, parts)
		side.Close()
		sides[i] = side
	}
	var v versions
	for i := range rapid.IntRange(0, 20).Draw(t, "calls") {
		call := drawQueueCall(t, &v, kind, key, refuses)
		want, got := play(t, sides[0], sides[1], call)
		require.Equal(t, want, got, "call %d: %s", i, call.name)
	}
	for range 2 * int(v) {
		want, got := play(t, sides[0], sides[1], queueCall{name: "pop", run: func(q *playedQueue) string { return q.pop(q.show) }})
		require.Equal(t, want, got, "in the end")
	}
}

// play makes the call on both and returns all that can be seen of it.
func play(t *rapid.T, reference, ours *playedQueue, call queueCall) (want, got []string) {
	if call.harmless {
		require.NotEqual(t, "ok", call.run(ours))
		return state(reference), state(ours)
	}
	reference.shown, ours.shown = nil, nil
	want, got = []string{call.run(reference)}, []string{call.run(ours)}
	return append(append(want, reference.shown...), state(reference)...), append(append(got, ours.shown...), state(ours)...)
}

func state(q *playedQueue) []string {
	return []string{fmt.Sprint("synced=", q.HasSynced(), cache.IsDone(q.HasSyncedChecker()))}
}
