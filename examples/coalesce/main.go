// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Coalesce runs a handler that is slower than the changes: each call takes -work. With
// kinformer.OverflowCoalesce, the handler receives the latest state of each pod. The number of pending
// notifications is bounded by the number of changed pods, not by the number of changes, and no
// other handler is delayed. The program prints the state of the handler every second. It writes
// nothing to the cluster.
package main

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/examples/internal/example"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/kinformer"
)

var work = flag.Duration("work", 200*time.Millisecond, "duration of each call of the handler")

func main() { example.Main(run) }

// run follows pods until ctx ends.
func run(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	f := factory.Wrap(informers.NewSharedInformerFactory(client, 0))
	slow := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { handle(ctx, "new", obj.(*corev1.Pod)) },
		UpdateFunc: func(_, obj any) { handle(ctx, "changed", obj.(*corev1.Pod)) },
	}
	registration, err := f.Core().V1().Pods().Informer().AddEventHandler(kinformer.Deliver(slow, kinformer.Delivery{
		Name:     "slow",
		Overflow: kinformer.OverflowCoalesce,
	}))
	if err != nil {
		return err
	}
	f.StartWithContext(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { report(ctx, registration) })
	<-ctx.Done()
	watching.Wait()
	f.Shutdown()
	return nil
}

// handle simulates slow work. It returns early if ctx ends.
func handle(ctx context.Context, what string, pod *corev1.Pod) {
	select {
	case <-time.After(*work):
		fmt.Printf("%s/%s is %s, version %s\n", pod.Namespace, pod.Name, what, pod.ResourceVersion)
	case <-ctx.Done():
	}
}

// report prints the state of the handler every second. The coalesced count is the number of changes
// that were not delivered because later ones include them.
func report(ctx context.Context, registration cache.ResourceEventHandlerRegistration) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s, err := inspect.HandlerOf(registration)
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Printf("handler %s is %s: %d delivered, %d coalesced, %d waiting for up to %s\n",
				s.Name, s.State, s.Delivered, s.Coalesced, s.Pending, s.Oldest.Round(time.Millisecond))
		case <-ctx.Done():
			return
		}
	}
}
