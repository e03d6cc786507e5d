// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/e2e/apiserver"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit/checker"
)

// paths records what is asked of a server.
type paths struct {
	mu struct {
		sync.Mutex
		seen map[string]bool
	}
}

// record returns config with every request's path recorded.
func (p *paths) record(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			p.mu.Lock()
			if p.mu.seen == nil {
				p.mu.seen = map[string]bool{}
			}
			p.mu.seen[request.URL.Path] = true
			p.mu.Unlock()
			return next.RoundTrip(request)
		})
	})
	return config
}

func (p *paths) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.mu.seen))
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// replicated adds a handler that keeps a replica to an informer.
func replicated(t *testing.T, informer cache.SharedIndexInformer) *checker.Replica {
	t.Helper()
	r := checker.NewReplica(func(rule, fault string) { t.Error(rule, fault) })
	_, err := informer.AddEventHandler(r)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

func TestTypedFactory(t *testing.T) {
	ctx := patientContext(t)
	srv := startServer(t, ctx)
	r := resourceOf(t, srv, "pods-protobuf")
	w := startWriters(ctx, r, 4)

	var requests paths
	client, err := kubernetes.NewForConfig(requests.record(srv.ProtobufConfig()))
	require.NoError(t, err)
	inner := informers.NewSharedInformerFactory(client, 0)
	f := factory.Wrap(inner, factory.WithNamespace("default"))
	ours := replicated(t, f.Core().V1().Pods().Informer())
	unswapped := inner.Core().V1().Pods() // code that was not changed holds the wrapped factory
	theirs := replicated(t, unswapped.Informer())
	running, stop := context.WithCancel(ctx)
	defer stop()
	inner.StartWithContext(running)
	synced := f.WaitForCacheSyncWithContext(ctx)
	require.NoError(t, synced.AsError())

	require.NoError(t, w.awaitWrites(ctx, someWrites))
	w.finish()
	want := listed(t, ctx, r)
	require.NoError(t, ours.AwaitEqual(ctx, want))
	require.NoError(t, theirs.AwaitEqual(ctx, want))
	checkDecoding(t, f.Core().V1().Pods().Informer())
	found, err := unswapped.Lister().Pods("default").List(labels.Everything())
	require.NoError(t, err)
	assert.Len(t, found, len(want))
	assert.Equal(t, []string{"/api/v1/namespaces/default/pods"}, requests.all(), "only the accessed type is asked for")
	stop()
	f.Shutdown()
	assert.True(t, f.Core().V1().Pods().Informer().IsStopped())
}

// genericFactory is what the dynamic and metadata factories, client-go's and ours, have in common.
type genericFactory interface {
	Start(stopCh <-chan struct{})
	ForResource(gvr schema.GroupVersionResource) informers.GenericInformer
	WaitForCacheSync(stopCh <-chan struct{}) map[schema.GroupVersionResource]bool
	Shutdown()
}

// testBesideClientGo follows the same writes with a factory of ours and one of client-go's.
func testBesideClientGo(t *testing.T, gvr schema.GroupVersionResource, kind string, newFactories func(*testing.T, *rest.Config) []genericFactory) {
	ctx := patientContext(t)
	srv := startServer(t, ctx)
	r := resourceOf(t, srv, kind)
	w := startWriters(ctx, r, 5)
	factories := newFactories(t, srv.Config())
	running, stop := context.WithCancel(ctx)
	defer stop()
	for _, f := range factories {
		informer := f.ForResource(gvr)
		informer.Informer()
		f.Start(running.Done())
		assert.Equal(t, map[schema.GroupVersionResource]bool{gvr: true}, f.WaitForCacheSync(ctx.Done()))
	}
	require.NoError(t, w.awaitWrites(ctx, someWrites))
	w.finish()
	want := listed(t, ctx, r)
	for _, f := range factories {
		informer := f.ForResource(gvr)
		require.NoError(t, awaitVersions(ctx, informer.Informer(), want))
		found, err := informer.Lister().ByNamespace("default").List(labels.Everything())
		require.NoError(t, err)
		assert.Len(t, found, len(want))
		if _, err := inspect.StatusOf(informer.Informer()); err == nil { // ours
			checkDecoding(t, informer.Informer())
		}
	}
	stop()
	for _, f := range factories {
		f.Shutdown()
		assert.True(t, f.ForResource(gvr).Informer().IsStopped())
	}
}

// awaitVersions waits until a late handler has been told of the wanted names and versions.
func awaitVersions(ctx context.Context, informer cache.SharedIndexInformer, want checker.Contents) error {
	r := checker.NewReplica(func(string, string) {})
	defer r.Close()
	if _, err := informer.AddEventHandler(r); err != nil {
		return err
	}
	return r.AwaitEqual(ctx, want)
}

func TestDynamicFactory(t *testing.T) {
	gvr := apiserver.CustomResource{Group: "e2e.kinformer.io", Version: "v1", Kind: "Widget"}.Resource()
	testBesideClientGo(t, gvr, "crd-dynamic", func(t *testing.T, config *rest.Config) []genericFactory {
		client, err := dynamic.NewForConfig(config)
		require.NoError(t, err)
		return []genericFactory{
			factory.Dynamic(client, 0, factory.WithNamespace("default")),
			dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, "default", nil),
		}
	})
}

func TestMetadataFactory(t *testing.T) {
	gvr := corev1.SchemeGroupVersion.WithResource("pods")
	testBesideClientGo(t, gvr, "pods-protobuf", func(t *testing.T, config *rest.Config) []genericFactory {
		client, err := metadata.NewForConfig(config)
		require.NoError(t, err)
		return []genericFactory{
			factory.Metadata(client, 0, factory.WithNamespace("default"),
				factory.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = "metadata.namespace=default" })),
			metadatainformer.NewFilteredSharedInformerFactory(client, 0, "default", nil),
		}
	})
}
