// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/e2e/apiserver"
)

// connectTimeout bounds the first request to a cluster, so that one that never answers is reported.
const connectTimeout = 30 * time.Second

// stopTimeout bounds the end of the embedded server.
const stopTimeout = 10 * time.Second

// world is a cluster and the one resource of it that the demo is about.
type world struct {
	server     *apiserver.Server // nil for a cluster that is not ours
	name       string
	resource   schema.GroupVersionResource
	kind       schema.GroupVersionKind
	namespaced bool
	client     dynamic.NamespaceableResourceInterface
	log        io.Writer
}

func openWorld(ctx context.Context, o options, screen *screen) (*world, error) {
	w := &world{log: screen}
	config, err := w.connect(ctx, o)
	if err != nil {
		return nil, err
	}
	config.Wrap(direct.Transport) // informers of kinformer decode themselves; for others it changes nothing
	if err := w.find(config, o.resource); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// connect starts the embedded server, or reads the kubeconfig.
func (w *world) connect(ctx context.Context, o options) (*rest.Config, error) {
	if o.kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("kubeconfig: %w", err)
		}
		w.name = config.Host
		return config, nil
	}
	server, err := apiserver.StartChild(ctx, apiserver.Options{Binary: o.apiserver, Log: w.log})
	if err != nil {
		return nil, fmt.Errorf("embedded API server: %w", err)
	}
	w.server, w.name = server, "the embedded API server at "+server.URL()
	config := server.Config()
	config.QPS, config.Burst = -1, -1
	return config, nil
}

// find asks the cluster what the resource is.
func (w *world) find(config *rest.Config, name string) error {
	quick := rest.CopyConfig(config)
	quick.Timeout = connectTimeout
	finder, err := discovery.NewDiscoveryClientForConfig(quick)
	if err != nil {
		return fmt.Errorf("%s: %w", w.name, err)
	}
	groups, err := restmapper.GetAPIGroupResources(finder)
	if err != nil {
		return fmt.Errorf("%s cannot be reached: %w", w.name, err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	w.resource, err = mapper.ResourceFor(schema.ParseGroupResource(name).WithVersion(""))
	if err != nil {
		return fmt.Errorf("%s does not serve %q: %w", w.name, name, err)
	}
	if w.kind, err = mapper.KindFor(w.resource); err != nil {
		return fmt.Errorf("kind of %q: %w", name, err)
	}
	mapping, err := mapper.RESTMapping(w.kind.GroupKind(), w.kind.Version)
	if err != nil {
		return fmt.Errorf("scope of %q: %w", name, err)
	}
	w.namespaced = mapping.Scope.Name() == "namespace"
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("%s: %w", w.name, err)
	}
	w.client = client.Resource(w.resource)
	return nil
}

// restart kills the embedded server and starts it on the same data.
func (w *world) restart(ctx context.Context) error {
	if err := w.server.Kill(); err != nil {
		return fmt.Errorf("kill the server: %w", err)
	}
	if err := w.server.Restart(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("restart the server: %w", err)
	}
	return nil
}

// close stops the embedded server.
func (w *world) close() {
	if w.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := w.server.Stop(ctx); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(w.log, "stopping the server: %v\n", err)
	}
}
