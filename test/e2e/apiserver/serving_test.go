// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	"github.com/kinformer/cache/test/e2e/apiserver"
	"github.com/kinformer/cache/test/e2e/follow"
)

func TestEveryBuiltinResourceIsServed(t *testing.T) {
	ctx, srv := follow.StartServer(t, apiserver.Options{})
	dyn, err := dynamic.NewForConfig(srv.Config())
	require.NoError(t, err)
	_, lists, err := clientFor(t, srv.Config()).Discovery().ServerGroupsAndResources()
	require.NoError(t, err)

	var found []string
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		require.NoError(t, err)
		for _, r := range list.APIResources {
			found = append(found, list.GroupVersion+"/"+r.Name)
			if len(r.Verbs) < 8 || gv.Group == "apiextensions.k8s.io" {
				continue // a subresource, or a resource with its own rules
			}
			client := dyn.Resource(gv.WithResource(r.Name))
			obj := &unstructured.Unstructured{}
			obj.SetAPIVersion(list.GroupVersion)
			obj.SetKind(r.Kind)
			obj.SetName("one")
			create := client.Create
			if r.Namespaced {
				create = client.Namespace("ns").Create
			}
			_, err := create(ctx, obj, metav1.CreateOptions{})
			require.NoError(t, err, r.Name)
			all, err := client.List(ctx, metav1.ListOptions{})
			require.NoError(t, err, r.Name)
			assert.Len(t, all.Items, 1, r.Name)
		}
	}
	assert.Subset(t, found, []string{
		"v1/pods", "v1/pods/status", "v1/nodes", "v1/configmaps", "v1/secrets", "v1/serviceaccounts", "v1/services", "v1/namespaces",
		"v1/events", "apps/v1/deployments", "apps/v1/deployments/status", "apps/v1/replicasets",
		"coordination.k8s.io/v1/leases", "events.k8s.io/v1/events",
		"apiextensions.k8s.io/v1/customresourcedefinitions",
	}, "discovery")
}

func TestSelectorsStatusAndFinalizers(t *testing.T) {
	ctx, srv := follow.StartServer(t, apiserver.Options{})
	pods := clientFor(t, srv.ProtobufConfig()).CoreV1().Pods("ns")
	createPods(t, ctx, clientFor(t, srv.ProtobufConfig()), 2)

	pod, err := pods.Get(ctx, "pod-000", metav1.GetOptions{})
	require.NoError(t, err)
	pod.Status.Phase = corev1.PodRunning
	pod.Spec.NodeName = "ignored by the status subresource"
	_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	require.NoError(t, err)

	running, err := pods.List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=node-1,status.phase=Running"})
	require.NoError(t, err)
	require.Len(t, running.Items, 1)
	assert.Equal(t, "pod-000", running.Items[0].Name)
	none, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "app!=test"})
	require.NoError(t, err)
	assert.Empty(t, none.Items)
	_, err = pods.List(ctx, metav1.ListOptions{FieldSelector: "spec.unknown=1"})
	assert.True(t, apierrors.IsBadRequest(err), "unknown field selector: %v", err)

	_, err = pods.Patch(ctx, "pod-001", types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":["example.com/hold"]}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.NoError(t, pods.Delete(ctx, "pod-001", metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationForeground)}))
	held, err := pods.Get(ctx, "pod-001", metav1.GetOptions{})
	require.NoError(t, err)
	assert.NotNil(t, held.DeletionTimestamp)
	assert.Equal(t, []string{"example.com/hold"}, held.Finalizers)
}
