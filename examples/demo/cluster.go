// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kinformer/cache/e2e/apiserver"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/kinformer"
)

const (
	// writtenAt is the annotation with the time of a write, in nanoseconds since 1970: handlers
	// tell their lag from it.
	writtenAt = "demo.kinformer.io/written-at"

	workers = 4
	// changePause keeps a worker to about a hundred writes a second.
	changePause = 10 * time.Millisecond
	// outagePause is how long to wait before what failed in an outage is tried again.
	outagePause = 200 * time.Millisecond
)

// cluster is the embedded server with its pods.
type cluster struct {
	server *apiserver.Server
	core   typed.CoreV1Interface
	out    io.Writer
}

// startCluster starts the server and fills it.
func startCluster(ctx context.Context, o options, out io.Writer) (*cluster, error) {
	server, err := apiserver.StartChild(ctx, apiserver.Options{Binary: o.apiserver})
	if err != nil {
		return nil, fmt.Errorf("embedded API server: %w", err)
	}
	c := &cluster{server: server, out: out}
	client, err := kubernetes.NewForConfig(server.ProtobufConfig())
	if err != nil {
		c.stop()
		return nil, err
	}
	c.core = client.CoreV1()
	fmt.Fprintf(out, "creating %d pods on the embedded API server at %s\n", o.pods, server.URL())
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2 * workers)
	for i := range o.pods {
		group.Go(func() error { return c.create(ctx, i) })
	}
	if err := group.Wait(); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

// stop stops the server.
func (c *cluster) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.server.Stop(ctx); err != nil {
		fmt.Fprintf(c.out, "stopping the server: %v\n", err)
	}
}

// in returns the client for pod i: pods are spread over a few namespaces.
func (c *cluster) in(i int) typed.PodInterface { return c.core.Pods("demo-" + strconv.Itoa(i%10)) }

func podName(i int) string { return "pod-" + strconv.Itoa(i) }

func now() string { return strconv.FormatInt(time.Now().UnixNano(), 10) }

func (c *cluster) create(ctx context.Context, i int) error {
	_, err := c.in(i).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: podName(i), Labels: map[string]string{"app": "demo"}, Annotations: map[string]string{writtenAt: now()}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "image"}}},
	}, metav1.CreateOptions{})
	return err
}

// startChanging has workers change pods at random until stop is called, which waits for them. What
// fails is left: while the server is down everything does.
func (c *cluster) startChanging(ctx context.Context, n int) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for sleep(ctx, changePause) {
				_ = c.change(ctx, rand.IntN(n))
			}
		})
	}
	return func() { cancel(); group.Wait() }
}

// change patches a pod, and now and then deletes it or creates it again.
func (c *cluster) change(ctx context.Context, i int) error {
	switch rand.IntN(20) {
	case 0:
		return c.in(i).Delete(ctx, podName(i), metav1.DeleteOptions{})
	case 1, 2:
		return c.create(ctx, i)
	default:
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, writtenAt, now())
		_, err := c.in(i).Patch(ctx, podName(i), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
}

// outage kills the server, starts it again on the same data, and tells how the informer came
// through. The outage is the time from the end of the server until the cache had all that had
// happened when it was back.
func (c *cluster) outage(ctx context.Context, f *follower) error {
	fmt.Fprintln(c.out, "killing the server and starting it again on the same data")
	before, killed := f.status(), time.Now()
	if err := c.server.Kill(); err != nil {
		return fmt.Errorf("kill the server: %w", err)
	}
	if err := c.server.Restart(ctx); err != nil {
		return fmt.Errorf("restart the server: %w", err)
	}
	back := time.Now()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	list, err := c.core.Pods("").List(ctx, metav1.ListOptions{Limit: 1})
	for err != nil && sleep(ctx, outagePause) { // the first request may go out on a connection that is dead
		list, err = c.core.Pods("").List(ctx, metav1.ListOptions{Limit: 1})
	}
	if err == nil {
		err = kinformer.WaitForVersion(ctx, f.informer, list.ResourceVersion)
	}
	if err != nil {
		return fmt.Errorf("the cache has not caught up after the restart: %w", err)
	}
	caughtUp, after := time.Now(), f.status()
	for after.Phase != inspect.PhaseWatching && sleep(ctx, changePause) {
		after = f.status() // what is in the store was taken over a moment ago
	}
	fmt.Fprintf(c.out, "the server was away for %s; %s after it was back the cache had caught up, from version %s to %s: %s, outage %s, mode %s, lists %d, watches %d\n",
		shortly(back.Sub(killed)), shortly(caughtUp.Sub(back)), before.ResourceVersion, after.ResourceVersion,
		after.Phase, shortly(caughtUp.Sub(killed)), after.Mode, after.Lists-before.Lists, after.Watches-before.Watches)
	return nil
}

func shortly(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
