// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

// Package embedded is the API server of package apiserver, for its child
// process. It links k8s.io/apiserver and etcd: binaries that import it are
// large and take minutes to build the first time. The package does not exist
// under the race detector (build tag !race).
//
//	embedded.Run
//	  etcd      one member on 127.0.0.1, files in the data folder
//	  identity  serving certificate, kept in the data folder, and token
//	  core      GenericAPIServer: built-in types, discovery
//	    └─ crds   apiextensions server: what core does not know goes there
package embedded
