// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command way runs an informer with one handler and writes two coverage profiles: of a moment in
// which nothing happens, and of one MODIFIED event on its way from the watch to the handler. It has
// to be built with -cover -covermode=atomic.
//
//	way IDLE-DIR EVENT-DIR
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"runtime/coverage"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
)

// pause is how long the informer is left alone, so that what it does in the background belongs to
// no profile, or to both.
const pause = 300 * time.Millisecond

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: way IDLE-DIR EVENT-DIR")
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(idle, event string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	stream := watch.NewRaceFreeFake()
	updated := make(chan struct{}, 2)
	informer := cache.NewSharedIndexInformer(source(stream), &corev1.Pod{}, 0, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
	})
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, _ any) { updated <- struct{}{} },
	})
	if err != nil {
		return err
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitFor(ctx, "way", registration.HasSyncedChecker()) {
		return errors.New("the informer does not sync")
	}
	time.Sleep(pause)
	if err := profile(idle, func() { time.Sleep(pause) }); err != nil {
		return err
	}
	return profile(event, func() {
		stream.Modify(pod("2"))
		<-updated
		time.Sleep(pause)
	})
}

// profile writes to dir what do executes.
func profile(dir string, do func()) error {
	if err := coverage.ClearCounters(); err != nil {
		return err
	}
	do()
	return errors.Join(coverage.WriteMetaDir(dir), coverage.WriteCountersDir(dir))
}

// source lists one pod and then watches stream. The informer lists, because the source cannot
// stream lists.
func source(stream watch.Interface) cache.ListerWatcher {
	return noStreams{&cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.Pod{*pod("1")}}, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return stream, nil },
	}}
}

// noStreams says of a ListerWatcher that it knows no watch-lists.
type noStreams struct{ *cache.ListWatch }

func (noStreams) IsWatchListSemanticsUnSupported() bool { return true }

func pod(version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "u", ResourceVersion: version}}
}
