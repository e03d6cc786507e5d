// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
)

// requireEqual requires that pods are equal, and different objects.
func requireEqual(t *testing.T, want, got *corev1.Pod) {
	t.Helper()
	require.NotSame(t, want, got)
	require.True(t, equality.Semantic.DeepEqual(want, got), "%v, %v", want, got)
}

func TestPopulationIsDeterministic(t *testing.T) {
	cfg := Config{N: 120, Seed: 7}
	one, two := generate(t, cfg), generate(t, cfg)
	for i := range one.Pods {
		requireEqual(t, one.Pods[i], two.Pods[i])
	}
	other := generate(t, Config{N: 120, Seed: 8})
	require.False(t, equality.Semantic.DeepEqual(one.Pods[0], other.Pods[0]), "another seed gives the same pod")
}

func TestPodSizeIsRealistic(t *testing.T) {
	for _, pod := range generate(t, Config{N: 500, Seed: 1}).Pods {
		encoded, err := json.Marshal(pod)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(encoded), 6_000)
		require.LessOrEqual(t, len(encoded), 12_288)
		for _, entry := range pod.ManagedFields {
			require.True(t, json.Valid(entry.FieldsV1.GetRawBytes()), "%s", entry.FieldsV1.GetRawBytes())
		}
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
	require.Len(t, keys, 2000)
	require.Equal(t, []int{2, 40, 80}, []int{len(namespaces), len(nodes), len(owners)})
	for owner, members := range owners {
		require.Contains(t, []int{PodsOfNewReplicaSet, PodsPerDeployment - PodsOfNewReplicaSet}, members, owner)
	}
	for namespace, members := range namespaces {
		require.Equal(t, PodsPerNamespace, members, namespace)
	}
}

func TestLightPodsKeepKeysAndIndexValues(t *testing.T) {
	full, light := Pod(Config{N: 100, Seed: 3}, 42), Pod(Config{N: 100, Seed: 3, Light: true}, 42)
	kept := func(pod *corev1.Pod) []any {
		return []any{pod.Name, pod.Namespace, pod.Spec.NodeName, pod.OwnerReferences[0].UID, pod.ResourceVersion}
	}
	require.Equal(t, kept(full), kept(light))
	require.Empty(t, light.Spec.Containers)
	require.Empty(t, light.ManagedFields)
}

func TestVersionsLeaveTheOriginalAlone(t *testing.T) {
	pod := Pod(Config{N: 100, Seed: 3}, 1)
	before := pod.DeepCopy()
	require.Equal(t, "9", Version(pod, "9").ResourceVersion)
	moved := Moved(pod, "10", "elsewhere", "somebody")
	require.Equal(t, "elsewhere", moved.Spec.NodeName)
	require.EqualValues(t, "somebody", moved.OwnerReferences[0].UID)
	requireEqual(t, before, pod)
}

func TestListHoldsEveryPod(t *testing.T) {
	population := generate(t, Config{N: 60, Seed: 1, Light: true})
	list := population.List("77")
	require.Equal(t, "77", list.ResourceVersion)
	require.Len(t, list.Items, 60)
	for i := range list.Items {
		requireEqual(t, population.Pods[i], &list.Items[i])
	}
}

func generate(t *testing.T, cfg Config) *Population {
	t.Helper()
	population, err := New(t.Context(), cfg)
	require.NoError(t, err)
	require.NotContains(t, population.Pods, (*corev1.Pod)(nil))
	return population
}
