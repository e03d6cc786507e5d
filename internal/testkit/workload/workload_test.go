// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
)

func TestPopulationIsDeterministic(t *testing.T) {
	cfg := Config{N: 120, Seed: 7}
	one, two := generate(t, cfg), generate(t, cfg)
	for i := range one.Pods {
		if one.Pods[i] == two.Pods[i] {
			t.Fatalf("pod %d is the same object in both populations", i)
		}
		if !equality.Semantic.DeepEqual(one.Pods[i], two.Pods[i]) {
			t.Fatalf("pod %d differs between two populations of the same seed", i)
		}
	}
	other := generate(t, Config{N: 120, Seed: 8})
	if equality.Semantic.DeepEqual(one.Pods[0], other.Pods[0]) {
		t.Fatal("another seed gives the same pod")
	}
}

func TestPodSizeIsRealistic(t *testing.T) {
	population := generate(t, Config{N: 500, Seed: 1})
	smallest, largest := 1<<30, 0
	for _, pod := range population.Pods {
		encoded, err := json.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		smallest, largest = min(smallest, len(encoded)), max(largest, len(encoded))
		for _, entry := range pod.ManagedFields {
			if !json.Valid(entry.FieldsV1.GetRawBytes()) {
				t.Fatalf("managed fields of %s are not JSON: %s", pod.Name, entry.FieldsV1.GetRawBytes())
			}
		}
	}
	t.Logf("JSON size: %d to %d bytes", smallest, largest)
	if smallest < 6_000 || largest > 12_288 {
		t.Fatalf("JSON size is %d to %d bytes, want 6 to 12 KB", smallest, largest)
	}
}

func TestKeysAreUniqueAndGroupsHaveTheirSizes(t *testing.T) {
	population := generate(t, Config{N: 2000, Seed: 1, Light: true})
	keys := map[string]bool{}
	namespaces, nodes, owners := map[string]int{}, map[string]int{}, map[types.UID]int{}
	for i, pod := range population.Pods {
		keys[population.Keys[i]] = true
		namespaces[pod.Namespace]++
		nodes[pod.Spec.NodeName]++
		owners[pod.OwnerReferences[0].UID]++
	}
	if len(keys) != 2000 {
		t.Fatalf("%d different keys of 2000", len(keys))
	}
	if len(namespaces) != 2 || len(nodes) != 40 || len(owners) != 80 {
		t.Fatalf("%d namespaces, %d nodes, %d owners; want 2, 40, 80", len(namespaces), len(nodes), len(owners))
	}
	for owner, members := range owners {
		if members != PodsOfNewReplicaSet && members != PodsPerDeployment-PodsOfNewReplicaSet {
			t.Fatalf("owner %s has %d pods", owner, members)
		}
	}
	for namespace, members := range namespaces {
		if members != PodsPerNamespace {
			t.Fatalf("namespace %s has %d pods", namespace, members)
		}
	}
}

func TestLightPodsKeepKeysAndIndexValues(t *testing.T) {
	full, light := Pod(Config{N: 100, Seed: 3}, 42), Pod(Config{N: 100, Seed: 3, Light: true}, 42)
	if full.Name != light.Name || full.Namespace != light.Namespace || full.Spec.NodeName != light.Spec.NodeName ||
		full.OwnerReferences[0].UID != light.OwnerReferences[0].UID || full.ResourceVersion != light.ResourceVersion {
		t.Fatalf("light pod %s/%s is not the full pod %s/%s", light.Namespace, light.Name, full.Namespace, full.Name)
	}
	if len(light.Spec.Containers) != 0 || len(light.ManagedFields) != 0 {
		t.Fatal("light pod carries a spec")
	}
}

func TestVersionsLeaveTheOriginalAlone(t *testing.T) {
	pod := Pod(Config{N: 100, Seed: 3}, 1)
	before := pod.DeepCopy()
	later := Version(pod, "9")
	moved := Moved(pod, "10", "elsewhere", "somebody")
	if later.ResourceVersion != "9" || moved.Spec.NodeName != "elsewhere" || moved.OwnerReferences[0].UID != "somebody" {
		t.Fatalf("versions do not carry their changes: %s, %s", later.ResourceVersion, moved.Spec.NodeName)
	}
	if !equality.Semantic.DeepEqual(pod, before) {
		t.Fatal("making a version changed the original")
	}
}

func TestListHoldsEveryPod(t *testing.T) {
	population := generate(t, Config{N: 60, Seed: 1, Light: true})
	list := population.List("77")
	if list.ResourceVersion != "77" || len(list.Items) != 60 {
		t.Fatalf("list at %s with %d items", list.ResourceVersion, len(list.Items))
	}
	for i := range list.Items {
		if !equality.Semantic.DeepEqual(&list.Items[i], population.Pods[i]) {
			t.Fatalf("item %d is not pod %d", i, i)
		}
	}
}

func generate(t *testing.T, cfg Config) *Population {
	t.Helper()
	population, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range population.Pods {
		if pod == (*corev1.Pod)(nil) {
			t.Fatal("population has a hole")
		}
	}
	return population
}
