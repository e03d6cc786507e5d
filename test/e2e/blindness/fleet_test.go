// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package blindness_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/test/e2e/apiserver"
	"github.com/kinformer/cache/test/e2e/transport"
)

const namespaces = 6 // each kind has an informer in each

// side is a library, or a way to use it.
type side struct {
	name   string
	direct bool // whether direct.Transport is below its client
	make   func(cache.ListerWatcher, runtime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer
	qps    int // the most requests of the client in a second; 0: no limit
	burst  int
}

// limited returns a side whose client has a limit of its own.
func (s side) limited(qps, burst int) side {
	s.name, s.qps, s.burst = fmt.Sprintf("%s QPS %d/%d", s.name, qps, burst), qps, burst
	return s
}

// isTheirs reports whether the informers are client-go's.
func (s side) isTheirs() bool { return strings.HasPrefix(s.name, "client-go") }

func sides() []side {
	return []side{
		{name: "client-go", make: clientgo.NewSharedIndexInformer},
		{name: "ours", make: cache.NewSharedIndexInformer},
		{name: "direct", direct: true, make: cache.NewSharedIndexInformer},
		{name: "shared", direct: true, make: kinformer.Constructor(kinformer.Options{Decoding: kinformer.Decoding{ShareParts: true}})},
	}
}

// selection is the objects of one informer: a kind in a namespace.
type selection struct {
	client              rest.Interface
	resource, namespace string
	example             runtime.Object
}

// selections returns sixty selections. None includes nodes.
func selections(client kubernetes.Interface) (all []selection) {
	core, apps := client.CoreV1().RESTClient(), client.AppsV1().RESTClient()
	kinds := []selection{
		{client: core, resource: "pods", example: &corev1.Pod{}},
		{client: core, resource: "configmaps", example: &corev1.ConfigMap{}},
		{client: core, resource: "serviceaccounts", example: &corev1.ServiceAccount{}},
		{client: core, resource: "secrets", example: &corev1.Secret{}},
		{client: core, resource: "services", example: &corev1.Service{}},
		{client: core, resource: "events", example: &corev1.Event{}},
		{client: apps, resource: "deployments", example: &appsv1.Deployment{}},
		{client: apps, resource: "replicasets", example: &appsv1.ReplicaSet{}},
		{client: client.CoordinationV1().RESTClient(), resource: "leases", example: &coordinationv1.Lease{}},
		{client: client.EventsV1().RESTClient(), resource: "events", example: &eventsv1.Event{}},
	}
	for i := range namespaces {
		for _, s := range kinds {
			s.namespace = fmt.Sprintf("namespace-%d", i)
			all = append(all, s)
		}
	}
	return all
}

// create creates an object in the selection.
func (s selection) create(ctx context.Context, name string) error {
	obj := s.example.DeepCopyObject()
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	m.SetName(name)
	m.SetAnnotations(map[string]string{"content": strings.Repeat(s.resource+" "+name+" ", 60)})
	return s.client.Post().Namespace(s.namespace).Resource(s.resource).Body(obj).Do(ctx).Error()
}

// remove deletes an object.
func (s selection) remove(ctx context.Context, name string) error {
	return s.client.Delete().Namespace(s.namespace).Resource(s.resource).Name(name).Do(ctx).Error()
}

// each calls do concurrently for each selection of a client.
func each(ctx context.Context, client kubernetes.Interface, name string, do func(selection, context.Context, string) error) (err error) {
	all, errs := selections(client), make(chan error)
	for _, s := range all {
		go func() { errs <- do(s, ctx, name) }()
	}
	for range all {
		err = errors.Join(err, <-errs)
	}
	return err
}

// asked counts requests of informers.
type asked struct {
	states, watches atomic.Int64 // served lists and watch-lists, and served watches
	refused         atomic.Int64 // answered with another status than 200
	vain            atomic.Int64 // without an answer
}

// count sends a request and counts it.
func (f *fleet) count(next http.RoundTripper, request *http.Request) (*http.Response, error) {
	response, err := next.RoundTrip(request)
	n, query := f.asked.Load(), request.URL.Query()
	switch {
	case errors.Is(err, context.Canceled):
	case err != nil:
		n.vain.Add(1)
	case response.StatusCode != http.StatusOK:
		n.refused.Add(1)
	case query.Get("watch") != "" && query.Get("sendInitialEvents") == "":
		n.watches.Add(1)
	default:
		n.states.Add(1)
	}
	return response, err
}

// fleet is the informers of a process, one per selection.
type fleet struct {
	asked     atomic.Pointer[asked]
	informers []informer
}

// informer is an informer of a fleet.
type informer struct {
	cache.SharedIndexInformer
	heard chan time.Time // receives the time at which the handler was notified of the mark
}

// startFleet starts informers that wait for objects named mark, and returns when all have synced.
func startFleet(t *testing.T, ctx context.Context, srv *apiserver.Server, s side, mark string) *fleet {
	f := &fleet{}
	f.asked.Store(&asked{})
	config := srv.ProtobufConfig()
	config.Wrap(transport.Around(f.count))
	if s.qps > 0 {
		config.QPS, config.Burst = float32(s.qps), s.burst
	}
	if s.direct {
		config.Wrap(direct.Transport)
	}
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	var synced []cache.DoneChecker
	t.Cleanup(func() { cancel(); group.Wait() })
	for _, of := range selections(client) {
		lw := clientgo.NewListWatchFromClient(of.client, of.resource, of.namespace, fields.Everything())
		i := informer{s.make(lw, of.example, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}), make(chan time.Time, 1)}
		_, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			if m, err := meta.Accessor(obj); err == nil && m.GetName() == mark {
				i.heard <- time.Now()
			}
		}})
		require.NoError(t, err)
		group.Go(func() { i.RunWithContext(ctx) })
		f.informers, synced = append(f.informers, i), append(synced, i.HasSyncedChecker())
	}
	require.True(t, cache.WaitFor(ctx, "initial lists", synced...))
	return f
}
