// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package checker_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/testkit/checker"
)

// pod returns a pod whose value is derived from its version.
func pod(name string, rv int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: "u", ResourceVersion: fmt.Sprint(rv), Labels: map[string]string{checker.ValueLabel: fmt.Sprint(name, rv)},
	}}
}

func altered(name string, rv int) *corev1.Pod {
	p := pod(name, rv)
	p.Labels[checker.ValueLabel] = "other"
	return p
}

// ledgerOf returns the ledger of a server that has created a at 3 and updated it at 5, created b at
// 7 and d at 9, and was requested to delete d.
func ledgerOf() *checker.Ledger {
	l := checker.NewLedger()
	for _, p := range []*corev1.Pod{pod("a", 3), pod("a", 5), pod("b", 7), pod("d", 9)} {
		key, state := checker.StateOf(p)
		l.Begin(key, false)
		l.Acknowledged(key, state)
	}
	l.Begin("ns/d", true)
	return l
}

type faults []string

func (f *faults) report(rule, _ string) {
	if !slices.Contains(*f, rule) {
		*f = append(*f, rule)
	}
}

// TestReplicaNotices checks calls that violate the contract.
func TestReplicaNotices(t *testing.T) {
	tombstone := clientgo.DeletedFinalStateUnknown{Key: "ns/a", Obj: pod("a", 5)}
	for name, c := range map[string]struct {
		tell func(r *checker.Replica)
		rule string
	}{
		"nothing": {func(r *checker.Replica) {
			r.OnUpdate(pod("a", 3), pod("a", 5))
			r.OnDelete(tombstone)
			r.OnAdd(pod("b", 7), false)
		}, ""},
		"an Add of a known object":    {func(r *checker.Replica) { r.OnAdd(pod("a", 5), true) }, "order"},
		"an Update of an unknown one": {func(r *checker.Replica) { r.OnUpdate(pod("b", 6), pod("b", 7)) }, "order"},
		"a lost event, by the next":   {func(r *checker.Replica) { r.OnUpdate(pod("a", 4), pod("a", 5)) }, "order"},
		"events in another order":     {func(r *checker.Replica) { r.OnUpdate(pod("a", 3), pod("a", 2)) }, "order"},
		"a Delete of an unknown one":  {func(r *checker.Replica) { r.OnDelete(pod("b", 7)) }, "order"},
		"a Delete of an old state":    {func(r *checker.Replica) { r.OnDelete(pod("a", 2)) }, "order"},
		"back from the dead": {func(r *checker.Replica) {
			r.OnDelete(pod("a", 6))
			r.OnAdd(pod("a", 5), false)
		}, "order"},
		"a late initial list":  {func(r *checker.Replica) { r.OnAdd(pod("b", 7), false); r.OnAdd(pod("d", 9), true) }, "order"},
		"a call after the end": {func(r *checker.Replica) { r.Close(); r.OnAdd(pod("b", 7), false) }, "order"},
		"an invented object":   {func(r *checker.Replica) { r.OnAdd(pod("x", 8), false) }, "content"},
		"another content":      {func(r *checker.Replica) { r.OnAdd(altered("b", 7), false) }, "content"},
	} {
		var found faults
		r := checker.NewReplica(found.report)
		r.Ledger = ledgerOf()
		r.OnAdd(pod("a", 3), true)
		if c.tell(r); c.rule == "" {
			assert.Empty(t, found, name)
		} else {
			assert.Equal(t, faults{c.rule}, found, name)
		}
	}
}

