// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/cache/bench/internal/workload"
)

// Resource is what a server has objects of.
type Resource struct {
	schema.GroupVersionKind
	// Name is in the plural, as in paths.
	Name string
	// Population tells resources of one name apart; empty for what there is of most.
	Population string
	object     func(workload.Config, int) runtime.Object
}

// The resources that there are. PodsAlone have a deployment each. Certificates are custom ones:
// clients have no Go type for them, and servers send them in JSON only.
var (
	Pods = Resource{corev1.SchemeGroupVersion.WithKind("Pod"), "pods", "",
		func(c workload.Config, i int) runtime.Object { return workload.Pod(c, i) }}
	PodsAlone = Resource{corev1.SchemeGroupVersion.WithKind("Pod"), "pods", "alone",
		func(c workload.Config, i int) runtime.Object { c.Alone = true; return workload.Pod(c, i) }}
	ConfigMaps = Resource{corev1.SchemeGroupVersion.WithKind("ConfigMap"), "configmaps", "",
		func(c workload.Config, i int) runtime.Object { return workload.ConfigMap(c, i) }}
	Leases = Resource{coordinationv1.SchemeGroupVersion.WithKind("Lease"), "leases", "",
		func(c workload.Config, i int) runtime.Object { return workload.Lease(c, i) }}
	Certificates = Resource{schema.GroupVersionKind{Group: "certificates.example.com", Version: "v1", Kind: "Certificate"}, "certificates", "",
		func(c workload.Config, i int) runtime.Object { return workload.Certificate(c, i) }}
)

// ID is the name, and the population behind a hyphen if it has one.
func (r Resource) ID() string {
	if r.Population != "" {
		return r.Name + "-" + r.Population
	}
	return r.Name
}

// resourceOf returns a resource by its ID; pods without one.
func resourceOf(id string) (Resource, error) {
	for _, r := range []Resource{Pods, PodsAlone, ConfigMaps, Leases, Certificates} {
		if r.ID() == id || id == "" {
			return r, nil
		}
	}
	return Resource{}, fmt.Errorf("wire: there is no resource %q", id)
}

// APIPath is the root of the paths of the resource's group.
func (r Resource) APIPath() string {
	if r.Group == "" {
		return "/api"
	}
	return "/apis"
}

// path is that of all objects in all namespaces.
func (r Resource) path() string {
	return r.APIPath() + "/" + r.GroupVersion().String() + "/" + r.Name
}

// WithoutGoType reports whether clients have no Go type for the objects.
func (r Resource) WithoutGoType() bool { return !Scheme.Recognizes(r.GroupVersionKind) }

// Objects makes the first n objects.
func (r Resource) Objects(c workload.Config) []runtime.Object {
	objects := make([]runtime.Object, c.N)
	for i := range objects {
		objects[i] = r.object(c, i)
	}
	return objects
}

// Example is an empty object, of the Go type that clients have for the resource.
func (r Resource) Example() (runtime.Object, error) {
	made, err := Scheme.New(r.GroupVersionKind)
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	return made, nil
}
