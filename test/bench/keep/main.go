// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command keep prints what an informer of many pods costs if it keeps only the fields that a network agent reads: beside
// client-go's informer, and beside one whose transform function removes the other fields. Each side is a process of its own,
// which lists the pods of a server on the loopback interface, and then watches one update of each.
//
//	cd test/bench && go run ./keep -pods 100000
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/testkit/workload"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/test/bench/internal/blank"
	"github.com/kinformer/cache/test/bench/internal/child"
	"github.com/kinformer/cache/test/bench/internal/serve"
	"github.com/kinformer/cache/test/bench/internal/world"
)

func main() {
	pods := flag.Int("pods", 100_000, "the `number` of pods")
	encoding := flag.String("encoding", "protobuf", "json or protobuf")
	flag.Parse()
	child.Main(map[string]child.Role{serve.Role: child.Of(serve.Serve), sideRole: child.Of(runSide)}, func(ctx context.Context) error {
		return compare(ctx, *pods, *encoding)
	})
}

// byHand removes the other fields after decoding.
func byHand(obj any) (any, error) {
	pod, ok := obj.(*v1.Pod)
	if !ok {
		return obj, nil
	}
	pod.Annotations, pod.ManagedFields = nil, nil
	spec := v1.PodSpec{NodeName: pod.Spec.NodeName, HostNetwork: pod.Spec.HostNetwork, ServiceAccountName: pod.Spec.ServiceAccountName}
	spec.Containers = make([]v1.Container, len(pod.Spec.Containers))
	for i := range spec.Containers {
		spec.Containers[i].Ports = pod.Spec.Containers[i].Ports
	}
	pod.Spec, pod.Status = spec, v1.PodStatus{Phase: pod.Status.Phase, HostIP: pod.Status.HostIP, PodIPs: pod.Status.PodIPs}
	return pod, nil
}

// sides are what is compared, in the order of the table.
var sides = []struct {
	name   string
	direct bool
	make   func(lw clientgo.ListerWatcher) (clientgo.SharedIndexInformer, error)
}{
	{"client-go", false, plain(nil)},
	{"client-go, transform", false, plain(byHand)},
	{"direct", true, ours(kinformer.Decoding{})},
	{"direct, ShareParts", true, ours(kinformer.Decoding{ShareParts: true})},
	{"Keep", true, ours(kinformer.Decoding{Keep: blank.AgentFields})},
	{"Keep, ShareParts", true, ours(kinformer.Decoding{Keep: blank.AgentFields, ShareParts: true})},
}

func plain(transform clientgo.TransformFunc) func(clientgo.ListerWatcher) (clientgo.SharedIndexInformer, error) {
	return func(lw clientgo.ListerWatcher) (clientgo.SharedIndexInformer, error) {
		informer := clientgo.NewSharedIndexInformer(lw, &v1.Pod{}, 0, clientgo.Indexers{})
		return informer, informer.SetTransform(transform)
	}
}

func ours(decoding kinformer.Decoding) func(clientgo.ListerWatcher) (clientgo.SharedIndexInformer, error) {
	return func(lw clientgo.ListerWatcher) (clientgo.SharedIndexInformer, error) {
		return kinformer.New(lw, &v1.Pod{}, kinformer.Options{Decoding: decoding}), nil
	}
}

// figures are what a side reports.
type figures struct {
	Live, RSS, Peak uint64  // bytes: the live heap, resident memory once garbage was returned, and the most during the start
	Start, Event    float64 // CPU time: of the start in s, of an event in us
	Wire            float64 // bytes of a pod; 0: not known
}

// compare runs the sides one after the other.
func compare(ctx context.Context, pods int, encoding string) error {
	media, known := map[string]string{"json": blank.JSON, "protobuf": blank.Protobuf}[encoding]
	if !known || pods < 1 {
		return errors.New("-encoding is json or protobuf, and -pods is positive")
	}
	var hello serve.Hello
	server, err := child.Start(ctx, serve.Role, serve.Config{
		MediaType: media, Seed: 1, Objects: map[world.Resource]int{world.Pods: pods}, PerDeployment: workload.PodsPerDeployment, Recorded: true,
	}, &hello, os.Stderr)
	if err != nil {
		return err
	}
	defer func() { _ = server.Stop() }()
	fmt.Printf("%d pods in %s, kept: metadata, %s. GOGC=100, no GOMEMLIMIT, %s\n\n", pods, encoding, strings.Join(blank.AgentFields, ", "), time.Now().UTC().Format(time.DateOnly))
	fmt.Println("| side | live heap, MiB | RSS, MiB | peak RSS of the start, MiB | CPU of the start, s | CPU of an event, us |\n| --- | ---: | ---: | ---: | ---: | ---: |")
	var wire float64
	for at := range sides {
		if err := server.Call(ctx, "rewind", nil, nil); err != nil {
			return err
		}
		got, err := runAlone(ctx, server, sideConfig{at, media, pods, hello})
		if err != nil {
			return fmt.Errorf("%s: %w", sides[at].name, err)
		}
		fmt.Printf("| %s | %d | %d | %d | %.1f | %.1f |\n", sides[at].name, got.Live>>20, got.RSS>>20, got.Peak>>20, got.Start, got.Event)
		wire = max(wire, got.Wire)
	}
	fmt.Printf("\nA pod has %.0f bytes.\n", wire)
	return nil
}

// runAlone runs one side in a process of its own.
func runAlone(ctx context.Context, server *child.Process, c sideConfig) (got figures, err error) {
	side, err := child.Start(ctx, sideRole, c, nil, os.Stderr)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, side.Stop()) }()
	if err = side.Call(ctx, "start", nil, nil); err != nil {
		return got, err
	}
	if err = server.Call(ctx, "feed", nil, nil); err != nil {
		return got, err
	}
	return got, side.Call(ctx, "end", nil, &got)
}
