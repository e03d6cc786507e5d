// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	typedv1 "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/e2e/apiserver"
	"github.com/kinformer/cache/e2e/follow"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/kinformer"
)

// TestForeignFactory: a generated factory that is not client-go's has an informer of ours, which decodes
// directly, and its lister reads it.
func TestForeignFactory(t *testing.T) {
	srv, err := apiserver.StartChild(t.Context(), apiserver.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, srv.Stop(context.Background())) })
	require.NoError(t, srv.InstallCRD(t.Context(), follow.Widget))
	config := srv.Config()
	config.Wrap(direct.Transport)
	client, err := clientset.NewForConfig(config)
	require.NoError(t, err)
	f := externalversions.NewSharedInformerFactory(client, 0)
	informer := factory.Take(f.InformerFor, &apiextensionsv1.CustomResourceDefinition{},
		func(c clientset.Interface, _ string) typedv1.CustomResourceDefinitionInterface {
			return c.ApiextensionsV1().CustomResourceDefinitions()
		})
	ctx, stop := context.WithCancel(t.Context())
	f.Start(ctx.Done())
	defer f.Shutdown()
	defer stop()
	require.NoError(t, kinformer.WaitForSync(ctx, informer))
	found, err := f.Apiextensions().V1().CustomResourceDefinitions().Lister().List(labels.Everything())
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, follow.Widget.Kind, found[0].Spec.Names.Kind)
	status, err := inspect.StatusOf(informer)
	require.NoError(t, err)
	assert.True(t, status.Decoding.On, status.Decoding.Why)
	assert.Equal(t, "customresourcedefinitions", status.Resource.Resource)
}

// TestFor: types of all groups, custom ones included, are found on a server by their Go type.
func TestFor(t *testing.T) {
	srv, err := apiserver.StartChild(t.Context(), apiserver.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, srv.Stop(context.Background())) })
	require.NoError(t, apiextensionsv1.AddToScheme(scheme.Scheme))
	config := srv.Config()
	secrets, err := factory.For[*corev1.Secret](t.Context(), config, factory.WithNamespace("default"))
	require.NoError(t, err)
	leases, err := factory.For[*coordinationv1.Lease](t.Context(), config)
	require.NoError(t, err)
	definitions, err := factory.For[*apiextensionsv1.CustomResourceDefinition](t.Context(), config)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for _, informer := range []cache.SharedIndexInformer{secrets, leases, definitions} {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	require.NoError(t, kinformer.WaitForSync(ctx, secrets, leases, definitions))
	for _, informer := range []cache.SharedIndexInformer{secrets, leases, definitions} {
		status, err := inspect.StatusOf(informer)
		require.NoError(t, err)
		assert.True(t, status.Decoding.On, status.Decoding.Why)
	}
}
