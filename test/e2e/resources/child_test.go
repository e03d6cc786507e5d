// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

// Package resources_test, which does not run under -race, runs informers in child processes and watches
// their resident memory. The parent kills a child that exceeds its limit; the child reports its usage.
package resources_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit/cputime"
	"github.com/kinformer/cache/kinformer"
)

// task is the task of a child. Every informer has a handler, and an index by namespace.
type task struct {
	Library string // a key of libraries
	// Overflow is the policy for the stuck handler. It is used if Updates is not 0.
	Overflow kinformer.Overflow
	// Objects is the number of objects, Updates the number of updates of single objects, and Relists the
	// number of times that all objects are sent again before the updates.
	Objects, Updates, Relists int
	// Stream sends the initial state as a watch-list instead of a list.
	Stream bool
	// MemoryLimit, if not 0, is the Go runtime's memory limit after the initial state, as a multiple of
	// the resident memory at that time.
	MemoryLimit float64
}

// result is the output of a child, in bytes: first Steady alone, at its end both.
type result struct {
	Steady uint64 // resident memory after the initial state
	Peak   uint64 // peak of resident memory afterwards
}

type newInformer func(cache.ListerWatcher, runtime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer

var libraries = map[string]newInformer{"kinformer": cache.NewSharedIndexInformer, "client-go": clientgo.NewSharedIndexInformer}

const childEnv = "KINFORMER_RESOURCES_CHILD"

// child performs the task in description and prints its result.
func child(description string) error {
	var t task
	if err := json.Unmarshal([]byte(description), &t); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), childTimeout)
	defer cancel()
	src := &source{task: t, next: make(chan struct{}), done: make(chan struct{})}
	informer := libraries[t.Library](src, &corev1.Pod{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	if t.Updates > 0 {
		stuck := cache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-ctx.Done() }}
		if _, err := informer.AddEventHandler(kinformer.Deliver(stuck, kinformer.Delivery{Overflow: t.Overflow})); err != nil {
			return err
		}
	} else if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{}); err != nil {
		return err
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitFor(ctx, "the initial state", informer.HasSyncedChecker()) {
		return context.Cause(ctx)
	}
	steady, err := settledMemory()
	if err != nil {
		return err
	}
	output := json.NewEncoder(os.Stdout)
	if err := output.Encode(result{Steady: steady}); err != nil {
		return err
	}
	if t.MemoryLimit > 0 {
		debug.SetMemoryLimit(int64(t.MemoryLimit * float64(steady)))
	}
	close(src.next)
	select {
	case <-src.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if n := len(informer.GetStore().ListKeys()); n != t.Objects {
		return fmt.Errorf("%d objects of %d", n, t.Objects)
	}
	used, err := cputime.Of(os.Getpid())
	if err != nil {
		return err
	}
	return output.Encode(result{Steady: steady, Peak: used.Peak})
}

// settledMemory returns free memory to the kernel, resets the peak, and returns the resident memory.
func settledMemory() (uint64, error) {
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return 0, err
	}
	used, err := cputime.Of(os.Getpid())
	return used.RSS, err
}

// source serves a task: the initial state, again for each relist after the version has expired, and then
// updates. An object at a version always has the same content.
type source struct {
	cache.ListerWatcher // nil: List and Watch are not called

	task task
	next chan struct{} // closed when the updates may be sent
	done chan struct{} // closed when all updates were received

	relists int // the number of full lists sent; used by one request at a time
}

func (s *source) IsWatchListSemanticsUnSupported() bool { return !s.task.Stream }

func (s *source) ListWithContext(context.Context, metav1.ListOptions) (runtime.Object, error) {
	s.relists++
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: s.version()}, Items: make([]corev1.Pod, s.task.Objects)}
	for i := range list.Items {
		list.Items[i] = *pod(i, 1)
	}
	return list, nil
}

func (s *source) version() string { return strconv.Itoa(1_000_000_000 * (s.relists + 1)) }

func (s *source) WatchWithContext(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
	events := make(chan watch.Event)
	w := watch.NewProxyWatcher(events)
	send := func(kind watch.EventType, obj runtime.Object) bool {
		select {
		case events <- watch.Event{Type: kind, Object: obj}:
			return true
		case <-w.StopChan():
			return false
		}
	}
	go func() {
		defer close(events)
		if o.SendInitialEvents != nil && *o.SendInitialEvents {
			s.relists++
			for i := range s.task.Objects {
				if !send(watch.Added, pod(i, 1)) {
					return
				}
			}
			mark := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: s.version(),
				Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
			if !send(watch.Bookmark, mark) {
				return
			}
		}
		s.change(send, w.StopChan())
	}()
	return w, nil
}

// change sends an error if another relist is due, otherwise the updates, and then blocks until stopped.
func (s *source) change(send func(watch.EventType, runtime.Object) bool, stopped <-chan struct{}) {
	select {
	case <-s.next:
	case <-stopped:
		return
	}
	if s.relists <= s.task.Relists {
		status := apierrors.NewResourceExpired("too old").ErrStatus
		send(watch.Error, &status)
		return
	}
	for n := range s.task.Updates {
		if !send(watch.Modified, pod(n%s.task.Objects, 2+n)) {
			return
		}
	}
	close(s.done)
	<-stopped
}

// pod returns an object of about a kilobyte.
func pod(i, version int) *corev1.Pod {
	name := "pod-" + strconv.Itoa(i)
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: strconv.Itoa(version),
		Annotations: map[string]string{"content": strings.Repeat(strconv.Itoa(i%10), 1000)},
	}}
}
