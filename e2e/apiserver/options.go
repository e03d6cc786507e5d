// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kinformer/cache/e2e/transport"
)

// BinaryEnv is the environment variable that names a built server binary.
const BinaryEnv = "KINFORMER_APISERVER"

// Options says how to run a server. The zero value works.
type Options struct {
	// DataDir holds etcd's files, the serving certificate, the kubeconfig file and the server's log.
	// It is created if missing and reused if not, data included. Empty means a temporary folder that
	// Stop removes. No two servers may use one folder at a time.
	DataDir string

	// Port on 127.0.0.1; 0 takes a free one, which the server then keeps over
	// restarts.
	Port int

	// DisableWatchCache lets every list and watch read etcd itself.
	DisableWatchCache bool

	// Binary is the server binary. Empty means the one that the environment
	// variable KINFORMER_APISERVER names, or else one that is built in the
	// folder kinformer in the user's cache folder.
	Binary string
}

// Endpoint is where a server serves.
type Endpoint struct {
	// URL is https://127.0.0.1:port.
	URL string
	// Port is the port in URL.
	Port int
	// CA is the certificate to trust, in PEM.
	CA []byte
	// Token is the bearer token of a member of system:masters.
	Token string
}

// Compacted is what came of a compaction: the resource version below which etcd keeps no history.
type Compacted struct {
	Revision int64
	Error    string
}

// Config returns a client configuration of the administrator, without a limit of requests. The
// caller may change it.
func (s *Server) Config() *rest.Config {
	e := s.Endpoint()
	c := &rest.Config{Host: e.URL, BearerToken: e.Token, TLSClientConfig: rest.TLSClientConfig{CAData: e.CA}, QPS: -1}
	transport.Wrap(c)
	return c
}

// ProtobufConfig is Config in protobuf, for clients of built-in resources.
func (s *Server) ProtobufConfig() *rest.Config {
	cfg := s.Config()
	cfg.ContentType = runtime.ContentTypeProtobuf
	cfg.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return cfg
}

// Kubeconfig returns the path of a kubeconfig file of the administrator, which stays the same over
// restarts.
func (s *Server) Kubeconfig() string { return kubeconfig(s.DataDir()) }

func kubeconfig(dir string) string { return filepath.Join(dir, "admin.kubeconfig") }

// WriteKubeconfig writes that file.
func (e Endpoint) WriteKubeconfig(dir string) error {
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["kinformer"] = &clientcmdapi.Cluster{Server: e.URL, CertificateAuthorityData: e.CA}
	cfg.AuthInfos["admin"] = &clientcmdapi.AuthInfo{Token: e.Token}
	cfg.Contexts["kinformer"] = &clientcmdapi.Context{Cluster: "kinformer", AuthInfo: "admin"}
	cfg.CurrentContext = "kinformer"
	return clientcmd.WriteToFile(*cfg, kubeconfig(dir))
}
