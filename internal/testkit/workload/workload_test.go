// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

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

func generate(t *testing.T, cfg Config) *Population {
	t.Helper()
	population, err := New(t.Context(), cfg)
	require.NoError(t, err)
	require.NotContains(t, population.Pods, (*corev1.Pod)(nil))
	return population
}
