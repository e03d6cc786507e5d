// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinformer/cache/internal/keep"
)

// largestAnswer is the maximum size of one list in bytes, which is held in memory.
const largestAnswer = 32 << 20

// clusterConfig returns the configuration of clients for a context of a kubeconfig, "" for the current
// one. The kubeconfig is file or, if that is "", the one that kubectl would read, or else that of the
// cluster in which the program runs. The error contains nothing of the file.
func clusterConfig(file, context string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = file
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster: give -kubeconfig, and a -context that is in it (%T)", err)
	}
	config.Timeout, config.WarningHandler, config.UserAgent = time.Minute, rest.NoWarnings{}, "kinformer-measure"
	return config, nil
}

// cluster is the source of lists.
type cluster struct {
	config    *rest.Config
	namespace string
	limit     int64 // the maximum number of objects of a list

	keep  keepRules // nil: all fields
	rules map[resource]*keep.Rule
}

// keepOf sets the rules of resources, which have these names in the file.
func (c *cluster) keepOf(names []string, of []resource) error {
	if c.keep == nil {
		return nil
	}
	c.rules = map[resource]*keep.Rule{}
	for i, r := range of {
		rule, err := c.keep.of(names[i], r)
		if err != nil {
			return err
		}
		c.rules[r] = rule
	}
	return nil
}

// heads returns the heads of the table.
func (c *cluster) heads() []string {
	ways := []string{"DIRECT", "SHARED"}
	if c.keep != nil {
		ways = append(ways, "KEEP")
	}
	heads := append([]string{"RESOURCE", "OBJECTS", "ENCODING", "WIRE", "CPU"}, ways...)
	return append(append(append(heads, "HEAP"), ways...), "NOTES")
}

// list returns the encoded list of a resource, in the encoding that generated clients request: protobuf
// if there is a Go type.
func (c *cluster) list(ctx context.Context, r resource) ([]byte, error) {
	client, err := c.client(r)
	if err != nil {
		return nil, explained(err)
	}
	accept := runtime.ContentTypeJSON
	if r.hasGoType() {
		accept = runtime.ContentTypeProtobuf + "," + accept
	}
	stream, err := client.Get().NamespaceIfScoped(c.namespace, r.namespaced && c.namespace != "").Resource(r.Resource).
		Param("limit", strconv.FormatInt(c.limit, 10)).SetHeader("Accept", accept).Stream(ctx)
	if err != nil {
		return nil, explained(err)
	}
	defer func() { _ = stream.Close() }()
	body, err := io.ReadAll(io.LimitReader(stream, largestAnswer))
	switch {
	case err != nil:
		return nil, explained(err)
	case len(body) == largestAnswer:
		return nil, errors.New("its list is too large: use -limit")
	}
	return body, nil
}

// client returns a client for the group and version of a resource.
func (c *cluster) client(r resource) (*rest.RESTClient, error) {
	config, version := rest.CopyConfig(c.config), r.GroupVersion()
	config.GroupVersion, config.NegotiatedSerializer = &version, scheme.Codecs.WithoutConversion()
	if config.APIPath = "/apis"; r.Group == "" {
		config.APIPath = "/api"
	}
	return rest.RESTClientFor(config)
}

// explained returns an error that describes err without the names that a server, or a decoder, puts
// into its errors.
func explained(err error) error {
	var failed *url.Error
	switch reason := apierrors.ReasonForError(err); {
	case reason != metav1.StatusReasonUnknown:
		return fmt.Errorf("the server says: %s", reason)
	case errors.As(err, &failed):
		return fmt.Errorf("the request failed: %w", failed.Err)
	}
	return fmt.Errorf("the request failed, with an error of type %T", err)
}

// resource is a resource that can be listed and watched.
type resource struct {
	schema.GroupVersionResource
	kind       string
	namespaced bool
}

// String returns the resource with its version and group, as pods.v1 and deployments.v1.apps.
func (r resource) String() string {
	return strings.TrimSuffix(r.Resource+"."+r.Version+"."+r.Group, ".")
}

func (r resource) gvk() schema.GroupVersionKind { return r.GroupVersion().WithKind(r.kind) }

// hasGoType reports whether client-go has a Go type for the objects; otherwise they are unstructured.
func (r resource) hasGoType() bool { return scheme.Scheme.Recognizes(r.gvk()) }

// discover returns the resources of the cluster, in their preferred versions: those in names, or if
// names is empty all except those that choice excludes. It skips groups whose discovery fails.
func discover(ctx context.Context, config *rest.Config, names []string) ([]resource, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", explained(err))
	}
	lists, err := client.ServerPreferredResourcesWithContext(ctx)
	if _, partial := discovery.GroupDiscoveryFailedErrorGroups(err); err != nil && !partial {
		return nil, fmt.Errorf("discovery: %w", explained(err))
	}
	var all []resource
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		for _, r := range list.APIResources {
			if err == nil && slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch") && !strings.Contains(r.Name, "/") {
				all = append(all, resource{gv.WithResource(r.Name), r.Kind, r.Namespaced})
			}
		}
	}
	slices.SortFunc(all, func(a, b resource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
	})
	return choice(all, names)
}

// choice returns the resources in names, or if names is empty all except secrets and except
// events.k8s.io, whose events are also in the core group.
func choice(all []resource, names []string) (chosen []resource, err error) {
	if len(names) == 0 {
		return slices.DeleteFunc(all, func(r resource) bool {
			return r.Resource == "secrets" && r.Group == "" || r.Group == "events.k8s.io"
		}), nil
	}
	for _, name := range names {
		i := slices.IndexFunc(all, func(r resource) bool {
			return name == r.Resource || name == r.GroupResource().String() || name == r.String()
		})
		if i < 0 {
			return nil, fmt.Errorf("there is no resource %q that can be listed and watched", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
