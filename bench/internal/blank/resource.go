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

	"github.com/kinformer/cache/bench/internal/world"
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

// Codecs encode and decode what is in Scheme.
var Codecs = serializer.NewCodecFactory(Scheme)

// The media types of what servers send.
const (
	JSON     = runtime.ContentTypeJSON
	Protobuf = runtime.ContentTypeProtobuf
)

// Resource is how servers and clients know a resource.
type Resource struct {
	schema.GroupVersionKind
	Name string
}

var kinds = [world.Resources]schema.GroupVersionKind{
	world.Leases: coordinationv1.SchemeGroupVersion.WithKind("Lease"), world.Pods: corev1.SchemeGroupVersion.WithKind("Pod"),
	world.Slices: discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), world.Events: corev1.SchemeGroupVersion.WithKind("Event"),
	world.ReplicaSets: appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), world.Nodes: corev1.SchemeGroupVersion.WithKind("Node"),
}

// Of returns what is known of a resource.
func Of(r world.Resource) Resource { return Resource{kinds[r], r.String()} }

// New makes an empty object.
func (r Resource) New() runtime.Object {
	made, err := Scheme.New(r.GroupVersionKind)
	if err != nil {
		panic(err) // all kinds are in it
	}
	return made
}

// APIPath is the root of the paths of the resource's group.
func (r Resource) APIPath() string {
	if r.Group == "" {
		return "/api"
	}
	return "/apis"
}

// Path is that of all objects in all namespaces.
func (r Resource) Path() string { return r.APIPath() + "/" + r.GroupVersion().String() + "/" + r.Name }
