// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package controllerruntime

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/metrics"
)

// TestNamesOfInformers checks that each informer of two namespaces has the same metrics series at each
// start, whichever starts first, and that logs name it by resource and namespace.
func TestNamesOfInformers(t *testing.T) {
	ctx := patientContext(t)
	s := newStage(t, ctx)
	config := s.Config()
	config.Wrap(direct.Transport)
	server := strings.TrimPrefix(config.Host, "https://")
	for start := range 5 {
		s.createPods(t, ctx, fmt.Sprint("one-", start), 1) // in another namespace
		require.NoError(t, s.Create(ctx, podIn("one", fmt.Sprint("pod-", start), "node")))
		c, err := ctrlcache.New(config, ctrlcache.Options{
			NewInformer: cache.NewSharedIndexInformer, DefaultNamespaces: map[string]ctrlcache.Config{"one": {}, "two": {}},
		})
		require.NoError(t, err)
		running, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- c.Start(running) }()
		_, err = c.GetInformer(ctx, &corev1.Pod{}) // waits until both have synced
		require.NoError(t, err)
		assert.Equal(t, map[string]float64{
			"namespace=one,resource=pods,server=" + server + ",version=v1": float64(start + 1),
			"namespace=two,resource=pods,server=" + server + ",version=v1": 0,
		}, objects())
		var names []string
		for informer := range inspect.All() {
			all, err := inspect.Of(informer)
			require.NoError(t, err)
			names = append(names, all.Name)
		}
		assert.ElementsMatch(t, []string{"pods.v1 in namespace one", "pods.v1 in namespace two"}, names)
		stop()
		require.NoError(t, <-ended)
	}
}

// TestStripManagedFieldsKeepsParts checks that the transform is recognized, also in a build without
// inlining. It keeps the parts of objects other than unstructured ones.
func TestStripManagedFieldsKeepsParts(t *testing.T) {
	assert.True(t, event.KeepsParts(ctrlcache.TransformStripManagedFields(), &corev1.Pod{}))
	assert.True(t, event.KeepsParts(ctrlcache.TransformStripManagedFields(), &metav1.PartialObjectMetadata{}))
	assert.False(t, event.KeepsParts(ctrlcache.TransformStripManagedFields(), &unstructured.Unstructured{}))
	assert.False(t, event.KeepsParts(ctrlcache.TransformStripManagedFields(), nil))
}

// objects returns the number of objects of each running informer by its nonempty labels. No two
// informers may have the same labels.
func objects() map[string]float64 {
	of := map[string]float64{}
	metrics.NewReader(metrics.Options{}).Read(func(s metrics.Sample) {
		if s.Metric.Name != "kinformer_objects" {
			return
		}
		var labels []string
		for _, l := range s.Series.Labels {
			if l.Value != "" && l.Value != "0" {
				labels = append(labels, l.Name+"="+l.Value)
			}
		}
		of[strings.Join(labels, ",")] = s.Value
	})
	return of
}
