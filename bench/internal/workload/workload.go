// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload makes the objects of the benchmark: pods of a cluster with
// deployments that are in the middle of a rollout.
//
// For a population of n pods there are n/50 deployments of 50 pods each (2000
// at n = 100,000), as many nodes, and a namespace for every 1000 pods. A
// deployment has two replica sets: 30 pods of the new one and 20 of the old.
// A pod is 6 to 12 KB of JSON, and what a pod looks like depends only on the
// seed and its number.
package workload

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// PodsPerDeployment is the number of pods of one deployment, and the
	// average number of pods on one node.
	PodsPerDeployment = 50
	// PodsOfNewReplicaSet is how many of a deployment's pods belong to its new
	// replica set; the rest belongs to the old one.
	PodsOfNewReplicaSet = 30
	// PodsPerNamespace is the number of pods of one full namespace.
	PodsPerNamespace = 1000
)

// Config says which population is made. Two equal configurations give equal
// pods.
type Config struct {
	// N is the number of pods.
	N int
	// Seed selects the population.
	Seed uint64
	// Light leaves out everything but the metadata that indexes need, for
	// measurements where the objects' own memory would hide what is looked for.
	Light bool
}

// Population is a set of pods with their keys (namespace/name) in the same
// order. Its pods are shared by everything that is measured: nobody may change
// them.
type Population struct {
	Pods []*corev1.Pod
	Keys []string
}

// New makes the population in the memory layout that a client has after
// decoding a response: every pod is encoded as protobuf and decoded again, so
// no two pods share strings, slices or maps.
func New(ctx context.Context, cfg Config) (*Population, error) {
	population := &Population{
		Pods: make([]*corev1.Pod, cfg.N),
		Keys: make([]string, cfg.N),
	}
	var (
		workers sync.WaitGroup
		stride  = runtime.GOMAXPROCS(0)
		failed  = make([]error, stride)
	)
	for worker := range stride {
		workers.Go(func() {
			failed[worker] = population.fill(ctx, cfg, worker, stride)
		})
	}
	workers.Wait()
	for _, err := range failed {
		if err != nil {
			return nil, err
		}
	}
	return population, nil
}

// fill makes every stride-th pod, starting with pod first.
func (p *Population) fill(ctx context.Context, cfg Config, first, stride int) error {
	for i := first; i < cfg.N; i += stride {
		if err := ctx.Err(); err != nil {
			return err
		}
		pod, err := decoded(Pod(cfg, i))
		if err != nil {
			return fmt.Errorf("pod %d: %w", i, err)
		}
		p.Pods[i] = pod
		p.Keys[i] = pod.Namespace + "/" + pod.Name
	}
	return nil
}

// decoded returns the pod as a client receives it from the wire.
func decoded(pod *corev1.Pod) (*corev1.Pod, error) {
	wire, err := pod.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	received := &corev1.Pod{}
	if err := received.Unmarshal(wire); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	return received, nil
}

// List returns the population as the typed list that a LIST request decodes
// to. The list's items are copies of the pods' structs and share all else.
func (p *Population) List(resourceVersion string) *corev1.PodList {
	list := &corev1.PodList{Items: make([]corev1.Pod, len(p.Pods))}
	list.ResourceVersion = resourceVersion
	for i, pod := range p.Pods {
		list.Items[i] = *pod
	}
	return list
}

// Version returns a later version of a pod: an own struct with its own
// resource version, sharing the rest with the original.
func Version(pod *corev1.Pod, resourceVersion string) *corev1.Pod {
	later := *pod
	later.ResourceVersion = resourceVersion
	return &later
}

// Moved returns a later version of a pod on another node and of another
// owner, so that its index values differ.
func Moved(pod *corev1.Pod, resourceVersion, node string, owner types.UID) *corev1.Pod {
	later := Version(pod, resourceVersion)
	later.Spec.NodeName = node
	owners := append(later.OwnerReferences[:0:0], later.OwnerReferences...)
	for i := range owners {
		owners[i].UID = owner
	}
	later.OwnerReferences = owners
	return later
}
