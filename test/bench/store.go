// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/testkit/workload"
	"github.com/kinformer/cache/test/bench/internal/blank"
	"github.com/kinformer/cache/test/bench/internal/measure"
)

const (
	// hotKeys is a number of keys whose entries fit in the processor's cache.
	hotKeys = 64
	// sizedTime is the target duration of a measured region of a full run on client-go's side.
	sizedTime = 20 * time.Millisecond
	// trialTargets is the number of operations from which the duration of one is estimated.
	trialTargets = 32
	// batchSize is the largest number of changes that client-go's informers apply at once.
	batchSize = 1000
)

var errMissing = errors.New("object is not in the store")

// objects returns the pods of a population as the argument of Replace.
func objects(p *workload.Population) []any {
	list := make([]any, len(p.Pods))
	for i, pod := range p.Pods {
		list[i] = pod
	}
	return list
}

// shuffled returns the numbers below n in an order that depends only on n and seed.
func shuffled(n int, seed uint64) []int {
	return rand.New(rand.NewPCG(seed, uint64(n))).Perm(n)
}

// method is a method of Indexer, or a pair of methods that undo each other.
type method struct {
	name, title string
	// indexes are the numbers of indexes to measure with. With one index, reads use the index by
	// namespace, with up to 1000 members per value; with three, the index by owner, with 20 or 30.
	indexes []int
	// whole reports whether a call handles all objects of a store.
	whole bool
	// other derives the object that the method stores: a later version of pod number i, or an
	// object that the store does not hold. It is nil for methods that only read.
	other func(p *workload.Population, i int) *corev1.Pod
	// phases run one after the other, each with all targets, and leave the store unchanged as a
	// whole. Each phase counts as an operation; if paired is set, all phases together count as one.
	phases []phase
	paired bool
}

// phase applies an operation to t and returns the number of objects read.
type phase func(t *target) (reads int, err error)

// target holds the arguments of an operation.
type target struct {
	store        clientgo.Indexer
	key          string
	pod, other   any
	index, value string
	// both are two contents of the whole store: the initial one, and one in which every object is
	// replaced by method.other.
	both [2]contents
}

// contents are all objects of a store as the argument of Replace, and updates to some of them as
// the argument of Transaction.
type contents struct {
	list    []any
	updates []clientgo.Transaction
}

func methods() []method {
	always, indexed := []int{0, 1, 3}, []int{1, 3}
	update := []phase{
		func(t *target) (int, error) { return 0, t.store.Update(t.other) },
		func(t *target) (int, error) { return 0, t.store.Update(t.pod) },
	}
	return []method{
		{name: "get", title: "GetByKey", indexes: always, phases: []phase{func(t *target) (int, error) {
			_, exists, err := t.store.GetByKey(t.key)
			return found(exists), err
		}}},
		{name: "get-object", title: "Get", indexes: always, phases: []phase{func(t *target) (int, error) {
			_, exists, err := t.store.Get(t.pod)
			return found(exists), err
		}}},
		{name: "update-same", title: "Update, index values unchanged", indexes: always, other: later, phases: update},
		{name: "update-moved", title: "Update, two of three index values changed", indexes: []int{3}, other: movedTo, phases: update},
		{name: "add-delete", title: "Add of many more, then Delete of them, for one of each", indexes: always, other: another, phases: []phase{
			func(t *target) (int, error) { return 0, t.store.Add(t.other) },
			func(t *target) (int, error) { return 0, t.store.Delete(t.other) },
		}, paired: true},
		{name: "byindex", title: "ByIndex", indexes: indexed, phases: []phase{func(t *target) (int, error) {
			members, err := t.store.ByIndex(t.index, t.value)
			return len(members), err
		}}},
		{name: "indexkeys", title: "IndexKeys", indexes: indexed, phases: []phase{func(t *target) (int, error) {
			keys, err := t.store.IndexKeys(t.index, t.value)
			return len(keys), err
		}}},
		{name: "list", title: "List", indexes: []int{0}, whole: true, phases: []phase{
			func(t *target) (int, error) { return len(t.store.List()), nil },
		}},
		{name: "replace", title: "Replace by later versions", indexes: always, whole: true, other: later, phases: []phase{replaceBy(1), replaceBy(0)}},
		{name: "transaction", title: fmt.Sprintf("Transaction of up to %d updates", batchSize), indexes: always, whole: true, other: later,
			phases: []phase{transactionOf(1), transactionOf(0)}},
	}
}

func found(exists bool) int {
	if exists {
		return 1
	}
	return 0
}

func later(p *workload.Population, i int) *corev1.Pod {
	return workload.Version(p.Pods[i], eventVersion(i))
}

func movedTo(p *workload.Population, i int) *corev1.Pod {
	other := p.Pods[(i*workload.PodsPerDeployment+i)%len(p.Pods)]
	return workload.Moved(p.Pods[i], eventVersion(i), other.Spec.NodeName+"-b", other.OwnerReferences[0].UID+types.UID("-b"))
}

