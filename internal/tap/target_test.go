// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

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
	source().Ask(first)
	assert.Equal(t, Target{Server: "one", Resource: pods}, whole.Target())
	assert.Equal(t, Target{Resource: pods}, silent.Target())
	silent.Ask(Target{Server: "two", Resource: pods, Namespace: "b"})
	assert.Equal(t, Target{Resource: pods}, whole.Target())
	assert.Equal(t, "b", silent.Target().Namespace)
	silent.Ask(first)
	assert.Equal(t, "b", silent.Target().Namespace, "its first request counts")
	source().Ask(Target{Server: "two", Resource: pods})
	assert.Equal(t, Target{Resource: pods}, whole.Target(), "not the server of the last one")
	source().Ask(Target{Server: "two", Resource: nodes})
	assert.Zero(t, whole.Target())
}
