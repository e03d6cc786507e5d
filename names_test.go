// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/cache/internal/testkit"
)

// TestNamesOfInformers: an informer, its handlers and its queue are called by the resource where
// that is known. Of several that hold unstructured objects the type says nothing.
func TestNamesOfInformers(t *testing.T) {
	pods := (*InformerName)(nil).WithResource(schema.GroupVersionResource{Version: "v1", Resource: "pods"})
	widget := &unstructured.Unstructured{}
	widget.SetGroupVersionKind(schema.GroupVersionKind{Group: "g.example", Version: "v2", Kind: "Widget"})
	for name, tc := range map[string]struct {
		want    string
		example runtime.Object
		options []Option
	}{
		"by resource":      {"pods.v1", &unstructured.Unstructured{}, []Option{WithIdentifier(pods, nil), WithObjectDescription("d")}},
		"by description":   {"d", &unstructured.Unstructured{}, []Option{WithObjectDescription("d")}},
		"by kind":          {"g.example/v2, Kind=Widget", widget, nil},
		"by type":          {"*v1.Pod", &v1.Pod{}, nil},
		"without anything": {"<unspecified>", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			informer := InformerFunc(tc.options...)(&testkit.Server{}, tc.example, 0, nil).(*sharedIndexInformer)
			assert.Equal(t, "SharedIndexInformer "+tc.want, informer.HasSyncedChecker().Name())
			registration, err := informer.AddEventHandler(ResourceEventHandlerFuncs{AddFunc: func(any) {}})
			require.NoError(t, err)
			assert.Contains(t, registration.HasSyncedChecker().Name(), "SharedIndexInformer "+tc.want+" + event handler ")
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			assert.ErrorContains(t, WaitForSync(ctx, informer), tc.want)
			informer.RunWithContext(ctx)
			assert.Regexp(t, "FIFO "+regexp.QuoteMeta(tc.want)+"$", informer.life.controller.HasSyncedChecker().Name())
		})
	}
}
