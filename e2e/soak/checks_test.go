// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/e2e/follow"
)

func podOf(name, rv string, n int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: follow.Namespace, Name: name, ResourceVersion: rv,
		Labels: map[string]string{follow.ValueLabel: valueOf(name, n)},
	}}
}

func silentReport() *report { return newReport(Config{Out: io.Discard}) }

// violations are the rules that were violated.
func violations(r *report) []string {
	rules := []string{}
	for _, v := range r.end().Violations {
		rules = append(rules, v.Rule)
	}
	return rules
}

// readerOf is a reader of a store alone.
func readerOf(indexer cache.Indexer) *reader {
	return &reader{
		name: "reader", indexer: indexer, report: silentReport(), random: rand.New(rand.NewPCG(1, 1)),
		floor: map[string]uint64{}, present: map[string]bool{},
	}
}

func newStore(t *testing.T, pods ...any) cache.Indexer {
	s := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc, shardIndex: byShard,
	})
	require.NoError(t, s.Replace(pods, "1"))
	return s
}

// TestReaderNoticesGoingBack reads by one method, lets the store go back, and reads by another one.
func TestReaderNoticesGoingBack(t *testing.T) {
	for name, now := range map[string][]any{
		"older":          {podOf("a", "6", 2)},
		"deleted before": {podOf("a", "7", 2), podOf("b", "3", 1)},
	} {
		store := newStore(t, podOf("a", "7", 2), podOf("b", "3", 1))
		r := readerOf(store)
		r.readList()
		require.NoError(t, store.Delete(podOf("b", "3", 1)))
		r.readKeys()
		require.NoError(t, store.Replace(now, "9"))
		r.readNamespace()
		assert.Equal(t, []string{"back"}, violations(r.report), name)
	}
}

// lyingIndexer answers as it likes.
type lyingIndexer struct {
	cache.Indexer
	objects []any
}

func (l lyingIndexer) ByIndex(string, string) ([]any, error) { return l.objects, nil }

func TestReaderNoticesMixedStates(t *testing.T) {
	r := readerOf(lyingIndexer{newStore(t), []any{podOf("a", "1", 1), podOf("a", "1", 1)}})
	r.readNamespace()
	assert.Equal(t, []string{"mixed"}, violations(r.report), "twice")

	r = readerOf(lyingIndexer{newStore(t), []any{nil}})
	r.readNamespace()
	assert.Equal(t, []string{"content"}, violations(r.report), "an index that has what the store has not")

	var all []any
	for n := range 40 { // of so many values, each shard has some
		all = append(all, podOf("a", "1", n))
	}
	r = readerOf(lyingIndexer{newStore(t), all})
	r.readShard()
	assert.Contains(t, violations(r.report), "mixed", "another shard's objects")
}

// TestVersionsAreHeldAgainstTheHistory replaces a store's content by something that is not the
// state at its resourceVersion.
func TestVersionsAreHeldAgainstTheHistory(t *testing.T) {
	first, second := chainName(0), chainName(1)
	for name, c := range map[string]struct {
		now    []any
		at     string
		broken bool
	}{
		"right":              {[]any{podOf(first, "5", 2), podOf(second, "7", 2)}, "8", false},
		"newer":              {[]any{podOf(first, "9", 3), podOf(second, "7", 2)}, "9", false},
		"deleted":            {[]any{podOf(first, "5", 2)}, "8", false},
		"before the change":  {[]any{podOf(first, "3", 1)}, "4", false},
		"half, of the new":   {[]any{podOf(first, "3", 1), podOf(second, "7", 2)}, "7", true},
		"half, of the old":   {[]any{podOf(first, "5", 2), podOf(second, "7", 2)}, "5", true},
		"missing":            {[]any{podOf(second, "7", 2)}, "7", true},
		"nothing, of a list": {[]any{}, "5", true},
		"ended later":        {[]any{}, "4", true},
	} {
		for how, check := range map[string]func(versioned){
			"at least": versioned.atLeast, "exactly": versioned.exactly, "at a glance": versioned.glance,
		} {
			h := newHistory()
			h.acknowledged(keyOf(first), 3)
			h.acknowledged(keyOf(first), 5)
			h.acknowledged(keyOf(second), 7)
			h.ending(keyOf(second))
			if name == "ended later" {
				h.ending(keyOf(first)) // at 5
			}
			store, report := newStore(t), silentReport()
			require.NoError(t, store.Replace(c.now, c.at))
			check(versioned{indexer: store, history: h, report: report})
			if how == "at least" && (name == "half, of the old" || name == "ended later") {
				assert.Empty(t, violations(report), "a list may be newer: %s", name)
				continue
			}
			assert.Equal(t, c.broken, len(violations(report)) > 0, "%s, %s", name, how)
		}
	}
}

