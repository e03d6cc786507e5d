// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/e2e/follow"
	"github.com/kinformer/cache/internal/testkit/checker"
)

// reader calls every read method of an informer.
type reader struct {
	*checker.Reads
	indexer cache.Indexer
	report  checker.Report
	random  *rand.Rand
}

// read reads until ctx ends.
func (f *follower) read(ctx context.Context, random *rand.Rand, pause time.Duration) {
	report, n := f.report.of(f.name+" reader"), int64(0)
	r := &reader{Reads: checker.NewReads(f.kind.ledger, report), indexer: f.informer.GetIndexer(), report: report, random: random}
	methods := []func(){r.all, r.shard, r.one, r.one, r.one, func() { f.snapshot(r.Exactly) }, func() { r.Keys(r.indexer.ListKeys()) }}
	for f.eager.Load() && ctx.Err() == nil || wait(ctx, pause) {
		for range 5 {
			methods[random.IntN(len(methods))]()
			n++
		}
	}
	f.report.count("reads", n)
}

// all reads all objects by one of the methods that do.
func (r *reader) all() {
	at := r.Position(r.indexer.LastStoreSyncResourceVersion())
	var objects []any
	var err error
	switch r.random.IntN(4) {
	case 0:
		objects, err = r.indexer.ByIndex(cache.NamespaceIndex, follow.Namespace)
	case 1:
		for _, obj := range cache.All(r.indexer) {
			objects = append(objects, obj)
		}
	case 2:
		members, failed := cache.ByIndexSeq(r.indexer, cache.NamespaceIndex, follow.Namespace)
		for _, obj := range members {
			objects = append(objects, obj)
		}
		err = failed
	default:
		objects = r.indexer.List()
	}
	r.failed(err)
	r.Whole(objects, at)
}

// shard reads what is under one value of each index that is by shard.
func (r *reader) shard() {
	value := strconv.Itoa(r.random.IntN(shards))
	for name := range r.indexer.GetIndexers() {
		if name == cache.NamespaceIndex {
			continue
		}
		objects, err := r.indexer.ByIndex(name, value)
		r.failed(err)
		r.Some(objects)
		r.failed(checker.Misplaced(byShard, value, objects))
		_, err = r.indexer.IndexKeys(name, value)
		r.failed(err)
		_, err = cache.Count(r.indexer, name, value)
		r.failed(err)
	}
}

// one reads one object, twice.
func (r *reader) one() {
	keys := r.indexer.ListKeys()
	if len(keys) == 0 {
		return
	}
	key := keys[r.random.IntN(len(keys))]
	obj, ok, err := r.indexer.GetByKey(key)
	r.failed(err)
	if r.One(key, obj, ok); ok {
		again, ok, err := r.indexer.Get(obj)
		r.failed(err)
		r.One(key, again, ok)
	}
}

func (r *reader) failed(err error) {
	if err != nil {
		r.report("mixed", err.Error())
	}
}

// snapshot calls use with a snapshot of the store. It does nothing for client-go's, which has none.
func (f *follower) snapshot(use func(checker.Snapshot)) bool {
	s, err := cache.SnapshotOf(f.informer.GetIndexer())
	if err != nil {
		return false
	}
	defer s.Close()
	use(s)
	return true
}

// glance checks what was acknowledged last. It takes a few microseconds.
func (f *follower) glance() bool {
	return f.snapshot(func(s checker.Snapshot) { f.glances.Glance(s, true) })
}

// hunt glances without a pause for a while after each list, until ctx ends: a state that shows for
// microseconds only, when a list becomes the content of the store, is not met by who reads now and
// then.
func (f *follower) hunt(ctx context.Context) {
	const length = 20 * time.Millisecond
	for {
		select {
		case <-f.listed:
		case <-ctx.Done():
			return
		}
		n := int64(0)
		for end := time.Now().Add(length); time.Now().Before(end) && f.glance(); n++ {
		}
		f.report.count("reads: hunting", n)
	}
}
