// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package example

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache/test/e2e/apiserver"
)

const (
	// count is the number of objects of each kind on the embedded server, in two namespaces; pods are
	// on three nodes.
	count = 12
	// changeEvery is the interval between changes of an object of each kind.
	changeEvery = 100 * time.Millisecond
)

// Widget is the custom resource of the embedded server.
var Widget = apiserver.CustomResource{Group: "example.kinformer.io", Version: "v1", Kind: "Widget"}

// startLife creates objects on the server and changes them until stop is called. The examples follow
// these objects.
func startLife(ctx context.Context, server *apiserver.Server) (stop func() error, err error) {
	if err := server.InstallCRD(ctx, Widget); err != nil {
		return nil, err
	}
	l, err := newLife(server.Config())
	if err != nil {
		return nil, err
	}
	for i := range count {
		if err := l.create(ctx, i); err != nil {
			return nil, fmt.Errorf("create the objects: %w", err)
		}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- l.change(ctx) }()
	return func() error { cancel(); return <-ended }, nil
}

// life writes to the embedded server.
type life struct {
	pods, configMaps, widgets dynamic.NamespaceableResourceInterface
}

func newLife(config *rest.Config) (*life, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	core := func(resource string) dynamic.NamespaceableResourceInterface {
		return client.Resource(schema.GroupVersionResource{Version: "v1", Resource: resource})
	}
	return &life{pods: core("pods"), configMaps: core("configmaps"), widgets: client.Resource(Widget.Resource())}, nil
}

// create creates the i-th object of each kind.
func (l *life) create(ctx context.Context, i int) error {
	return errors.Join(
		l.createPod(ctx, i, i),
		put(ctx, l.configMaps, i, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"step": "0"}}),
		put(ctx, l.widgets, i, map[string]any{"apiVersion": Widget.Group + "/" + Widget.Version, "kind": Widget.Kind,
			"spec": map[string]any{"size": int64(0)}}),
	)
}

func (l *life) createPod(ctx context.Context, i, node int) error {
	return put(ctx, l.pods, i, map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": map[string]any{
		"nodeName": fmt.Sprintf("node-%d", node%3), "containers": []any{map[string]any{"name": "main", "image": "image"}},
	}})
}

func nameOf(i int) string { return fmt.Sprintf("example-%d", i) }

func namespaceOf(i int) string { return []string{"default", "shop"}[i%2] }

func put(ctx context.Context, to dynamic.NamespaceableResourceInterface, i int, content map[string]any) error {
	obj := &unstructured.Unstructured{Object: content}
	obj.SetName(nameOf(i))
	obj.SetLabels(map[string]string{"example.kinformer.io/checksum": "wanted"})
	_, err := to.Namespace(namespaceOf(i)).Create(ctx, obj, metav1.CreateOptions{})
	return err
}

// change changes one object of each kind after the other until ctx ends.
func (l *life) change(ctx context.Context) error {
	tick := time.NewTicker(changeEvery)
	defer tick.Stop()
	for step := 1; ; step++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := l.changeOne(ctx, step); err != nil && ctx.Err() == nil {
			return fmt.Errorf("change an object: %w", err)
		}
	}
}

// changeOne changes one object of each kind. In every fourth step, the pod is deleted and created on
// another node.
func (l *life) changeOne(ctx context.Context, step int) error {
	i := step % count
	movePod := func() error {
		if step%4 != 0 {
			return patch(ctx, l.pods, i, fmt.Sprintf(`{"metadata":{"annotations":{"step":"%d"}}}`, step))
		}
		if err := l.pods.Namespace(namespaceOf(i)).Delete(ctx, nameOf(i), metav1.DeleteOptions{}); err != nil {
			return err
		}
		return l.createPod(ctx, i, step/4)
	}
	return errors.Join(
		movePod(),
		patch(ctx, l.configMaps, i, fmt.Sprintf(`{"data":{"step":"%d"}}`, step)),
		patch(ctx, l.widgets, i, fmt.Sprintf(`{"spec":{"size":%d}}`, step)),
	)
}

func patch(ctx context.Context, to dynamic.NamespaceableResourceInterface, i int, change string) error {
	_, err := to.Namespace(namespaceOf(i)).Patch(ctx, nameOf(i), types.MergePatchType, []byte(change), metav1.PatchOptions{})
	return err
}
