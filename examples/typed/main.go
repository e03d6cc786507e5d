// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Typed follows pods with an informer whose handlers, index functions and reads have the type
// *corev1.Pod. So no code asserts types, and tombstones need no case of their own. It prints how
// many pods a node has whenever that changes. It writes nothing to the cluster.
package main

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/examples/internal/example"
)

const byNode = "node" // the index of pods by their node

type podInformer = cache.TypedSharedIndexInformer[*corev1.Pod]

func main() { example.Main(run) }

// run follows pods until ctx ends.
func run(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	lw := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", corev1.NamespaceAll, fields.Everything())
	var informer podInformer = cache.NewTypedSharedIndexInformer[*corev1.Pod](cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, cache.Indexers{}))
	err = informer.AddTypedIndexers(cache.TypedIndexers[*corev1.Pod]{
		byNode: func(pod *corev1.Pod) ([]string, error) { return []string{pod.Spec.NodeName}, nil },
	})
	if err != nil {
		return err
	}
	registration, err := informer.AddTypedEventHandler(handler(informer))
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	defer running.Wait()
	if !cache.WaitFor(ctx, "pods", registration.HasSyncedChecker()) {
		return context.Cause(ctx)
	}
	for _, node := range informer.GetIndexer().ListIndexFuncValues(byNode) {
		if pods, err := informer.GetTypedIndexer().ByTypedIndex(byNode, node); err != nil {
			return err
		} else if len(pods) > 0 { // values that no object has any more may be listed
			fmt.Printf("%s has %d pods; %s is one of them\n", node, len(pods), pods[0].Name)
		}
	}
	<-ctx.Done()
	return nil
}

// handler says what changes after the initial list.
func handler(informer podInformer) cache.TypedResourceEventHandler[*corev1.Pod] {
	return cache.TypedResourceEventHandlerDetailedFuncs[*corev1.Pod]{
		AddFunc: func(pod *corev1.Pod, initial bool) {
			if !initial {
				say(informer, pod, "is on")
			}
		},
		UpdateFunc: func(was, pod *corev1.Pod) {
			if was.Spec.NodeName != pod.Spec.NodeName {
				say(informer, pod, "came to")
			}
		},
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.Pod]) {
			if pod := deleted.OptionalObj; pod != nil {
				say(informer, pod, "was on")
			}
		},
	}
}

// say counts the pods of a node. The store may be ahead of the handler.
func say(informer podInformer, pod *corev1.Pod, does string) {
	count, err := cache.Count(informer.GetIndexer(), byNode, pod.Spec.NodeName)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s/%s %s %s, which has %d pods now\n", pod.Namespace, pod.Name, does, pod.Spec.NodeName, count)
}
