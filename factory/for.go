// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/tap"
)

// For returns an informer for the objects of a Go type, for a program that has no clientset and no factory:
//
//	pods, err := factory.For[*corev1.Pod](ctx, config, factory.WithNamespace("web"))
//	if err != nil {
//		return err
//	}
//	go pods.RunWithContext(ctx)
//
// The type must be registered with k8s.io/client-go/kubernetes/scheme, which has all built-in types.
// The AddToScheme function of their package registers types of custom resources. For requests the
// resource of the type from the server, once, and returns an error if there is none, or if the options
// are invalid. WithNamespace and WithNamespaces, which factories ignore for objects without a namespace,
// are invalid for a type of such objects. The informer has an index by namespace, and is not running
// yet. Its selectors are those of WithTweakListOptions, its resync period that of WithInformerOptions.
// In a program that imports package direct it decodes directly. config is not changed.
func For[T interface {
	cache.Object
	runtime.Object
}](ctx context.Context, config *rest.Config, options ...Option) (cache.TypedSharedIndexInformer[T], error) {
	informer, err := forType(ctx, config, reflect.TypeFor[T](), newConfig(options))
	if err != nil {
		return nil, fmt.Errorf("factory.For[%v]: %w", reflect.TypeFor[T](), err)
	}
	return cache.NewTypedSharedIndexInformer[T](informer), nil
}

func forType(ctx context.Context, config *rest.Config, t reflect.Type, c config) (cache.SharedIndexInformer, error) {
	gvk, err := kindOf(t)
	if err != nil {
		return nil, err
	}
	example := reflect.New(t.Elem()).Interface().(runtime.Object)
	client, err := clientOf(config, gvk.GroupVersion(), example)
	if err != nil {
		return nil, err
	}
	resource, err := resourceOf(ctx, client, gvk)
	if err != nil {
		return nil, err
	}
	if limited := c.namespace != metav1.NamespaceAll || c.namespaces != nil; limited && !resource.Namespaced {
		return nil, fmt.Errorf("%s have no namespace: leave out WithNamespace and WithNamespaces", resource.Name)
	}
	gvr := gvk.GroupVersion().WithResource(resource.Name)
	r := request{
		example: example, gvr: gvr,
		lw: func(namespace string) *cache.ListWatch {
			return cache.NewFilteredListWatchFromClient(client, resource.Name, namespace, func(*metav1.ListOptions) {})
		},
		identity: func() cache.InformerNameAndResource { return c.informerName.WithResource(gvr) },
	}
	informer := c.unjoined(r)
	if status, err := inspect.StatusOf(informer); err == nil && status.LastError != nil { // a fault of the options
		return nil, status.LastError
	}
	return c.join(informer, r), nil
}

// kindOf returns the kind of a registered type.
func kindOf(t reflect.Type) (none schema.GroupVersionKind, err error) {
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return none, fmt.Errorf("the type must be a pointer to a struct, such as *corev1.Pod")
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(reflect.New(t.Elem()).Interface().(runtime.Object))
	if err != nil {
		return none, fmt.Errorf("%w: call the AddToScheme function of its package with scheme.Scheme of k8s.io/client-go/kubernetes/scheme, "+
			"or use factory.Dynamic for objects without a Go type", err)
	}
	return kinds[0], nil
}

// clientOf returns a client for a group and version. Like generated clients, it requests protobuf if the type of
// example supports it and config does not specify the encoding.
func clientOf(config *rest.Config, gv schema.GroupVersion, example runtime.Object) (*rest.RESTClient, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = &gv, "/apis"
	if gv.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	if _, readsProtobuf := example.(interface{ Unmarshal([]byte) error }); readsProtobuf && config.ContentType == "" && config.AcceptContentTypes == "" {
		config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	}
	tap.Wrap(config)
	return rest.RESTClientFor(config)
}

// resourceOf requests the resource of a kind from the server.
func resourceOf(ctx context.Context, client *rest.RESTClient, gvk schema.GroupVersionKind) (none metav1.APIResource, err error) {
	served := &metav1.APIResourceList{}
	if err := client.Get().Do(ctx).Into(served); err != nil {
		return none, fmt.Errorf("asking for the resources of %v: %w", gvk.GroupVersion(), err)
	}
	for _, r := range served.APIResources {
		if r.Kind == gvk.Kind && !strings.Contains(r.Name, "/") {
			return r, nil
		}
	}
	return none, fmt.Errorf("the server has no resource of kind %s in %v", gvk.Kind, gvk.GroupVersion())
}
