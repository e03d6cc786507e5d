// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/bench/internal/workload"
)

// sizes are the numbers of objects with which each method is measured.
var sizes = []struct {
	objects int
	slow    bool // not in a quick run
}{{100, false}, {1000, true}, {10_000, false}, {100_000, true}}

const (
	// coldObjects is how many objects the stores of a cold row have together:
	// more than what is looked at of them fits into the processor's own cache.
	coldObjects = 20_000
	// sizedTime is how long a measured region of a full run is to take on
	// client-go's side.
	sizedTime = 20 * time.Millisecond
	// trialTargets are how many operations tell how long one takes.
	trialTargets = 32
)

// sized is one row of a method.
type sized struct {
	method
	objects, indexes int
	// cold rows take each object once, in random order, of as many stores as
	// make up coldObjects; hot ones take a few objects of one store again and
	// again. Methods about whole stores take all stores in turn, or one again and
	// again.
	cold bool
}

// sizeRows are the methods of Indexer in stores of several sizes.
func sizeRows() []row {
	var all []row
	for _, m := range methods() {
		for _, size := range sizes {
			for _, indexes := range m.indexes {
				for _, cold := range []bool{false, true} {
					s := sized{m, size.objects, indexes, cold}
					if !cold || !m.whole || size.objects*2 <= quickObjects {
						all = append(all, s.row(size.slow))
					}
				}
			}
		}
	}
	return all
}

func (s sized) row(slow bool) row {
	heat, how := "hot", "the same again and again"
	if s.cold {
		heat, how = "cold", "each once, in random order"
	}
	return row{
		group: "By number of objects: " + s.title, name: fmt.Sprintf("size/%d-%d/%s-%s", s.objects, s.indexes, s.name, heat),
		title: fmt.Sprintf("objects: %d, indexes: %d, %s", s.objects, s.indexes, how),
		light: true, slow: slow, objects: s.objects,
		setup: s.trial,
	}
}

// trial makes the stores of both sides, and finds out how often the targets
// are to be gone through.
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
	chosen, passes, err := s.portion(targets, time.Duration(float64(sizedTime)*e.scale))
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, on side) (outcome, error) {
		return s.round(e, targets[on.index][:chosen], passes)
	}, nil
}

// targets fills stores of a side, and returns what operations are about.
func (s sized) targets(on side, p *workload.Population, seed uint64) ([]target, error) {
	stores := 1
	if s.cold {
		stores = max(1, min(coldObjects, len(p.Pods))/s.objects)
	}
	var all []target
	for n := range stores {
		from := n * s.objects
		content := s.contents(p, from)
		store := on.newIndexer(clientgo.MetaNamespaceKeyFunc, indexers(s.indexes))
		if err := store.Replace(content[0].list, listVersion(0)); err != nil {
			return nil, err
		}
		if s.whole {
			all = append(all, s.target(store, p, from))
			all[n].both = content
			continue
		}
		for _, i := range shuffled(s.objects, seed) {
			all = append(all, s.target(store, p, from+i))
			if !s.cold && len(all) == hotKeys {
				break
			}
		}
	}
	return mixed(all, seed), nil
}

// mixed returns targets in random order, as many as there are cold objects.
func mixed(all []target, seed uint64) []target {
	order := shuffled(len(all), seed+1)
	some := make([]target, min(len(all), coldObjects))
	for i := range some {
		some[i] = all[order[i]]
	}
	return some
}

// contents are those of one store, and those with all objects changed.
func (s sized) contents(p *workload.Population, from int) (both [2]contents) {
	for i := from; i < from+s.objects; i++ {
		both[0].list = append(both[0].list, p.Pods[i])
		if s.whole && s.other != nil {
			both[1].list = append(both[1].list, s.other(p, i))
		}
	}
	for which := range both {
		list := both[which].list
		for _, obj := range list[:min(len(list), batchSize)] {
			both[which].updates = append(both[which].updates, clientgo.Transaction{Type: clientgo.TransactionTypeUpdate, Object: obj})
		}
	}
	return both
}

// target is one about pod number i.
func (s sized) target(store clientgo.Indexer, p *workload.Population, i int) target {
	pod := p.Pods[i]
	t := target{store: store, key: p.Keys[i], pod: pod}
	if s.other != nil && !s.whole {
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

// portion finds out how many of the targets are to be gone through, and how
// often, so that it takes about so long on the first side. It does as much on
// both.
func (s sized) portion(targets [2][]target, long time.Duration) (chosen, passes int, err error) {
	few := min(trialTargets, len(targets[0]))
	blocks, err := passesIn(long, func(side int) error {
		_, err := s.run(targets[side][:few], 1)
		return err
	})
	chosen = min(len(targets[0]), blocks*few)
	return chosen, max(1, blocks*few/chosen), err
}

// passesIn is how often something can be done in that time on the first side,
// once at least. It is done twice to find out, so that all is in place when the
// time counts, and on both sides.
func passesIn(long time.Duration, do func(side int) error) (int, error) {
	var took time.Duration
	for i := range 4 {
		start := time.Now()
		if err := do(1 - i%2); err != nil {
			return 0, err
		}
		took = time.Since(start)
	}
	return max(1, int(long/max(1, took))), nil
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
	operations := len(targets) * passes
	if !s.paired {
		operations *= len(s.phases)
	}
	end, err := s.end(targets)
	end.Reads = reads
	cpuAndAllocations := perOp(usage, operations)
	return outcome{samples: []sample{cpuAndAllocations[0], cpuAndAllocations[2]}, check: end}, err
}

// end is what all stores of the targets hold, if the method changes them.
func (s sized) end(targets []target) (check, error) {
	var all check
	seen := map[clientgo.Indexer]bool{}
	for i := range targets {
		store := targets[i].store
		if s.other == nil || seen[store] {
			continue
		}
		seen[store] = true
		c, err := stateOf(store)
		if err != nil {
			return all, err
		}
		all.Objects += c.Objects
		all.State += c.State
		all.Index += c.Index
	}
	return all, nil
}
