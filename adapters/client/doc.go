// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinformerclient reads the caches of controller-runtime with queries that these do not
// support:
//
//	reader := kinformerclient.NewReader(mgr.GetCache(), mgr.GetScheme())
//
//	var pods corev1.PodList
//	err := reader.List(ctx, &pods,
//		client.InNamespace("team-a"),
//		client.MatchingFields{"spec.nodeName": "n7", "status.phase": "Running"},
//		client.MatchingLabels{"app": "web"},
//		client.Limit(100), client.Continue(pods.Continue))
//
// Reader.Sorted sets an order.
//
// The informers must belong to this module, by NewInformer in the Options of the manager's cache:
// see package kinformer. Lists of other informers, or of a cache with DefaultNamespaces or
// ByObject.Namespaces, are passed to the cache itself, which has no order; with Sorted, Limit or
// Continue they are refused. One informer for several namespaces is that of factory.Namespaces.
// Every Get is passed to the cache.
package kinformerclient
