// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// A program of a user, who has changed the import of client-go's cache package.
package main

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
)

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func main() {
	var informer clientgo.SharedIndexInformer = cache.NewSharedIndexInformer(cachetest.New(pod("a"), pod("b")), &corev1.Pod{}, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); informer.RunWithContext(ctx) }()
	if err := cache.WaitForSync(ctx, informer); err != nil {
		log.Fatal(err)
	}
	pods, err := informer.GetIndexer().ByIndex(cache.NamespaceIndex, "default")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(pods), "pods")
	cancel()
	<-ended
}
