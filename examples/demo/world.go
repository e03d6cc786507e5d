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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/e2e/apiserver"
)

const (
	// connectTimeout bounds the first request to a cluster, so that one that never answers is
	// reported.
	connectTimeout = 30 * time.Second
	// stopTimeout bounds the end of the embedded server.
	stopTimeout = 10 * time.Second

	// writtenAt is the annotation with the time of a write, in nanoseconds since 1970: handlers
	// tell their lag from it.
	writtenAt = "demo.kinformer.io/written-at"

	createWorkers = 8
	changeWorkers = 4
	namespaces    = 10

	// changePause keeps a worker to about a hundred writes a second.
	changePause = 10 * time.Millisecond
	// outagePause is how long a worker waits after a failed write.
	outagePause = 200 * time.Millisecond
)

// world is a cluster and the one resource of it that the demo is about.
type world struct {
	server     *apiserver.Server // nil for a cluster that is not ours
	resource   schema.GroupVersionResource
	kind       schema.GroupVersionKind
	namespaced bool
	client     dynamic.NamespaceableResourceInterface
	out        io.Writer
}

func openWorld(ctx context.Context, o options, out io.Writer) (*world, error) {
	w := &world{out: out}
	config, err := w.connect(ctx, o)
	if err != nil {
		return nil, err
	}
	config.Wrap(direct.Transport) // informers of kinformer decode themselves; for others it changes nothing
	if err := w.find(config, o.resource); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// connect starts the embedded server, or reads the kubeconfig.
func (w *world) connect(ctx context.Context, o options) (*rest.Config, error) {
	if o.kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("kubeconfig: %w", err)
		}
		return config, nil
	}
	server, err := apiserver.StartChild(ctx, apiserver.Options{Binary: o.apiserver})
	if err != nil {
		return nil, fmt.Errorf("embedded API server: %w", err)
	}
	w.server = server
	config := server.Config()
	config.QPS, config.Burst = -1, -1
	return config, nil
}

// find asks the cluster what the resource is.
func (w *world) find(config *rest.Config, name string) error {
	quick := rest.CopyConfig(config)
	quick.Timeout = connectTimeout
	finder, err := discovery.NewDiscoveryClientForConfig(quick)
	if err != nil {
		return err
	}
	groups, err := restmapper.GetAPIGroupResources(finder)
	if err != nil {
		return fmt.Errorf("%s cannot be reached: %w", config.Host, err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	if w.resource, err = mapper.ResourceFor(schema.ParseGroupResource(name).WithVersion("")); err != nil {
		return fmt.Errorf("%s does not serve %q: %w", config.Host, name, err)
	}
	if w.kind, err = mapper.KindFor(w.resource); err != nil {
		return fmt.Errorf("kind of %q: %w", name, err)
	}
	mapping, err := mapper.RESTMapping(w.kind.GroupKind(), w.kind.Version)
	if err != nil {
		return fmt.Errorf("scope of %q: %w", name, err)
	}
	w.namespaced = mapping.Scope.Name() == "namespace"
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	w.client = client.Resource(w.resource)
	return nil
}

// close stops the embedded server.
func (w *world) close() {
	if w.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := w.server.Stop(ctx); err != nil {
		fmt.Fprintf(w.out, "stopping the server: %v\n", err)
	}
}

// createAll fills the embedded server.
func (w *world) createAll(ctx context.Context, n int) error {
	fmt.Fprintf(w.out, "creating %d %s on the embedded API server at %s\n", n, w.resource.Resource, w.server.URL())
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(createWorkers)
	for i := range n {
		group.Go(func() error { return w.create(ctx, i) })
	}
	return group.Wait()
}

// in returns the client for object i: objects are spread over a few namespaces.
func (w *world) in(i int) dynamic.ResourceInterface {
	if !w.namespaced {
		return w.client
	}
	return w.client.Namespace("demo-" + strconv.Itoa(i%namespaces))
}

func objectName(i int) string { return "object-" + strconv.Itoa(i) }

func now() string { return strconv.FormatInt(time.Now().UnixNano(), 10) }

func (w *world) create(ctx context.Context, i int) error {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(w.kind)
	obj.SetName(objectName(i))
	obj.SetLabels(map[string]string{"app": "demo", "shard": strconv.Itoa(i % 100)})
	obj.SetAnnotations(map[string]string{writtenAt: now()})
	_, err := w.in(i).Create(ctx, obj, metav1.CreateOptions{})
	return err
}

// startChanging has workers change objects until stop is called, which waits for them.
func (w *world) startChanging(ctx context.Context, n int) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	for range changeWorkers {
		group.Go(func() { w.change(ctx, n) })
	}
	return func() { cancel(); group.Wait() }
}

// change patches objects at random, and now and then deletes one or creates it again. What fails is
// left: while the server is down everything does.
func (w *world) change(ctx context.Context, n int) {
	for pause := changePause; sleep(ctx, pause); {
		err := w.changeOne(ctx, rand.IntN(n))
		pause = changePause
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) {
			pause = outagePause
		}
	}
}

func (w *world) changeOne(ctx context.Context, i int) error {
	switch rand.IntN(20) {
	case 0:
		return w.in(i).Delete(ctx, objectName(i), metav1.DeleteOptions{})
	case 1, 2:
		return w.create(ctx, i)
	default:
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, writtenAt, now())
		_, err := w.in(i).Patch(ctx, objectName(i), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
}

// outage kills the server, starts it again on the same data, and tells how the informer came
// through. The outage is the time from the end of the server until the cache had all that had
// happened when it was back.
func (w *world) outage(ctx context.Context, f *follower) error {
	fmt.Fprintln(w.out, "killing the server and starting it again on the same data")
	before, killed := f.status(), time.Now()
	if err := w.server.Kill(); err != nil {
		return fmt.Errorf("kill the server: %w", err)
	}
	if err := w.server.Restart(ctx); err != nil {
		return fmt.Errorf("restart the server: %w", err)
	}
	back := time.Now()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	list, err := w.client.List(ctx, metav1.ListOptions{Limit: 1})
	for err != nil && sleep(ctx, outagePause) { // the first request may go out on a connection that is dead
		list, err = w.client.List(ctx, metav1.ListOptions{Limit: 1})
	}
	if err == nil {
		err = cache.WaitForVersion(ctx, f.informer, list.GetResourceVersion())
	}
	if err != nil {
		return fmt.Errorf("the cache has not caught up after the restart: %w", err)
	}
	caughtUp, after := time.Now(), f.status()
	for after.Phase != cache.PhaseWatching && sleep(ctx, changePause) {
		after = f.status() // what is in the store was taken over a moment ago
	}
	fmt.Fprintf(w.out, "the server was away for %s; %s after it was back the cache had caught up, from version %s to %s: %s, outage %s, mode %s, lists %d, watches %d\n",
		shortly(back.Sub(killed)), shortly(caughtUp.Sub(back)), before.ResourceVersion, after.ResourceVersion,
		after.Phase, shortly(caughtUp.Sub(killed)), after.Mode, after.Lists-before.Lists, after.Watches-before.Watches)
	return nil
}

func shortly(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
