// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package switched

import (
	"testing"

	"github.com/stretchr/testify/assert"
	storageinternal "k8s.io/api/apiserverinternal/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/cache/internal/testkit"
)

// TestRuleOf: values have their meaning in any case and with spaces, and others have none.
func TestRuleOf(t *testing.T) {
	for value, want := range map[string]rule{
		"off": {off: true}, "OFF": {off: true}, " off ": {off: true}, "false": {off: true}, "0": {off: true}, "no": {off: true},
		"on": {on: true}, "true": {on: true}, "1": {on: true}, "Yes": {on: true},
		"off:pods": {names: []string{"pods"}}, "Off: pods , *v1.Node,a-b.example.com": {names: []string{"pods", "*v1.Node", "a-b.example.com"}},
		"only:widgets.example.com": {only: []string{"widgets.example.com"}},
	} {
		got, understood := ruleOf(value)
		assert.True(t, understood, value)
		assert.Equal(t, want, got, value)
	}
	for _, value := range []string{"of", "off:", "off:pods nodes", "off:pods,", "off,pods", "only", "only:", "on:pods", ":", ":pods", "off:**v1.Pod", "off:pods:nodes", "2"} {
		_, understood := ruleOf(value)
		assert.False(t, understood, value)
	}
}

// widget is the Go type of an object of an unknown group.
type widget struct{ v1.Pod }

func (w *widget) GetObjectKind() schema.ObjectKind { return &w.TypeMeta }

// TestNames: objects have the names of their resource, their kind and their Go type, and not those of others.
func TestNames(t *testing.T) {
	dynamic := &unstructured.Unstructured{}
	dynamic.SetAPIVersion("example.com/v1")
	dynamic.SetKind("Gadget")
	gateway := &unstructured.Unstructured{}
	gateway.SetAPIVersion("gateway.networking.k8s.io/v1")
	gateway.SetKind("Gateway")
	ofKind := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}}
	resource := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gizmos"}
	for _, c := range []struct {
		of     Subject
		has    []string
		lacks  []string
		reason string
	}{
		{Subject{Example: &v1.Pod{}}, []string{"pods", "Pods", "pod", "Pod", "*v1.Pod", "v1.Pod", "pods.core", "pods.v1", "Pod.v1"}, []string{"pods.v1.apps", "nodes.v1", "nodes", "v1.Node", "po", "podss", "pods.apps", "pods."}, "built in"},
		{Subject{Example: &appsv1.Deployment{}}, []string{"deployments", "deployments.apps", "Deployment.apps", "deployments.v1.apps", "deployments.v1beta1.apps"}, []string{"deployments.example.com", "deployments.v1.example.com", "deployments.v1"}, "built in"},
		{Subject{Example: &networkingv1.Ingress{}}, []string{"ingresses", "ingresses.networking.k8s.io", "Ingress"}, []string{"ingresses.extensions"}, "plural"},
		{Subject{Example: &networkingv1.NetworkPolicy{}}, []string{"networkpolicies"}, nil, "plural"},
		{Subject{Example: &batchv1.Job{}}, []string{"jobs.batch"}, []string{"jobs.batch.volcano.sh"}, "another group with the same word"},
		{Subject{Example: &storageinternal.StorageVersion{}}, []string{"storageversions.internal.apiserver.k8s.io"}, []string{"storageversions.apiserverinternal"}, "package of another name"},
		{Subject{Example: gateway}, []string{"gateways", "gateways.gateway.networking.k8s.io"}, nil, "odd plural"},
		{Subject{Example: &eventsv1.Event{}}, []string{"events", "events.events.k8s.io"}, []string{"events.core"}, "two groups"},
		{Subject{Example: dynamic}, []string{"gadgets", "Gadget", "gadgets.example.com", "Gadget.example.com", "*unstructured.Unstructured"}, []string{"gadgets.example.org", "unstructureds"}, "metadata"},
		{Subject{Example: ofKind}, []string{"deployments", "deployments.apps"}, []string{"deployments.extensions"}, "metadata"},
		{Subject{resource, &unstructured.Unstructured{}}, []string{"gizmos", "gizmos.example.com"}, []string{"gizmos.example.org", "gizmo"}, "resource"},
		{Subject{resource, &v1.Pod{}}, []string{"gizmos", "pods"}, []string{"nodes"}, "both"},
		{Subject{Resource: v1.SchemeGroupVersion.WithResource("pods")}, []string{"pods", "pods.v1"}, []string{"pods.v1.apps"}, "resource of the core group"},
		{Subject{Resource: schema.GroupVersionResource{Group: "v2.example.com", Version: "v1", Resource: "gizmos"}}, []string{"gizmos.v2.example.com", "gizmos.v1.v2.example.com"}, []string{"gizmos.v1.example.com"}, "group like a version"},
		{Subject{Resource: resource}, []string{"gizmos.v1.example.com"}, []string{"gizmos.v1", "gizmos.v1.example.org"}, "resource"},
		{Subject{Example: &widget{}}, []string{"widgets", "widget", "widgets.example.com", "*switched.widget"}, []string{"widgetsets"}, "unknown group"},
		{Subject{}, nil, []string{"pods", "", "nil", "<nil>"}, "nothing known"},
		{Subject{Example: (*v1.Pod)(nil)}, []string{"*v1.Pod"}, []string{"nodes"}, "nil"},
	} {
		for _, name := range c.has {
			assert.True(t, c.of.has(name), "%s: %T %s", c.reason, c.of.Example, name)
		}
		for _, name := range c.lacks {
			assert.False(t, c.of.has(name), "%s: %T %s", c.reason, c.of.Example, name)
		}
	}
}

