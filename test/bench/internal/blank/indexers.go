// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package blank

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/tools/cache"
)

// The three indexes of pods in a controller manager, with the number of pods per value in package
// workload.
const (
	ByNamespace = clientgo.NamespaceIndex // 1000
	ByNode      = "node"                  // 50
	ByOwner     = "owner"                 // 30 or 20
)

var indexFuncs = map[string]clientgo.IndexFunc{
	ByNamespace: clientgo.MetaNamespaceIndexFunc,
	ByNode:      func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil },
	ByOwner: func(obj any) ([]string, error) {
		if owner := metav1.GetControllerOfNoCopy(obj.(*corev1.Pod)); owner != nil {
			return []string{string(owner.UID)}, nil
		}
		return nil, nil
	},
}

// Indexers returns the first n of the three indexes. The first one is of all kinds of objects.
func Indexers(n int) clientgo.Indexers {
	chosen := clientgo.Indexers{}
	for _, name := range []string{ByNamespace, ByNode, ByOwner}[:n] {
		chosen[name] = indexFuncs[name]
	}
	return chosen
}
