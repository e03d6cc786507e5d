// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/internal/testkit"
)

const kubeconfig = `
apiVersion: v1
kind: Config
current-context: one
clusters:
- name: one
  cluster: {server: "https://10.0.0.1:6443", insecure-skip-tls-verify: true}
- name: plain
  cluster: {server: "http://127.0.0.1:8080"}
users:
- name: one
  user: {tokenFile: token}
contexts:
- {name: one, context: {cluster: one, user: one}}
- {name: plain, context: {cluster: plain}}
- {name: nowhere, context: {cluster: gone}}
`

func writeKubeconfig(t *testing.T, content string) (file string) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "token"), []byte("from the file"), 0o600))
	file = filepath.Join(folder, "config")
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	return file
}

// TestKubeconfigs: the current context, or the one that is named, with paths as seen from the file.
func TestKubeconfigs(t *testing.T) {
	file := writeKubeconfig(t, kubeconfig)
	got, err := clusterConfig(file, "")
	require.NoError(t, err)
	assert.Equal(t, "https://10.0.0.1:6443", got.Host)
	assert.Equal(t, "from the file", got.BearerToken)
	got, err = clusterConfig(file, "plain")
	require.NoError(t, err)
	assert.Equal(t, "http://127.0.0.1:8080", got.Host)
	assert.Empty(t, got.BearerToken)
}

// TestBadKubeconfigs: the error says what is wrong, and nothing of what is in the file.
func TestBadKubeconfigs(t *testing.T) {
	file := writeKubeconfig(t, kubeconfig)
	for context, wrong := range map[string]string{"nowhere": `no cluster for context "nowhere"`, "other": `"other" does not exist`} {
		_, err := clusterConfig(file, context)
		assert.ErrorContains(t, err, wrong, context)
	}
	_, err := clusterConfig(filepath.Join(t.TempDir(), "nothing"), "")
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = clusterConfig(writeKubeconfig(t, "token: [ "+testkit.Secret), "")
	assert.ErrorContains(t, err, "cannot be read")
	assert.NotContains(t, err.Error(), testkit.Secret)
}

// TestUsualKubeconfigs: what $KUBECONFIG names goes before a cluster that this runs in, and a file
// that is not there counts as none.
func TestUsualKubeconfigs(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	missing := filepath.Join(t.TempDir(), "nothing")
	t.Setenv("KUBECONFIG", missing)
	_, err := clusterConfig("", "")
	assert.ErrorContains(t, err, "give -kubeconfig")
	t.Setenv("KUBECONFIG", missing+string(filepath.ListSeparator)+writeKubeconfig(t, kubeconfig))
	got, err := clusterConfig("", "plain")
	require.NoError(t, err)
	assert.Equal(t, "http://127.0.0.1:8080", got.Host)
}
