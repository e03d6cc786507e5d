// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Observability is a controller-runtime manager that exposes the state of its informers as
// Prometheus metrics, as a web page, and through its readiness endpoint. It writes nothing to the
// cluster.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinformer/cache"
	kinformerprom "github.com/kinformer/cache/adapters/prom"
	"github.com/kinformer/cache/debug"
	"github.com/kinformer/cache/examples/internal/example"
	"github.com/kinformer/cache/inspect"
)

var address = flag.String("address", "127.0.0.1:0", "listen address; port 0 selects a free port")

func main() { example.Main(run) }

// run sets up the manager and runs it until ctx ends.
func run(ctx context.Context, config *rest.Config) error {
	ctrl.SetLogger(logr.Discard())
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Cache:   ctrlcache.Options{NewInformer: cache.NewSharedIndexInformer},
		Metrics: metricsserver.Options{BindAddress: "0"}, // the server of this program serves metrics and the page
	})
	if err != nil {
		return err
	}
	for _, kind := range []client.Object{&corev1.Pod{}, &corev1.ConfigMap{}} {
		if err := ctrl.NewControllerManagedBy(mgr).For(kind).Complete(reader{mgr.GetClient(), kind}); err != nil {
			return err
		}
	}
	if err := serve(mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// serve adds the server to the manager, which starts and stops it.
func serve(mgr manager.Manager) error {
	metrics.Registry.MustRegister(kinformerprom.NewCollector(kinformerprom.Options{}))
	// All covers every running informer, including those of the manager. With
	// mgr.AddReadyzCheck("informers", ready.Check), the manager's own probe server runs this check.
	ready := inspect.Ready(inspect.ReadyOptions{All: true})

	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{}))
	mux.Handle("/debug/informers/", debug.Handler(debug.Options{})) // for operators only: see package debug
	mux.Handle("GET /readyz", ready)
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		return err
	}
	fmt.Printf("http://%[1]s/debug/informers/ is the page, http://%[1]s/metrics are the metrics, and http://%[1]s/readyz says whether all have synced\n",
		listener.Addr())
	return mgr.Add(&manager.Server{Name: "observability", Server: &http.Server{Handler: mux}, Listener: listener})
}

// reader reads objects of one kind from the manager's cache.
type reader struct {
	client.Client
	kind client.Object
}

// Reconcile implements reconcile.Reconciler.
func (r reader) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	found := r.kind.DeepCopyObject().(client.Object)
	return ctrl.Result{}, client.IgnoreNotFound(r.Get(ctx, request.NamespacedName, found))
}
