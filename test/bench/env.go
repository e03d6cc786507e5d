// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"runtime"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/testkit/workload"
	"github.com/kinformer/cache/test/bench/internal/measure"
)

// env is the environment of the rows: the objects, the amount of work and the instruments. It is
// used by one goroutine.
type env struct {
	sides [2]side
	n     int
	seed  uint64
	scale float64 // factor of the numbers of operations; 1 in a full run

	profile string // prefix of profile file names; if empty, no profiles are written
	region  string // name of the next measured region in profile file names

	light bool // whether the objects are light
	// atEnd are called when the row is done.
	atEnd []func() error
	// first and second are two generations of the same population, decoded independently. They are
	// created when first requested.
	first, second *workload.Population
}

// use prepares the environment for light or full objects. Objects of the other kind are dropped, so at
// most one kind is in memory.
func (e *env) use(light bool) {
	if e.light != light {
		e.drop()
	}
	e.light = light
}

// drop drops the objects. They are created again when next requested.
func (e *env) drop() { e.first, e.second = nil, nil }

// release stops the processes and other resources that the setup of a row started.
func (e *env) release() error {
	var failed []error
	for _, end := range e.atEnd {
		failed = append(failed, end())
	}
	e.atEnd = nil
	return errors.Join(failed...)
}

// population returns the objects of the row.
func (e *env) population(ctx context.Context) (*workload.Population, error) {
	return e.generate(ctx, &e.first)
}

// redecoded returns copies of the objects of population with the same resource versions, as a list
// returns them if nothing changed.
func (e *env) redecoded(ctx context.Context) (*workload.Population, error) {
	return e.generate(ctx, &e.second)
}

func (e *env) generate(ctx context.Context, made **workload.Population) (*workload.Population, error) {
	if *made != nil {
		return *made, nil
	}
	population, err := workload.New(ctx, workload.Config{N: e.n, Seed: e.seed, Light: e.light})
	if err != nil {
		return nil, fmt.Errorf("make objects: %w", err)
	}
	*made = population
	return population, nil
}

// ops scales the number of operations of a full run to this run.
func (e *env) ops(full int) int { return max(1, int(float64(full)*e.scale)) }

// measure runs do as a measured region, and writes a profile if requested. Earlier garbage is collected
// before, with its sweep.
func (e *env) measure(do func() error) (usage measure.Usage, err error) {
	runtime.GC()
	path := ""
	if e.profile != "" {
		path = e.profile + e.region + ".cpu.pprof"
	}
	err = measure.Profiled(path, func() (failed error) {
		usage, failed = measure.Region(do)
		return failed
	})
	return usage, err
}

// firstEventVersion is higher than the resource versions of the population and of its lists.
const firstEventVersion = 1_000_000_000

// listVersion returns the resource version of a generation.
func listVersion(generation int) string { return strconv.Itoa(firstEventVersion - 10 + generation) }

// eventVersion returns the resource version of event number i of a watch.
func eventVersion(i int) string { return strconv.Itoa(firstEventVersion + i) }

// per converts the usage of n operations into samples per operation.
func per(operation string, u measure.Usage, n int) []sample {
	each := 1 / float64(n)
	return []sample{
		{"CPU", "ns/" + operation, float64(u.CPU) * each},
		{"wall", "ns/" + operation, float64(u.Wall) * each},
		{"allocations", "allocs/" + operation, float64(u.Allocs) * each},
	}
}

// add adds the digests of objects and their versions to c, independent of their order.
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

// stateOf returns the digest of a store: of its objects with their versions, and of the members of
// each value of each index, both independent of order.
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

// digest hashes words, each with a terminator, so that ("ab", "c") and ("a", "bc") differ.
func digest(words ...string) uint64 {
	h := fnv.New64a()
	for _, word := range words {
		h.Write([]byte(word)) // a hash.Hash never returns an error
		h.Write([]byte{0})
	}
	return h.Sum64()
}
