// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Partial is an operator that has its own ConfigMaps whole in the cache of controller-runtime, and of those of strangers, which
// may fill the cluster, only the metadata. It writes a checksum to each ConfigMap with its label, and creates one
// ConfigMap without it, to show that a partial object cannot be written.
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"

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

var own = labels.Set{checksum: "wanted"}

// informers says whose informers the cache has, and what they keep.
var informers = flag.String("informers", "keep", "keep; or for comparison client-go, or transform for client-go with a transform function that removes the data of strangers")

func main() { example.Main(run) }

// cacheOptions returns the options of the manager's cache.
func cacheOptions() (o ctrlcache.Options, err error) {
	switch *informers {
	case "keep":
		o.NewInformer = kinformer.Constructor(kinformer.Options{For: map[runtime.Object]kinformer.Options{
			&corev1.ConfigMap{}: {Decoding: kinformer.Decoding{Keep: []string{}, Whole: own.AsSelector()}},
		}})
	case "transform":
		o.DefaultTransform = func(obj any) (any, error) {
			if found, ok := obj.(*corev1.ConfigMap); ok && !own.AsSelector().Matches(labels.Set(found.Labels)) {
				found.Data, found.BinaryData, found.Annotations, found.ManagedFields = nil, nil, nil, nil
			}
			return obj, nil
		}
	case "client-go":
	default:
		err = fmt.Errorf("-informers is keep, client-go or transform, not %q", *informers)
	}
	return o, err
}

// run sets up the manager and runs it until ctx ends.
func run(ctx context.Context, config *rest.Config) error {
	ctrl.SetLogger(logr.Discard())
	config.Wrap(direct.Transport)
	options, err := cacheOptions()
	if err != nil {
		return err
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
		if len(all.Items[i].Data) > 0 {
			whole++
		}
	}
	fmt.Printf("ready: %d ConfigMaps, %d of them with data\n", len(all.Items), whole)
	stranger := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "stranger-", Namespace: "default"}, Data: map[string]string{"key": "value"}}
	if err := mgr.GetClient().Create(ctx, stranger); err != nil {
		return err
	}
	named := client.ObjectKeyFromObject(stranger)
	cached := &corev1.ConfigMap{}
	for mgr.GetClient().Get(ctx, named, cached) != nil { // until it is in the cache
		if ctx.Err() != nil {
			return nil
		}
	}
	fmt.Printf("cached: %d keys\n", len(cached.Data))
	cached.Labels = map[string]string{"seen": "true"}
	if err := mgr.GetClient().Update(ctx, cached); err != nil {
		fmt.Println(err)
	}
	if err := mgr.GetAPIReader().Get(ctx, named, cached); err != nil { // live
		return err
	}
	cached.Labels = map[string]string{"seen": "true"}
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
