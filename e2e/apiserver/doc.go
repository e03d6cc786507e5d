// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver runs a Kubernetes API server for tests and demos, with no
// cluster, container or download: only Go is needed.
//
//	srv, err := apiserver.StartChild(ctx, apiserver.Options{})
//	if err != nil { ... }
//	defer srv.Stop(context.Background())
//	client, err := kubernetes.NewForConfig(srv.ProtobufConfig())
//
// # What it is
//
// The generic API server stack: k8s.io/apiserver's registry, watch cache and
// etcd3 storage, with an etcd in the same process, serving
//
//   - core/v1: pods, nodes, configmaps, secrets, serviceaccounts, services,
//     namespaces, events
//   - apps/v1: deployments, replicasets
//   - coordination.k8s.io/v1: leases
//   - events.k8s.io/v1: events
//   - custom resources, by apiextensions-apiserver
//
// in JSON and protobuf (custom resources in JSON), over TLS and HTTP/2, with
// discovery. List, watch, paging, watch-list, bookmarks, selectors, conflicts,
// server-side apply and resource versions are therefore the real ones, and so
// are their errors: 409, 410, 429 and the rest.
//
// # What it is not
//
// It is not kube-apiserver. There is no defaulting and no validation beyond
// metadata; no graceful deletion, garbage collection or controllers (finalizers
// do work); no admission, so that a namespaced object does not need its
// namespace; no OpenAPI document. Status is stored as sent on create and on
// update; the status subresource changes status only. Generation never moves.
// core/v1 and events.k8s.io/v1 events are two separate collections. The list of
// groups at /apis names those of custom resources only in its aggregated form,
// which client-go and kubectl ask for. Every authenticated user may do
// everything.
//
// [StartChild] runs the server in a child process, which can be killed, frozen
// and measured by itself, and keeps k8s.io/apiserver and etcd out of the binary
// that calls it: this package imports neither.
//
// # Guarantees
//
//  1. It listens on 127.0.0.1 only.
//  2. URL, certificate, token and kubeconfig file stay the same over
//     [Server.Restart].
//  3. What a client was told is written survives [Server.Kill]: the data is in
//     the kernel's page cache by then. It does not survive a crash of the
//     machine, because nothing is fsynced.
//  4. A child never outlives its parent: it ends when the pipe that it has as
//     standard input is closed, however the parent ended. A child that is
//     frozen by [Server.Pause] ends once it runs again.
//
// # Making a resource version expire
//
// [Server.Compact] alone gives no 410 to a watch while the watch cache is on:
// the cache still holds the last 75 seconds or more of events and answers from
// them. Compact then Restart does: the new process knows nothing older than its
// start, so that a watch, and a list with resourceVersionMatch=Exact, from
// before the compaction end with 410 Expired. With
// [Options.DisableWatchCache], Compact alone is enough, for watches, exact
// lists and continue tokens.
package apiserver
