// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Snapshot counts pods in three ways, by several queries, while they come and go. In a snapshot all
// queries answer from one state, so the sums are equal; queries of the store, one after the other,
// may give different ones. It fails if the sums of a snapshot differ. It writes nothing to the
// cluster.
package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/examples/internal/example"
)

const (
	byNode = "node" // the index of pods by their node
	every  = 200 * time.Millisecond
)

func main() { example.Main(run) }

// run counts until ctx ends.
func run(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	lw := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", corev1.NamespaceAll, fields.Everything())
	informer := cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
		byNode:               func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil },
	})
	ctx, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { informer.RunWithContext(ctx) })
	defer group.Wait()
	defer stop()
	if err := cache.WaitForSync(ctx, informer.GetController()); err != nil {
		return err
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := count(informer.GetIndexer()); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// count compares the number of pods with the sums over the namespaces and over the nodes.
func count(indexer cache.Indexer) error {
	snapshot, err := cache.SnapshotOf(indexer)
	if err != nil {
		return err
	}
	defer snapshot.Close()
	namespaces, nodes := map[string]int{}, map[string]int{}
	for _, obj := range snapshot.All() {
		namespaces[obj.(*corev1.Pod).Namespace]++
		nodes[obj.(*corev1.Pod).Spec.NodeName]++
	}
	inNamespaces, err := sum(snapshot, cache.NamespaceIndex, namespaces)
	if err != nil {
		return err
	}
	onNodes, err := sum(snapshot, byNode, nodes)
	if err != nil {
		return err
	}
	fmt.Printf("version %s: %d pods, %d in %d namespaces, %d on %d nodes\n",
		snapshot.ResourceVersion(), snapshot.Len(), inNamespaces, len(namespaces), onNodes, len(nodes))
	if inNamespaces != snapshot.Len() || onNodes != snapshot.Len() {
		return fmt.Errorf("the sums of version %s differ", snapshot.ResourceVersion())
	}
	return nil
}

// sum counts the objects under the given values of an index.
func sum(snapshot cache.Snapshot, index string, values map[string]int) (total int, err error) {
	for value := range values {
		objects, err := snapshot.ByIndex(index, value)
		if err != nil {
			return 0, err
		}
		total += len(objects)
	}
	return total, nil
}
