// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package controllerruntime

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinformer/cache/e2e/follow"
	"github.com/kinformer/cache/kinformer"
)

// permittedManager returns a manager whose reads depend on the permission, and whose informers stop when
// reads are forbidden.
func permittedManager(t *testing.T, s stage, permission *follow.Gate, onStop func(error), setUp func(ctrl.Manager)) ctrl.Manager {
	t.Helper()
	config := rest.CopyConfig(s.Config())
	config.Wrap(permission.Wrap)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Cache:   ctrlcache.Options{NewInformer: kinformer.Constructor(kinformer.Options{Errors: kinformer.Errors{Policy: kinformer.StopOnForbidden, OnStop: func(_ context.Context, err error) { onStop(err) }}, Requests: kinformer.Requests{Backoff: wait.Backoff{Duration: 20 * time.Millisecond, Steps: 1}}})},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	require.NoError(t, err)
	setUp(mgr)
	return mgr
}

// TestStopHandlerEndsAManager checks that a manager without initial permission ends at the first refusal
// by the server, with the reason, and not after controller-runtime's two minutes.
func TestStopHandlerEndsAManager(t *testing.T) {
	ctx, stop := context.WithCancelCause(patientContext(t))
	defer stop(nil)
	s := newStage(t, ctx)
	var permission follow.Gate
	mgr := permittedManager(t, s, &permission, stop, withReconciler(t, make(chan string, 10)))
	permission.Withdraw()
	assert.NoError(t, mgr.Start(ctx))
	assert.True(t, apierrors.IsForbidden(context.Cause(ctx)), "%v", context.Cause(ctx))
}
