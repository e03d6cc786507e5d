// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kinformer/cache/e2e/transport"
)

// CompactPath is where the server takes a POST that compacts etcd, answered
// with a CompactResult.
const CompactPath = "/kinformer/compact"

// CompactResult is the answer to a POST to CompactPath.
type CompactResult struct {
	// Revision is the resource version below which etcd keeps no history.
	Revision int64 `json:"revision"`
}

// Config returns a new client configuration for the administrator (a member of
// system:masters), in JSON and without client-side rate limit, with what
// package transport puts below all clients. The caller owns it.
func (s *Server) Config() *rest.Config {
	ep := s.Endpoint()
	return restConfig(ep, ep.AdminToken)
}

// ProtobufConfig is Config in protobuf, which built-in types only understand.
// The caller owns the result.
func (s *Server) ProtobufConfig() *rest.Config {
	cfg := s.Config()
	cfg.ContentType = runtime.ContentTypeProtobuf
	cfg.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return cfg
}

// UserConfig is Config for a user without privileges, who is subject to
// Options.MaxRequestsInFlight. The caller owns the result.
func (s *Server) UserConfig() *rest.Config {
	ep := s.Endpoint()
	return restConfig(ep, ep.UserToken)
}

// Kubeconfig returns the path of the administrator's kubeconfig file, in the
// data folder.
func (s *Server) Kubeconfig() string { return kubeconfigPath(s.DataDir(), "admin") }

// Compact makes etcd forget all history up to now and returns the resource
// version at which it did. The package documentation says what then answers
// 410 and what does not.
func (s *Server) Compact(ctx context.Context) (int64, error) {
	if _, err := s.running(); err != nil {
		return 0, err
	}
	cfg := s.Config()
	cfg.GroupVersion = &schema.GroupVersion{Version: "v1"}
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(cfg)
	if err != nil {
		return 0, fmt.Errorf("compact: %w", err)
	}
	raw, err := client.Post().AbsPath(CompactPath).Do(ctx).Raw()
	if err != nil {
		return 0, fmt.Errorf("compact: %w", err)
	}
	var result CompactResult
	if err := json.Unmarshal(raw, &result); err != nil {
		return 0, fmt.Errorf("compact: answer %q: %w", raw, err)
	}
	return result.Revision, nil
}

func restConfig(ep Endpoint, token string) *rest.Config {
	c := &rest.Config{
		Host:            ep.URL,
		BearerToken:     token,
		TLSClientConfig: rest.TLSClientConfig{CAData: ep.CA},
		QPS:             -1,
	}
	transport.Wrap(c)
	return c
}

func kubeconfigPath(dir, user string) string {
	return filepath.Join(dir, user+".kubeconfig")
}

// WriteKubeconfigs writes files for the administrator and the plain user into
// the data folder. Only the child calls it.
func WriteKubeconfigs(dir string, ep Endpoint) error {
	for user, token := range map[string]string{"admin": ep.AdminToken, "user": ep.UserToken} {
		cfg := clientcmdapi.NewConfig()
		cfg.Clusters["kinformer"] = &clientcmdapi.Cluster{Server: ep.URL, CertificateAuthorityData: ep.CA}
		cfg.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: token}
		cfg.Contexts["kinformer"] = &clientcmdapi.Context{Cluster: "kinformer", AuthInfo: user}
		cfg.CurrentContext = "kinformer"
		if err := clientcmd.WriteToFile(*cfg, kubeconfigPath(dir, user)); err != nil {
			return fmt.Errorf("kubeconfig: %w", err)
		}
	}
	return nil
}
