// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	metadatafake "k8s.io/client-go/metadata/fake"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/kinformer"
)

// TestOptionsFor: the informers of a kind have the options for it, in factories of each sort; the last options apply.
func TestOptionsFor(t *testing.T) {
	kept := func(keep ...string) kinformer.Options {
		return kinformer.Options{Decoding: kinformer.Decoding{Keep: append([]string{}, keep...)}}
	}
	keepOf := func(informer cache.SharedIndexInformer) []string {
		status, err := inspect.StatusOf(informer)
		require.NoError(t, err)
		require.NoError(t, status.LastError)
		return status.Decoding.Keep
	}
	gateway := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Gateway"}}
	options := []factory.Option{
		factory.WithOptionsFor(&v1.Pod{}, kept("status")),
		factory.WithOptionsFor(&v1.Pod{}, kept("metadata.annotations[a]")),
		factory.WithOptionsFor(&eventsv1.Event{}, kept("metadata.annotations[e]")),
		factory.WithOptionsFor(&autoscalingv2.HorizontalPodAutoscaler{}, kept("spec.metrics")),
		factory.WithOptionsFor(&autoscalingv1.HorizontalPodAutoscaler{}, kept("spec.targetCPUUtilizationPercentage")),
		factory.WithOptionsFor(gateway, kept("metadata.annotations[g]")),
		factory.WithInformerOptions(kept()),
	}
	want := map[schema.GroupVersionResource][]string{
		{Version: "v1", Resource: "pods"}:                               {"metadata.annotations[a]"},
		{Version: "v1", Resource: "nodes"}:                              {},
		{Version: "v1", Resource: "events"}:                             {},
		{Group: "events.k8s.io", Version: "v1", Resource: "events"}:     {"metadata.annotations[e]"},
		{Group: "metrics.k8s.io", Version: "v1beta1", Resource: "pods"}: {},
		{Group: "example.com", Version: "v1", Resource: "gateways"}:     {"metadata.annotations[g]"},
	}
	lists := map[schema.GroupVersionResource]string{}
	for gvr := range want {
		lists[gvr] = "AnyList"
	}
	dynamic := factory.Dynamic(dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists), 0, options...)
	scheme := metadatafake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(scheme))
	metadata := factory.Metadata(metadatafake.NewSimpleMetadataClient(scheme), 0, options...)
	for gvr, keep := range want {
		assert.Equal(t, keep, keepOf(dynamic.ForResource(gvr).Informer()), "%v", gvr)
		assert.Equal(t, keep, keepOf(metadata.ForResource(gvr).Informer()), "%v", gvr)
	}
	typed := factory.Wrap(informers.NewSharedInformerFactory(fake.NewClientset(), 0), options...)
	assert.Equal(t, []string{"metadata.annotations[a]"}, keepOf(typed.Core().V1().Pods().Informer()))
	assert.Equal(t, []string{}, keepOf(typed.Core().V1().Nodes().Informer()))
	assert.Equal(t, []string{}, keepOf(typed.Core().V1().Events().Informer()))
	assert.Equal(t, []string{"metadata.annotations[e]"}, keepOf(typed.Events().V1().Events().Informer()))
	assert.Equal(t, []string{"spec.targetCPUUtilizationPercentage"}, keepOf(typed.Autoscaling().V1().HorizontalPodAutoscalers().Informer()))
	assert.Equal(t, []string{"spec.metrics"}, keepOf(typed.Autoscaling().V2().HorizontalPodAutoscalers().Informer()))
}

// TestOptionsForVersions: the informers of unstructured objects have the options for their version of a resource.
func TestOptionsForVersions(t *testing.T) {
	kept := func(keep ...string) kinformer.Options {
		return kinformer.Options{Decoding: kinformer.Decoding{Keep: keep}}
	}
	g := func(v string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/" + v, "kind": "Widget"}}
	}
	hpa := func(v string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: "autoscaling", Version: v, Resource: "horizontalpodautoscalers"}
	}
	widgets := func(v string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: "example.com", Version: v, Resource: "widgets"}
	}
	lists := map[schema.GroupVersionResource]string{hpa("v1"): "AnyList", hpa("v2"): "AnyList", widgets("v1"): "AnyList", widgets("v2"): "AnyList"}
	f := factory.Dynamic(dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists), 0,
		factory.WithOptionsFor(&autoscalingv2.HorizontalPodAutoscaler{}, kept("spec.metrics")),
		factory.WithOptionsFor(&autoscalingv1.HorizontalPodAutoscaler{}, kept("spec.targetCPUUtilizationPercentage")),
		factory.WithOptionsFor(g("v1"), kept("spec.one")),
		factory.WithOptionsFor(g("v2"), kept("spec.two")),
	)
	for gvr, want := range map[schema.GroupVersionResource]string{hpa("v2"): "spec.metrics", hpa("v1"): "spec.targetCPUUtilizationPercentage", widgets("v1"): "spec.one", widgets("v2"): "spec.two"} {
		status, err := inspect.StatusOf(f.ForResource(gvr).Informer())
		require.NoError(t, err)
		assert.Equal(t, []string{want}, status.Decoding.Keep, "%v", gvr)
	}
}

// unregistered is a type without a kind.
type unregistered struct{ v1.Pod }

func (u *unregistered) DeepCopyObject() runtime.Object { other := *u; return &other }

// TestOptionsForTaken: an informer whose resource is not known has the options of its Go type, and not those of other types.
func TestOptionsForTaken(t *testing.T) {
	kept := kinformer.Options{Decoding: kinformer.Decoding{Keep: []string{}}}
	pods := func(c kubernetes.Interface, namespace string) typedv1.PodInterface { return c.CoreV1().Pods(namespace) }
	for example, want := range map[runtime.Object][]string{&unregistered{}: nil, &v1.Pod{}: {}} {
		f := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
		status, err := inspect.StatusOf(factory.Take(f.InformerFor, &v1.Pod{}, pods, factory.WithOptionsFor(example, kept)))
		require.NoError(t, err)
		assert.Equal(t, want, status.Decoding.Keep, "%T", example)
	}
}

// TestBadOptionsFor: with options that no informer can have, none runs.
func TestBadOptionsFor(t *testing.T) {
	nested := kinformer.Options{For: map[runtime.Object]kinformer.Options{&v1.Pod{}: {}}}
	for why, option := range map[string]factory.Option{
		"the example is nil":                                           factory.WithOptionsFor(nil, kinformer.Options{}),
		"has no kind: set its apiVersion and kind":                     factory.WithOptionsFor(&unstructured.Unstructured{}, kinformer.Options{}),
		"use WithOptionsFor once for each kind":                        factory.WithOptionsFor(&v1.Pod{}, nested),
		"Options.For is for kinformer.Constructor: use WithOptionsFor": factory.WithInformerOptions(nested),
		`"spec.nodename": there is no spec.nodename: did you mean`:     factory.WithOptionsFor(&v1.Pod{}, kinformer.Options{Decoding: kinformer.Decoding{Keep: []string{"spec.nodename"}}}),
	} {
		f := factory.Wrap(informers.NewSharedInformerFactory(fake.NewClientset(), 0), option)
		status, err := inspect.StatusOf(f.Core().V1().Pods().Informer())
		require.NoError(t, err)
		assert.ErrorContains(t, status.LastError, why)
	}
}
