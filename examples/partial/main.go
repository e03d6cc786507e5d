// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Partial is an operator that has its own ConfigMaps whole in the cache of controller-runtime, and of those of strangers, which
// may fill the cluster, only the metadata. It writes a checksum to each ConfigMap with its label, and creates one
// ConfigMap without it, to show that a partial object cannot be written, and deletes it.
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/examples/internal/example"
	"github.com/kinformer/cache/kinformer"
)

// checksum is the label of the operator's ConfigMaps, and the annotation with their checksum.
const checksum = "partial.kinformer.io/checksum"

var (
	own   = labels.Set{checksum: "wanted"}
	plain = flag.Bool("client-go", false, "use client-go's informers, for comparison")
)

func main() { example.Main(run) }

// run sets up the manager and runs it until ctx ends.
func run(ctx context.Context, config *rest.Config) error {
	ctrl.SetLogger(logr.Discard())
	config.Wrap(direct.Transport)
	options := ctrlcache.Options{NewInformer: kinformer.Constructor(kinformer.Options{For: map[runtime.Object]kinformer.Options{
		&corev1.ConfigMap{}: {Decoding: kinformer.Decoding{Keep: []string{}, Whole: own.AsSelector()}},
	}})}
	if *plain {
		options.NewInformer = nil
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{Cache: options, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	mine := predicate.NewPredicateFuncs(func(obj client.Object) bool { return own.AsSelector().Matches(labels.Set(obj.GetLabels())) })
	if err := ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).WithEventFilter(mine).Complete(signer{mgr.GetClient()}); err != nil {
		return err
	}
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return show(ctx, mgr) })); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// show prints what is in the cache, and what happens to a partial object that is written.
func show(ctx context.Context, mgr manager.Manager) error {
	var all corev1.ConfigMapList
	if err := mgr.GetClient().List(ctx, &all); err != nil {
		return err
	}
	whole := 0
	for i := range all.Items {
		whole += min(len(all.Items[i].Data), 1)
	}
	fmt.Printf("ready: %d ConfigMaps, %d of them with data\n", len(all.Items), whole)
	stranger, cached := &corev1.ConfigMap{Data: map[string]string{"key": "value"}}, &corev1.ConfigMap{}
	stranger.GenerateName, stranger.Namespace = "stranger-", "default"
	if err := mgr.GetClient().Create(ctx, stranger); err != nil {
		return err
	}
	named := client.ObjectKeyFromObject(stranger)
	defer func() { _ = mgr.GetClient().Delete(context.WithoutCancel(ctx), stranger) }()
	for ctx.Err() == nil && mgr.GetClient().Get(ctx, named, cached) != nil { // until it is in the cache
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Printf("cached: %d keys\n%v\n", len(cached.Data), mgr.GetClient().Update(ctx, cached))
	if err := mgr.GetAPIReader().Get(ctx, named, cached); err != nil { // live
		return err
	}
	if err := mgr.GetClient().Update(ctx, cached); err != nil {
		return err
	}
	fmt.Printf("written after a live Get: %d keys\n", len(cached.Data))
	return nil
}

// signer writes checksums. Its client reads from the manager's cache.
type signer struct{ client.Client }

// Reconcile implements reconcile.Reconciler.
func (s signer) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	found := &corev1.ConfigMap{}
	if err := s.Get(ctx, request.NamespacedName, found); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, found.Data)))
	if found.Annotations[checksum] == sum {
		return ctrl.Result{}, nil
	}
	metav1.SetMetaDataAnnotation(&found.ObjectMeta, checksum, sum)
	if err := s.Update(ctx, found); err != nil {
		return ctrl.Result{}, err
	}
	fmt.Printf("%s: checksum %.8s written\n", request, sum)
	return ctrl.Result{}, nil
}
