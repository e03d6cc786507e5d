// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/bench/internal/workload"
)

// writeRows are the writes, by one goroutine. Each leaves the store as it
// found it.
func (h holding) writeRows() []row {
	return []row{
		h.row("update-same", "Update, index values unchanged", planUpdateSame),
		h.row("update-moved", "Update, two of three index values changed", planUpdateMoved),
		h.row("add-delete", "Add of many more objects, then Delete of them, for one of each", planAddDelete),
		h.row("add-delete-one", "Add and at once Delete of one more object", planAddDeleteOne),
		h.replaceRow(),
	}
}

// planUpdateSame updates pods to a later version, then back.
func planUpdateSame(e *env, p *workload.Population) (storeOps, int) {
	return thereAndBack(e, p, func(i int, pod *corev1.Pod) *corev1.Pod {
		return workload.Version(pod, eventVersion(i))
	})
}

// planUpdateMoved moves pods to the node and the owner of another pod, then
// back.
func planUpdateMoved(e *env, p *workload.Population) (storeOps, int) {
	return thereAndBack(e, p, func(i int, pod *corev1.Pod) *corev1.Pod {
		other := p.Pods[(i*workload.PodsPerDeployment+i)%len(p.Pods)]
		return workload.Moved(pod, eventVersion(i), other.Spec.NodeName+"-b", other.OwnerReferences[0].UID+types.UID("-b"))
	})
}

// thereAndBack updates a part of the population, in random order, to the
// versions that change makes, and then to the originals.
func thereAndBack(e *env, p *workload.Population, change func(i int, pod *corev1.Pod) *corev1.Pod) (storeOps, int) {
	chosen := shuffled(len(p.Pods), e.seed)[:max(1, min(len(p.Pods), e.ops(50_000)))]
	updates := make([]any, 0, 2*len(chosen))
	for _, i := range chosen {
		updates = append(updates, change(i, p.Pods[i]))
	}
	for _, i := range chosen {
		updates = append(updates, p.Pods[i])
	}
	return func(store clientgo.Indexer) (int64, error) {
		for _, object := range updates {
			if err := store.Update(object); err != nil {
				return 0, fmt.Errorf("update: %w", err)
			}
		}
		return 0, nil
	}, len(updates)
}

// planAddDelete adds objects that the store does not hold, in random order,
// and then deletes them in the same order; one operation is one of each.
func planAddDelete(e *env, p *workload.Population) (storeOps, int) {
	more := moreObjects(e, p)
	return func(store clientgo.Indexer) (int64, error) {
		for _, object := range more {
			if err := store.Add(object); err != nil {
				return 0, fmt.Errorf("add: %w", err)
			}
		}
		for _, object := range more {
			if err := store.Delete(object); err != nil {
				return 0, fmt.Errorf("delete: %w", err)
			}
		}
		return 0, nil
	}, len(more)
}

// planAddDeleteOne deletes each object before it adds the next.
func planAddDeleteOne(e *env, p *workload.Population) (storeOps, int) {
	more := moreObjects(e, p)
	return func(store clientgo.Indexer) (int64, error) {
		for _, object := range more {
			if err := errors.Join(store.Add(object), store.Delete(object)); err != nil {
				return 0, fmt.Errorf("add and delete: %w", err)
			}
		}
		return 0, nil
	}, len(more)
}

// moreObjects are objects that the store does not hold, in random order.
func moreObjects(e *env, p *workload.Population) []any {
	chosen := shuffled(len(p.Pods), e.seed)[:max(1, min(len(p.Pods), e.ops(20_000)))]
	more := make([]any, len(chosen))
	for i, from := range chosen {
		pod := workload.Version(p.Pods[from], eventVersion(i))
		pod.Name += "-more"
		more[i] = pod
	}
	return more
}

// replaceRow replaces all objects by the same objects, decoded anew, in turns.
func (h holding) replaceRow() row {
	r := h.rowOf(storeGroup, "replace")
	r.title = "Replace of all by equal objects, decoded anew"
	r.setup = func(ctx context.Context, e *env) (trial, error) {
		lists, filled, err := replaceable(ctx, e)
		if err != nil {
			return nil, err
		}
		var rounds [2]int
		return func(_ context.Context, s side) (outcome, error) {
			store := filled[s.index]
			rounds[s.index]++
			list := lists[rounds[s.index]%len(lists)]
			return h.during(s, store, func() (outcome, error) { return replaceRound(e, store, list) })
		}, nil
	}
	return r
}

func replaceRound(e *env, store clientgo.Indexer, list []any) (outcome, error) {
	usage, err := e.measure(func() error { return store.Replace(list, listVersion(0)) })
	if err != nil {
		return outcome{}, err
	}
	return storeOutcome(store, 0, append(milliseconds("", usage),
		sample{"allocated", "B/object", float64(usage.Bytes) / float64(len(list))}))
}

// replaceable returns two lists of equal objects, and stores that hold the
// first.
func replaceable(ctx context.Context, e *env) (lists [2][]any, filled stores, err error) {
	first, err := e.population(ctx)
	if err != nil {
		return lists, filled, err
	}
	second, err := e.redecoded(ctx)
	if err != nil {
		return lists, filled, err
	}
	filled, err = newStores(e.sides, first, 3)
	return [2][]any{objects(first), objects(second)}, filled, err
}
