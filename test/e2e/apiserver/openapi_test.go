// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/openapi3"
	"k8s.io/kube-openapi/pkg/spec3"

	"github.com/kinformer/cache/test/e2e/apiserver"
	"github.com/kinformer/cache/test/e2e/follow"
)

// patchOf returns the patch operation for objects of the kind, nil if document has none.
func patchOf(document *spec3.OpenAPI, kind schema.GroupVersionKind) *spec3.Operation {
	for _, path := range document.Paths.Paths {
		if path.Patch == nil {
			continue
		}
		described := path.Patch.Extensions["x-kubernetes-group-version-kind"].(map[string]any)
		if described["group"] == kind.Group && described["version"] == kind.Version && described["kind"] == kind.Kind {
			return path.Patch
		}
	}
	return nil
}

// TestKubectlApplyNeedsNoFlag checks that the document of each resource declares field validation, as
// kubectl apply requires, and that the server validates fields.
func TestKubectlApplyNeedsNoFlag(t *testing.T) {
	ctx, srv := follow.StartServer(t, apiserver.Options{})
	require.NoError(t, srv.InstallCRD(ctx, apiserver.CustomResource{Group: "example.com", Version: "v1", Kind: "Widget"}))
	client := clientFor(t, srv.Config())
	root := openapi3.NewRoot(client.Discovery().OpenAPIV3())
	again(t, ctx, func() error { // the document of a custom resource appears after the resource
		_, err := root.GVSpec(schema.GroupVersion{Group: "example.com", Version: "v1"})
		return err
	})
	_, lists, err := client.Discovery().ServerGroupsAndResources()
	require.NoError(t, err)
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		require.NoError(t, err)
		document, err := root.GVSpec(version)
		require.NoError(t, err)
		for _, r := range list.APIResources {
			patch := patchOf(document, version.WithKind(r.Kind))
			require.NotNil(t, patch, r.Name)
			assert.True(t, slices.ContainsFunc(patch.Parameters, func(p *spec3.Parameter) bool { return p.Name == "fieldValidation" }), r.Name)
		}
	}

	for name, patch := range map[string]string{"unknown": `{"spec":{"nodName":"n"}}`, "type": `{"spec":{"nodeName":1}}`} {
		_, err := client.CoreV1().Pods("ns").Create(ctx, newPod(name), metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = client.CoreV1().Pods("ns").Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict})
		assert.True(t, apierrors.IsInvalid(err) || apierrors.IsBadRequest(err), "%v", err)
	}
}

// TestSchemasOfBuiltinTypes checks the schemas by which kubectl merges lists and explains fields.
func TestSchemasOfBuiltinTypes(t *testing.T) {
	_, srv := follow.StartServer(t, apiserver.Options{})
	client := clientFor(t, srv.Config())
	document, err := openapi3.NewRoot(client.Discovery().OpenAPIV3()).GVSpec(schema.GroupVersion{Version: "v1"})
	require.NoError(t, err)
	schemas := document.Components.Schemas
	containers := schemas["io.k8s.api.core.v1.PodSpec"].Properties["containers"]
	assert.Equal(t, "name", containers.Extensions["x-kubernetes-patch-merge-key"])
	assert.Equal(t, "merge", containers.Extensions["x-kubernetes-patch-strategy"])
	assert.Contains(t, containers.Description, "List of containers belonging to the pod")
	assert.Equal(t, "#/components/schemas/io.k8s.api.core.v1.Container", containers.Items.Schema.Ref.String())
	assert.Contains(t, schemas["io.k8s.api.core.v1.Volume"].Properties, "configMap", "a field of an embedded type")
	assert.Equal(t, "int-or-string", schemas["io.k8s.api.core.v1.ServicePort"].Properties["targetPort"].Format)
	for _, name := range []string{"Pod", "PodList", "Event", "Node"} {
		require.Contains(t, schemas, "io.k8s.api.core.v1."+name)
	}
	for name, s := range schemas {
		for field, property := range s.Properties {
			assert.False(t, len(property.Type) == 0 && property.Ref.String() == "" && property.AllOf == nil && property.OneOf == nil &&
				len(property.Extensions) == 0, "%s.%s has no type", name, field)
		}
	}

	v2, err := client.Discovery().OpenAPISchema()
	require.NoError(t, err)
	var names []string
	for _, definition := range v2.GetDefinitions().GetAdditionalProperties() {
		names = append(names, definition.GetName())
	}
	assert.Subset(t, names, []string{"io.k8s.api.core.v1.Pod", "io.k8s.api.apps.v1.DeploymentList", "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"})
}
