// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit/cputime"
	"github.com/kinformer/cache/test/bench/internal/child"
	"github.com/kinformer/cache/test/bench/internal/measure"
	"github.com/kinformer/cache/test/bench/internal/serve"
	"github.com/kinformer/cache/test/bench/internal/world"
)

const sideRole = "side"

// sideConfig configures the process of a side.
type sideConfig struct {
	Side   int
	Media  string
	Pods   int
	Server serve.Hello
}

// follower is one side, in its process.
type follower struct {
	sideConfig
	figures
	informer clientgo.SharedIndexInformer
	updates  atomic.Int64
	updated  chan struct{} // closed when each pod was updated
	before   time.Duration // the CPU time before the updates
}

func runSide(ctx context.Context, c sideConfig) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	debug.SetGCPercent(100)
	f := &follower{sideConfig: c, updated: make(chan struct{})}
	lw, err := serve.ListWatch(f.Server.Config(sides[f.Side].direct), world.Pods, f.Media)
	if err != nil {
		return err
	}
	if f.informer, err = sides[f.Side].make(listsOnly{lw}); err != nil {
		return err
	}
	if _, err = f.informer.AddEventHandler(clientgo.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) {
		if f.updates.Add(1) == int64(f.Pods) {
			close(f.updated)
		}
	}}); err != nil {
		return err
	}
	return child.Serve(ctx, nil, map[string]child.Command{
		"start": child.With(func(ctx context.Context, _ any) (any, error) { return nil, f.start(ctx) }),
		"end":   child.With(func(ctx context.Context, _ any) (figures, error) { return f.end(ctx) }),
	})
}

// listsOnly is a ListWatch without watch-lists.
type listsOnly struct{ *clientgo.ListWatch }

func (listsOnly) IsWatchListSemanticsUnSupported() bool { return true }

// start runs the informer until the pods are in the store.
func (f *follower) start(ctx context.Context) error {
	used, err := measure.Region(func() error {
		go f.informer.RunWithContext(ctx)
		if !clientgo.WaitForCacheSync(ctx.Done(), f.informer.HasSynced) {
			return context.Cause(ctx)
		}
		return nil
	})
	if err != nil {
		return err
	}
	usage, err := cputime.Of(os.Getpid())
	if err != nil {
		return err
	}
	f.Start, f.Peak = used.CPU.Seconds(), usage.Peak
	f.Live = measure.LiveHeap()
	debug.FreeOSMemory()
	if usage, err = cputime.Of(os.Getpid()); err != nil {
		return err
	}
	f.RSS = usage.RSS
	if f.before, err = cputime.Used(); err != nil {
		return err
	}
	if n := len(f.informer.GetStore().ListKeys()); n != f.Pods {
		return errors.New("not all pods are in the store")
	}
	return nil
}

// end waits for the updates, and returns the figures.
func (f *follower) end(ctx context.Context) (figures, error) {
	select {
	case <-f.updated:
	case <-ctx.Done():
		return f.figures, context.Cause(ctx)
	}
	used, err := cputime.Used()
	if err != nil {
		return f.figures, err
	}
	f.Event = float64((used - f.before).Microseconds()) / float64(f.Pods)
	if known, err := inspect.Of(f.informer); err == nil {
		f.Wire = float64(known.ListBytes) / float64(f.Pods)
		if v := known.Status.Decoding; sides[f.Side].direct && (!v.On || v.Verified.Differences != 0) {
			return f.figures, errors.New("the pods were not decoded directly: " + v.Why)
		}
	}
	return f.figures, nil
}
