// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package embedded

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// resource describes one built-in resource.
type resource struct {
	version    schema.GroupVersion
	kind       string
	plural     string
	namespaced bool
	status     bool // has a status subresource

	// fields are the field selectors beyond metadata.name and
	// metadata.namespace, and how to read them.
	fields map[string]func(runtime.Object) string
}

func (r resource) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.version.Group, Resource: r.plural}
}

func (r resource) singular() string { return strings.ToLower(r.kind) }

func (r resource) newObject() runtime.Object { return made(r.version.WithKind(r.kind)) }
func (r resource) newList() runtime.Object   { return made(r.version.WithKind(r.kind + "List")) }

func made(kind schema.GroupVersionKind) runtime.Object {
	obj, err := builtin.New(kind)
	if err != nil {
		panic(err)
	}
	return obj
}

// convertFieldLabel accepts the field selectors of r and no others.
func (r resource) convertFieldLabel(label, value string) (string, string, error) {
	if _, known := r.fields[label]; known || label == "metadata.name" || label == "metadata.namespace" {
		return label, value, nil
	}
	return "", "", fmt.Errorf("%q is not a field selector of %s", label, r.plural)
}

// getter makes a function for resource.fields out of one for the Go type.
func getter[T runtime.Object](get func(T) string) func(runtime.Object) string {
	return func(obj runtime.Object) string { return get(obj.(T)) }
}

type getters = map[string]func(runtime.Object) string

// resources are the built-in resources that the server serves.
var resources = []resource{
	{corev1.SchemeGroupVersion, "Pod", "pods", true, true, getters{
		"spec.nodeName": getter(func(p *corev1.Pod) string { return p.Spec.NodeName }),
		"status.phase":  getter(func(p *corev1.Pod) string { return string(p.Status.Phase) }),
	}},
	{corev1.SchemeGroupVersion, "Node", "nodes", false, true, nil},
	{corev1.SchemeGroupVersion, "ConfigMap", "configmaps", true, false, nil},
	{corev1.SchemeGroupVersion, "ServiceAccount", "serviceaccounts", true, false, nil},
	{corev1.SchemeGroupVersion, "Secret", "secrets", true, false, nil},
	{corev1.SchemeGroupVersion, "Service", "services", true, true, nil},
	{corev1.SchemeGroupVersion, "Namespace", "namespaces", false, true, nil},
	{corev1.SchemeGroupVersion, "Event", "events", true, false, nil},
	{appsv1.SchemeGroupVersion, "Deployment", "deployments", true, true, nil},
	{appsv1.SchemeGroupVersion, "ReplicaSet", "replicasets", true, true, nil},
	{coordinationv1.SchemeGroupVersion, "Lease", "leases", true, false, nil},
	{eventsv1.SchemeGroupVersion, "Event", "events", true, false, nil},
}
