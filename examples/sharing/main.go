// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Sharing follows pods whose equal parts are stored once in memory, such as the list of containers of
// all pods of a replica set. Every second the program prints the number of pods and of such lists, and
// the size of the table of shared parts. A program with sharing must never modify a cached object; if
// this program did, it would print that problem. It writes nothing to the cluster.
package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/examples/internal/example"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/view"
)

func main() { example.Main(run) }

// run follows pods until ctx ends.
func run(ctx context.Context, config *rest.Config) error {
	config.Wrap(direct.Transport) // sharing needs direct decoding
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	f := factory.Wrap(informers.NewSharedInformerFactory(client, 0), factory.WithInformerOptions(kinformer.Options{Decoding: kinformer.Decoding{ShareParts: true}}))
	informer := f.Core().V1().Pods().Informer()
	ctx, stop := context.WithCancel(ctx)
	f.StartWithContext(ctx)
	defer f.Shutdown()
	defer stop() // runs first: Shutdown waits for the informers
	if err := kinformer.WaitForSync(ctx, informer); err != nil {
		return err
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if err := report(informer); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// report prints the number of different lists of containers of the pods. Two pods share a list if the
// list has the same address in both.
func report(informer cache.SharedIndexInformer) error {
	pods, lists := 0, map[*corev1.Container]bool{}
	for _, pod := range view.TypedAll[*corev1.Pod](informer.GetStore()) {
		if containers := pod.Spec.Containers; len(containers) > 0 {
			pods++
			lists[&containers[0]] = true
		}
	}
	status, err := inspect.StatusOf(informer)
	if err != nil {
		return err
	}
	d := status.Decoding
	if !d.Shared.On {
		return fmt.Errorf("nothing is shared: %s%s", d.Why, d.Shared.Why)
	}
	fmt.Printf("%d pods have %d lists of containers; the table has %d parts in %d KiB, of which %d were found again\n",
		pods, len(lists), d.Shared.Parts.Count, d.Shared.Parts.Bytes>>10, d.Shared.Parts.Hits)
	for _, problem := range status.Problems {
		fmt.Println("degraded:", problem.Text) // for example, a caller modified a cached object
	}
	return nil
}
