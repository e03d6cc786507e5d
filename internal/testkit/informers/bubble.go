// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
)

// Exact is an informer on a source of pods inside a synctest bubble.
type Exact struct {
	*testing.T
	Source   *testkit.Pods
	Informer Informer
	Stop     context.CancelFunc
	Stopped  chan struct{}
}

// Registration is all that a registration of ours has.
type Registration interface {
	cache.ResourceEventHandlerRegistration
	ShutdownChan() <-chan struct{}
}

// Stats describes a handler of ours.
func Stats(registration cache.ResourceEventHandlerRegistration) inspect.Handler {
	stats, err := inspect.StatsOf(registration)
	if err != nil {
		panic(err)
	}
	return stats
}

// InBubble runs test with an informer that runs and is synced with one pod, a1, and stops it
// in the end.
func InBubble(t *testing.T, test func(e *Exact)) {
	InResyncedBubble(t, 0, test)
}

// InResyncedBubble is InBubble with a period of resyncs.
func InResyncedBubble(t *testing.T, resync time.Duration, test func(e *Exact)) {
	synctest.Test(t, func(t *testing.T) {
		e := &Exact{T: t, Source: testkit.NewPods(), Stopped: make(chan struct{})}
		e.Source.Put(testkit.Pod("a", "1"))
		e.Informer = cache.NewSharedIndexInformer(e.Source, &v1.Pod{}, resync, nil).(Informer)
		ctx, cancel := context.WithCancel(t.Context())
		e.Stop = cancel
		go func() { e.Informer.RunWithContext(ctx); close(e.Stopped) }()
		synctest.Wait()
		test(e)
		cancel()
		<-e.Stopped
	})
}

// Add adds a handler and waits until it has heard what there is.
func (e *Exact) Add(handler cache.ResourceEventHandler, delivery kinformer.Delivery) Registration {
	handle := e.AddNow(handler, delivery)
	synctest.Wait()
	return handle
}

// AddNow is Add in a goroutine that is not the test's.
func (e *Exact) AddNow(handler cache.ResourceEventHandler, delivery kinformer.Delivery) Registration {
	handle, err := e.Informer.AddEventHandler(kinformer.Deliver(handler, delivery))
	require.NoError(e, err)
	return handle.(Registration)
}

// Change puts n versions of a pod, from 1 on, into the source.
func (e *Exact) Change(name string, n int) {
	for i := range n {
		e.Source.Put(testkit.Pod(name, fmt.Sprint(i+1)))
	}
	synctest.Wait()
}

// Stuck returns a handler that does not return from a call about the named pod before release is
// closed.
func Stuck(name string) (handler *testkit.Journal, release chan struct{}) {
	release = make(chan struct{})
	return &testkit.Journal{On: func(line string) {
		if len(line) > 4 && line[:4] == "add " && line[4:4+len(name)] == name {
			<-release
		}
	}}, release
}

// Informer is all that an informer of ours has.
type Informer interface {
	cache.SharedIndexInformer
	HasStarted() bool
	EventHandlerCount() int
	IsRegistered(handle cache.ResourceEventHandlerRegistration) bool
}
