// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerotel

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
)

func TestMain(m *testing.M) { testkit.RunTests(m) }

// follow runs an informer, and waits until all goroutines are idle.
func follow(t *testing.T, server *testkit.Server, setUp func(cache.SharedIndexInformer), options kinformer.Options) (stop func()) {
	t.Helper()
	informer := kinformer.Constructor(options)(server, &corev1.Pod{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	if setUp != nil {
		setUp(informer)
	}
	end := testkit.InBackground(t, informer.RunWithContext)
	synctest.Wait()
	return func() { end(); synctest.Wait() }
}

func serving(pods ...*corev1.Pod) *testkit.Server {
	return &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5", pods...)), OnWatch: testkit.Watches()}
}

// failingFirst makes the lists of a server take the given time, and the first ones fail.
func failingFirst(server *testkit.Server, takes time.Duration, failures int) *testkit.Server {
	then := server.OnList
	server.OnList = func(n int, ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		time.Sleep(takes)
		if n <= failures {
			return nil, testkit.ErrForbidden
		}
		return then(n, ctx, o)
	}
	return server
}
