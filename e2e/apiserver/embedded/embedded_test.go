// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package embedded_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/cache/e2e/apiserver"
	"github.com/kinformer/cache/e2e/apiserver/embedded"
)

func newConfigMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"k": "v"}}
}

func TestServerInThisProcess(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var log strings.Builder
	srv, err := embedded.Start(ctx, apiserver.Options{Log: &log})
	require.NoError(t, err)
	assert.Equal(t, os.Getpid(), srv.PID())
	client, err := kubernetes.NewForConfig(srv.ProtobufConfig())
	require.NoError(t, err)
	maps := client.CoreV1().ConfigMaps("ns")
	before, err := maps.Create(ctx, newConfigMap("before"), metav1.CreateOptions{})
	require.NoError(t, err)

	other, err := embedded.Start(ctx, apiserver.Options{})
	require.NoError(t, err, "a second server at the same time")
	assert.NotEqual(t, srv.URL(), other.URL())
	require.NoError(t, other.Stop(ctx))

	assert.ErrorIs(t, srv.Kill(), apiserver.ErrInProcess)
	assert.ErrorIs(t, srv.Pause(), apiserver.ErrInProcess)
	assert.ErrorIs(t, srv.Resume(), apiserver.ErrInProcess)
	_, err = srv.Compact(ctx)
	require.NoError(t, err)

	url := srv.URL()
	require.NoError(t, srv.Restart(ctx))
	assert.Equal(t, url, srv.URL())
	after, err := maps.Get(ctx, "before", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, before, after)

	require.NoError(t, srv.Stop(ctx))
	<-srv.Done()
	assert.NoDirExists(t, srv.DataDir())
	for _, step := range []string{"etcd started", "resources installed", "ready in", "stopped"} {
		assert.Equal(t, 2, strings.Count(log.String(), step), "%q in the log:\n%s", step, &log)
	}
}

func TestStartGivesUpWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := embedded.Start(ctx, apiserver.Options{})
	assert.ErrorIs(t, err, context.Canceled)
}
