// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"iter"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/e2e/follow"
)

// reader calls every read method of an informer and checks that no answer is older than an earlier
// one, and that each is of one moment.
type reader struct {
	name     string
	informer cache.SharedIndexInformer
	indexer  cache.Indexer
	report   *report
	random   *rand.Rand
	pause    time.Duration
	eager    *atomic.Bool
	versions versioned

	keys     []string          // all that were seen
	floor    map[string]uint64 // no object may be seen below its floor
	present  map[string]bool   // as of the last answer that says so
	position [2]uint64         // resourceVersion of the informer, and of the store
	reads    int64
	into     []any // memory of readInto
}

func newReader(f *follower, random *rand.Rand, pause time.Duration) *reader {
	return &reader{
		name: f.name + " reader", informer: f.informer, indexer: f.informer.GetIndexer(), report: f.report,
		random: random, pause: pause, eager: &f.eager, versions: f.versions, floor: map[string]uint64{}, present: map[string]bool{},
	}
}

func (r *reader) read(ctx context.Context) {
	methods := []func(){
		r.readList, r.readKeys, r.readNamespace, r.readShard, r.readShardKeys, r.readIndex, r.readPositions,
		r.readOne, r.readOne, r.readOne, r.readGet, r.versions.atLeast, r.versions.exactly,
		r.readSequence, r.readCounts, r.readInto,
	}
	for r.eager.Load() && ctx.Err() == nil || wait(ctx, r.pause) {
		for range 5 {
			methods[r.random.IntN(len(methods))]()
			r.reads++
		}
	}
	r.report.count("reads", r.reads)
}

func (r *reader) readList() { r.whole(r.indexer.List()) }

func (r *reader) readNamespace() {
	objects, err := r.indexer.ByIndex(cache.NamespaceIndex, follow.Namespace)
	r.failed("ByIndex", err)
	r.whole(objects)
}

func (r *reader) readKeys() {
	now := map[string]bool{}
	for _, key := range r.indexer.ListKeys() {
		now[key] = true
	}
	for key := range r.present {
		if !now[key] {
			r.absent(key)
		}
	}
}

func (r *reader) readShard() {
	shard := strconv.Itoa(r.random.IntN(shards))
	objects, err := r.indexer.ByIndex(shardIndex, shard)
	r.failed("ByIndex", err)
	for _, obj := range objects {
		key, state := r.seen(obj)
		if shardOf(state.Value) != shard {
			r.report.violation("mixed", r.name, "%s at %v under shard %s", key, state, shard)
		}
	}
}

func (r *reader) readShardKeys() {
	for _, shard := range r.indexer.ListIndexFuncValues(shardIndex) {
		_, err := r.indexer.IndexKeys(shardIndex, shard)
		r.failed("IndexKeys", err)
	}
	if indexers := r.indexer.GetIndexers(); indexers[shardIndex] == nil || indexers[cache.NamespaceIndex] == nil {
		r.report.violation("mixed", r.name, "GetIndexers lacks an index: %d", len(indexers))
	}
}

// readIndex asks for the objects that share the shard of one. That one may have left it meanwhile.
func (r *reader) readIndex() {
	obj, ok := r.any()
	if !ok {
		return
	}
	_, state := r.seen(obj)
	objects, err := r.indexer.Index(shardIndex, obj)
	r.failed("Index", err)
	for _, other := range objects {
		if key, got := r.seen(other); shardOf(got.Value) != shardOf(state.Value) {
			r.report.violation("mixed", r.name, "Index: %s at %v with the shard of %v", key, got, state)
		}
	}
}

func (r *reader) readOne() { r.any() }

func (r *reader) readSequence() {
	if r.random.IntN(2) == 0 {
		r.whole(values(cache.All(r.indexer)))
		return
	}
	members, err := cache.ByIndexSeq(r.indexer, cache.NamespaceIndex, follow.Namespace)
	if r.failed("ByIndexSeq", err); err == nil {
		r.whole(values(members))
	}
}

func values(objects iter.Seq2[string, any]) (all []any) {
	for _, obj := range objects {
		all = append(all, obj)
	}
	return all
}

