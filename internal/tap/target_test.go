// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestTargetOf(t *testing.T) {
	for address, want := range map[string]string{
		"https://h:6443/api/v1/pods?limit=3&labelSelector=a%3Db":                                 "h:6443: pods.v1 with labels a=b",
		"https://h/api/v1/namespaces":                                                            "h: namespaces.v1",
		"https://h/api/v1/namespaces/two/pods?fieldSelector=x!%3Dy":                              "h: pods.v1 in namespace two with fields x!=y",
		"https://h/apis/demo.example.com/v1beta1/widgets?watch=true":                             "h: widgets.v1beta1.demo.example.com",
		"https://h/k8s/clusters/c-1/apis/apps/v1/namespaces/namespaces/deployments/":             "h/k8s/clusters/c-1: deployments.v1.apps in namespace namespaces",
		"https://h/apis/namespaces/v1/namespaces":                                                "h: namespaces.v1.namespaces",
		"https://h/apis/namespaces/v1/namespaces/a/b?labelSelector=x,y+in+(1,2)&fieldSelector=z": "h: b.v1.namespaces in namespace a with labels x,y in (1,2) with fields z",
		"https://h/token": "h: ",
		"https://h":       "h: ",
		"":                ": ",
	} {
		u, err := url.Parse(address)
		require.NoError(t, err)
		got := TargetOf(u)
		assert.Equal(t, want, got.Server+": "+got.String(), address)
		assert.Equal(t, got.String() == "", got.IsZero())
	}
}

// TestCommonTarget: several sources have the resource and the server that all of them have asked for,
// and never a namespace or a selector. A difference stays a difference. A source that has not asked has
// the resource of the others.
func TestCommonTarget(t *testing.T) {
	pods, nodes := schema.GroupVersionResource{Version: "v1", Resource: "pods"}, schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	var whole Ledger
	source := func() *Ledger {
		l := &Ledger{}
		l.BeSource(&whole)
		return l
	}
	silent := source()
	assert.Zero(t, silent.Target())
	first := Target{Server: "one", Resource: pods, Namespace: "a", LabelSelector: "app=web"}
	source().ask(first)
	assert.Equal(t, Target{Server: "one", Resource: pods}, whole.Target())
	assert.Equal(t, Target{Resource: pods}, silent.Target())
	silent.ask(Target{Server: "two", Resource: pods, Namespace: "b"})
	assert.Equal(t, Target{Resource: pods}, whole.Target())
	assert.Equal(t, "b", silent.Target().Namespace)
	silent.ask(first)
	assert.Equal(t, "b", silent.Target().Namespace, "its first request counts")
	source().ask(Target{Server: "two", Resource: pods})
	assert.Equal(t, Target{Resource: pods}, whole.Target(), "not the server of the last one")
	source().ask(Target{Server: "two", Resource: nodes})
	assert.Zero(t, whole.Target())
}
