// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/go-memdb"
	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/view"
)

const (
	byPhase       = "phase" // equal for all pods
	pageSize      = 100
	queryTime     = 200 * time.Millisecond // the duration of the queries of a round
	questionCount = 20                     // the number of different queries
	memdbsTable   = "pods"
)

// queryRows query a full store for the pods with a phase, in a namespace and on a node, and for a page.
// With client-go's store, the objects of the first index are filtered by the other index functions, as in
// controller-runtime's cache for fields, and a page is a part of the sorted keys. The same queries of a
// memdb use one of the same three indexes, and filter by plain code.
func queryRows() []row {
	return []row{
		termsRow("worst", []string{byPhase, byNamespace, byNode}),
		termsRow("best", []string{byNode, byNamespace, byPhase}),
		queryRow("page", fmt.Sprintf("%d objects from the middle, in the order of keys", pageSize), func(p *workloadPods, i int) question {
			return question{after: p.keys[i]}
		}),
	}
}

func termsRow(name string, order []string) row {
	title := fmt.Sprintf("objects with values in three indexes, asked for in the order %v", order)
	return queryRow("terms-"+name, title, func(p *workloadPods, i int) question {
		values := map[string]string{byPhase: string(p.pods[i].Status.Phase), byNamespace: p.pods[i].Namespace, byNode: p.pods[i].Spec.NodeName}
		var q question
		for _, index := range order {
			q.terms = append(q.terms, view.Term{Index: index, Value: values[index]})
		}
		return q
	})
}

// question is a query for the objects that meet all terms, or for a page of the objects after a
// key.
type question struct {
	terms []view.Term
	after string
}

// workloadPods are the pods of a store.
type workloadPods struct {
	pods []*corev1.Pod
	keys []string
}

func queryRow(name, title string, ask func(p *workloadPods, i int) question) row {
	return row{group: "Queries", name: "query/" + name, title: title, setup: func(ctx context.Context, e *env) (trial, error) {
		p, err := e.population(ctx)
		if err != nil {
			return nil, err
		}
		pods := &workloadPods{p.Pods, p.Keys}
		var questions []question
		for _, i := range shuffled(len(p.Pods), e.seed)[:min(questionCount, len(p.Pods))] {
			questions = append(questions, ask(pods, i))
		}
		stores, err := newQueried(e, pods)
		return func(_ context.Context, s side) (outcome, error) { return stores.round(e, s, questions) }, err
	}}
}

// queried holds the stores to query.
type queried struct {
	sides [2]clientgo.Indexer
	memdb *memdb.MemDB
}

func newQueried(e *env, p *workloadPods) (*queried, error) {
	q := &queried{}
	for i, s := range e.sides {
		indexers := indexers(2)
		indexers[byPhase] = func(obj any) ([]string, error) { return []string{string(obj.(*corev1.Pod).Status.Phase)}, nil }
		q.sides[i] = s.newIndexer(clientgo.MetaNamespaceKeyFunc, indexers)
		var list []any
		for _, pod := range p.pods {
			list = append(list, pod)
		}
		if err := q.sides[i].Replace(list, listVersion(0)); err != nil {
			return nil, err
		}
	}
	var err error
	q.memdb, err = newMemdb(p.pods)
	return q, err
}

// round runs all queries. On client-go's side it also queries the memdb.
func (q *queried) round(e *env, s side, questions []question) (outcome, error) {
	answer := func(one question) ([]any, error) { return askIndexer(q.sides[s.index], one) }
	if s.status != nil {
		answer = func(one question) ([]any, error) { return askView(q.sides[s.index], one) }
	}
	first, total, err := q.ask(e, questions, answer)
	if err != nil {
		return outcome{}, err
	}
	second := first
	if s.status == nil {
		var same check
		second, same, err = q.ask(e, questions, q.askMemdb)
		if same != total {
			return outcome{}, fmt.Errorf("%w: memdb", errDiffer)
		}
	}
	return outcome{check: total, samples: []sample{
		first[0], first[1], {"CPU, memdb in the place of client-go", "us/query", second[0].value},
	}}, err
}

// ask runs each query once to record its result, and then runs all of them repeatedly for some
// time.
func (q *queried) ask(e *env, questions []question, answer func(question) ([]any, error)) (samples []sample, total check, err error) {
	for _, one := range questions {
		found, err := answer(one)
		if err = errors.Join(err, total.add(found)); err != nil {
			return nil, total, err
		}
	}
	asked, long := 0, time.Duration(float64(queryTime)*e.scale)
	usage, err := e.measure(func() error {
		for start := time.Now(); asked == 0 || time.Since(start) < long; asked++ {
			if _, err := answer(questions[asked%len(questions)]); err != nil {
				return err
			}
		}
		return nil
	})
	each := 1 / float64(asked)
	return []sample{{"CPU", "us/query", usage.CPU.Seconds() * 1e6 * each}, {"allocated", "B/query", float64(usage.Bytes) * each}}, total, err
}

