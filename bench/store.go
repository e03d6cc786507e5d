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

	"github.com/kinformer/cache/bench/internal/measure"
	"github.com/kinformer/cache/internal/testkit/workload"
)

const (
	// hotKeys is a number of keys whose entries stay in the processor's cache.
	hotKeys = 64
	// sizedTime is how long a measured region of a full run is to take on client-go's side.
	sizedTime = 20 * time.Millisecond
	// trialTargets are how many operations tell how long one takes.
	trialTargets = 32
	// batchSize is how many changes client-go's informers make at once at most.
	batchSize = 1000
)

var errMissing = errors.New("object is not in the store")

// objects are the pods of a population as a store's Replace takes them.
func objects(p *workload.Population) []any {
	list := make([]any, len(p.Pods))
	for i, pod := range p.Pods {
		list[i] = pod
	}
	return list
}

// shuffled are the numbers below n in an order that depends on the seed only.
func shuffled(n int, seed uint64) []int {
	return rand.New(rand.NewPCG(seed, uint64(n))).Perm(n)
}

// method is a method of Indexer, or two that undo each other.
type method struct {
	name, title string
	// indexes are the numbers of indexes with which it is measured. Reads of an index take that by
	// namespace, with up to 1000 members a value, if it is the only one, and else that by owner,
	// with 20 or 30.
	indexes []int
	// whole says that a call is about all objects of a store.
	whole bool
	// other makes another object of a pod, for methods that change the store: a later version, or
	// an object that the store does not hold.
	other func(p *workload.Population, i int) *corev1.Pod
	// phases are done one after the other, each with all targets, and leave the store as it was.
	// Each counts as an operation, unless paired is set: then all together are one.
	phases []phase
	paired bool
}

// phase does something to one target and returns how much it read.
type phase func(t *target) (reads int, err error)

// target is what an operation is about.
type target struct {
	store        clientgo.Indexer
	key          string
	pod, other   any
	index, value string
	// both are the contents of the whole store, as it is and with the others.
	both [2]contents
}

// contents are all objects of a store as Replace takes them, and the updates to some of them as
// Transaction does.
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
	// cold rows evict memory before each operation, and take other objects each time; hot ones take a
	// few objects again and again. Methods about whole stores are hot.
	cold bool
}

// sizeRows are the methods of Indexer in stores of two sizes; a quick run has the smaller one.
func sizeRows() []row {
	var all []row
	for _, m := range methods() {
		for _, objects := range []int{quickObjects, fullObjects} {
			for _, indexes := range m.indexes {
				all = append(all, sized{m, objects, indexes, false}.row())
				if !m.whole {
					all = append(all, sized{m, objects, indexes, true}.row())
				}
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
		light: true, slow: s.objects > quickObjects, objects: s.objects,
		setup: s.trial,
	}
}

// trial makes the stores of both sides, and finds out how often the targets are to be gone through.
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

// targets fills a store of a side, and returns what operations are about.
func (s sized) targets(on side, p *workload.Population, seed uint64) ([]target, error) {
	content := s.contents(p)
	store := on.newIndexer(clientgo.MetaNamespaceKeyFunc, indexers(s.indexes))
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

// contents are those of the store, and those with all objects changed.
func (s sized) contents(p *workload.Population) [2]contents {
	var lists [2][]any
	for i := range s.objects {
		lists[0] = append(lists[0], p.Pods[i])
		if s.whole && s.other != nil {
			lists[1] = append(lists[1], s.other(p, i))
		}
	}
	return [2]contents{contentsOf(lists[0], batchSize), contentsOf(lists[1], batchSize)}
}

// contentsOf are some objects with updates to the first of them.
func contentsOf(list []any, updates int) contents {
	c := contents{list: list}
	for _, obj := range list[:min(len(list), updates)] {
		c.updates = append(c.updates, clientgo.Transaction{Type: clientgo.TransactionTypeUpdate, Object: obj})
	}
	return c
}

// target is one about pod number i.
func (s sized) target(store clientgo.Indexer, p *workload.Population, i int) target {
	pod := p.Pods[i]
	t := target{store: store, key: p.Keys[i], pod: pod}
	if s.other != nil {
		t.other = s.other(p, i)
	}
	switch s.indexes {
	case 1:
		t.index, t.value = byNamespace, pod.Namespace
	case 3:
		t.index, t.value = byOwner, string(pod.OwnerReferences[0].UID)
	}
	return t
}

// portion finds out how many of the targets are to be gone through, and how often, so that it takes
// about so long on the first side. It does as much on both, and four times, so that all is in place
// when the time counts.
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

// run goes through the targets.
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

// round measures one run. What changes the stores must leave both sides alike.
func (s sized) round(e *env, targets []target, passes int) (outcome, error) {
	var reads int64
	usage, err := e.measure(func() (err error) {
		reads, err = s.run(targets, passes)
		return err
	})
	if err != nil {
		return outcome{}, err
	}
	if err != nil {
		return outcome{}, err
	}
	operations := len(targets) * passes
	if !s.paired {
		operations *= len(s.phases)
	}
	cpuAndAllocations := perOp(usage, operations)
	check, err := s.check(targets, reads)
	return outcome{samples: []sample{cpuAndAllocations[0], cpuAndAllocations[2]}, check: check}, err
}

// check is what a method has read and, if it changes the store, what that holds.
func (s sized) check(targets []target, reads int64) (c check, err error) {
	if s.other != nil {
		c, err = stateOf(targets[0].store)
	}
	c.Reads = reads
	return c, err
}

// churnOperations is the number of random updates and deletes after which a store is weighed again.
const churnOperations = 1_000_000

// storeMemoryRows are what a store takes per object, keys included and objects not, by how it was
// filled and what happened to it.
func storeMemoryRows() []row {
	var all []row
	for _, indexes := range []int{0, 1, 3} {
		all = append(all, row{
			group: "Memory of a store", name: fmt.Sprintf("store/bytes-%d", indexes),
			title: fmt.Sprintf("indexes: %d, keys included; random: %d updates and deletes", indexes, churnOperations),
			light: true, rounds: 2, // bytes hardly differ between rounds
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

// weigh fills a store in both ways, and changes the second.
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
		store := s.newIndexer(clientgo.MetaNamespaceKeyFunc, indexers(indexes))
		if err := fill.fill(store); err != nil {
			return out, err
		}
		taken := float64(measure.LiveHeap()) - float64(base)
		out.samples = append(out.samples, sample{fill.name, "B/object", taken / float64(len(p.Pods))})
		if out.check, err = stateOf(store); err != nil { // it also keeps the store alive over the weighing
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

// movedPods are versions of all objects with other values in two of the three indexes, each the
// value of some object.
func movedPods(p *workload.Population) []any {
	moved := make([]any, len(p.Pods))
	for i, pod := range p.Pods {
		other := p.Pods[(i+workload.PodsPerDeployment+1)%len(p.Pods)]
		moved[i] = workload.Moved(pod, eventVersion(i), other.Spec.NodeName, other.OwnerReferences[0].UID)
	}
	return moved
}

// churn adds, updates and deletes random objects, and leaves the store with all objects as they
// were. The objects that it puts in exist already: only what the store keeps is new on the heap.
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
