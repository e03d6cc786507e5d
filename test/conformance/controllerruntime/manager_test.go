// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package controllerruntime

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/test/e2e/follow"
)

// pollEvery is the interval between checks of a state without a channel.
const pollEvery = 10 * time.Millisecond

// labeller sends the names to be reconciled and labels their pods.
func labeller(c client.Client, seen chan<- string) reconcile.Func {
	return func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		pod := &corev1.Pod{}
		if err := c.Get(ctx, request.NamespacedName, pod); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		if pod.Labels["reconciled"] == "" {
			pod.Labels["reconciled"] = "yes"
			if err := c.Update(ctx, pod); err != nil {
				return reconcile.Result{}, err
			}
			seen <- request.Name
		}
		return reconcile.Result{}, nil
	}
}

// withReconciler sets up a controller for the pods of node-0.
func withReconciler(t *testing.T, seen chan<- string) func(ctrl.Manager) {
	return func(mgr ctrl.Manager) {
		onNode := predicate.NewPredicateFuncs(func(obj client.Object) bool { return obj.GetLabels()["node"] == "node-0" })
		require.NoError(t, ctrl.NewControllerManagedBy(mgr).For(&corev1.Pod{}).
			WithEventFilter(predicate.And(onNode, predicate.ResourceVersionChangedPredicate{})).
			WithOptions(ctrlcontroller.Options{SkipNameValidation: ptr.To(true)}).
			Complete(labeller(mgr.GetClient(), seen)))
	}
}

func receive(t *testing.T, ctx context.Context, seen <-chan string) string {
	t.Helper()
	select {
	case name := <-seen:
		return name
	case <-ctx.Done():
		require.Fail(t, "nothing was reconciled")
		return ""
	}
}

func TestReconcilerOverStopAndRestart(t *testing.T) {
	ctx, s := newStage(t)
	s.createPods(t, ctx, "default", 4)
	seen := make(chan string, 10)
	_, stop := startManager(t, ctx, s, ctrlcache.Options{}, withReconciler(t, seen))
	assert.ElementsMatch(t, []string{"pod-0", "pod-2"}, []string{receive(t, ctx, seen), receive(t, ctx, seen)})
	require.NoError(t, s.Create(ctx, podIn("default", "other", "node-1")))
	require.NoError(t, s.Create(ctx, podIn("default", "late", "node-0")))
	assert.Equal(t, "late", receive(t, ctx, seen))
	stop()

	require.NoError(t, s.Create(ctx, podIn("default", "meanwhile", "node-0")))
	_, stop = startManager(t, ctx, s, ctrlcache.Options{}, withReconciler(t, seen))
	assert.Equal(t, "meanwhile", receive(t, ctx, seen), "a second manager finds what was left")

	require.NoError(t, s.Kill())
	require.NoError(t, s.Restart(ctx))
	require.Eventually(t, func() bool { // the first request may use a dead connection that the client still considers open
		err := s.Create(ctx, podIn("default", "after", "node-0"))
		return err == nil || apierrors.IsAlreadyExists(err)
	}, patience, pollEvery)
	assert.Equal(t, "after", receive(t, ctx, seen), "and goes on when the server is back")
	stop()
	assert.Empty(t, seen)
}

// TestStopHandlerEndsAManager checks that a manager without initial permission, whose informers stop when reads
// are forbidden, ends at the first refusal by the server, with the reason, and not after controller-runtime's
// two minutes.
func TestStopHandlerEndsAManager(t *testing.T) {
	ctx, s := newStage(t)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	config := s.Config()
	var permission follow.Gate
	config.Wrap(permission.Wrap)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Cache: ctrlcache.Options{NewInformer: kinformer.Constructor(kinformer.Options{
			Errors:   kinformer.Errors{Policy: kinformer.StopOnForbidden, OnStop: func(_ context.Context, stopped kinformer.Stopped) { stop(stopped.Err) }},
			Requests: kinformer.Requests{Backoff: wait.Backoff{Duration: 20 * time.Millisecond, Steps: 1}},
		})},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	require.NoError(t, err)
	withReconciler(t, make(chan string, 10))(mgr)
	permission.Withdraw()
	assert.NoError(t, mgr.Start(ctx))
	assert.True(t, apierrors.IsForbidden(context.Cause(ctx)), "%v", context.Cause(ctx))
}
