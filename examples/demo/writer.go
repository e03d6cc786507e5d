// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kinformer/cache"
)

const (
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

// createObjects fills the embedded server.
func createObjects(ctx context.Context, w *world, n int, screen *screen) error {
	screen.line("creating %d %s on %s", n, w.resource.Resource, w.name)
	begin := time.Now()
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range createWorkers {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := w.create(ctx, i); err != nil {
					return fmt.Errorf("create object %d: %w", i, err)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	screen.line("created in %s", time.Since(begin).Round(time.Millisecond))
	return nil
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

func (w *world) touch(ctx context.Context, i int) error {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, writtenAt, now())
	_, err := w.in(i).Patch(ctx, objectName(i), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

func (w *world) remove(ctx context.Context, i int) error {
	return w.in(i).Delete(ctx, objectName(i), metav1.DeleteOptions{})
}

// disturb has workers change objects until ctx ends, and an outage half way through, and returns
// when all that is over. On a cluster that is not ours it does nothing until ctx ends.
func (w *world) disturb(ctx context.Context, f *follower, n int, screen *screen) error {
	if w.server == nil {
		<-ctx.Done()
		return nil
	}
	defer w.startChanging(context.WithoutCancel(ctx), n)() // also while an outage lasts longer than ctx
	deadline, _ := ctx.Deadline()
	if !sleep(ctx, time.Until(deadline)/2) {
		return nil
	}
	// An outage that has begun is seen to its end even if ctx ends meanwhile: the check needs the
	// server.
	if err := w.outage(context.WithoutCancel(ctx), f, screen); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// startChanging has workers change objects until ctx ends or stop is called, which waits for them.
func (w *world) startChanging(ctx context.Context, n int) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	for range changeWorkers {
		group.Go(func() { w.change(ctx, n) })
	}
	return func() { cancel(); group.Wait() }
}

// outage kills the server, starts it again on the same data, and tells how the informer came
// through. The outage is the time from the end of the server until the cache had all that had
// happened when it was back.
func (w *world) outage(ctx context.Context, f *follower, screen *screen) error {
	screen.line("killing the server and starting it again on the same data")
	before, killed := f.status(), time.Now()
	if err := w.restart(ctx); err != nil {
		return err
	}
	back := time.Now()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	version, err := w.version(ctx)
	if err == nil {
		err = cache.WaitForVersion(ctx, f.informer, version)
	}
	if err != nil {
		return fmt.Errorf("the cache has not caught up after the restart: %w", err)
	}
	caughtUp, after := time.Now(), f.status()
	for after.Phase != cache.PhaseWatching && sleep(ctx, checkPause/10) {
		after = f.status() // what is in the store was taken over a moment ago
	}
	screen.line("the server was away for %s; %s after it was back the cache had caught up, from version %s to %s: %s, outage %s, mode %s, lists %d, watches %d",
		shortly(back.Sub(killed)), shortly(caughtUp.Sub(back)), before.ResourceVersion, after.ResourceVersion,
		after.Phase, shortly(caughtUp.Sub(killed)), after.Mode, after.Lists-before.Lists, after.Watches-before.Watches)
	return nil
}

// version is the resourceVersion of all objects now.
func (w *world) version(ctx context.Context) (version string, err error) {
	for {
		list, err := w.client.List(ctx, metav1.ListOptions{Limit: 1})
		if err == nil {
			return list.GetResourceVersion(), nil
		}
		// The first request after a restart may go out on a connection that is dead.
		if !sleep(ctx, checkPause) {
			return "", err
		}
	}
}

func shortly(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// change patches objects at random, and now and then deletes one or creates it again. What fails is
// left: while the server is down everything does.
func (w *world) change(ctx context.Context, n int) {
	for {
		i := rand.IntN(n)
		err := w.changeOne(ctx, i)
		pause := changePause
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) {
			pause = outagePause
		}
		if !sleep(ctx, pause) {
			return
		}
	}
}

func (w *world) changeOne(ctx context.Context, i int) error {
	switch rand.IntN(20) {
	case 0:
		return w.remove(ctx, i)
	case 1, 2:
		return w.create(ctx, i)
	default:
		return w.touch(ctx, i)
	}
}

// sleep waits for d and tells whether ctx let it.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
