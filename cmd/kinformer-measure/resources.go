// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// resource is one that informers can follow.
type resource struct {
	schema.GroupVersionResource
	kind       string
	namespaced bool
}

// String returns the resource with its version and group, as pods.v1 and deployments.v1.apps.
func (r resource) String() string {
	return strings.TrimSuffix(r.GroupVersionResource.GroupResource().Resource+"."+r.Version+"."+r.Group, ".")
}

func (r resource) gvk() schema.GroupVersionKind { return r.GroupVersion().WithKind(r.kind) }

// hasGoType reports whether client-go has a Go type for the objects; else they are unstructured.
func (r resource) hasGoType() bool { return scheme.Scheme.Recognizes(r.gvk()) }

// calls reports whether a name on the command line is that of the resource.
func (r resource) calls(name string) bool {
	return name == r.Resource || name == r.GroupResource().String() || name == r.String()
}

// leftOut reports whether the resource has to be named to be read: secrets are nobody's business,
// and events are served twice.
func (r resource) leftOut() bool {
	return r.Resource == "secrets" && r.Group == "" || r.Group == "events.k8s.io"
}

// discover returns the resources of the cluster, in their preferred versions: those that are named,
// or all that are not left out. Groups that do not answer come as rows of the report.
func discover(ctx context.Context, config *rest.Config, names []string) ([]resource, []row, error) {
	client, err := discovery.NewDiscoveryClientForConfig(quietly(config))
	if err != nil {
		return nil, nil, fmt.Errorf("discovery: %w", explained(err))
	}
	lists, err := client.ServerPreferredResourcesWithContext(ctx)
	silent, partial := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !partial {
		return nil, nil, fmt.Errorf("discovery: %w", explained(err))
	}
	var unknown []row
	for gv := range silent {
		unknown = append(unknown, row{Resource: "*." + gv.String(), Skipped: "the group does not answer"})
	}
	slices.SortFunc(unknown, func(a, b row) int { return cmp.Compare(a.Resource, b.Resource) })
	chosen, err := choice(followed(lists), names)
	return chosen, unknown, err
}

// followed returns the resources that can be listed and watched.
func followed(lists []*metav1.APIResourceList) (all []resource) {
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // nobody could ask for it
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch") && !strings.Contains(r.Name, "/") {
				all = append(all, resource{gv.WithResource(r.Name), r.Kind, r.Namespaced})
			}
		}
	}
	slices.SortFunc(all, func(a, b resource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
	})
	return all
}

func choice(all []resource, names []string) (chosen []resource, err error) {
	if len(names) == 0 {
		return slices.DeleteFunc(all, resource.leftOut), nil
	}
	for _, name := range names {
		before := len(chosen)
		for _, r := range all {
			if r.calls(strings.TrimSpace(name)) && !slices.Contains(chosen, r) {
				chosen = append(chosen, r)
			}
		}
		if len(chosen) == before {
			return nil, fmt.Errorf("there is no resource %q that can be listed and watched, or it is named twice", name)
		}
	}
	return chosen, nil
}
