// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinformerclient reads the caches of controller-runtime by queries that these refuse:
//
//	reader := kinformerclient.NewReader(mgr.GetCache(), mgr.GetScheme())
//
//	var pods corev1.PodList
//	err := reader.List(ctx, &pods,
//		client.InNamespace("team-a"),
//		client.MatchingFields{"spec.nodeName": "n7", "status.phase": "Running"},
//		client.MatchingLabels{"app": "web"},
//		kinformerclient.SortBy(func(a, b client.Object) bool { return a.GetName() < b.GetName() }),
//		client.Limit(100), client.Continue(pods.Continue))
//
// The informers must be of this module, by NewInformer of the Options of the manager's cache: see package
// kinformer. A list of other informers, or over DefaultNamespaces, is answered by the cache itself, without
// pages, and refused with SortBy. Every Get is answered by the cache.
package kinformerclient
