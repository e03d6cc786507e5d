// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/test/e2e/apiserver"
	"github.com/kinformer/cache/test/e2e/follow"
)

// TestSwitchedByResource runs one program with informers of both libraries, by KINFORMER, over one transport that
// decodes directly: all follow the server, and only this module's decode directly.
func TestSwitchedByResource(t *testing.T) {
	t.Setenv("KINFORMER", "off:configmaps")
	ctx, srv := follow.StartServer(t, apiserver.Options{})
	config := srv.Config()
	config.Wrap(direct.Transport)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	write := func(i int) {
		meta := metav1.ObjectMeta{Name: fmt.Sprint("o", i)}
		_, err := client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: meta}, metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = client.CoreV1().Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: meta}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	for i := range 5 {
		write(i)
	}
	options := factory.WithInformerOptions(kinformer.Options{Decoding: kinformer.Decoding{Drop: []string{"metadata.managedFields"}, ShareParts: true}})
	typed := factory.Wrap(informers.NewSharedInformerFactory(client, 0), options)
	untyped := factory.Dynamic(dynamic.NewForConfigOrDie(config), 0, options)
	resource := corev1.SchemeGroupVersion.WithResource
	theirs := []cache.SharedIndexInformer{typed.Core().V1().ConfigMaps().Informer(), untyped.ForResource(resource("configmaps")).Informer()}
	ours := []cache.SharedIndexInformer{typed.Core().V1().Secrets().Informer(), untyped.ForResource(resource("secrets")).Informer()}
	ctx, stop := context.WithCancel(ctx)
	for _, f := range []startable{typed, untyped} {
		f.StartWithContext(ctx)
		t.Cleanup(f.Shutdown)
	}
	t.Cleanup(stop) // before the others
	for _, informer := range append(ours, theirs...) {
		require.NoError(t, kinformer.WaitForSync(ctx, informer))
	}
	for i := 5; i < 10; i++ {
		write(i)
	}
	require.NoError(t, client.CoreV1().ConfigMaps("default").Delete(ctx, "o0", metav1.DeleteOptions{}))
	require.NoError(t, client.CoreV1().Secrets("default").Delete(ctx, "o0", metav1.DeleteOptions{}))
	for _, informer := range append(ours, theirs...) {
		require.Eventually(t, func() bool {
			_, last, err := informer.GetStore().GetByKey("default/o9")
			_, first, _ := informer.GetStore().GetByKey("default/o0")
			return err == nil && last && !first
		}, time.Minute, 10*time.Millisecond)
		for _, object := range informer.GetStore().List() {
			assert.Empty(t, object.(metav1.Object).GetManagedFields())
		}
	}
	for _, informer := range ours {
		syncedDirectly(t, informer)
	}
	for _, informer := range theirs {
		_, err := inspect.StatusOf(informer)
		require.ErrorIs(t, err, inspect.ErrForeign)
	}
	assert.NoError(t, inspect.Ready(inspect.ReadyOptions{All: true}).Check(nil))
}
