// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/e2e/apiserver"
)

// resource is one kind of object in one namespace through one kind of client.
type resource struct {
	example runtime.Object
	lw      *cache.ListWatch
	create  func(ctx context.Context, name string, value int) error
	update  func(ctx context.Context, name string, value int) error
	remove  func(ctx context.Context, name string) error
}

// listed is a fresh quorum LIST.
func (r resource) listed(t *testing.T, ctx context.Context) contents {
	t.Helper()
	list, err := r.lw.ListWithContext(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	items, err := meta.ExtractList(list)
	require.NoError(t, err)
	objects := make([]any, len(items))
	for i, item := range items {
		objects[i] = item
	}
	return contentsOf(objects)
}

// pods are reached by the typed client over protobuf.
func pods(t *testing.T, srv *apiserver.Server, namespace string) resource {
	client, err := kubernetes.NewForConfig(srv.ProtobufConfig())
	require.NoError(t, err)
	api := client.CoreV1().Pods(namespace)
	return resource{
		example: &corev1.Pod{},
		lw: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return api.List(ctx, o) },
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return api.Watch(ctx, o)
			},
		},
		create: func(ctx context.Context, name string, value int) error {
			_, err := api.Create(ctx, podNamed(name, value), metav1.CreateOptions{})
			return err
		},
		update: func(ctx context.Context, name string, value int) error { return relabel(ctx, api, name, value) },
		remove: func(ctx context.Context, name string) error { return api.Delete(ctx, name, metav1.DeleteOptions{}) },
	}
}

func podNamed(name string, value int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"value": strconv.Itoa(value)}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "image"}}},
	}
}

func relabel(ctx context.Context, api typedcorev1.PodInterface, name string, value int) error {
	pod, err := api.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	pod.Labels["value"] = strconv.Itoa(value)
	_, err = api.Update(ctx, pod, metav1.UpdateOptions{})
	return err
}

// widgets are custom resources, reached by the dynamic client.
func widgets(t *testing.T, srv *apiserver.Server, namespace string) resource {
	kind := apiserver.CustomResource{Group: "e2e.kinformer.io", Version: "v1", Kind: "Widget"}
	require.NoError(t, srv.InstallCRD(t.Context(), kind))
	client, err := dynamic.NewForConfig(srv.Config())
	require.NoError(t, err)
	api := client.Resource(kind.Resource()).Namespace(namespace)
	widget := func(name string, value int) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "e2e.kinformer.io/v1", "kind": "Widget",
			"metadata": map[string]any{"name": name},
			"spec":     map[string]any{"value": int64(value)},
		}}
	}
	return resource{
		example: &unstructured.Unstructured{Object: map[string]any{"apiVersion": "e2e.kinformer.io/v1", "kind": "Widget"}},
		lw: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return api.List(ctx, o) },
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return api.Watch(ctx, o)
			},
		},
		create: func(ctx context.Context, name string, value int) error {
			_, err := api.Create(ctx, widget(name, value), metav1.CreateOptions{})
			return err
		},
		update: func(ctx context.Context, name string, value int) error {
			obj, err := api.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			obj.Object["spec"] = map[string]any{"value": int64(value)}
			_, err = api.Update(ctx, obj, metav1.UpdateOptions{})
			return err
		},
		remove: func(ctx context.Context, name string) error { return api.Delete(ctx, name, metav1.DeleteOptions{}) },
	}
}
