// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory_test

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/metrics"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/sources"
)

// podClient returns a client of a server's core resources whose informers decode directly.
func podClient(t *testing.T, server *rest.Config) *rest.RESTClient {
	config := rest.CopyConfig(server)
	config.GroupVersion, config.APIPath, config.NegotiatedSerializer = &corev1.SchemeGroupVersion, "/api", scheme.Codecs.WithoutConversion()
	config.Wrap(direct.Transport)
	client, err := rest.RESTClientFor(config)
	require.NoError(t, err)
	return client
}

// TestNamesOfNamespaces: an informer of Namespaces is named like one of a single source: by the
// resource, and by the server once it has been asked, in its status, in errors, in audits and in the
// log. Its sources are named from their start on. No namespace is ever that of the informer.
func TestNamesOfNamespaces(t *testing.T) {
	server := podServer(t)
	host, err := url.Parse(server.Host)
	require.NoError(t, err)
	list := kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList}}
	for name, informerOf := range map[string]func(*factory.Namespaces) cache.SharedIndexInformer{
		"factory.For": func(n *factory.Namespaces) cache.SharedIndexInformer {
			informer, err := factory.For[*corev1.Pod](t.Context(), server, factory.WithNamespaces(n), factory.WithInformerOptions(list))
			require.NoError(t, err)
			return informer
		},
		"of a framework": func(n *factory.Namespaces) cache.SharedIndexInformer {
			client := podClient(t, server)
			construct := n.Constructor(kinformer.Constructor(list), func(example runtime.Object, namespace string) cache.ListerWatcher {
				return direct.NewListWatch(client, example, "pods", namespace, nil)
			})
			return construct(nil, &corev1.Pod{}, 0, cache.Indexers{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			var namespaces factory.Namespaces
			namespaces.Add("web")
			informer := informerOf(&namespaces)
			ctx, lines := testkit.Loud(t, 2)
			t.Cleanup(testkit.InBackground(t, func(stop context.Context) {
				both, cancel := context.WithCancel(ctx)
				defer context.AfterFunc(stop, cancel)()
				informer.RunWithContext(both)
			}))
			require.NoError(t, kinformer.WaitForSync(ctx, informer))
			of := func() inspect.Inspection {
				all, err := inspect.Of(informer)
				require.NoError(t, err)
				assert.Equal(t, "pods.v1", all.Name)
				assert.Equal(t, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, all.Status.Resource)
				assert.Equal(t, host.Host, all.Status.Server)
				assert.Empty(t, all.Status.Namespace)
				return all
			}
			of()
			assert.Equal(t, "SharedIndexInformer pods.v1", informer.HasSyncedChecker().Name())

			namespaces.Add("other")
			require.Eventually(t, func() bool { // the server is in the name once it has been asked
				short, cancel := context.WithTimeout(ctx, time.Millisecond)
				defer cancel()
				err := kinformer.WaitForSync(short, must(sources.Of(informer)).Source("other"))
				return strings.Contains(err.Error(), "Source pods.v1 of source other at "+host.Host+" has not synced: ")
			}, testkit.Patience, time.Millisecond)
			of()
			started := testkit.About(`"state"="started"`, lines.Take())
			require.Len(t, started, 2)
			for _, line := range started[1:] {
				assert.Contains(t, line, ` source other"`)
				assert.Contains(t, line, `"type"="pods.v1 of source other"`)
			}
			report, err := audit.Once(ctx, informer, audit.Options{})
			require.ErrorContains(t, err, "audit of pods.v1 at "+host.Host+": ")
			assert.Equal(t, "pods.v1 at "+host.Host+": 1 object of 1 of 2 sources, by versions: as on the server", report.String())
		})
	}
}

// TestLabelsOfNamespaces: the labels of an informer's metrics have the resource and the server, as the
// page has, and no namespace, and do not change with the number of namespaces.
func TestLabelsOfNamespaces(t *testing.T) {
	server := podServer(t)
	host, err := url.Parse(server.Host)
	require.NoError(t, err)
	var namespaces factory.Namespaces
	namespaces.Add("web")
	informer, err := factory.For[*corev1.Pod](t.Context(), server, factory.WithNamespaces(&namespaces),
		factory.WithInformerOptions(kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList}}))
	require.NoError(t, err)
	reader := metrics.NewReader(metrics.Options{})
	labels := func() (found []string) {
		reader.Read(func(s metrics.Sample) {
			if s.Metric.Name != "kinformer_sources" {
				return
			}
			for _, l := range s.Series.Labels {
				if l.Value != "" {
					found = append(found, l.Name+"="+l.Value)
				}
			}
		})
		slices.Sort(found)
		return found
	}
	t.Cleanup(testkit.InBackground(t, informer.RunWithContext))
	require.NoError(t, kinformer.WaitForSync(t.Context(), informer))
	want := []string{"ordinal=0", "resource=pods", "server=" + host.Host, "version=v1"}
	assert.Equal(t, want, labels())
	namespaces.Add("other")
	assert.Equal(t, want, labels())
	namespaces.Remove("web")
	assert.Equal(t, want, labels())
}

// must returns the Set of an informer.
func must(set *sources.Set, ok bool) *sources.Set {
	if !ok {
		panic("no Set")
	}
	return set
}
