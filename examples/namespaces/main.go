// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Namespaces is a controller-runtime manager that follows the ConfigMaps of selected namespaces:
// those that currently have the label example.kinformer.io/tenant=yes. It writes nothing to the
// cluster.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/examples/internal/example"
	"github.com/kinformer/cache/factory"
)

const tenant = "example.kinformer.io/tenant" // the label

func main() { example.Main(run) }

// run sets up the manager and runs it until ctx ends.
func run(ctx context.Context, config *rest.Config) error {
	ctrl.SetLogger(logr.Discard())
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	var tenants factory.Namespaces
	// The manager's other kind, Namespace, has no namespace, so its informer asks as the manager would. A
	// listWatch for more kinds chooses by its first argument, and returns nil for all others.
	newInformer := tenants.Constructor(cache.NewSharedIndexInformer, func(_ runtime.Object, namespace string) cache.ListerWatcher {
		return cache.NewListWatchFromClient(clientset.CoreV1().RESTClient(), "configmaps", namespace, fields.Everything())
	})
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Cache:   ctrlcache.Options{NewInformer: newInformer},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	c := controller{mgr.GetClient(), &tenants}
	if err := ctrl.NewControllerManagedBy(mgr).For(&corev1.Namespace{}).Complete(reconcile.Func(c.namespace)); err != nil {
		return err
	}
	if err := ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Complete(reconcile.Func(c.configMap)); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

type controller struct {
	client.Client
	tenants *factory.Namespaces
}

// namespace adds a namespace to the namespaces that the manager follows, or removes it.
func (c controller) namespace(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var found corev1.Namespace
	err := c.Get(ctx, request.NamespacedName, &found)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if err != nil || found.Labels[tenant] != "yes" {
		c.tenants.Remove(request.Name)
		return ctrl.Result{}, nil
	}
	c.tenants.Add(request.Name)
	waiting, cancel := context.WithTimeout(ctx, 10*time.Second) // a namespace that cannot be listed delays no other
	defer cancel()
	if err := c.tenants.WaitForSync(waiting, request.Name); err != nil {
		return ctrl.Result{}, err // tries again later
	}
	var all corev1.ConfigMapList
	if err := c.List(ctx, &all, client.InNamespace(request.Name)); err != nil {
		return ctrl.Result{}, err
	}
	fmt.Printf("namespace %s: %d ConfigMaps\n", request.Name, len(all.Items))
	return ctrl.Result{}, nil
}

// configMap reconciles the ConfigMaps of tenants. It is also called when a ConfigMap leaves the
// cache because its namespace does.
func (c controller) configMap(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var found corev1.ConfigMap
	switch err := c.Get(ctx, request.NamespacedName, &found); {
	case err == nil:
		fmt.Printf("%s is there\n", request)
	case client.IgnoreNotFound(err) == nil:
		fmt.Printf("%s is gone\n", request)
	default:
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, nil
}