// readCounts has nothing to hold the numbers against but each other, and those of two calls are of
// two moments.
func (r *reader) readCounts() {
	_, err := cache.Count(r.indexer, shardIndex, strconv.Itoa(r.random.IntN(shards)))
	r.failed("Count", err)
	if cache.Len(r.indexer) < 0 {
		r.report.violation("mixed", r.name, "fewer than no objects")
	}
}

func (r *reader) readInto() {
	r.into = cache.ListInto(r.indexer, r.into[:0])
	r.whole(r.into)
}

// any gets one object of those that were seen.
func (r *reader) any() (obj any, ok bool) {
	if len(r.keys) == 0 {
		return nil, false
	}
	key := r.keys[r.random.IntN(len(r.keys))]
	obj, ok, err := r.indexer.GetByKey(key)
	r.failed("GetByKey", err)
	r.one(key, obj, ok)
	return obj, ok
}

func (r *reader) readGet() {
	obj, ok := r.any()
	if !ok {
		return
	}
	key, _ := follow.StateOf(obj)
	again, ok, err := r.indexer.Get(obj)
	r.failed("Get", err)
	r.one(key, again, ok)
}

func (r *reader) one(key string, obj any, ok bool) {
	if !ok {
		r.absent(key)
		return
	}
	if got, _ := r.seen(obj); got != key {
		r.report.violation("mixed", r.name, "%s under the key %s", got, key)
	}
}

// readPositions reads the resourceVersions that only grow.
func (r *reader) readPositions() {
	for i, text := range []string{r.informer.LastSyncResourceVersion(), r.indexer.LastStoreSyncResourceVersion()} {
		if text == "" {
			continue
		}
		rv, err := strconv.ParseUint(text, 10, 64)
		r.failed("resourceVersion", err)
		if rv < r.position[i] {
			r.report.violation("back", r.name, "position %d went from %d to %d", i, r.position[i], rv)
		}
		r.position[i] = rv
	}
}

// whole takes an answer that has all objects.
func (r *reader) whole(objects []any) {
	now, chain := make(map[string]bool, len(objects)), follow.Contents{}
	for _, obj := range objects {
		key, state := r.seen(obj)
		if now[key] {
			r.report.violation("mixed", r.name, "%s twice in one answer", key)
		}
		now[key] = true
		chain[key] = state
	}
	for key := range r.present {
		if !now[key] {
			r.absent(key)
		}
	}
	if text := brokenChain(chain); text != "" {
		r.report.violation("mixed", r.name, "%s", text)
	}
}

// brokenChain tells whether objects are no state that the server ever had, as far as its chain
// shows that.
func brokenChain(objects follow.Contents) string {
	first, last, missing := 0, 0, false
	for i := range chainLength {
		state, ok := objects[keyOf(chainName(i))]
		if !ok {
			missing = true
			continue
		}
		n, err := step(chainName(i), state.Value)
		switch {
		case err != nil:
			return err.Error()
		case missing:
			return chainName(i) + " without the one before it"
		case i > 0 && n > last:
			return chainName(i) + " is ahead of the one before it: " + strconv.Itoa(n) + ", " + strconv.Itoa(last)
		case i > 0 && n < first-1:
			return chainName(i) + " is behind the first: " + strconv.Itoa(n) + ", " + strconv.Itoa(first)
		}
		if last = n; i == 0 {
			first = n
		}
	}
	if missing && first > 1 {
		return "a part of the chain is missing at " + strconv.Itoa(first)
	}
	return ""
}

// seen takes an object of an answer.
func (r *reader) seen(obj any) (string, follow.State) {
	key, state := follow.StateOf(obj)
	floor, known := r.floor[key]
	if !known {
		r.keys = append(r.keys, key)
	}
	if state.RV < floor {
		r.report.violation("back", r.name, "%s at %v, seen or deleted at %d before", key, state, floor)
	}
	r.floor[key], r.present[key] = state.RV, true
	checkContent(r.report, r.name, key, state)
	return key, state
}

// absent takes an answer that lacks the object: the state that was seen last has ended.
func (r *reader) absent(key string) {
	if r.present[key] {
		r.floor[key]++
		delete(r.present, key)
	}
}

func (r *reader) failed(method string, err error) {
	if err != nil {
		r.report.violation("mixed", r.name, "%s: %v", method, err)
	}
}
