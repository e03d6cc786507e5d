// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/e2e/follow"
)

// wireKind is an encoding of pods and a client that reads it.
type wireKind struct {
	name    string
	mime    string
	example runtime.Object
	lw      func(*testing.T, *rest.Config) cache.ListerWatcher
	partial bool // pods are sent as PartialObjectMetadata
}

var podResource = v1.SchemeGroupVersion.WithResource("pods")

var wireKinds = []wireKind{
	{"typed JSON", runtime.ContentTypeJSON, &v1.Pod{}, typedWire, false},
	{"typed protobuf", runtime.ContentTypeProtobuf, &v1.Pod{}, typedWire, false},
	{"dynamic JSON", runtime.ContentTypeJSON, &unstructured.Unstructured{}, dynamicWire, false},
	{"metadata JSON", runtime.ContentTypeJSON, &metav1.PartialObjectMetadata{}, metadataWire, false},
	{"dynamic JSON, kind named", runtime.ContentTypeJSON, unstructuredPod(), dynamicWire, false},
	{"metadata protobuf", runtime.ContentTypeProtobuf, &metav1.PartialObjectMetadata{}, metadataWire, true},
}

func unstructuredPod() *unstructured.Unstructured {
	example := &unstructured.Unstructured{}
	example.SetGroupVersionKind(v1.SchemeGroupVersion.WithKind("Pod"))
	return example
}

// encode encodes an object or a list for the kind.
func (k wireKind) encode(obj runtime.Object) ([]byte, error) {
	if k.partial {
		obj = partialOf(obj)
	}
	if kinds, _, err := scheme.Scheme.ObjectKinds(obj); err == nil { // metadata has its kind
		obj = obj.DeepCopyObject()
		obj.GetObjectKind().SetGroupVersionKind(kinds[0])
	}
	if k.mime == runtime.ContentTypeJSON {
		return json.Marshal(obj)
	}
	var buf bytes.Buffer
	err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(obj, &buf)
	return buf.Bytes(), err
}

// partialOf returns the metadata of a pod or of a list of pods, and any other object unchanged.
func partialOf(obj runtime.Object) runtime.Object {
	switch obj := obj.(type) {
	case *v1.Pod:
		return &metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"},
			ObjectMeta: obj.ObjectMeta,
		}
	case *v1.PodList:
		list := &metav1.PartialObjectMetadataList{
			TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"},
			ListMeta: obj.ListMeta,
		}
		for i := range obj.Items {
			list.Items = append(list.Items, *partialOf(&obj.Items[i]).(*metav1.PartialObjectMetadata))
		}
		return list
	default:
		return obj
	}
}

func typedWire(t *testing.T, c *rest.Config) cache.ListerWatcher {
	client, err := kubernetes.NewForConfig(c)
	require.NoError(t, err)
	return cache.ToListWatcherWithWatchListSemantics(follow.ListWatchOf(client.CoreV1().Pods("ns")), client)
}

func dynamicWire(t *testing.T, c *rest.Config) cache.ListerWatcher {
	client, err := dynamic.NewForConfig(c)
	require.NoError(t, err)
	return cache.ToListWatcherWithWatchListSemantics(follow.ListWatchOf(client.Resource(podResource).Namespace("ns")), client)
}

func metadataWire(t *testing.T, c *rest.Config) cache.ListerWatcher {
	client, err := metadata.NewForConfig(c)
	require.NoError(t, err)
	return cache.ToListWatcherWithWatchListSemantics(follow.ListWatchOf(client.Resource(podResource).Namespace("ns")), client)
}
