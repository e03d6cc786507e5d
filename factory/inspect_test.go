// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	metadatafake "k8s.io/client-go/metadata/fake"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/factory"
)

// TestInformersOfFactoriesAreInspected: they are found, with their handlers, without a line of the
// program's, and inspected as what the factory hands out.
func TestInformersOfFactoriesAreInspected(t *testing.T) {
	for name, tc := range map[string]struct {
		start startOf
		typ   string
	}{
		"typed":    {startWrapped, "*v1.Pod"},
		"dynamic":  {startDynamic, "*unstructured.Unstructured"},
		"metadata": {startMetadata, "*v1.PartialObjectMetadata"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(bubbleContext(t))
				pods, create, shutdown := tc.start(ctx, factory.WithInformerOptions())
				_, err := pods.AddEventHandler(cache.Deliver(cache.ResourceEventHandlerFuncs{}, cache.Delivery{Name: "mine"}))
				require.NoError(t, err)
				synctest.Wait()
				create("a")
				synctest.Wait()
				var all []cache.Inspection
				for informer := range cache.Informers() {
					inspection, err := cache.Inspect(informer)
					require.NoError(t, err)
					all = append(all, inspection)
				}
				require.Len(t, all, 1)
				assert.Equal(t, tc.typ, all[0].Type)
				assert.Equal(t, 1, all[0].Status.Objects)
				assert.Positive(t, all[0].Memory.Objects)
				handedOut, err := cache.Inspect(pods)
				require.NoError(t, err)
				assert.Equal(t, all[0].ID, handedOut.ID)
				handlers, err := cache.HandlersOf(pods)
				require.NoError(t, err)
				require.Len(t, handlers, 1)
				assert.Equal(t, "mine", handlers[0].Name)
				assert.NoError(t, cache.ReadyCheck(cache.ReadyOptions{}, pods).Check(nil))
				cancel()
				shutdown()
				for range cache.Informers() {
					t.Error("it does not run any more")
				}
			})
		})
	}
}

func startMetadata(ctx context.Context, option factory.Option) (cache.SharedIndexInformer, func(string), func()) {
	known := metadatafake.NewTestScheme()
	utilruntime.Must(metav1.AddMetaToScheme(known))
	client := metadatafake.NewSimpleMetadataClient(known)
	f := factory.Metadata(client, 0, option)
	pods := f.ForResource(podsResource).Informer()
	f.StartWithContext(ctx)
	return pods, func(name string) {
		pod := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		namespace := client.Resource(podsResource).Namespace("ns").(metadatafake.MetadataClient)
		_, err := namespace.CreateFake(pod, metav1.CreateOptions{})
		utilruntime.Must(err)
	}, f.Shutdown
}