func another(p *workload.Population, i int) *corev1.Pod {
	pod := later(p, i)
	pod.Name += "-more"
	return pod
}

func replaceBy(which int) phase {
	return func(t *target) (int, error) { return 0, t.store.Replace(t.both[which].list, listVersion(which)) }
}

func transactionOf(which int) phase {
	return func(t *target) (int, error) {
		if err := t.store.(clientgo.TransactionStore).Transaction(t.both[which].updates...); err != nil {
			return 0, err
		}
		return 0, nil
	}
}

// sized is one row of a method.
type sized struct {
	method
	objects, indexes int
	// cold reports whether the processor's caches are evicted before each operation. Hot rows use a
	// few objects repeatedly. Methods with whole set are always hot.
	cold bool
}

// sizeRows measure the methods of Indexer in stores of n objects.
func sizeRows(n int) []row {
	var all []row
	for _, m := range methods() {
		for _, indexes := range m.indexes {
			all = append(all, sized{m, n, indexes, false}.row())
			if !m.whole {
				all = append(all, sized{m, n, indexes, true}.row())
			}
		}
	}
	return all
}

func (s sized) row() row {
	heat, how := "hot", "the same again and again"
	if s.cold {
		heat, how = "cold", "other memory before each"
	}
	return row{
		group: "By number of objects: " + s.title, name: fmt.Sprintf("size/%d-%d/%s-%s", s.objects, s.indexes, s.name, heat),
		title: fmt.Sprintf("objects: %d, indexes: %d, %s", s.objects, s.indexes, how),
		light: true, setup: s.trial,
	}
}

// trial fills the stores of both sides and calibrates the number of passes over the targets.
func (s sized) trial(ctx context.Context, e *env) (trial, error) {
	population, err := e.population(ctx)
	if err != nil {
		return nil, err
	}
	var targets [2][]target
	for i, side := range e.sides {
		if targets[i], err = s.targets(side, population, e.seed); err != nil {
			return nil, fmt.Errorf("fill the stores of %s: %w", side.name, err)
		}
	}
	if s.cold {
		return func(_ context.Context, on side) (outcome, error) { return s.coldRound(e, targets[on.index]) }, nil
	}
	chosen, passes, err := s.portion(targets, time.Duration(float64(sizedTime)*e.scale))
	return func(_ context.Context, on side) (outcome, error) {
		return s.round(e, targets[on.index][:chosen], passes)
	}, err
}

// targets fills a store of one side and returns the targets of the operations.
func (s sized) targets(on side, p *workload.Population, seed uint64) ([]target, error) {
	content := s.contents(p)
	store := on.newIndexer(clientgo.MetaNamespaceKeyFunc, blank.Indexers(s.indexes))
	if err := store.Replace(content[0].list, listVersion(0)); err != nil {
		return nil, err
	}
	if s.whole {
		return []target{{store: store, both: content}}, nil
	}
	some := hotKeys
	if s.cold {
		some = coldOperations
	}
	var all []target
	for _, i := range shuffled(s.objects, seed)[:min(some, s.objects)] {
		all = append(all, s.target(store, p, i))
	}
	return all, nil
}

// contents returns the initial contents of the store and, for a method with whole set, the contents in
// which s.other replaces every object.
func (s sized) contents(p *workload.Population) [2]contents {
	var others []any
	for i := range p.Pods {
		if s.whole && s.other != nil {
			others = append(others, s.other(p, i))
		}
	}
	return [2]contents{contentsOf(objects(p)), contentsOf(others)}
}

// contentsOf returns contents of list whose updates are those of its first objects.
func contentsOf(list []any) contents {
	c := contents{list: list}
	for _, obj := range list[:min(len(list), batchSize)] {
		c.updates = append(c.updates, clientgo.Transaction{Type: clientgo.TransactionTypeUpdate, Object: obj})
	}
	return c
}

// target returns the target for pod number i.
func (s sized) target(store clientgo.Indexer, p *workload.Population, i int) target {
	pod := p.Pods[i]
	t := target{store: store, key: p.Keys[i], pod: pod}
	if s.other != nil {
		t.other = s.other(p, i)
	}
	switch s.indexes {
	case 1:
		t.index, t.value = blank.ByNamespace, pod.Namespace
	case 3:
		t.index, t.value = blank.ByOwner, string(pod.OwnerReferences[0].UID)
	}
	return t
}

// portion returns the number of targets and the number of passes over them for which a run on the
// first side takes about the duration long. It runs the same work on both sides, twice each, and so
// also warms them up.
func (s sized) portion(targets [2][]target, long time.Duration) (chosen, passes int, err error) {
	few := min(trialTargets, len(targets[0]))
	var took time.Duration
	for i := range 4 {
		start := time.Now()
		if _, err := s.run(targets[1-i%2][:few], 1); err != nil {
			return 0, 0, err
		}
		took = time.Since(start)
	}
	blocks := max(1, int(long/max(1, took)))
	chosen = min(len(targets[0]), blocks*few)
	return chosen, max(1, blocks*few/chosen), nil
}

