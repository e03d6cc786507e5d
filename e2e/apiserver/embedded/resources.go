// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package embedded

import (
	"fmt"
	"strconv"

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
	singular   string
	short      []string
	namespaced bool
	status     bool // has a status subresource
	newObject  func() runtime.Object
	newList    func() runtime.Object

	// fields are the field selectors beyond metadata.name and
	// metadata.namespace, and how to read them.
	fields map[string]func(runtime.Object) string
}

func (r resource) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.version.Group, Resource: r.plural}
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
	{
		version: corev1.SchemeGroupVersion, kind: "Pod", plural: "pods", singular: "pod",
		short: []string{"po"}, namespaced: true, status: true,
		newObject: func() runtime.Object { return &corev1.Pod{} },
		newList:   func() runtime.Object { return &corev1.PodList{} },
		fields: getters{
			"spec.nodeName": getter(func(p *corev1.Pod) string { return p.Spec.NodeName }),
			"status.phase":  getter(func(p *corev1.Pod) string { return string(p.Status.Phase) }),
			"status.podIP":  getter(func(p *corev1.Pod) string { return p.Status.PodIP }),
		},
	},
	{
		version: corev1.SchemeGroupVersion, kind: "Node", plural: "nodes", singular: "node",
		short: []string{"no"}, status: true,
		newObject: func() runtime.Object { return &corev1.Node{} },
		newList:   func() runtime.Object { return &corev1.NodeList{} },
		fields: getters{
			"spec.unschedulable": getter(func(n *corev1.Node) string { return strconv.FormatBool(n.Spec.Unschedulable) }),
		},
	},
	{
		version: corev1.SchemeGroupVersion, kind: "ConfigMap", plural: "configmaps", singular: "configmap",
		short: []string{"cm"}, namespaced: true,
		newObject: func() runtime.Object { return &corev1.ConfigMap{} },
		newList:   func() runtime.Object { return &corev1.ConfigMapList{} },
	},
	{
		version: corev1.SchemeGroupVersion, kind: "ServiceAccount", plural: "serviceaccounts", singular: "serviceaccount",
		short: []string{"sa"}, namespaced: true,
		newObject: func() runtime.Object { return &corev1.ServiceAccount{} },
		newList:   func() runtime.Object { return &corev1.ServiceAccountList{} },
	},
	{
		version: corev1.SchemeGroupVersion, kind: "Secret", plural: "secrets", singular: "secret",
		namespaced: true,
		newObject:  func() runtime.Object { return &corev1.Secret{} },
		newList:    func() runtime.Object { return &corev1.SecretList{} },
		fields: getters{
			"type": getter(func(s *corev1.Secret) string { return string(s.Type) }),
		},
	},
	{
		version: corev1.SchemeGroupVersion, kind: "Service", plural: "services", singular: "service",
		short: []string{"svc"}, namespaced: true, status: true,
		newObject: func() runtime.Object { return &corev1.Service{} },
		newList:   func() runtime.Object { return &corev1.ServiceList{} },
		fields: getters{
			"spec.clusterIP": getter(func(s *corev1.Service) string { return s.Spec.ClusterIP }),
			"spec.type":      getter(func(s *corev1.Service) string { return string(s.Spec.Type) }),
		},
	},
	{
		version: corev1.SchemeGroupVersion, kind: "Namespace", plural: "namespaces", singular: "namespace",
		short: []string{"ns"}, status: true,
		newObject: func() runtime.Object { return &corev1.Namespace{} },
		newList:   func() runtime.Object { return &corev1.NamespaceList{} },
		fields: getters{
			"status.phase": getter(func(n *corev1.Namespace) string { return string(n.Status.Phase) }),
		},
	},
	{
		version: corev1.SchemeGroupVersion, kind: "Event", plural: "events", singular: "event",
		short: []string{"ev"}, namespaced: true,
		newObject: func() runtime.Object { return &corev1.Event{} },
		newList:   func() runtime.Object { return &corev1.EventList{} },
		fields: getters{
			"involvedObject.kind":      getter(func(e *corev1.Event) string { return e.InvolvedObject.Kind }),
			"involvedObject.namespace": getter(func(e *corev1.Event) string { return e.InvolvedObject.Namespace }),
			"involvedObject.name":      getter(func(e *corev1.Event) string { return e.InvolvedObject.Name }),
			"involvedObject.uid":       getter(func(e *corev1.Event) string { return string(e.InvolvedObject.UID) }),
			"reason":                   getter(func(e *corev1.Event) string { return e.Reason }),
			"type":                     getter(func(e *corev1.Event) string { return e.Type }),
		},
	},
	{
		version: appsv1.SchemeGroupVersion, kind: "Deployment", plural: "deployments", singular: "deployment",
		short: []string{"deploy"}, namespaced: true, status: true,
		newObject: func() runtime.Object { return &appsv1.Deployment{} },
		newList:   func() runtime.Object { return &appsv1.DeploymentList{} },
	},
	{
		version: appsv1.SchemeGroupVersion, kind: "ReplicaSet", plural: "replicasets", singular: "replicaset",
		short: []string{"rs"}, namespaced: true, status: true,
		newObject: func() runtime.Object { return &appsv1.ReplicaSet{} },
		newList:   func() runtime.Object { return &appsv1.ReplicaSetList{} },
	},
	{
		version: coordinationv1.SchemeGroupVersion, kind: "Lease", plural: "leases", singular: "lease",
		namespaced: true,
		newObject:  func() runtime.Object { return &coordinationv1.Lease{} },
		newList:    func() runtime.Object { return &coordinationv1.LeaseList{} },
	},
	{
		version: eventsv1.SchemeGroupVersion, kind: "Event", plural: "events", singular: "event",
		short: []string{"ev"}, namespaced: true,
		newObject: func() runtime.Object { return &eventsv1.Event{} },
		newList:   func() runtime.Object { return &eventsv1.EventList{} },
	},
}
