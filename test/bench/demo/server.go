// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache/test/bench/internal/blank"
	"github.com/kinformer/cache/test/bench/internal/child"
	"github.com/kinformer/cache/test/bench/internal/measure"
	"github.com/kinformer/cache/test/bench/internal/serve"
	"github.com/kinformer/cache/test/bench/internal/world"
)

const (
	// leases is the number of Leases of nodes, each of which has an informer.
	leases = 29

	workers = 8
	// changePause limits the workers to some hundred updates a second.
	changePause = 15 * time.Millisecond
)

// endpoint is the address of a server, the certificate that clients trust, and their token, if any.
type endpoint struct {
	URL   string
	CA    []byte
	Token string
}

// config returns a client configuration. If decodes, informers decode directly.
func (e endpoint) config(decodes bool) *rest.Config {
	config := serve.Hello{URL: e.URL, CA: e.CA}.Config(decodes)
	config.BearerToken = e.Token
	return config
}

// server is an API server with pods and leases, in a process of its own. Its clients may use JSON and
// protobuf at the same time.
type server interface {
	// endpoint returns the server's address, which does not change.
	endpoint() endpoint
	// touch updates the status of a pod, or a lease, and returns the new version. The number of a pod is
	// its position in a LIST before the first update. touch may be called concurrently.
	touch(ctx context.Context, of world.Resource, number int) (version string, err error)
	// cut ends all connections, refuses new ones, and forgets the history of the objects.
	cut(ctx context.Context) error
	// restore accepts connections again.
	restore(ctx context.Context) error
	// stop ends the process.
	stop() error
}

// simulated is the server of the benchmarks. Its objects also change while no client can connect.
type simulated struct {
	process *child.Process
	hello   serve.Hello
}

// startSimulated starts a simulated server. The server does not end with ctx.
func startSimulated(ctx context.Context, pods int) (*simulated, error) {
	s := &simulated{}
	config := serve.Config{TLS: true, Objects: map[world.Resource]int{world.Pods: pods, world.Leases: leases}, PerDeployment: world.PodsPerDeployment}
	var err error
	s.process, err = child.Start(context.WithoutCancel(ctx), serve.Role, config, &s.hello, os.Stderr)
	return s, err
}

func (s *simulated) endpoint() endpoint { return endpoint{URL: s.hello.URL, CA: s.hello.CA} }

// call does not end with a context: the answer to a canceled call would be that to the next one.
func (s *simulated) call(do string, with, result any) error {
	return s.process.Call(context.Background(), do, with, result)
}

func (s *simulated) touch(_ context.Context, of world.Resource, number int) (version string, err error) {
	err = s.call("touch", serve.Touched{Of: of, Number: int32(number)}, &version)
	return version, err
}

func (s *simulated) cut(context.Context) error {
	return errors.Join(s.call("shut", true, nil), s.call("gone", "", nil))
}

func (s *simulated) restore(context.Context) error { return s.call("shut", false, nil) }

func (s *simulated) stop() error { return s.process.Stop() }

// serveSimulated is the main function of the simulated server's process.
func serveSimulated(ctx context.Context, config serve.Config) error {
	ignoreInterrupts()
	log.SetOutput(io.Discard) // package http's: cut closes connections in the middle of a handshake
	return serve.Serve(ctx, config)
}

// ignoreInterrupts leaves it to the parent, which also receives them, to end this process.
func ignoreInterrupts() { signal.Ignore(os.Interrupt, syscall.SIGTERM) }

// cluster is a server with its objects.
type cluster struct {
	server
	pods int
	// keys are the keys of the objects that mark updates: the first pod and all leases.
	keys []string
}

// startCluster starts the server that o selects, with its objects.
func startCluster(ctx context.Context, o options, out io.Writer) (*cluster, error) {
	c := &cluster{pods: o.pods}
	var err error
	if o.apiserver == "" {
		fmt.Fprintf(out, "a simulated API server (no kube-apiserver, no etcd) with %d pods like those of Deployments\n", o.pods)
		c.server, err = startSimulated(ctx, o.pods)
	} else {
		fmt.Fprintf(out, "an API server of k8s.io/apiserver with etcd creates %d pods like those of Deployments\n", o.pods)
		c.server, err = startReal(ctx, o.apiserver, o.pods)
	}
	if err != nil {
		return nil, fmt.Errorf("start of the API server: %w", err)
	}
	if c.keys, err = c.marked(ctx); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// marked returns keys.
func (c *cluster) marked(ctx context.Context) ([]string, error) {
	client, err := serve.Client(c.endpoint().config(false), world.Pods, blank.Protobuf)
	if err != nil {
		return nil, err
	}
	var pods corev1.PodList
	if err := client.Get().Resource("pods").Do(ctx).Into(&pods); err != nil {
		return nil, err
	}
	keys := []string{pods.Items[0].Namespace + "/" + pods.Items[0].Name}
	for i := range uint32(leases) {
		keys = append(keys, blank.LeaseNamespace+"/"+blank.LeaseName(i))
	}
	return keys, nil
}

// startChanging starts workers that update random pods. stop ends the workers, waits for them, and
// returns the number of updates that the server accepted.
func (c *cluster) startChanging(ctx context.Context) (stop func() int) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	var accepted atomic.Int64
	for range workers {
		group.Go(func() {
			for measure.Pause(ctx, changePause) == nil {
				if _, err := c.touch(ctx, world.Pods, rand.IntN(c.pods)); err == nil {
					accepted.Add(1)
				}
			}
		})
	}
	return func() int { cancel(); group.Wait(); return int(accepted.Load()) }
}

// mark updates an object of each informer and returns the versions, in the order of the informers.
// An informer that has that version of its object, or a later one, is current.
func (c *cluster) mark(ctx context.Context) (versions []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	versions, err = c.markOnce(ctx)
	for err != nil && measure.Pause(ctx, pollInterval) == nil { // the first request may use a dead connection
		versions, err = c.markOnce(ctx)
	}
	return versions, err
}

func (c *cluster) markOnce(ctx context.Context) ([]string, error) {
	version, err := c.touch(ctx, world.Pods, 0)
	versions := []string{version}
	for i := 0; i < leases && err == nil; i++ {
		version, err = c.touch(ctx, world.Leases, i)
		versions = append(versions, version)
	}
	return versions, err
}