// askIndexer evaluates terms with the algorithm of controller-runtime's cache.
func askIndexer(store clientgo.Indexer, q question) ([]any, error) {
	if q.terms == nil {
		return pageOfKeys(store, q.after)
	}
	found, err := store.ByIndex(q.terms[0].Index, q.terms[0].Value)
	for _, t := range q.terms[1:] {
		indexOf := store.GetIndexers()[t.Index]
		found = slices.DeleteFunc(found, func(obj any) bool {
			values, err := indexOf(obj)
			return err != nil || !slices.Contains(values, t.Value)
		})
	}
	return found, err
}

func pageOfKeys(store clientgo.Indexer, after string) (page []any, err error) {
	keys := store.ListKeys()
	slices.Sort(keys)
	first, found := slices.BinarySearch(keys, after)
	if found {
		first++
	}
	for _, key := range keys[first:min(len(keys), first+pageSize)] {
		obj, exists, err := store.GetByKey(key)
		if err != nil || !exists {
			return nil, fmt.Errorf("%w: %s", errMissing, key)
		}
		page = append(page, obj)
	}
	return page, nil
}

func askView(store clientgo.Indexer, q question) (found []any, err error) {
	snapshot, err := view.Of(store)
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	if q.terms == nil {
		page, _, err := view.Page(snapshot, view.Query{}, view.ByKey[*corev1.Pod], &view.Entry[*corev1.Pod]{Key: q.after}, pageSize)
		for _, entry := range page {
			found = append(found, entry.Object)
		}
		return found, err
	}
	pods, err := view.Select[*corev1.Pod](snapshot, view.Query{Where: q.terms})
	if err != nil {
		return nil, err
	}
	for _, pod := range pods {
		found = append(found, pod)
	}
	return found, nil
}

// keyed is a pod in the memdb.
type keyed struct {
	Key, Namespace, Node, Phase string
	pod                         *corev1.Pod
}

// value returns the value of an index.
func (k *keyed) value(index string) string {
	switch index {
	case byNode:
		return k.Node
	case byNamespace:
		return k.Namespace
	default:
		return k.Phase
	}
}

func newMemdb(pods []*corev1.Pod) (*memdb.MemDB, error) {
	indexOf := func(name, field string, unique bool) *memdb.IndexSchema {
		return &memdb.IndexSchema{Name: name, Unique: unique, AllowMissing: true, Indexer: &memdb.StringFieldIndex{Field: field}}
	}
	db, err := memdb.NewMemDB(&memdb.DBSchema{Tables: map[string]*memdb.TableSchema{memdbsTable: {Name: memdbsTable, Indexes: map[string]*memdb.IndexSchema{
		"id":        {Name: "id", Unique: true, Indexer: &memdb.StringFieldIndex{Field: "Key"}},
		byNamespace: indexOf(byNamespace, "Namespace", false), byNode: indexOf(byNode, "Node", false), byPhase: indexOf(byPhase, "Phase", false),
	}}}})
	if err != nil {
		return nil, err
	}
	txn := db.Txn(true)
	defer txn.Commit()
	for _, pod := range pods {
		key := clientgo.MetaObjectToName(pod).String()
		if err := txn.Insert(memdbsTable, &keyed{key, pod.Namespace, pod.Spec.NodeName, string(pod.Status.Phase), pod}); err != nil {
			return nil, err
		}
	}
	return db, nil
}

func (q *queried) askMemdb(one question) (found []any, err error) {
	txn := q.memdb.Txn(false)
	defer txn.Abort()
	if one.terms == nil {
		entries, err := txn.LowerBound(memdbsTable, "id", one.after)
		if err != nil {
			return nil, err
		}
		for k := entries.Next(); k != nil && len(found) < pageSize; k = entries.Next() {
			if k.(*keyed).Key != one.after {
				found = append(found, k.(*keyed).pod)
			}
		}
		return found, nil
	}
	entries, err := txn.Get(memdbsTable, one.terms[0].Index, one.terms[0].Value)
	if err != nil {
		return nil, err
	}
	for k := entries.Next(); k != nil; k = entries.Next() {
		if pod := k.(*keyed); !slices.ContainsFunc(one.terms[1:], func(t view.Term) bool { return pod.value(t.Index) != t.Value }) {
			found = append(found, pod.pod)
		}
	}
	return found, nil
}
