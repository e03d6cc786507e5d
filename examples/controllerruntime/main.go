// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Controllerruntime does the same work as the example controller, with controller-runtime and without the
// election of a leader: a manager whose caches use kinformer's informers because of one option, a reconciler
// with a predicate, and a field index.
package main

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/examples/internal/example"
)

const (
	checksum = "example.kinformer.io/checksum" // the label that requests a checksum, and the annotation with the checksum
	bySum    = "checksum"                      // the index of ConfigMaps by their checksum
)

func main() { example.Main(run) }

// run sets up the manager and runs it until ctx ends.
func run(ctx context.Context, config *rest.Config) error {
	ctrl.SetLogger(logr.Discard())
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Cache: ctrlcache.Options{
			NewInformer:      cache.NewSharedIndexInformer, // or, with options, kinformer.Constructor(...)
			DefaultTransform: ctrlcache.TransformStripManagedFields(),
		},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	sumOf := func(obj client.Object) []string { return []string{obj.GetAnnotations()[checksum]} }
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.ConfigMap{}, bySum, sumOf); err != nil {
		return err
	}
	wanted := predicate.NewPredicateFuncs(func(obj client.Object) bool { return obj.GetLabels()[checksum] == "wanted" })
	err = ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).WithEventFilter(wanted).Complete(signer{mgr.GetClient()})
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
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
	var same corev1.ConfigMapList
	if err := s.List(ctx, &same, client.MatchingFields{bySum: sum}); err != nil {
		return ctrl.Result{}, err
	}
	metav1.SetMetaDataAnnotation(&found.ObjectMeta, checksum, sum) // found is a copy: controller-runtime makes one for each Get
	if err := s.Update(ctx, found); err != nil {
		return ctrl.Result{}, err
	}
	fmt.Printf("%s: checksum %.8s written, as %d others have it\n", request, sum, len(same.Items))
	return ctrl.Result{}, nil
}
