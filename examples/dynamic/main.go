// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Dynamic follows the objects of any resource, such as that of a CustomResourceDefinition, without
// Go types for them. The program waits if the resource is not installed yet, and prints the changed
// fields of the spec. It writes nothing to the cluster.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/examples/internal/example"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/kinformer"
)

var resource = flag.String("resource", "widgets.v1.example.kinformer.io", "resource to follow, as resource.version.group")

func main() { example.Main(run) }

// run follows the resource until ctx ends.
func run(ctx context.Context, config *rest.Config) error {
	gvr, _ := schema.ParseResourceArg(*resource)
	if gvr == nil {
		return fmt.Errorf("-resource %q is not resource.version.group", *resource)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	f := factory.Dynamic(client, 0, factory.WithInformerOptions(kinformer.Options{Errors: kinformer.Errors{Policy: kinformer.ExpectNotFound(time.Second)}}))
	objects := f.ForResource(*gvr)
	if _, err := objects.Informer().AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			fmt.Printf("%s: added, in the initial list: %t, spec %v\n", name(obj), initial, spec(obj))
		},
		UpdateFunc: func(was, obj any) {
			for _, field := range changed(spec(was), spec(obj)) {
				fmt.Printf("%s: spec.%s is %v, was %v\n", name(obj), field, spec(obj)[field], spec(was)[field])
			}
		},
		DeleteFunc: func(obj any) { fmt.Printf("%s: deleted\n", name(obj)) },
	}); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	f.StartWithContext(ctx)
	defer f.Shutdown()
	defer stop() // runs first: Shutdown waits for the informers
	if err := kinformer.WaitForSync(ctx, objects.Informer()); err != nil {
		return err // for example no such resource, forbidden, connection refused
	}
	all, err := objects.Lister().ByNamespace("default").List(labels.Everything())
	if err != nil {
		return err
	}
	fmt.Printf("synced: %d %s are in the namespace default\n", len(all), gvr.Resource)
	<-ctx.Done()
	return nil
}

func name(obj any) cache.ObjectName {
	name, err := cache.DeletionHandlingObjectToName(obj) // obj may be a tombstone
	if err != nil {
		return cache.NewObjectName("", err.Error())
	}
	return name
}

// spec returns the object's spec, which is shared: callers must not modify it.
func spec(obj any) map[string]any {
	fields, _ := obj.(*unstructured.Unstructured).Object["spec"].(map[string]any)
	return fields
}

// changed returns the names of the fields that differ, in order.
func changed(was, is map[string]any) []string {
	names := maps.Clone(is)
	if names == nil {
		names = map[string]any{}
	}
	maps.Copy(names, was)
	maps.DeleteFunc(names, func(field string, _ any) bool { return reflect.DeepEqual(was[field], is[field]) })
	return slices.Sorted(maps.Keys(names))
}
