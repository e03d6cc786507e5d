// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/bench/internal/workload"
)

// hotKeys is a number of keys whose entries stay in the processor's cache.
const hotKeys = 64

var errMissing = errors.New("object is not in the store")

// readRows are the reads, by one goroutine.
func (h holding) readRows() []row {
	return []row{
		h.row("get-cold", "GetByKey of every key once, in random order", planGetCold),
		h.row("get-hot", fmt.Sprintf("GetByKey of %d keys again and again", hotKeys), planGetHot),
		h.row("list", "List of all", planList),
		h.row("byindex-1000", "ByIndex with 1000 members (namespace)", planByNamespace),
		h.row("byindex-30", "ByIndex with 30 members (owner)", planByOwner),
	}
}

func planGetCold(e *env, p *workload.Population) (storeOps, int) {
	keys := make([]string, len(p.Keys))
	for i, from := range shuffled(len(keys), e.seed) {
		keys[i] = p.Keys[from]
	}
	return getAll(keys, 1), len(keys)
}

func planGetHot(e *env, p *workload.Population) (storeOps, int) {
	keys := p.Keys[:min(hotKeys, len(p.Keys))]
	times := e.ops(2_000_000 / hotKeys)
	return getAll(keys, times), len(keys) * times
}

// getAll reads all keys, the given number of times over.
func getAll(keys []string, times int) storeOps {
	return func(store clientgo.Indexer) (int64, error) {
		var found int64
		for range times {
			for _, key := range keys {
				_, exists, err := store.GetByKey(key)
				if err != nil {
					return found, err
				}
				if !exists {
					return found, fmt.Errorf("%w: %s", errMissing, key)
				}
				found++
			}
		}
		return found, nil
	}
}

func planList(e *env, _ *workload.Population) (storeOps, int) {
	times := max(3, e.ops(20))
	return func(store clientgo.Indexer) (int64, error) {
		var found int64
		for range times {
			found += int64(len(store.List()))
		}
		return found, nil
	}, times
}

func planByNamespace(e *env, p *workload.Population) (storeOps, int) {
	var values []string
	for i := 0; i < len(p.Pods); i += workload.PodsPerNamespace {
		values = append(values, p.Pods[i].Namespace)
	}
	return byIndex(byNamespace, values, e.ops(1000))
}

// planByOwner asks for the new replica sets only: they have 30 pods.
func planByOwner(e *env, p *workload.Population) (storeOps, int) {
	var values []string
	for i := 0; i < len(p.Pods); i += workload.PodsPerDeployment {
		values = append(values, string(p.Pods[i].OwnerReferences[0].UID))
	}
	return byIndex(byOwner, values, e.ops(50_000))
}

// byIndex reads ops values of an index, spread over all of them.
func byIndex(index string, values []string, ops int) (storeOps, int) {
	const step = 7919 // a prime: neighbours in time are no neighbours in memory
	return func(store clientgo.Indexer) (int64, error) {
		var found int64
		for i := range ops {
			members, err := store.ByIndex(index, values[i*step%len(values)])
			if err != nil {
				return found, err
			}
			found += int64(len(members))
		}
		return found, nil
	}, ops
}
