// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package blank

import (
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kinformer/cache/bench/cluster/internal/world"
)

// DueAnnotation has the time when the change was due, in nanoseconds since 1970.
const DueAnnotation = "bench.kinformer/due"

// Scheme has the types of the objects.
var Scheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, coordinationv1.AddToScheme, discoveryv1.AddToScheme, appsv1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return scheme
}()

var codecs = serializer.NewCodecFactory(Scheme)

// Codecs encode and decode what is in Scheme.
func Codecs() serializer.CodecFactory { return codecs }

// Resource is how servers and clients know a resource.
type Resource struct {
	Name         string
	GroupVersion schema.GroupVersion
	New, NewList func() runtime.Object
}

// Of returns what is known of a resource.
func Of(r world.Resource) Resource {
	known := resources[r]
	known.Name = r.String()
	return known
}

var resources = [world.Resources]Resource{
	world.Leases: {GroupVersion: coordinationv1.SchemeGroupVersion,
		New: made[coordinationv1.Lease], NewList: made[coordinationv1.LeaseList]},
	world.Pods: {GroupVersion: corev1.SchemeGroupVersion, New: made[corev1.Pod], NewList: made[corev1.PodList]},
	world.Slices: {GroupVersion: discoveryv1.SchemeGroupVersion,
		New: made[discoveryv1.EndpointSlice], NewList: made[discoveryv1.EndpointSliceList]},
	world.Events: {GroupVersion: corev1.SchemeGroupVersion, New: made[corev1.Event], NewList: made[corev1.EventList]},
	world.ReplicaSets: {GroupVersion: appsv1.SchemeGroupVersion,
		New: made[appsv1.ReplicaSet], NewList: made[appsv1.ReplicaSetList]},
	world.Nodes: {GroupVersion: corev1.SchemeGroupVersion, New: made[corev1.Node], NewList: made[corev1.NodeList]},
}

func made[T any, P interface {
	*T
	runtime.Object
}]() runtime.Object {
	return P(new(T))
}

// APIPath is the root of the paths of the resource's group.
func (r Resource) APIPath() string {
	if r.GroupVersion.Group == "" {
		return "/api"
	}
	return "/apis"
}

// Path is that of all objects in all namespaces.
func (r Resource) Path() string { return r.APIPath() + "/" + r.GroupVersion.String() + "/" + r.Name }