func TestChain(t *testing.T) {
	for _, c := range []struct {
		steps  []int // 0: missing
		broken bool
	}{
		{[]int{}, false}, {[]int{1, 1}, false}, {[]int{2, 2, 2, 2, 2}, false}, {[]int{3, 3, 2, 2, 2}, false},
		{[]int{2, 3, 2, 2, 2}, true}, {[]int{4, 3, 2, 2, 2}, true}, {[]int{1, 0, 1}, true}, {[]int{2, 2}, true},
	} {
		var objects []any
		for i, n := range c.steps {
			if n > 0 {
				objects = append(objects, podOf(chainName(i), "1", n))
			}
		}
		assert.Equal(t, c.broken, brokenChain(follow.ContentsOf(objects)) != "", c.steps)
	}
}

func TestCoverageKnowsWhatAListSkips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCoverage()
		for _, rv := range []uint64{2, 4, 6, 8} {
			c.acknowledged(rv)
		}
		c.heard(2)
		c.heard(8)
		c.heard(9) // the acknowledgement was lost
		c.skipped("2", "4")
		assert.Equal(t, []uint64{6}, c.settle(t.Context()))
		c.heard(10)
		c.acknowledged(10)
		c.acknowledged(3)
		assert.Equal(t, []uint64{3}, c.settle(t.Context()), "gaps are those since the last time")
	})
}

// TestCoverageWaits for what is still under way, as an object is that was made and deleted at once:
// the replica is complete without it.
func TestCoverageWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCoverage()
		c.acknowledged(2)
		time.AfterFunc(hearPatience/2, func() { c.heard(2) })
		assert.Empty(t, c.settle(t.Context()))
	})
}

func TestLedgerComparesWithAList(t *testing.T) {
	state := func(rv uint64) follow.State { return follow.State{UID: "u", RV: rv} }
	key := func(name string) string { return follow.Namespace + "/" + name }
	for name, c := range map[string]struct {
		entry  entry
		listed follow.Contents
		faults int
	}{
		"equal":              {entry{State: state(3), exists: true, certain: true}, follow.Contents{key("a"): state(3)}, 0},
		"lost":               {entry{State: state(3), exists: true, certain: true}, follow.Contents{}, 1},
		"deletion lost":      {entry{certain: true}, follow.Contents{key("a"): state(3)}, 1},
		"update lost":        {entry{State: state(3), exists: true, certain: true}, follow.Contents{key("a"): state(2)}, 1},
		"uncertain, done":    {entry{State: state(3), exists: true}, follow.Contents{key("a"): state(4)}, 0},
		"uncertain, deleted": {entry{State: state(3), exists: true}, follow.Contents{}, 0},
		"uncertain, lost":    {entry{State: state(3), exists: true}, follow.Contents{key("a"): state(2)}, 1},
		"invented":           {entry{certain: true}, follow.Contents{key("b"): state(2)}, 1},
	} {
		l := newLedger()
		*l.entry("a") = c.entry
		faults := 0
		l.compare(c.listed, func(string, ...any) { faults++ })
		assert.Equal(t, c.faults, faults, name)
		l.compare(c.listed, func(string, ...any) { faults++ })
		if name != "invented" {
			assert.Equal(t, c.faults, faults, "%s, settled", name)
		}
	}
}

func TestHandlerNoticesTheContentOfAnother(t *testing.T) {
	h := newHandler(handlerKinds[0], "informer", silentReport())
	pod := podOf("a", "1", 1)
	pod.Name = "b"
	h.OnAdd(pod, true)
	assert.Equal(t, []string{"content"}, violations(h.report))
}