// TestReplicaReportsLostVersions checks that acknowledged versions count as lost if they were neither
// received nor skipped by a list.
func TestReplicaReportsLostVersions(t *testing.T) {
	l := ledgerOf()
	r := checker.NewReplica(func(string, string) {})
	r.Ledger = l
	r.OnAdd(pod("b", 7), false)
	r.OnAdd(pod("x", 8), false) // its acknowledgement was lost
	assert.Equal(t, []uint64{3, 5, 9}, r.Lost())
	r.Skipped("3", "5")
	assert.Equal(t, []uint64{3, 9}, r.Lost())
	r.Skipped("", "3")
	r.OnAdd(pod("d", 9), false)
	assert.Empty(t, r.Lost())
	assert.Empty(t, l.Compare(checker.ContentsOf([]any{pod("a", 5), pod("b", 7)})))
	r.StartAnew()
	assert.Empty(t, r.Lost())
	_, state := checker.StateOf(pod("a", 10))
	l.Acknowledged("ns/a", state)
	assert.Equal(t, []uint64{10}, r.Lost())
}

func TestReplicaAwaitsAState(t *testing.T) {
	r := checker.NewReplica(func(rule, fault string) { t.Error(rule, fault) })
	want := checker.ContentsOf([]any{pod("a", 5), pod("b", 6)})
	go func() { r.OnAdd(pod("a", 5), true); r.OnAdd(pod("b", 6), true) }()
	require.NoError(t, r.AwaitEqual(t.Context(), want))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorContains(t, r.AwaitEqual(ctx, checker.Contents{}), "2 of 0 objects differ")
}

// TestLedgerIsHeldAgainstAList checks that acknowledged objects must be in the list, and uncertain
// ones may be.
func TestLedgerIsHeldAgainstAList(t *testing.T) {
	for name, c := range map[string]struct {
		listed []any
		faults int
	}{
		"equal":          {[]any{pod("a", 5), pod("b", 7), pod("d", 9)}, 0},
		"deleted":        {[]any{pod("a", 5), pod("b", 7)}, 0},
		"update lost":    {[]any{pod("a", 3), pod("b", 7)}, 1},
		"lost":           {[]any{pod("a", 5)}, 1},
		"altered":        {[]any{pod("a", 5), altered("b", 7)}, 1},
		"uncertain, old": {[]any{pod("a", 5), pod("b", 7), pod("d", 8)}, 1},
		"invented":       {[]any{pod("a", 5), pod("b", 7), pod("x", 7)}, 1},
	} {
		l := ledgerOf()
		assert.Len(t, l.Compare(checker.ContentsOf(c.listed)), c.faults, name)
	}
}

type state struct {
	clientgo.Indexer
	at string
}

func (s state) ResourceVersion() string { return s.at }
func (s state) Len() int                { return len(s.ListKeys()) }
func (s state) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, key := range s.ListKeys() {
			if obj, _ := s.Get(key); !yield(key, obj) {
				return
			}
		}
	}
}
func (s state) Get(key string) (any, bool) {
	obj, exists, err := s.GetByKey(key)
	return obj, exists && err == nil
}

func stateOf(t *testing.T, at string, objects []any) state {
	s := state{clientgo.NewIndexer(clientgo.MetaNamespaceKeyFunc, clientgo.Indexers{clientgo.NamespaceIndex: clientgo.MetaNamespaceIndexFunc}), at}
	require.NoError(t, s.Replace(objects, at))
	return s
}

