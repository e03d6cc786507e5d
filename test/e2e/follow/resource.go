// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package follow has common parts of tests against an API server: resources that are written and read
// through several kinds of client, a source that counts an informer's requests, and a gate that refuses
// requests instead of the server. It works with client-go's informers and with kinformer's.
package follow

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/checker"
	"github.com/kinformer/cache/test/e2e/apiserver"
)

// Namespace is the namespace of all objects.
const Namespace = "default"

// Marker is part of the content of every object and of no name, label or key. A text with the marker
// exposes contents.
const Marker = "kinformer-secret-content"

// Widget is the custom resource read by Widgets.
var Widget = apiserver.CustomResource{Group: "e2e.kinformer.io", Version: "v1", Kind: "Widget"}

// patience bounds a test. It is far longer than any takes, even on a busy machine.
const patience = 5 * time.Minute

// StartServer starts a child process, and stops it when the test ends. It returns a context that bounds the test.
func StartServer(t *testing.T, options apiserver.Options) (context.Context, *apiserver.Server) {
	t.Helper()
	// The first build takes minutes and is bounded by the test binary's timeout.
	srv, err := apiserver.StartChild(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, srv.Stop(context.Background())) })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx, srv
}

// Clients holds the configuration and the client of a Resource.
type Clients struct {
	// Read is for ListWatch: credentials and route, from which each resource creates its own client
	// and connection. Its content type is ignored.
	Read *rest.Config
	// Write is for all other requests.
	Write dynamic.Interface
}

// Resource is one kind of object in one namespace, with all that an informer needs to follow it, and
// methods to change it. Update, Patch and Delete name the state on which they are based and fail with a
// conflict for any other state, so that an unanswered change cannot take effect after a later one.
type Resource struct {
	Name string
	// Example is an object of the type that ListWatch returns.
	Example runtime.Object
	// ListWatch reads through the client under test.
	ListWatch *cache.ListWatch
	// Close closes the connections of ListWatch.
	Close func()

	api  dynamic.ResourceInterface
	kind schema.GroupVersionKind
	spec map[string]any // content next to the metadata
}

// Kind returns a Resource.
type Kind func(Clients) (*Resource, error)

// Kinds returns all kinds by name.
func Kinds() map[string]Kind {
	return map[string]Kind{"pods-protobuf": Pods, "crd-dynamic": Widgets, "configmaps-metadata": ConfigMapMetadata}
}

// Pods returns pods, read by the typed client over protobuf.
func Pods(c Clients) (*Resource, error) {
	config := rest.CopyConfig(c.Read)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	return c.resource("pods-protobuf", config, corev1.SchemeGroupVersion.WithResource("pods"), &corev1.Pod{}, "Pod",
		map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "main", "image": Marker}}}},
		func(h *http.Client) (*cache.ListWatch, error) {
			client, err := kubernetes.NewForConfigAndClient(config, h)
			if err != nil {
				return nil, err
			}
			return testkit.ListWatchOf(client.CoreV1().Pods(Namespace)), nil
		})
}

// Widgets returns custom resources, read by the dynamic client over JSON. Their definition must be
// installed.
func Widgets(c Clients) (*Resource, error) {
	return c.resource("crd-dynamic", c.Read, Widget.Resource(), &unstructured.Unstructured{}, Widget.Kind,
		map[string]any{"spec": map[string]any{"content": Marker}},
		func(h *http.Client) (*cache.ListWatch, error) {
			client, err := dynamic.NewForConfigAndClient(c.Read, h)
			if err != nil {
				return nil, err
			}
			return testkit.ListWatchOf(client.Resource(Widget.Resource()).Namespace(Namespace)), nil
		})
}

// ConfigMapMetadata returns config maps, of which the metadata client reads the metadata only.
func ConfigMapMetadata(c Clients) (*Resource, error) {
	config, of := metadata.ConfigFor(c.Read), corev1.SchemeGroupVersion.WithResource("configmaps")
	return c.resource("configmaps-metadata", config, of, &metav1.PartialObjectMetadata{}, "ConfigMap",
		map[string]any{"data": map[string]any{"content": Marker}},
		func(h *http.Client) (*cache.ListWatch, error) {
			client, err := metadata.NewForConfigAndClient(config, h)
			if err != nil {
				return nil, err
			}
			return testkit.ListWatchOf(client.Resource(of).Namespace(Namespace)), nil
		})
}

// resource returns a Resource whose ListWatch uses a client with config.
func (c Clients) resource(name string, config *rest.Config, of schema.GroupVersionResource, example runtime.Object, kind string,
	spec map[string]any, listWatch func(*http.Client) (*cache.ListWatch, error)) (*Resource, error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	lw, err := listWatch(httpClient)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r := &Resource{
		Name: name, Example: example, ListWatch: lw, Close: CloseIdle(httpClient),
		api: c.Write.Resource(of).Namespace(Namespace), kind: of.GroupVersion().WithKind(kind), spec: spec,
	}
	if _, typed := example.(*corev1.Pod); !typed {
		example.GetObjectKind().SetGroupVersionKind(r.kind)
	}
	return r, nil
}

// Listed returns the result of a quorum LIST.
func (r *Resource) Listed(ctx context.Context) (checker.Contents, error) {
	list, err := r.api.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("%s: list: %w", r.Name, err)
	}
	return checker.ContentsOfList(list)
}

// Get returns the result of a quorum read.
func (r *Resource) Get(ctx context.Context, name string) (checker.State, error) {
	return stateOrError(r.api.Get(ctx, name, metav1.GetOptions{}))
}

// Create creates an object.
func (r *Resource) Create(ctx context.Context, name, value string) (checker.State, error) {
	return stateOrError(r.api.Create(ctx, r.object(name, value), metav1.CreateOptions{}))
}

// Update replaces the object if it is in state base.
func (r *Resource) Update(ctx context.Context, name, value string, base checker.State) (checker.State, error) {
	obj := r.object(name, value)
	obj.SetUID(base.UID)
	obj.SetResourceVersion(fmt.Sprint(base.RV))
	return stateOrError(r.api.Update(ctx, obj, metav1.UpdateOptions{}))
}

// Patch changes the value of the object if it is in state base.
func (r *Resource) Patch(ctx context.Context, name, value string, base checker.State) (checker.State, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": base.UID, "resourceVersion": fmt.Sprint(base.RV),
		"labels": map[string]any{checker.ValueLabel: value},
	}})
	if err != nil {
		return checker.State{}, fmt.Errorf("patch: %w", err)
	}
	return stateOrError(r.api.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}))
}

// Delete deletes the object if it is in state base.
func (r *Resource) Delete(ctx context.Context, name string, base checker.State) error {
	rv := fmt.Sprint(base.RV)
	return r.api.Delete(ctx, name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &base.UID, ResourceVersion: &rv},
	})
}

func (r *Resource) object(name, value string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(r.spec)}
	obj.SetGroupVersionKind(r.kind)
	obj.SetName(name)
	obj.SetLabels(map[string]string{checker.ValueLabel: value})
	obj.SetAnnotations(map[string]string{"content": Marker})
	return obj
}

func stateOrError(obj *unstructured.Unstructured, err error) (checker.State, error) {
	if err != nil {
		return checker.State{}, err
	}
	_, state := checker.StateOf(obj)
	return state, nil
}