// run applies every phase to every target, passes times.
func (s sized) run(targets []target, passes int) (reads int64, err error) {
	for range passes {
		for _, do := range s.phases {
			for i := range targets {
				n, err := do(&targets[i])
				if err != nil {
					return reads, fmt.Errorf("%s: %w", s.name, err)
				}
				reads += int64(n)
			}
		}
	}
	return reads, nil
}

// round measures one run. A method that changes the stores must leave both sides in the same state.
func (s sized) round(e *env, targets []target, passes int) (outcome, error) {
	var reads int64
	usage, err := e.measure(func() (err error) {
		reads, err = s.run(targets, passes)
		return err
	})
	if err != nil {
		return outcome{}, err
	}
	operations := len(targets) * passes
	if !s.paired {
		operations *= len(s.phases)
	}
	samples := per("op", usage, operations)
	check, err := s.check(targets, reads)
	return outcome{samples: []sample{samples[0], samples[2]}, check: check}, err
}

// check returns the number of objects read and, if the method changes the store, the digest of the
// store.
func (s sized) check(targets []target, reads int64) (c check, err error) {
	if s.other != nil {
		c, err = stateOf(targets[0].store)
	}
	c.Reads = reads
	return c, err
}

// churnOperations is the number of random updates and deletes before a store is measured again.
const churnOperations = 1_000_000

// storeMemoryRows measure the memory of a store per object, including keys and excluding the
// objects themselves, after different ways to fill and change it.
func storeMemoryRows() []row {
	var all []row
	for _, indexes := range []int{0, 1, 3} {
		all = append(all, row{
			group: "Memory of a store", name: fmt.Sprintf("store/bytes-%d", indexes),
			title: fmt.Sprintf("indexes: %d, keys included; random: %d updates and deletes", indexes, churnOperations),
			light: true, rounds: 2, // the results hardly vary between rounds
			setup: func(ctx context.Context, e *env) (trial, error) {
				p, err := e.population(ctx)
				if err != nil {
					return nil, err
				}
				moved := movedPods(p)
				return func(_ context.Context, s side) (outcome, error) { return weigh(e, s, p, moved, indexes) }, nil
			},
		})
	}
	return all
}

// weigh measures three stores: filled by Replace, filled by Add, and filled by Add and then
// changed.
func weigh(e *env, s side, p *workload.Population, moved []any, indexes int) (out outcome, err error) {
	for _, fill := range []struct {
		name string
		fill func(clientgo.Indexer) error
	}{
		{"filled by Replace", func(store clientgo.Indexer) error { return store.Replace(objects(p), listVersion(0)) }},
		{"filled by Add", func(store clientgo.Indexer) error { return addAll(store, p) }},
		{"after random changes", func(store clientgo.Indexer) error {
			if err := addAll(store, p); err != nil {
				return err
			}
			return churn(store, p, moved, e.ops(churnOperations), e.seed)
		}},
	} {
		base := measure.LiveHeap()
		store := s.newIndexer(clientgo.MetaNamespaceKeyFunc, blank.Indexers(indexes))
		if err := fill.fill(store); err != nil {
			return out, err
		}
		taken := float64(measure.LiveHeap()) - float64(base)
		out.samples = append(out.samples, sample{fill.name, "B/object", taken / float64(len(p.Pods))})
		if out.check, err = stateOf(store); err != nil { // also keeps the store alive while the heap is measured
			return out, err
		}
	}
	return out, nil
}

func addAll(store clientgo.Indexer, p *workload.Population) error {
	for _, pod := range p.Pods {
		if err := store.Add(pod); err != nil {
			return fmt.Errorf("add: %w", err)
		}
	}
	return nil
}

// movedPods returns versions of all objects in which two of the three index values are replaced by
// those of other objects.
func movedPods(p *workload.Population) []any {
	moved := make([]any, len(p.Pods))
	for i, pod := range p.Pods {
		other := p.Pods[(i+workload.PodsPerDeployment+1)%len(p.Pods)]
		moved[i] = workload.Moved(pod, eventVersion(i), other.Spec.NodeName, other.OwnerReferences[0].UID)
	}
	return moved
}

// churn adds, updates and deletes random objects and finally restores all of them. All objects
// stored exist already, so the heap grows only by the memory of the store itself.
func churn(store clientgo.Indexer, p *workload.Population, moved []any, operations int, seed uint64) error {
	random := rand.New(rand.NewPCG(seed, 1))
	deleted := make([]bool, len(p.Pods))
	for range operations {
		i := random.IntN(len(p.Pods))
		var err error
		switch choice := random.IntN(4); {
		case deleted[i]:
			err, deleted[i] = store.Add(p.Pods[i]), false
		case choice == 0:
			err, deleted[i] = store.Delete(p.Pods[i]), true
		case choice == 1:
			err = store.Update(moved[i])
		default:
			err = store.Update(p.Pods[i])
		}
		if err != nil {
			return fmt.Errorf("change %s: %w", p.Keys[i], err)
		}
	}
	return addAll(store, p)
}
