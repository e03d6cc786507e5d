// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/kinformer"
)

// podServer returns a server with the resources pods and nodes of v1, and one pod. Watches stay open
// until the client closes them. Watch-lists are refused.
func podServer(t *testing.T) *rest.Config {
	answer := func(body any) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("sendInitialEvents") != "" {
				http.Error(w, "no watch-lists", http.StatusBadRequest)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			if r.URL.Query().Get("watch") != "" {
				w.(http.Flusher).Flush()
				<-r.Context().Done()
				return
			}
			assert.NoError(t, json.NewEncoder(w).Encode(body))
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/api/v1", answer(metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: "pods/status", Kind: "Pod", Namespaced: true}, {Name: "pods", Kind: "Pod", Namespaced: true}, {Name: "nodes", Kind: "Node"},
	}}))
	mux.Handle("/api/v1/namespaces/web/pods", answer(corev1.PodList{
		TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, ListMeta: metav1.ListMeta{ResourceVersion: "5"},
		Items: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "a", UID: "a", ResourceVersion: "4"}}},
	}))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

// TestFor: the informer has the typed objects of a namespace, and decodes directly.
func TestFor(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	informer, err := factory.For[*corev1.Pod](ctx, podServer(t), factory.WithNamespace("web"),
		factory.WithInformerOptions(kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList}}))
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		informer.RunWithContext(ctx)
	}()
	defer func() { cancel(); <-ended }()
	require.NoError(t, kinformer.WaitForSync(ctx, informer))
	pods, err := informer.GetTypedIndexer().ByTypedIndex(cache.NamespaceIndex, "web")
	require.NoError(t, err)
	require.Len(t, pods, 1)
	assert.Equal(t, "a", pods[0].Name)
	status, err := inspect.StatusOf(informer)
	require.NoError(t, err)
	assert.True(t, status.Decoding.On, status.Decoding.Why)
	assert.Equal(t, "pods", status.Resource.Resource)
	assert.Equal(t, "web", status.Namespace)
}

// TestForRefuses: errors name the type and the correction.
func TestForRefuses(t *testing.T) {
	config := podServer(t)
	_, err := factory.For[*corev1.Node](t.Context(), config, factory.WithNamespace("web"))
	require.EqualError(t, err, "factory.For[*v1.Node]: nodes have no namespace: leave out WithNamespace and WithNamespaces")
	_, err = factory.For[*corev1.Node](t.Context(), config, factory.WithNamespaces(&factory.Namespaces{}))
	require.ErrorContains(t, err, "nodes have no namespace")
	var namespaces factory.Namespaces
	namespaces.Add("web")
	_, err = factory.For[*corev1.Pod](t.Context(), podServer(t), nil, factory.WithNamespaces(&namespaces))
	require.ErrorContains(t, err, "option 1 of 2 is nil")
	require.NoError(t, namespaces.WaitForSync(t.Context(), "web"), "the informer that was refused is not waited for")
	_, err = factory.For[*corev1.Secret](t.Context(), config)
	require.EqualError(t, err, "factory.For[*v1.Secret]: the server has no resource of kind Secret in v1")
	_, err = factory.For[*unstructured.Unstructured](t.Context(), config)
	require.ErrorContains(t, err, "use factory.Dynamic")
	_, err = factory.For[struct{ *corev1.Pod }](t.Context(), config)
	require.ErrorContains(t, err, "must be a pointer to a struct, such as *corev1.Pod")
	config.Host = "http://127.0.0.1:1"
	_, err = factory.For[*corev1.Pod](t.Context(), config)
	require.ErrorContains(t, err, "factory.For[*v1.Pod]: asking for the resources of v1: ")
}
