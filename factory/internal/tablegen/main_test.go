// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNothingFoundIsAnError: generated informers in an unknown form give an error instead of an empty
// table.
func TestNothingFoundIsAnError(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "core", "v1")
	require.NoError(t, os.MkdirAll(other, 0o755))
	for _, file := range []string{filepath.Join(dir, "generic.go"), filepath.Join(other, "pod.go")} {
		require.NoError(t, os.WriteFile(file, []byte("package informers\n"), 0o644))
	}
	_, err := readKinds(dir)
	assert.Error(t, err)
	_, err = renderGroups([]byte("package informers\n"))
	assert.Error(t, err)
}

// TestScope: objects have a namespace if the call for their client takes one.
func TestScope(t *testing.T) {
	of := func(call string) kind {
		k, err := readKind([]byte(`
	apicorev1 "k8s.io/api/core/v1"
	gvr := schema.GroupVersionResource{Group: "", Version: "v1", Resource: "things"}
	return client.` + call + `.List(ctx, opts)
	&apicorev1.Thing{},
`))
		require.NoError(t, err)
		return k
	}
	pods, nodes := of("CoreV1().Pods(namespace)"), of("CoreV1().Nodes()")
	assert.True(t, pods.namespaced())
	assert.False(t, nodes.namespaced())
	table := string(render([]kind{pods, nodes}))
	assert.Contains(t, table, `"things", true, &corev1.Thing{}, func(c kubernetes.Interface, ns string)`)
	assert.Contains(t, table, `"things", false, &corev1.Thing{}, func(c kubernetes.Interface, _ string)`)
}
