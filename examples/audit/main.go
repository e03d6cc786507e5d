// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Audit compares the cache of an informer with the server. It then removes an object from its own
// cache, as if an event had been lost, audits again, and repairs the cache. It creates three
// ConfigMaps in the namespace default and deletes them before it exits. It fails if the cache is
// not repaired.
package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/examples/internal/example"
	"github.com/kinformer/cache/kinformer"
)

const label, objects = "kinformer-example-audit", 3

var labels = map[string]string{label: ""}

func main() { example.Main(run) }

// run creates the objects and follows them.
func run(ctx context.Context, config *rest.Config) (err error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	configMaps := client.CoreV1().ConfigMaps(metav1.NamespaceDefault)
	defer func() { err = errors.Join(err, remove(context.WithoutCancel(ctx), configMaps)) }()
	for range objects {
		created := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "audit-", Labels: labels}}
		if _, err := configMaps.Create(ctx, created, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	lw := cache.NewFilteredListWatchFromClient(client.CoreV1().RESTClient(), "configmaps", metav1.NamespaceDefault,
		func(options *metav1.ListOptions) { options.LabelSelector = label })
	informer := cache.NewSharedIndexInformer(lw, &corev1.ConfigMap{}, 0, nil)
	ctx, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { informer.RunWithContext(ctx) })
	defer group.Wait()
	defer stop()
	if err := kinformer.WaitForSync(ctx, informer); err != nil {
		return err
	}
	return auditThrice(ctx, informer)
}

// remove deletes the objects.
func remove(ctx context.Context, configMaps corev1client.ConfigMapInterface) error {
	return configMaps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: label})
}

// auditThrice audits the cache, damages it, audits and repairs it, and audits it again.
func auditThrice(ctx context.Context, informer cache.SharedIndexInformer) error {
	report, err := audit.Once(ctx, informer, audit.Options{})
	if err != nil {
		return err
	}
	fmt.Println(report)

	lost := informer.GetStore().List()[0].(*corev1.ConfigMap)
	if err := informer.GetStore().Delete(lost); err != nil { // only for this example: programs must not write to the store of an informer
		return err
	}
	fmt.Println("took one object out of the cache")
	back := make(chan struct{})
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		if obj.(*corev1.ConfigMap).UID == lost.UID {
			close(back)
		}
	}})
	if err != nil {
		return err
	}
	report, err = audit.Once(ctx, informer, audit.Options{Repair: true})
	if err != nil {
		return err
	}
	fmt.Println(report)
	select {
	case <-back:
		fmt.Println("a handler was told of it")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if report, err = audit.Once(ctx, informer, audit.Options{}); err != nil {
		return err
	}
	fmt.Println(report)
	if !report.Equal() {
		return errors.New("the cache was not repaired")
	}
	return nil
}
