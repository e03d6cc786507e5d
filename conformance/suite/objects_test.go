// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// pod makes a pod called name in namespace "ns" at the resource version, which may be empty.
func pod(name, rv string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: rv}}
}

// labelled is a pod with one label per "key=value" pair given as key, value, key, value ...
func labelled(name, rv string, pairs ...string) *corev1.Pod {
	p := pod(name, rv)
	p.Labels = map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		p.Labels[pairs[i]] = pairs[i+1]
	}
	return p
}

// label writes an object as name@rv; tombstones are gone(name@rv), keys and foreign objects stand
// for themselves.
func label(obj any) string {
	switch o := obj.(type) {
	case nil:
		return "nil"
	case cache.DeletedFinalStateUnknown:
		return fmt.Sprintf("gone(%s)", label(o.Obj))
	case cache.Deltas:
		return fmt.Sprint(deltaLabels(o))
	case cache.ReplacedAllInfo:
		return fmt.Sprintf("all@%s%v", o.ResourceVersion, labels(o.Objects))
	case cache.SyncAllInfo:
		return "all"
	case cache.BookmarkInfo:
		return "@" + o.ResourceVersion
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Sprint(obj)
	}
	return m.GetName() + "@" + m.GetResourceVersion()
}

// labels writes objects in the order given.
func labels[T any](objs []T) []string {
	out := make([]string, 0, len(objs))
	for _, o := range objs {
		out = append(out, label(o))
	}
	return out
}

// sorted is labels in alphabetical order, for calls whose order is not promised.
func sorted[T any](objs []T) []string {
	out := labels(objs)
	slices.Sort(out)
	return out
}

// deltaLabels writes deltas as "Type name@rv".
func deltaLabels(deltas []cache.Delta) []string {
	out := make([]string, 0, len(deltas))
	for _, d := range deltas {
		out = append(out, string(d.Type)+" "+label(d.Object))
	}
	return out
}

// errUnkeyable is what keyOrRefuse answers for anything without metadata.
var errUnkeyable = errors.New("no key in this")

// keyOrRefuse is DeletionHandlingMetaNamespaceKeyFunc with an error that a test can recognize.
func keyOrRefuse(obj any) (string, error) {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return "", errUnkeyable
	}
	return key, nil
}
