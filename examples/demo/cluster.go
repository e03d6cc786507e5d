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
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kinformer/cache/internal/testkit/workload"
	"github.com/kinformer/cache/test/e2e/apiserver"
)

const (
	// namespaces is the number of namespaces with a ConfigMap and an informer of their ConfigMaps.
	namespaces = 29
	configName = "settings"

	workers = 8
	// changePause limits the workers to some hundred updates a second.
	changePause = 15 * time.Millisecond
)

// cluster is the embedded server with its objects.
type cluster struct {
	server *apiserver.Server
	core   typed.CoreV1Interface
	pods   []types.NamespacedName
	out    io.Writer
}

// startCluster starts the server and fills it.
func startCluster(ctx context.Context, o options, out io.Writer) (*cluster, error) {
	server, err := apiserver.StartChild(ctx, apiserver.Options{Binary: o.apiserver})
	if err != nil {
		return nil, fmt.Errorf("embedded API server: %w", err)
	}
	c := &cluster{server: server, pods: make([]types.NamespacedName, o.pods), out: out}
	client, err := kubernetes.NewForConfig(server.ProtobufConfig())
	if err == nil {
		c.core = client.CoreV1()
		fmt.Fprintf(out, "creating %d pods like those of Deployments at %s\n", o.pods, server.URL())
		err = c.fill(ctx)
	}
	if err != nil {
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

// fill creates the pods, and a ConfigMap in each namespace.
func (c *cluster) fill(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range c.pods {
		group.Go(func() error {
			pod := workload.Pod(workload.Config{N: len(c.pods)}, i)
			pod.ResourceVersion = ""
			c.pods[i] = types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
			_, err := c.core.Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
			return err
		})
	}
	for i := range namespaces {
		group.Go(func() error {
			settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: configName}}
			_, err := c.core.ConfigMaps(namespace(i)).Create(ctx, settings, metav1.CreateOptions{})
			return err
		})
	}
	return group.Wait()
}

func namespace(i int) string { return "team-" + strconv.Itoa(i) }

// startChanging starts workers that update random pods. stop ends the workers, waits for them, and
// returns the number of updates that the server accepted. While the server is down, all updates fail.
func (c *cluster) startChanging(ctx context.Context) (stop func() int) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	var accepted atomic.Int64
	for range workers {
		group.Go(func() {
			for sleep(ctx, changePause) {
				if _, err := c.update(ctx, rand.IntN(len(c.pods))); err == nil {
					accepted.Add(1)
				}
			}
		})
	}
	return func() int { cancel(); group.Wait(); return int(accepted.Load()) }
}

// update patches the status of a pod as a kubelet does, and returns the new version.
func (c *cluster) update(ctx context.Context, i int) (string, error) {
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":%q}],"message":"update %d"}}`,
		time.Now().UTC().Format(time.RFC3339), rand.Uint32())
	pod, err := c.core.Pods(c.pods[i].Namespace).Patch(ctx, c.pods[i].Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	return pod.ResourceVersion, err
}

// mark updates an object of each informer and returns the versions, in the order of the informers.
// An informer that has that version of its object, or a later one, is current.
func (c *cluster) mark(ctx context.Context) (versions []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	versions, err = c.markOnce(ctx)
	for err != nil && sleep(ctx, pollInterval) { // the first request may use a dead connection
		versions, err = c.markOnce(ctx)
	}
	return versions, err
}

func (c *cluster) markOnce(ctx context.Context) ([]string, error) {
	version, err := c.update(ctx, 0)
	versions := []string{version}
	for i := 0; i < namespaces && err == nil; i++ {
		var settings *corev1.ConfigMap
		patch := fmt.Appendf(nil, `{"data":{"step":"%d"}}`, rand.Uint32())
		settings, err = c.core.ConfigMaps(namespace(i)).Patch(ctx, configName, types.MergePatchType, patch, metav1.PatchOptions{})
		versions = append(versions, settings.ResourceVersion)
	}
	return versions, err
}
