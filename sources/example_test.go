// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package sources_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/sources"
)

// An informer of the pods of namespaces that are added and removed.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	client := fake.NewClientset(podIn("team-a", "web"), podIn("team-b", "db"))
	pods, set := sources.New(&corev1.Pod{}, kinformer.Options{})
	set.Put("team-a", podsOf(client, "team-a"))
	stopped := make(chan struct{})
	go func() { pods.RunWithContext(ctx); close(stopped) }()
	fmt.Println(kinformer.WaitForSync(ctx, pods), pods.GetStore().ListKeys())

	set.Put("team-b", podsOf(client, "team-b"))
	fmt.Println(kinformer.WaitForSync(ctx, set.Source("team-b")), len(pods.GetStore().ListKeys()))
	stop()
	<-stopped
	// Output:
	// <nil> [team-a/web]
	// <nil> 2
}

// podsOf lists and watches the pods of a namespace.
func podsOf(client kubernetes.Interface, namespace string) cache.ListerWatcher {
	pods := client.CoreV1().Pods(namespace)
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return pods.Watch(ctx, o)
		},
	}, client)
}

func podIn(namespace, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}