// TestReadsDetectImpossibleStates checks snapshots, which have an exact version, and lists,
// which may be newer.
func TestReadsDetectImpossibleStates(t *testing.T) {
	for name, c := range map[string]struct {
		objects          []any
		at               string
		exactly, atLeast string // the rule
	}{
		"right":              {[]any{pod("a", 5), pod("b", 7)}, "8", "", ""},
		"newer":              {[]any{pod("a", 10), pod("b", 7), pod("d", 9)}, "10", "", ""},
		"deleted":            {[]any{pod("a", 5), pod("b", 7)}, "11", "", ""},
		"before the change":  {[]any{pod("a", 3)}, "4", "", ""},
		"stale":              {[]any{pod("a", 3), pod("b", 7)}, "7", "mixed", "mixed"},
		"newer than it says": {[]any{pod("a", 5), pod("b", 7)}, "5", "mixed", ""},
		"torn":               {[]any{pod("a", 3), pod("b", 7)}, "4", "mixed", "mixed"},
		"missing":            {[]any{pod("b", 7)}, "7", "mixed", "mixed"},
		"nothing, of a list": {nil, "5", "mixed", "mixed"},
		"invented":           {[]any{pod("a", 5), pod("x", 5)}, "5", "content", "content"},
		"another content":    {[]any{altered("a", 5)}, "5", "content", "content"},
		"an invalid object":  {[]any{pod("a", 5), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x"}}}, "5", "content", "content"},
		"an older deletion":  {[]any{pod("a", 5), pod("b", 7)}, "9", "", ""},
	} {
		for how, read := range map[string]func(*checker.Reads, state){
			"exactly": func(r *checker.Reads, s state) { r.Exactly(s) },
			"atLeast": func(r *checker.Reads, s state) { r.Whole(s.List(), r.Position(s.at)) },
		} {
			var found faults
			read(checker.NewReads(ledgerOf(), found.report), stateOf(t, c.at, c.objects))
			want := map[string]string{"exactly": c.exactly, "atLeast": c.atLeast}[how]
			if want == "" {
				assert.Empty(t, found, "%s, %s", name, how)
			} else {
				assert.Contains(t, found, want, "%s, %s", name, how)
			}
		}
	}
}

// TestReadsDetectOlderStates checks reads that are older than earlier ones.
func TestReadsDetectOlderStates(t *testing.T) {
	for name, read := range map[string]func(*checker.Reads){
		"an older state":      func(r *checker.Reads) { r.Whole([]any{pod("a", 3), pod("b", 7)}, 0) },
		"a missing object":    func(r *checker.Reads) { r.Whole([]any{pod("b", 7)}, 0); r.Whole([]any{pod("a", 5), pod("b", 7)}, 0) },
		"an older position":   func(r *checker.Reads) { r.Position("6") },
		"an invalid position": func(r *checker.Reads) { r.Position("x") },
	} {
		var found faults
		r := checker.NewReads(nil, found.report)
		r.Whole([]any{pod("a", 5), pod("b", 7)}, r.Position("7"))
		require.Empty(t, found)
		read(r)
		assert.Equal(t, faults{"back"}, found, name)
	}
	var found faults
	r := checker.NewReads(nil, found.report)
	r.Whole([]any{pod("a", 5), pod("a", 5)}, 0)
	assert.Equal(t, faults{"mixed"}, found, "one object twice")
}

// lying is a store whose index returns arbitrary objects.
type lying struct {
	clientgo.Indexer
	objects []any
}

func (l lying) ByIndex(string, string) ([]any, error) { return l.objects, nil }

// TestCompareNoticesAStoreThatIsNotTheServers checks stores and indexes that differ from the
// server.
func TestCompareNoticesAStoreThatIsNotTheServers(t *testing.T) {
	want := checker.ContentsOf([]any{pod("a", 5), pod("b", 7)})
	for name, objects := range map[string][]any{
		"lost": {pod("a", 5)}, "stale": {pod("a", 3), pod("b", 7)}, "invented": {pod("a", 5), pod("b", 7), pod("x", 7)}, "altered": {pod("a", 5), altered("b", 7)},
	} {
		assert.Error(t, checker.Compare(stateOf(t, "7", objects).Indexer, want), name)
	}
	right := stateOf(t, "7", []any{pod("a", 5), pod("b", 7)}).Indexer
	assert.NoError(t, checker.Compare(right, want))
	assert.ErrorContains(t, checker.Compare(lying{right, []any{pod("a", 5)}}, want), "index namespace")
	other := pod("b", 7)
	other.Namespace = "other"
	assert.ErrorContains(t, checker.Compare(lying{right, []any{pod("a", 5), other}}, want), "belongs under")
}
