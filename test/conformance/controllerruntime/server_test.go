// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package controllerruntime

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/test/e2e/apiserver"
	"github.com/kinformer/cache/test/e2e/follow"
	"github.com/kinformer/cache/test/e2e/transport"
)

// patience bounds every wait. It is far longer than any wait takes, even on a busy machine.
const patience = 5 * time.Minute

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	code := m.Run()
	if err := transport.Verify(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// stage is a server, and a client that reads directly from it.
type stage struct {
	*apiserver.Server
	client.Client
}

// newStage also returns a context that bounds the test.
func newStage(t *testing.T) (context.Context, stage) {
	t.Helper()
	ctx, srv := follow.StartServer(t, apiserver.Options{})
	c, err := client.New(srv.Config(), client.Options{})
	require.NoError(t, err)
	return ctx, stage{Server: srv, Client: c}
}

// startManager runs a manager with kinformer's informers. The returned function stops it and waits.
func startManager(t *testing.T, ctx context.Context, s stage, options ctrlcache.Options, setUp func(ctrl.Manager)) (ctrl.Manager, func()) {
	t.Helper()
	if options.NewInformer == nil {
		options.NewInformer = cache.NewSharedIndexInformer
	}
	mgr, err := ctrl.NewManager(s.Config(), ctrl.Options{Cache: options, Metrics: metricsserver.Options{BindAddress: "0"}})
	require.NoError(t, err)
	if setUp != nil {
		setUp(mgr)
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
	t.Cleanup(stop)
	require.True(t, mgr.GetCache().WaitForCacheSync(ctx))
	return mgr, stop
}

func podIn(namespace, name, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"node": node}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "image"}}},
	}
}

func (s stage) createPods(t *testing.T, ctx context.Context, namespace string, n int) {
	t.Helper()
	for i := range n {
		require.NoError(t, s.Create(ctx, podIn(namespace, fmt.Sprintf("pod-%d", i), fmt.Sprintf("node-%d", i%2))))
	}
}

// isOurs reports whether the cache's informer is kinformer's.
func isOurs(informer ctrlcache.Informer) bool {
	return reflect.TypeOf(informer).Elem().PkgPath() == reflect.TypeFor[cache.RealFIFO]().PkgPath()
}
