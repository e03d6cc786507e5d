// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/testkit/workload"
	"github.com/kinformer/cache/view"
)

const (
	byPhase       = "phase" // equal for all pods
	pageSize      = 100
	queryTime     = 200 * time.Millisecond // the duration of the queries of a round
	questionCount = 20                     // the number of different queries
)

// queryRows query a full store for the pods with a phase, in a namespace and on a node, and for a page.
// With client-go's store, the objects of the first index are filtered by the other index functions, as in
// controller-runtime's cache for fields, and a page is a part of the sorted keys.
func queryRows() []row {
	return []row{
		termsRow("worst", []string{byPhase, byNamespace, byNode}),
		termsRow("best", []string{byNode, byNamespace, byPhase}),
		queryRow("page", fmt.Sprintf("%d objects from the middle, in the order of keys", pageSize), func(p *workload.Population, i int) question {
			return question{after: p.Keys[i]}
		}),
	}
}

func termsRow(name string, order []string) row {
	title := fmt.Sprintf("objects with values in three indexes, asked for in the order %v", order)
	return queryRow("terms-"+name, title, func(p *workload.Population, i int) question {
		pod := p.Pods[i]
		values := map[string]string{byPhase: string(pod.Status.Phase), byNamespace: pod.Namespace, byNode: pod.Spec.NodeName}
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

func queryRow(name, title string, ask func(p *workload.Population, i int) question) row {
	return row{group: "Queries", name: "query/" + name, title: title, setup: func(ctx context.Context, e *env) (trial, error) {
		p, err := e.population(ctx)
		if err != nil {
			return nil, err
		}
		var questions []question
		for _, i := range shuffled(len(p.Pods), e.seed)[:min(questionCount, len(p.Pods))] {
			questions = append(questions, ask(p, i))
		}
		var stores [2]clientgo.Indexer
		for i, s := range e.sides {
			indexers := indexers(2)
			indexers[byPhase] = func(obj any) ([]string, error) { return []string{string(obj.(*corev1.Pod).Status.Phase)}, nil }
			stores[i] = s.newIndexer(clientgo.MetaNamespaceKeyFunc, indexers)
			err = errors.Join(err, stores[i].Replace(objects(p), listVersion(0)))
		}
		return func(_ context.Context, s side) (outcome, error) {
			answer := askIndexer
			if s.status != nil {
				answer = askView
			}
			return queryRound(e, questions, func(q question) ([]any, error) { return answer(stores[s.index], q) })
		}, err
	}}
}

// queryRound runs each query once to record its result, and then runs all of them repeatedly for some
// time.
func queryRound(e *env, questions []question, answer func(question) ([]any, error)) (out outcome, err error) {
	for _, one := range questions {
		found, err := answer(one)
		if err = errors.Join(err, out.check.add(found)); err != nil {
			return out, err
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
	out.samples = []sample{{"CPU", "us/query", usage.CPU.Seconds() * 1e6 * each}, {"allocated", "B/query", float64(usage.Bytes) * each}}
	return out, err
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
