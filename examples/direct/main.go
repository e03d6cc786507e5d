// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Direct follows pods with an informer that decodes responses of the server itself. The informer
// requests protobuf and drops managed fields. Every second the program prints the number of objects
// that the informer has decoded, and the number of those that the client has also decoded, for
// comparison. With KINFORMER_DIRECT=off in the environment, the client decodes all objects. The
// program writes nothing to the cluster.
package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/examples/internal/example"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/kinformer"
)

func main() { example.Main(run) }

// run follows pods until ctx ends.
func run(ctx context.Context, config *rest.Config) error {
	config.Wrap(direct.Transport) // before a client is created from config
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	f := factory.Wrap(informers.NewSharedInformerFactory(client, 0), factory.WithInformerOptions(kinformer.Options{Decoding: kinformer.Decoding{Drop: []string{"metadata.managedFields"}}}))
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
		status, err := inspect.StatusOf(informer)
		if err != nil {
			return err
		}
		fmt.Println(describe(status))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// describe returns the text of the decoding status.
func describe(status inspect.Status) string {
	d := status.Decoding
	if !d.On {
		return "the client decodes: " + d.Why
	}
	return fmt.Sprintf("decoded from %s: %d objects directly, and %d both directly and by the client, with %d differences",
		d.Encoding, d.Direct, d.Verified.Objects, d.Verified.Differences)
}
