// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/bench/internal/source"
	"github.com/kinformer/cache/bench/internal/workload"
)

func exactSourceOf(t *testing.T, pods, events int) *exactSource {
	population, err := workload.New(t.Context(), workload.Config{N: pods, Seed: 1, Light: true})
	require.NoError(t, err)
	from := source.New(source.NewGeneration(population, listVersion(0)), source.Options{})
	return &exactSource{from, population.Pods, updatesOf(population.Pods, events)}
}

// TestListsAsOfAVersion holds the lists at each version against the events up
// to there.
func TestListsAsOfAVersion(t *testing.T) {
	for _, events := range []int{3, 20, 50} {
		s := exactSourceOf(t, 20, events)
		want := map[string]string{}
		for _, pod := range s.pods {
			want[pod.Namespace+"/"+pod.Name] = pod.ResourceVersion
		}
		for i := -1; i < events; i++ {
			version := listVersion(0)
			if i >= 0 {
				version = eventVersion(i)
				pod := s.events[i].Object.(*corev1.Pod)
				want[pod.Namespace+"/"+pod.Name] = pod.ResourceVersion
			}
			got, pages := map[string]string{}, 0
			o := metav1.ListOptions{Limit: 7, ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
			for more := true; more; pages++ {
				list, err := s.List(o)
				require.NoError(t, err)
				page := list.(*corev1.PodList)
				assert.Equal(t, version, page.ResourceVersion)
				for _, pod := range page.Items {
					got[pod.Namespace+"/"+pod.Name] = pod.ResourceVersion
				}
				o = metav1.ListOptions{Limit: 7, Continue: page.Continue}
				more = page.Continue != ""
			}
			assert.Equal(t, 3, pages)
			assert.Equal(t, want, got)
		}
	}
	s := exactSourceOf(t, 20, 3)
	for _, o := range []metav1.ListOptions{{Continue: "x"}, {ResourceVersion: "x", ResourceVersionMatch: metav1.ResourceVersionMatchExact}} {
		_, err := s.List(o)
		assert.Error(t, err)
	}
}

// TestAuditsBesideAreReal: the audits of the row look at all objects, and would
// notice a source, or an informer, that is wrong.
func TestAuditsBesideAreReal(t *testing.T) {
	from := exactSourceOf(t, 20, 3)
	i := newInformerOn(ours(1), from, 0, indexers(1))
	i.start(t.Context())
	defer i.stop()
	require.NoError(t, cache.WaitForSync(t.Context(), i))
	_, err := from.Next(t.Context()) // from here on the informer tells its version
	require.NoError(t, err)
	for _, look := range []company{auditOnce, listOnce} {
		n, err := look(t.Context(), i, from)
		require.NoError(t, err)
		assert.Equal(t, 20, n)
	}
	stop := keep(t.Context(), auditOnce, i, from)
	n, err := stop()
	require.NoError(t, err)
	assert.Positive(t, n)
	assert.Zero(t, n%20)

	require.NoError(t, i.GetStore().Delete(from.pods[0]))
	stop = keep(t.Context(), auditOnce, i, from)
	_, err = stop()
	assert.ErrorIs(t, err, errFalseAlarm)
}
