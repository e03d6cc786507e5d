// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/kinformer"
)

// An informer whose pods have no managed fields.
func ExampleTrimManagedFields() {
	informer := cache.NewSharedIndexInformer(cachetest.Of(newPod("web-0")), &corev1.Pod{}, 0, cache.Indexers{})
	if err := informer.SetTransform(kinformer.TrimManagedFields); err != nil {
		fmt.Println(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		informer.RunWithContext(ctx)
	}()
	cache.WaitFor(ctx, "pods", informer.HasSyncedChecker())
	obj, _, err := informer.GetStore().GetByKey("default/web-0")
	fmt.Println(len(obj.(*corev1.Pod).ManagedFields), len(obj.(*corev1.Pod).Annotations), err)
	cancel()
	<-ended
	// Output: 0 2 <nil>
}

// A transform function that removes one annotation, and its result for a pod.
func ExampleTrimAnnotations() {
	transform := kinformer.TrimAnnotations(applied)
	obj, err := transform(newPod("web-0"))
	fmt.Println(obj.(*corev1.Pod).Annotations, err)
	// Output: map[example.com/owner:web] <nil>
}
