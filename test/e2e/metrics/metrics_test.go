// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics_test is a program that obtains informer metrics by importing k8s.io/component-base,
// like Kubernetes' own components, without calling SetInformerMetricsProvider.
package metrics_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/internal/minor"
	"github.com/kinformer/cache/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var podsResource = corev1.SchemeGroupVersion.WithResource("pods")

// named reserves an informer name until the end of the test.
func named(t *testing.T, name string) *cache.InformerName {
	t.Helper()
	n, err := cache.NewInformerName(name)
	require.NoError(t, err)
	t.Cleanup(n.Release)
	return n
}

// published runs c until it has synced, checks the metrics of its queue and handlers, and returns the version of
// its store.
func published(t *testing.T, c cache.Controller, name string) string {
	t.Helper()
	stop := testkit.InBackground(t, c.RunWithContext)
	require.True(t, cache.WaitFor(t.Context(), "", c.HasSyncedChecker()))
	stop()
	samples := scrape(t, name)
	assert.Equal(t, "0", samples["informer_queued_items"])
	assert.NotContains(t, []string{"", "0"}, samples["informer_processing_latency_seconds_count"])
	assert.Contains(t, samples, "informer_store_resource_version")
	return samples["informer_store_resource_version"]
}

// scrape returns the samples that the process exposes for the informer's name, with the values by
// metric.
func scrape(t *testing.T, name string) map[string]string {
	t.Helper()
	response := httptest.NewRecorder()
	legacyregistry.Handler().ServeHTTP(response, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, response.Code)
	labels := fmt.Sprintf(`{group="",name=%q,resource="pods",version="v1"}`, name)
	samples := map[string]string{}
	for line := range strings.Lines(response.Body.String()) {
		if metric, value, found := strings.Cut(strings.TrimSpace(line), labels+" "); found {
			samples[metric] = value
		}
	}
	return samples
}

// TestImportAlonePublishes covers all constructors, and client-go's informer for comparison.
func TestImportAlonePublishes(t *testing.T) {
	makers := map[string]func(cache.ListerWatcher, cache.InformerNameAndResource) cache.Controller{
		"client-go": func(lw cache.ListerWatcher, id cache.InformerNameAndResource) cache.Controller {
			return clientgo.NewSharedIndexInformerWithOptions(lw, &corev1.Pod{}, clientgo.SharedIndexInformerOptions{Identifier: id})
		},
		"shared": func(lw cache.ListerWatcher, id cache.InformerNameAndResource) cache.Controller {
			return cache.NewSharedIndexInformerWithOptions(lw, &corev1.Pod{}, cache.SharedIndexInformerOptions{Identifier: id})
		},
		"unshared": func(lw cache.ListerWatcher, id cache.InformerNameAndResource) cache.Controller {
			_, c := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: lw, ObjectType: &corev1.Pod{}, Identifier: id})
			return c
		},
	}
	for name, make := range makers {
		t.Run(name, func(t *testing.T) {
			if name == "client-go" && minor.Own {
				t.Skip("client-go publishes the version of an informer's store since v0.37")
			}
			source := cachetest.Of(testkit.Pod("a", "1"), testkit.Pod("b", "1"), testkit.Pod("c", "1"))
			version := published(t, make(source, named(t, name).WithResource(podsResource)), name)
			assert.Equal(t, fmt.Sprint(source.ResourceVersion()), version)
		})
	}
}

// TestFactoryPublishes passes the name to the wrapped factory only.
func TestFactoryPublishes(t *testing.T) {
	f := factory.Wrap(informers.NewSharedInformerFactoryWithOptions(fake.NewClientset(testkit.Pod("a", "1")), 0, informers.WithInformerName(named(t, "factory"))))
	published(t, f.Core().V1().Pods().Informer(), "factory")
}

// TestReleasedNamePublishesNothing relies on the gauge of the import to check the identity itself.
func TestReleasedNamePublishesNothing(t *testing.T) {
	name := named(t, "released")
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil, cache.WithStoreMetrics(name.WithResource(podsResource), nil))
	require.NoError(t, store.Replace(nil, "7"))
	name.Release()
	require.NoError(t, store.Replace(nil, "9"))
	assert.Equal(t, "7", scrape(t, "released")["informer_store_resource_version"])
}
