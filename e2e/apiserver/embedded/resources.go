// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package embedded

import (
	"fmt"
	"strconv"
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
	short      []string
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
	{corev1.SchemeGroupVersion, "Pod", "pods", []string{"po"}, true, true, getters{
		"spec.nodeName": getter(func(p *corev1.Pod) string { return p.Spec.NodeName }),
		"status.phase":  getter(func(p *corev1.Pod) string { return string(p.Status.Phase) }),
		"status.podIP":  getter(func(p *corev1.Pod) string { return p.Status.PodIP }),
	}},
	{corev1.SchemeGroupVersion, "Node", "nodes", []string{"no"}, false, true, getters{
		"spec.unschedulable": getter(func(n *corev1.Node) string { return strconv.FormatBool(n.Spec.Unschedulable) }),
	}},
	{corev1.SchemeGroupVersion, "ConfigMap", "configmaps", []string{"cm"}, true, false, nil},
	{corev1.SchemeGroupVersion, "ServiceAccount", "serviceaccounts", []string{"sa"}, true, false, nil},
	{corev1.SchemeGroupVersion, "Secret", "secrets", nil, true, false, getters{
		"type": getter(func(s *corev1.Secret) string { return string(s.Type) }),
	}},
	{corev1.SchemeGroupVersion, "Service", "services", []string{"svc"}, true, true, getters{
		"spec.clusterIP": getter(func(s *corev1.Service) string { return s.Spec.ClusterIP }),
		"spec.type":      getter(func(s *corev1.Service) string { return string(s.Spec.Type) }),
	}},
	{corev1.SchemeGroupVersion, "Namespace", "namespaces", []string{"ns"}, false, true, getters{
		"status.phase": getter(func(n *corev1.Namespace) string { return string(n.Status.Phase) }),
	}},
	{corev1.SchemeGroupVersion, "Event", "events", []string{"ev"}, true, false, getters{
		"involvedObject.kind":      getter(func(e *corev1.Event) string { return e.InvolvedObject.Kind }),
		"involvedObject.namespace": getter(func(e *corev1.Event) string { return e.InvolvedObject.Namespace }),
		"involvedObject.name":      getter(func(e *corev1.Event) string { return e.InvolvedObject.Name }),
		"involvedObject.uid":       getter(func(e *corev1.Event) string { return string(e.InvolvedObject.UID) }),
		"reason":                   getter(func(e *corev1.Event) string { return e.Reason }),
		"type":                     getter(func(e *corev1.Event) string { return e.Type }),
	}},
	{appsv1.SchemeGroupVersion, "Deployment", "deployments", []string{"deploy"}, true, true, nil},
	{appsv1.SchemeGroupVersion, "ReplicaSet", "replicasets", []string{"rs"}, true, true, nil},
	{coordinationv1.SchemeGroupVersion, "Lease", "leases", nil, true, false, nil},
	{eventsv1.SchemeGroupVersion, "Event", "events", []string{"ev"}, true, false, nil},
}
