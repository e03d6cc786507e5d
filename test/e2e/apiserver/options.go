// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kinformer/cache/test/e2e/transport"
)

// BinaryEnv is the environment variable with the path of a prebuilt server binary.
const BinaryEnv = "KINFORMER_APISERVER"

// Options configures a server. The zero value is valid.
type Options struct {
	// DataDir holds etcd's files, the serving certificate, the kubeconfig file and the server's log. It
	// is created if missing; existing data is reused. Empty means a temporary folder that Stop removes.
	// Two servers must not use one folder at the same time.
	DataDir string

	// Port is the port on 127.0.0.1. 0 means a free port, which stays the same over restarts.
	Port int

	// DisableWatchCache makes every list and watch read etcd.
	DisableWatchCache bool

	// RBAC limits users to the roles bound to them; the administrator may do everything. Without RBAC
	// every user may do everything. To act as another user, set Impersonate of a Config.
	RBAC bool

	// FeatureGates has the format of kube-apiserver's flag, such as "ShardedListAndWatch=true".
	FeatureGates string

	// Binary is the path of the server binary. Empty means the path in the environment variable
	// KINFORMER_APISERVER or, without the variable, a binary built in the folder kinformer of the user's
	// cache folder.
	Binary string
}

// Endpoint is the address of a server and the credentials to access it.
type Endpoint struct {
	// URL has the form https://127.0.0.1:port.
	URL string
	// Port is the port in URL.
	Port int
	// CA is the certificate to trust, in PEM.
	CA []byte
	// Token is the bearer token of a member of system:masters.
	Token string
}

// Compacted is the result of a compaction. Revision is the resource version below which etcd keeps no
// history.
type Compacted struct {
	Revision int64
	Error    string
}

// Kubeconfig returns the path of the administrator's kubeconfig file in the data folder dir.
func Kubeconfig(dir string) string { return filepath.Join(dir, "admin.kubeconfig") }

// Config returns a client configuration of the administrator, without client-side rate limits. The
// caller may modify it.
func (s *Server) Config() *rest.Config {
	e := s.Endpoint()
	c := &rest.Config{Host: e.URL, BearerToken: e.Token, TLSClientConfig: rest.TLSClientConfig{CAData: e.CA}, QPS: -1}
	transport.Wrap(c)
	return c
}

// ProtobufConfig returns Config with protobuf as content type, for clients of built-in resources.
func (s *Server) ProtobufConfig() *rest.Config {
	cfg := s.Config()
	cfg.ContentType = runtime.ContentTypeProtobuf
	cfg.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return cfg
}

// Kubeconfig returns the path of the administrator's kubeconfig file. The path stays the same over
// restarts.
func (s *Server) Kubeconfig() string { return Kubeconfig(s.DataDir()) }

// WriteKubeconfig writes the administrator's kubeconfig file to the data folder dir.
func (e Endpoint) WriteKubeconfig(dir string) error {
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["kinformer"] = &clientcmdapi.Cluster{Server: e.URL, CertificateAuthorityData: e.CA}
	cfg.AuthInfos["admin"] = &clientcmdapi.AuthInfo{Token: e.Token}
	cfg.Contexts["kinformer"] = &clientcmdapi.Context{Cluster: "kinformer", AuthInfo: "admin"}
	cfg.CurrentContext = "kinformer"
	return clientcmd.WriteToFile(*cfg, Kubeconfig(dir))
}

var crdResource = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

// CustomResource describes a kind for InstallCRD. Its objects may have arbitrary fields.
type CustomResource struct {
	// Group and Version, such as "example.com" and "v1".
	Group, Version string
	// Kind, such as "Widget". The plural resource name is the kind in lower case with an s.
	Kind string
}

// Resource returns the group, version and resource of c.
func (c CustomResource) Resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: c.Group, Version: c.Version, Resource: strings.ToLower(c.Kind) + "s"}
}

// InstallCRD creates the definition of c, unless a definition of that name exists, and returns once the
// server serves objects of the kind.
func (s *Server) InstallCRD(ctx context.Context, c CustomResource) error {
	client, err := dynamic.NewForConfig(s.Config())
	if err != nil {
		return fmt.Errorf("custom resource %s: %w", c.Kind, err)
	}
	_, err = client.Resource(crdResource).Create(ctx, c.definition(), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("custom resource %s: %w", c.Kind, err)
	}
	// Objects can be listed some milliseconds after the definition is established. Until then the server
	// answers 404, or 503 while it starts.
	var last error
	err = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, last = client.Resource(c.Resource()).List(ctx, metav1.ListOptions{Limit: 1})
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("custom resource %s is not served: %w", c.Kind, errors.Join(err, last))
	}
	return nil
}

func (c CustomResource) definition() *unstructured.Unstructured {
	type object = map[string]any
	gvr := c.Resource()
	version := object{
		"name": c.Version, "served": true, "storage": true,
		"schema": object{"openAPIV3Schema": object{
			"type": "object", "x-kubernetes-preserve-unknown-fields": true,
		}},
	}
	return &unstructured.Unstructured{Object: object{
		"apiVersion": crdResource.GroupVersion().String(),
		"kind":       "CustomResourceDefinition",
		"metadata": object{
			"name": gvr.Resource + "." + gvr.Group,
			// Without this annotation the server refuses groups of k8s.io.
			"annotations": object{"api-approved.kubernetes.io": "unapproved, for tests"},
		},
		"spec": object{
			"group":    c.Group,
			"scope":    "Namespaced",
			"names":    object{"kind": c.Kind, "plural": gvr.Resource, "singular": strings.ToLower(c.Kind)},
			"versions": []any{version},
		},
	}}
}
