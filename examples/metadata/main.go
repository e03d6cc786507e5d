// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Metadata follows several resources by their metadata only. The server sends no spec, status or
// data, so following all secrets of a cluster takes little memory, and their data never gets here.
// A transform function also drops the managed fields. The program prints how many objects each
// namespace has, whenever that changes. It writes nothing to the cluster.
package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/examples/internal/example"
	"github.com/kinformer/cache/factory"
)

func main() { example.Main(run) }

// run follows pods, config maps and secrets until ctx ends.
func run(ctx context.Context, config *rest.Config) error {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	f := factory.Metadata(client, 0, factory.WithTransform(withoutManagedFields))
	resources := []string{"pods", "configmaps", "secrets"}
	for _, resource := range resources {
		informer := f.ForResource(corev1.SchemeGroupVersion.WithResource(resource)).Informer()
		if _, err := informer.AddEventHandler(counter{resource, informer.GetIndexer()}); err != nil {
			return err
		}
	}
	f.StartWithContext(ctx)
	defer f.Shutdown()
	if _, err := f.WaitForCacheSyncWithContext(ctx); err != nil {
		return err
	}
	for _, resource := range resources {
		store := f.ForResource(corev1.SchemeGroupVersion.WithResource(resource)).Informer().GetStore()
		fmt.Printf("synced: %d %s in the cluster\n", cache.Len(store), resource)
	}
	<-ctx.Done()
	return nil
}

// withoutManagedFields is called once for each object, before anybody sees it, so it may change it.
func withoutManagedFields(obj any) (any, error) {
	if partial, ok := obj.(*metav1.PartialObjectMetadata); ok {
		partial.ManagedFields = nil
	}
	return obj, nil
}

// counter says how many objects a namespace has when one comes or goes.
type counter struct {
	resource string
	indexer  cache.Indexer // with the index by namespace, which the factory adds
}

// OnAdd implements cache.ResourceEventHandler.
func (c counter) OnAdd(obj any, isInInitialList bool) {
	if !isInInitialList {
		c.count(obj, "came")
	}
}

// OnUpdate implements cache.ResourceEventHandler.
func (c counter) OnUpdate(_, _ any) {}

// OnDelete implements cache.ResourceEventHandler.
func (c counter) OnDelete(obj any) { c.count(obj, "went") }

func (c counter) count(obj any, what string) {
	name, err := cache.DeletionHandlingObjectToName(obj)
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := cache.Count(c.indexer, cache.NamespaceIndex, name.Namespace)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %s %s, %d %s are in %s now\n", c.resource, name.Name, what, n, c.resource, name.Namespace)
}
