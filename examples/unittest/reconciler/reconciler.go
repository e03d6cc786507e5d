// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reconciler is a reconciler of controller-runtime with a unit test that needs no server: the
// test's cache follows a source of package cachetest, and the test's client writes to this source.
package reconciler

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Evictor fails pods that run on a node under maintenance. Its client reads from a cache.
type Evictor struct {
	client.Client
	Node string
}

// Reconcile implements reconcile.Reconciler.
func (e *Evictor) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	pod := &corev1.Pod{} // a copy: controller-runtime makes one for each Get
	if err := e.Get(ctx, request.NamespacedName, pod); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if pod.Spec.NodeName != e.Node || pod.Status.Phase == corev1.PodFailed {
		return reconcile.Result{}, nil
	}
	pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "Maintenance"
	return reconcile.Result{}, e.Status().Update(ctx, pod)
}
