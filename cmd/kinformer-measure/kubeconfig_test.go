// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache/internal/testkit"
)

const kubeconfig = `
apiVersion: v1
kind: Config
current-context: certificate
clusters:
- name: tls
  cluster:
    server: https://10.0.0.1:6443
    certificate-authority: ca.crt
    tls-server-name: api.example.com
    proxy-url: http://proxy.example.com:3128
    disable-compression: true
    extensions:
    - name: client.authentication.k8s.io/exec
      extension: {audience: a}
- name: plain
  cluster: {server: "http://127.0.0.1:8080"}
- name: insecure
  cluster: {server: "https://10.0.0.2", insecure-skip-tls-verify: true, certificate-authority-data: Y2E=}
users:
- name: certificate
  user: {client-certificate: pki/tls.crt, client-key: /etc/tls.key, as: other, as-uid: u, as-groups: [g], as-user-extra: {e: [x]}}
- name: data
  user: {client-certificate-data: Y2VydA==, client-key-data: a2V5}
- name: token
  user: {token: t}
- name: file
  user: {tokenFile: token}
- name: lost
  user: {tokenFile: nowhere}
- name: password
  user: {username: u, password: p}
- name: exec
  user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: bin/helper, args: [get], interactiveMode: Never, provideClusterInfo: true}}
- name: cloud
  user: {auth-provider: {name: gcp}}
contexts:
- {name: certificate, context: {cluster: tls, user: certificate}}
- {name: data, context: {cluster: insecure, user: data}}
- {name: token, context: {cluster: insecure, user: token}}
- {name: file, context: {cluster: insecure, user: file}}
- {name: lost, context: {cluster: insecure, user: lost}}
- {name: password, context: {cluster: insecure, user: password}}
- {name: exec, context: {cluster: tls, user: exec}}
- {name: cloud, context: {cluster: tls, user: cloud}}
- {name: plain, context: {cluster: plain, user: token}}
- {name: nobody, context: {cluster: insecure}}
- {name: nowhere, context: {cluster: gone, user: token}}
`

func writeKubeconfig(t *testing.T, content string) (file string) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "token"), []byte("from the file"), 0o600))
	file = filepath.Join(folder, "config")
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	return file
}

// TestKubeconfigs: each way to be known to a server, with paths as seen from the file.
func TestKubeconfigs(t *testing.T) {
	file := writeKubeconfig(t, kubeconfig)
	in := func(path string) string { return filepath.Join(filepath.Dir(file), path) }
	insecure := rest.TLSClientConfig{Insecure: true, CAData: []byte("ca")}
	withKeys := insecure
	withKeys.CertData, withKeys.KeyData = []byte("cert"), []byte("key")
	tls := rest.TLSClientConfig{CAFile: in("ca.crt"), ServerName: "api.example.com"}
	withFiles := tls
	withFiles.CertFile, withFiles.KeyFile = in("pki/tls.crt"), "/etc/tls.key"
	for name, want := range map[string]rest.Config{
		"": {Host: "https://10.0.0.1:6443", DisableCompression: true, TLSClientConfig: withFiles, Impersonate: rest.ImpersonationConfig{
			UserName: "other", UID: "u", Groups: []string{"g"}, Extra: map[string][]string{"e": {"x"}}}},
		"data":     {Host: "https://10.0.0.2", TLSClientConfig: withKeys},
		"token":    {Host: "https://10.0.0.2", TLSClientConfig: insecure, BearerToken: "t"},
		"file":     {Host: "https://10.0.0.2", TLSClientConfig: insecure, BearerToken: "from the file", BearerTokenFile: in("token")},
		"password": {Host: "https://10.0.0.2", TLSClientConfig: insecure, Username: "u", Password: "p"},
		"plain":    {Host: "http://127.0.0.1:8080"}, // and no token
		"nobody":   {Host: "https://10.0.0.2", TLSClientConfig: insecure},
	} {
		got, err := clusterConfig(file, name)
		require.NoError(t, err, name)
		if name == "" {
			proxy, err := got.Proxy(nil)
			require.NoError(t, err)
			assert.Equal(t, "proxy.example.com:3128", proxy.Host)
			got.Proxy = nil
		}
		assert.Equal(t, want, *got, name)
	}
}

func TestKubeconfigWithExecPlugin(t *testing.T) {
	file := writeKubeconfig(t, kubeconfig)
	got, err := clusterConfig(file, "exec")
	require.NoError(t, err)
	require.NotNil(t, got.ExecProvider)
	assert.Equal(t, filepath.Join(filepath.Dir(file), "bin/helper"), got.ExecProvider.Command)
	assert.Equal(t, []string{"get"}, got.ExecProvider.Args)
	assert.NotNil(t, got.ExecProvider.Config, "what the cluster says of itself")
	assert.Equal(t, "helper", command("/folder", "helper"))
}

func TestBadKubeconfigs(t *testing.T) {
	file := writeKubeconfig(t, kubeconfig)
	for context, wrong := range map[string]string{
		"lost": "token", "cloud": "auth provider", "nowhere": "has no cluster", "other": "there is no context",
	} {
		_, err := clusterConfig(file, context)
		assert.ErrorContains(t, err, wrong, context)
	}
	_, err := clusterConfig(filepath.Join(t.TempDir(), "nothing"), "")
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = clusterConfig(writeKubeconfig(t, "token: [ "+testkit.Secret), "")
	assert.ErrorContains(t, err, "cannot be read")
	assert.NotContains(t, err.Error(), testkit.Secret)
}

// TestUsualKubeconfigs: $KUBECONFIG goes before the one at home, and a file that is not there
// before none.
func TestUsualKubeconfigs(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	_, err := clusterConfig("", "")
	assert.ErrorContains(t, err, "give -kubeconfig")

	require.NoError(t, os.Mkdir(filepath.Join(home, ".kube"), 0o700))
	atHome := filepath.Join(home, ".kube", "config")
	require.NoError(t, os.WriteFile(atHome, []byte(kubeconfig), 0o600))
	assert.Equal(t, atHome, usualFile())

	named := writeKubeconfig(t, kubeconfig)
	t.Setenv("KUBECONFIG", filepath.Join(home, "nothing")+string(filepath.ListSeparator)+named)
	assert.Equal(t, named, usualFile())
	got, err := clusterConfig("", "plain")
	require.NoError(t, err)
	assert.Equal(t, "http://127.0.0.1:8080", got.Host)
}
