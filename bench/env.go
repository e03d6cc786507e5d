// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/bench/internal/measure"
	"github.com/kinformer/cache/bench/internal/source"
	"github.com/kinformer/cache/internal/testkit/workload"
)

// env is what rows find: the objects, how much is to be done, and the
// instruments. One goroutine uses it.
type env struct {
	sides [2]side
	n     int
	seed  uint64
	scale float64 // of the numbers of operations: 1 in a full run

	profile string // prefix of the names of profiles
	region  string // names the profiles of what is measured next

	kind kind
	// atEnd is called when the row is done.
	atEnd []func() error
	// first and second are two generations of the same population, each
	// decoded on its own; made when asked for.
	first, second *workload.Population
}

// kind is what populations differ by.
type kind struct {
	full bool // not light
	n    int
}

// compare puts light objects first.
func (k kind) compare(other kind) int {
	switch {
	case k.full == other.full:
		return k.n - other.n
	case other.full:
		return -1
	}
	return 1
}

// kindOf is what population a row has: that of the run, unless it says how many objects it is about.
func (e *env) kindOf(w row) kind {
	k := kind{full: !w.light, n: e.n}
	if w.objects > 0 {
		k.n = min(e.n, w.objects)
	}
	return k
}

// use prepares the environment for a row: objects of another kind are let go, so
// that at most one kind is in memory.
func (e *env) use(k kind) {
	if e.kind != k {
		e.drop()
	}
	e.kind = k
}

// drop lets go of the objects; they are made again when asked for.
func (e *env) drop() { e.first, e.second = nil, nil }

// release ends what the setup of a row started.
func (e *env) release() error {
	var failed []error
	for _, end := range e.atEnd {
		failed = append(failed, end())
	}
	e.atEnd = nil
	return errors.Join(failed...)
}

// population is the objects of the row.
func (e *env) population(ctx context.Context) (*workload.Population, error) {
	return e.generate(ctx, &e.first)
}

// redecoded is the same objects as population, with the same resource
// versions, at other addresses: what a relist delivers when nothing changed.
func (e *env) redecoded(ctx context.Context) (*workload.Population, error) {
	return e.generate(ctx, &e.second)
}

func (e *env) generate(ctx context.Context, made **workload.Population) (*workload.Population, error) {
	if *made != nil {
		return *made, nil
	}
	population, err := workload.New(ctx, workload.Config{N: e.kind.n, Seed: e.seed, Light: !e.kind.full})
	if err != nil {
		return nil, fmt.Errorf("make objects: %w", err)
	}
	*made = population
	return population, nil
}

// generations prepares both generations for a source.
func (e *env) generations(ctx context.Context) (first, second *source.Generation, err error) {
	initial, err := e.population(ctx)
	if err != nil {
		return nil, nil, err
	}
	again, err := e.redecoded(ctx)
	if err != nil {
		return nil, nil, err
	}
	return source.NewGeneration(initial, listVersion(0)), source.NewGeneration(again, listVersion(1)), nil
}

// ops scales a number of operations that a full run does.
func (e *env) ops(full int) int { return max(1, int(float64(full)*e.scale)) }

// measure runs do as a measured region, with the garbage collector settled
// and within the profiles that were asked for.
func (e *env) measure(do func() error) (measure.Usage, error) {
	measure.Settle()
	path := ""
	if e.profile != "" {
		path = e.profile + e.region + ".cpu.pprof"
	}
	var usage measure.Usage
	err := measure.Profiled(path, func() (failed error) {
		usage, failed = measure.Region(do)
		return failed
	})
	return usage, err
}

// firstEventVersion is higher than the resource versions of the population and of its lists.
const firstEventVersion = 1_000_000_000

// listVersion is the resource version of a generation.
func listVersion(generation int) string { return strconv.Itoa(firstEventVersion - 10 + generation) }

// eventVersion is the resource version of event number i of a watch.
func eventVersion(i int) string { return strconv.Itoa(firstEventVersion + i) }

// perOp turns the usage of some operations into the samples of a row of operations.
func perOp(u measure.Usage, ops int) []sample {
	n := float64(ops)
	return []sample{
		{"CPU", "ns/op", float64(u.CPU) / n},
		{"wall", "ns/op", float64(u.Wall) / n},
		{"allocations", "allocs/op", float64(u.Allocs) / n},
	}
}

// The three indexes of a full store, and how many pods one value has.
const (
	byNamespace = clientgo.NamespaceIndex // 1000
	byNode      = "node"                  // 50
	byOwner     = "owner"                 // 30 or 20
)

var errNotAPod = errors.New("not a pod")

func indexNode(obj any) ([]string, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("%w: %T", errNotAPod, obj)
	}
	return []string{pod.Spec.NodeName}, nil
}

func indexOwner(obj any) ([]string, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("%w: %T", errNotAPod, obj)
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return []string{string(owner.UID)}, nil
	}
	return nil, nil
}

// indexers returns the first n of the three indexes.
func indexers(n int) clientgo.Indexers {
	all := []struct {
		name string
		f    clientgo.IndexFunc
	}{{byNamespace, clientgo.MetaNamespaceIndexFunc}, {byNode, indexNode}, {byOwner, indexOwner}}
	chosen := clientgo.Indexers{}
	for _, index := range all[:n] {
		chosen[index.name] = index.f
	}
	return chosen
}

// add condenses objects with their versions, regardless of order.
func (c *check) add(objects []any) error {
	for _, obj := range objects {
		object, err := meta.Accessor(obj)
		if err != nil {
			return fmt.Errorf("store holds %T: %w", obj, err)
		}
		c.Objects++
		c.State += digest(object.GetNamespace(), object.GetName(), string(object.GetUID()), object.GetResourceVersion())
	}
	return nil
}

// stateOf condenses what a store holds: the objects with their versions, and
// the members of each value of each index, both regardless of order.
func stateOf(store clientgo.Indexer) (check, error) {
	var c check
	if err := c.add(store.List()); err != nil {
		return c, err
	}
	for index := range store.GetIndexers() {
		for _, value := range store.ListIndexFuncValues(index) {
			keys, err := store.IndexKeys(index, value)
			if err != nil {
				return c, fmt.Errorf("index %s: %w", index, err)
			}
			for _, key := range keys {
				c.Index += digest(index, value, key)
			}
		}
	}
	return c, nil
}

// digest hashes words, with their borders.
func digest(words ...string) uint64 {
	h := fnv.New64a()
	for _, word := range words {
		h.Write([]byte(word)) // a hash.Hash never fails
		h.Write([]byte{0})
	}
	return h.Sum64()
}
