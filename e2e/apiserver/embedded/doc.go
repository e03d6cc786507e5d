// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

// Package embedded runs the API server of package apiserver in the calling
// process. It links k8s.io/apiserver and etcd: binaries that import it are
// large and take minutes to build the first time. Use apiserver.StartChild
// where the server must be killed, frozen or measured by itself.
//
// The package does not exist under the race detector (build tag !race), so that
// no test binary compiles apiserver and etcd a second time in their slow form;
// tests that run with -race start a child.
//
//	embedded.Start
//	  etcd      one member on 127.0.0.1, files in the data folder
//	  identity  serving certificate and tokens, kept in the data folder
//	  core      GenericAPIServer: built-in types, discovery, /kinformer/compact
//	    └─ crds   apiextensions server: what core does not know goes there
//
// Several servers may run in one process, one after the other or at once.
package embedded