// TestDecide: the environment wins over the option of an informer, if it says something about the objects.
func TestDecide(t *testing.T) {
	pods, nodes := Subject{Example: &v1.Pod{}}, Subject{Example: &v1.Node{}}
	for _, c := range []struct {
		value                   string
		pods, nodes, none       string // why
		podsByOption, ofOptions string // the same with the option, of pods and of nodes
	}{
		{"", "", "", "", "Options.Engine", "Options.Engine"},
		{"off", "KINFORMER=off", "KINFORMER=off", "KINFORMER=off", "KINFORMER=off", "KINFORMER=off"},
		{"on", "", "", "", "", ""},
		{"off:pods", "KINFORMER=off:pods", "", "", "KINFORMER=off:pods", "Options.Engine"},
		{"only:pods", "", "KINFORMER=only:pods", "KINFORMER=only:pods", "", "KINFORMER=only:pods"},
		{"of", "KINFORMER=of", "KINFORMER=of", "KINFORMER=of", "KINFORMER=of", "KINFORMER=of"},
	} {
		t.Setenv(Variable, c.value)
		server := &testkit.Server{}
		assert.Equal(t, c.pods, Decide(server, pods, ""), c.value)
		assert.Equal(t, c.nodes, Decide(server, nodes, ""), c.value)
		assert.Equal(t, c.none, DecideStore(Subject{}, ""), c.value)
		assert.Equal(t, c.podsByOption, Decide(server, pods, ClientGo), c.value)
		assert.Equal(t, c.ofOptions, Decide(server, nodes, ClientGo), c.value)
		assert.Empty(t, Decide(nil, pods, ClientGo), "there is nothing to list")
		assert.Empty(t, Decide(Keep(server), pods, ClientGo), "it is decided")
		assert.Equal(t, server, Kept(Keep(Keep(server))))
		assert.Equal(t, server, Kept(server))
	}
}

// TestStays: what has no counterpart is named in the log, once.
func TestStays(t *testing.T) {
	Forget()
	logged := testkit.CaptureLog(t)
	StaysQueue()
	Decide(nil, Subject{}, "")
	assert.Empty(t, logged.Take())
	t.Setenv(Variable, "off")
	for range 2 {
		StaysQueue()
		Decide(nil, Subject{}, "")
	}
	lines := logged.Take()
	assert.Len(t, lines, 2)
	assert.Contains(t, lines[0], `"what"="queues that the program makes" "because"="KINFORMER=off"`)
	assert.Contains(t, lines[1], `"what"="informers of several sources, and those that cannot run" "because"="KINFORMER=off"`)
}

// TestNotUnderstood: a value without a meaning is an error in the log, once.
func TestNotUnderstood(t *testing.T) {
	Forget()
	logged := testkit.CaptureLog(t)
	t.Setenv(Variable, "aus")
	for range 2 {
		assert.NotEmpty(t, DecideStore(Subject{}, ""))
	}
	lines := logged.Take()
	assert.Len(t, lines, 1)
	assert.Contains(t, lines[0], `all informers are client-go's`)
	assert.Contains(t, lines[0], `"value"="aus" "use"="off, off:pods,nodes or only:widgets.example.com"`)
}
