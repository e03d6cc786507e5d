// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	typedv1 "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	aggregatorv1 "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
	aggregatorinformers "k8s.io/kube-aggregator/pkg/client/informers/externalversions"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/test/e2e/apiserver"
	"github.com/kinformer/cache/test/e2e/follow"
)

// TestForeignFactories checks that generated factories other than client-go's use kinformer's informers,
// which decode directly, and that their listers read them.
func TestForeignFactories(t *testing.T) {
	_, srv := follow.StartServer(t, apiserver.Options{})
	service := apiserver.CustomResource{Group: apiregistrationv1.GroupName, Version: "v1", Kind: "APIService"}
	require.NoError(t, srv.InstallCRD(t.Context(), service))
	config := srv.Config()
	config.Wrap(direct.Transport)

	t.Run("apiextensions", func(t *testing.T) {
		client, err := clientset.NewForConfig(config)
		require.NoError(t, err)
		f := externalversions.NewSharedInformerFactory(client, 0)
		informer := factory.Take(f.InformerFor, &apiextensionsv1.CustomResourceDefinition{},
			func(c clientset.Interface, _ string) typedv1.CustomResourceDefinitionInterface {
				return c.ApiextensionsV1().CustomResourceDefinitions()
			})
		runTaken(t, f, informer, "customresourcedefinitions")
		found, err := f.Apiextensions().V1().CustomResourceDefinitions().Lister().List(labels.Everything())
		require.NoError(t, err)
		require.Len(t, found, 1)
		assert.Equal(t, service.Kind, found[0].Spec.Names.Kind)
	})
	t.Run("kube-aggregator", func(t *testing.T) {
		client, err := aggregator.NewForConfig(config)
		require.NoError(t, err)
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(service.Resource().GroupVersion().WithKind(service.Kind))
		object.SetName("v1.example.com")
		_, err = dynamic.NewForConfigOrDie(config).Resource(service.Resource()).Namespace("default").Create(t.Context(), object, metav1.CreateOptions{})
		require.NoError(t, err)
		f := aggregatorinformers.NewSharedInformerFactory(client, 0)
		informer := factory.Take(f.InformerFor, &apiregistrationv1.APIService{}, func(c aggregator.Interface, _ string) aggregatorv1.APIServiceInterface {
			return c.ApiregistrationV1().APIServices()
		})
		runTaken(t, f, informer, "apiservices")
		found, err := f.Apiregistration().V1().APIServices().Lister().List(labels.Everything())
		require.NoError(t, err)
		require.Len(t, found, 1)
		assert.Equal(t, object.GetName(), found[0].Name)
	})
}

// runTaken runs a factory until the test ends, and returns when the taken informer has synced.
func runTaken(t *testing.T, f interface {
	Start(<-chan struct{})
	Shutdown()
}, informer cache.SharedIndexInformer, resource string,
) {
	ctx, stop := context.WithCancel(t.Context())
	f.Start(ctx.Done())
	t.Cleanup(f.Shutdown)
	t.Cleanup(stop)
	assert.Equal(t, resource, syncedDirectly(t, informer).Resource.Resource)
}

// syncedDirectly waits until an informer has synced, checks that it decodes directly, and returns its status.
func syncedDirectly(t *testing.T, informer cache.SharedIndexInformer) inspect.Status {
	require.NoError(t, kinformer.WaitForSync(t.Context(), informer))
	status, err := inspect.StatusOf(informer)
	require.NoError(t, err)
	assert.True(t, status.Decoding.On, status.Decoding.Why)
	return status
}

// TestFor checks that types of all groups, including custom ones, are found on a server by their Go
// type.
func TestFor(t *testing.T) {
	_, srv := follow.StartServer(t, apiserver.Options{})
	config := srv.Config()
	require.NoError(t, apiextensionsv1.AddToScheme(scheme.Scheme))
	secrets, err := factory.For[*corev1.Secret](t.Context(), config, factory.WithNamespace("default"))
	require.NoError(t, err)
	leases, err := factory.For[*coordinationv1.Lease](t.Context(), config)
	require.NoError(t, err)
	definitions, err := factory.For[*apiextensionsv1.CustomResourceDefinition](t.Context(), config)
	require.NoError(t, err)
	for _, informer := range []cache.SharedIndexInformer{secrets, leases, definitions} {
		defer testkit.InBackground(t, informer.RunWithContext)()
		syncedDirectly(t, informer)
	}
}
