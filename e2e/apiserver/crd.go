// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
)

var crdResource = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

// CustomResource describes a kind for InstallCRD. Its objects may have any
// fields.
type CustomResource struct {
	// Group and Version, such as "example.com" and "v1".
	Group, Version string
	// Kind, such as "Widget". The plural resource name is the kind in lower
	// case with an s.
	Kind string
}

// Resource returns the group, version and resource of c.
func (c CustomResource) Resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: c.Group, Version: c.Version, Resource: strings.ToLower(c.Kind) + "s"}
}

// InstallCRD creates the definition of c, unless there is one by that name, and
// returns once the server serves its objects.
func (s *Server) InstallCRD(ctx context.Context, c CustomResource) error {
	client, err := dynamic.NewForConfig(s.Config())
	if err != nil {
		return fmt.Errorf("custom resource %s: %w", c.Kind, err)
	}
	_, err = client.Resource(crdResource).Create(ctx, c.definition(), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("custom resource %s: %w", c.Kind, err)
	}
	// Its objects can be listed some milliseconds after it is established; until
	// then the server answers 404, or 503 while it starts.
	var last error
	err = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, last = client.Resource(c.Resource()).List(ctx, metav1.ListOptions{Limit: 1})
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("custom resource %s is not served: %w", c.Kind, errors.Join(err, last))
	}
	return nil
}

func (c CustomResource) definition() *unstructured.Unstructured {
	type object = map[string]any
	gvr := c.Resource()
	version := object{
		"name": c.Version, "served": true, "storage": true,
		"schema": object{"openAPIV3Schema": object{
			"type": "object", "x-kubernetes-preserve-unknown-fields": true,
		}},
	}
	return &unstructured.Unstructured{Object: object{
		"apiVersion": crdResource.GroupVersion().String(),
		"kind":       "CustomResourceDefinition",
		"metadata":   object{"name": gvr.Resource + "." + gvr.Group},
		"spec": object{
			"group":    c.Group,
			"scope":    "Namespaced",
			"names":    object{"kind": c.Kind, "plural": gvr.Resource, "singular": strings.ToLower(c.Kind)},
			"versions": []any{version},
		},
	}}
}
