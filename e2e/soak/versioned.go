// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"strconv"
	"time"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/e2e/follow"
)

// versioned checks that states have what belongs to their resourceVersion.
type versioned struct {
	name    string
	indexer cache.Indexer
	history *history
	report  *report
}

// atLeast checks that a list has all that was acknowledged up to the resourceVersion that the store
// had before.
func (v versioned) atLeast() {
	at, ok := v.parse(v.indexer.LastStoreSyncResourceVersion())
	if !ok {
		return
	}
	listed := follow.ContentsOf(v.indexer.List())
	for key := range v.history.keys {
		state, exists := listed[key]
		if text := v.history.contradicts(key, at, true, state, exists); text != "" {
			v.report.violation("version", v.name, "a list when the store was at %d: %s", at, text)
		}
	}
}

// exactly checks that a snapshot is the state at its resourceVersion: nothing older, nothing newer.
// It does nothing if the store has no snapshots.
func (v versioned) exactly() {
	v.snapshot(func(s cache.Snapshot, at uint64) {
		n := 0
		for _, obj := range s.All() {
			n++
			v.notNewer(obj, at)
		}
		if s.Len() != n || len(s.List()) != n {
			v.report.violation("mixed", v.name, "a snapshot of %d has %d objects and lists %d", s.Len(), n, len(s.List()))
		}
		for key := range v.history.keys {
			v.one(s, key, at)
		}
	})
}

// glance is exactly for the objects of the chain and those that were acknowledged last. It takes a
// few microseconds.
func (v versioned) glance() {
	v.snapshot(func(s cache.Snapshot, at uint64) {
		for i := range chainLength {
			v.one(s, keyOf(chainName(i)), at)
		}
		for _, key := range v.history.recent() {
			v.one(s, key, at)
		}
	})
}

func (v versioned) snapshot(use func(s cache.Snapshot, at uint64)) {
	s, err := cache.SnapshotOf(v.indexer)
	if err != nil {
		return // client-go's
	}
	defer s.Close()
	if at, ok := v.parse(s.ResourceVersion()); ok {
		use(s, at)
	}
}

func (v versioned) one(s cache.Snapshot, key string, at uint64) {
	obj, exists := s.Get(key)
	state := follow.State{}
	if exists {
		state = v.notNewer(obj, at)
	}
	if text := v.history.contradicts(key, at, false, state, exists); text != "" {
		v.report.violation("version", v.name, "a snapshot of %d: %s", at, text)
	}
}

func (v versioned) notNewer(obj any, at uint64) follow.State {
	key, state := follow.StateOf(obj)
	if state.RV > at {
		v.report.violation("version", v.name, "a snapshot of %d has %s at %v", at, key, state)
	}
	return state
}

// parse reads a resourceVersion. That of a store before its first list is empty.
func (v versioned) parse(text string) (rv uint64, ok bool) {
	if text == "" {
		return 0, false
	}
	rv, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		v.report.violation("version", v.name, "resourceVersion %q", text)
	}
	return rv, err == nil
}

// hunt glances without a pause for a while after each signal, until ctx ends: a state that shows
// for microseconds only, when a list becomes the content of the store, is not met by who reads now
// and then. It returns at once if the store has no snapshots.
func (v versioned) hunt(ctx context.Context, signals <-chan struct{}) {
	const (
		length = 20 * time.Millisecond
		burst  = 10
	)
	s, err := cache.SnapshotOf(v.indexer)
	if err != nil {
		return // client-go's
	}
	s.Close()
	for {
		select {
		case <-signals:
		case <-ctx.Done():
			return
		}
		glances := int64(0)
		for end := time.Now().Add(length); time.Now().Before(end); glances += burst {
			for range burst {
				v.glance()
			}
		}
		v.report.count("reads: hunting", glances)
	}
}
