// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/tools/clientcmd/api/latest"
)

// clusterConfig returns the configuration of clients for a context of a kubeconfig: of that file,
// or else where such a file is as a rule, or else of the cluster that this runs in. It does what
// package clientcmd does, which would bring a module of flags along, but for merging several files,
// asking for passwords, and helpers of clouds that are no exec plugins.
func clusterConfig(file, name string) (*rest.Config, error) {
	if file == "" {
		file = usualFile()
	}
	if file == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, errors.New("no cluster: give -kubeconfig")
		}
		return config, nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	kind := schema.GroupVersionKind{Version: latest.Version, Kind: "Config"}
	decoded, _, err := latest.Codec.Decode(content, &kind, api.NewConfig())
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %s cannot be read", file) // the error may have parts of it
	}
	config, err := choose(decoded.(*api.Config), name, filepath.Dir(file))
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %s: %w", file, err)
	}
	return config, nil
}

// usualFile returns the first file of $KUBECONFIG that is there, or ~/.kube/config, or "".
func usualFile() string {
	files := filepath.SplitList(os.Getenv("KUBECONFIG"))
	if home, err := os.UserHomeDir(); err == nil && len(files) == 0 {
		files = []string{filepath.Join(home, ".kube", "config")}
	}
	for _, file := range files {
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	return ""
}

// choose returns the configuration for a context, "" for the current one, of a file in that folder.
func choose(all *api.Config, name, folder string) (*rest.Config, error) {
	if name == "" {
		name = all.CurrentContext
	}
	at := all.Contexts[name]
	if at == nil {
		return nil, fmt.Errorf("there is no context %q", name)
	}
	server, user := all.Clusters[at.Cluster], all.AuthInfos[at.AuthInfo]
	if server == nil || server.Server == "" {
		return nil, fmt.Errorf("context %q has no cluster", name)
	}
	config := &rest.Config{Host: server.Server, DisableCompression: server.DisableCompression}
	if server.ProxyURL != "" {
		proxy, err := url.Parse(server.ProxyURL)
		if err != nil {
			return nil, errors.New("the URL of the proxy cannot be read")
		}
		config.Proxy = http.ProxyURL(proxy)
	}
	if user != nil {
		impersonate(config, user)
	}
	if !rest.IsConfigTransportTLS(*config) {
		return config, nil // credentials are for TLS only
	}
	identifyServer(config, server, folder)
	if user == nil {
		return config, nil
	}
	return config, identify(config, user, server, folder)
}

func impersonate(config *rest.Config, user *api.AuthInfo) {
	if user.Impersonate != "" {
		config.Impersonate = rest.ImpersonationConfig{
			UserName: user.Impersonate, UID: user.ImpersonateUID,
			Groups: user.ImpersonateGroups, Extra: user.ImpersonateUserExtra,
		}
	}
}

func identifyServer(config *rest.Config, server *api.Cluster, folder string) {
	config.TLSClientConfig = rest.TLSClientConfig{
		CAFile: from(folder, server.CertificateAuthority), CAData: server.CertificateAuthorityData,
		Insecure: server.InsecureSkipTLSVerify, ServerName: server.TLSServerName,
	}
}

// identify adds what the user is known by.
func identify(config *rest.Config, user *api.AuthInfo, server *api.Cluster, folder string) error {
	config.CertFile, config.CertData = from(folder, user.ClientCertificate), user.ClientCertificateData
	config.KeyFile, config.KeyData = from(folder, user.ClientKey), user.ClientKeyData
	config.Username, config.Password = user.Username, user.Password
	config.BearerToken, config.BearerTokenFile = user.Token, from(folder, user.TokenFile)
	if user.Token == "" && user.TokenFile != "" {
		token, err := os.ReadFile(config.BearerTokenFile)
		if err != nil {
			return fmt.Errorf("token: %w", err)
		}
		config.BearerToken = string(token)
	}
	if user.AuthProvider != nil {
		return fmt.Errorf("the auth provider %q is none that this program has: use an exec plugin", user.AuthProvider.Name)
	}
	if user.Exec != nil {
		config.ExecProvider = user.Exec.DeepCopy()
		config.ExecProvider.Config = server.Extensions["client.authentication.k8s.io/exec"]
		config.ExecProvider.Command = command(folder, user.Exec.Command)
	}
	return nil
}

// from returns a path as seen from a folder, and "" for none.
func from(folder, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}

// command returns what to run: a name is looked for in $PATH, a path is seen from the folder.
func command(folder, name string) string {
	if filepath.Base(name) == name {
		return name
	}
	return from(folder, name)
}
