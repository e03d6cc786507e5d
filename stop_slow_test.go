// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/fanout"
	"github.com/kinformer/cache/internal/testkit"
)

// endsSlowly stops what runs and lets go of its functions after hold. It returns what was said
// until just before patience was over, and until the end.
func endsSlowly(t *testing.T, run func(context.Context), lines *testkit.Logged, hold time.Duration, release chan struct{}) (early, late []string) {
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), funcr.New(lines.Write, funcr.Options{})))
	ended := make(chan struct{})
	go func() { defer close(ended); run(ctx) }()
	time.Sleep(time.Second)
	lines.Take()
	cancel()
	stopped := time.Now()
	time.AfterFunc(hold, func() { close(release) })
	time.Sleep(min(hold, fanout.StopPatience) - time.Millisecond)
	early = lines.Take()
	<-ended
	require.Equal(t, hold, time.Since(stopped))
	time.Sleep(time.Hour)
	return early, lines.Take()
}

// TestStopNamesTheHandlerItWaitsFor, once, and none that returns soon; also one that was removed
// before.
func TestStopNamesTheHandlerItWaitsFor(t *testing.T) {
	for name, tc := range map[string]struct {
		hold    time.Duration
		removed bool
		want    int
	}{
		"soon":            {hold: 3 * time.Second},
		"late":            {hold: time.Minute, want: 1},
		"late and leaves": {hold: time.Minute, removed: true, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source, lines, release := testkit.NewPods(), &testkit.Logged{}, make(chan struct{})
				source.Put(testkit.Pod("a", "1"))
				informer := cache.NewSharedIndexInformer(source, &v1.Pod{}, 0, nil)
				logger := funcr.New(lines.Write, funcr.Options{})
				slow, err := informer.AddEventHandlerWithOptions(cache.Deliver(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-release }},
					cache.Delivery{Name: "sloth"}), cache.HandlerOptions{Logger: &logger})
				require.NoError(t, err)
				_, err = informer.AddEventHandlerWithOptions(cache.Deliver(cache.ResourceEventHandlerFuncs{}, cache.Delivery{Name: "hare"}), cache.HandlerOptions{Logger: &logger})
				require.NoError(t, err)
				slowly := cache.ResourceEventHandlerFuncs{AddFunc: func(any) { time.Sleep(time.Second * 3 / 4) }}
				gone, err := informer.AddEventHandlerWithOptions(cache.Deliver(slowly, cache.Delivery{Name: "gone"}), cache.HandlerOptions{Logger: &logger})
				require.NoError(t, err)
				early, late := endsSlowly(t, func(ctx context.Context) {
					time.AfterFunc(time.Second/2, func() {
						_ = informer.RemoveEventHandler(gone) // in the middle of its call
						if tc.removed {
							_ = informer.RemoveEventHandler(slow)
						}
					})
					informer.RunWithContext(ctx)
				}, lines, tc.hold, release)
				assert.Empty(t, early)
				require.Len(t, late, tc.want)
				for _, line := range late {
					assert.Contains(t, line, `Run waits until a call of an event handler returns" "handler"="sloth" "call"="6s"`)
				}
			})
		})
	}
}

// TestStopNamesOnDisconnect: that is a function of the user's, too.
func TestStopNamesOnDisconnect(t *testing.T) {
	lines := testkit.CaptureLog(t)
	synctest.Test(t, func(t *testing.T) {
		source, release, returned := testkit.NewPods(), make(chan struct{}), make(chan struct{})
		informer := cache.NewSharedIndexInformer(source, &v1.Pod{}, 0, nil)
		_, err := informer.AddEventHandler(cache.Deliver(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-returned }},
			cache.Delivery{Overflow: cache.OverflowDisconnect, Max: 1, OnDisconnect: func(error) { <-release }}))
		require.NoError(t, err)
		_, late := endsSlowly(t, func(ctx context.Context) {
			time.AfterFunc(time.Second/2, func() {
				for _, name := range []string{"a", "b", "c"} {
					source.Put(testkit.Pod(name, "1"))
					time.Sleep(time.Millisecond) // of the bubble: each is distributed on its own
				}
				close(returned)
			})
			informer.RunWithContext(ctx)
		}, lines, time.Minute, release)
		late = testkit.About("Run waits", late)
		require.Len(t, late, 1)
		assert.Contains(t, late[0], "OnDisconnect")
	})
}

// TestStopNamesWhatRunCalls: the handler of NewInformer*, a process function, a transform.
func TestStopNamesWhatRunCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, release := testkit.NewPods(), make(chan struct{})
		source.Put(testkit.Pod("a", "1"))
		_, simple := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: source, ObjectType: &v1.Pod{}, Handler: &testkit.Journal{On: func(string) { <-release }}})
		lines := &testkit.Logged{}
		early, late := endsSlowly(t, simple.RunWithContext, lines, time.Minute, release)
		assert.Empty(t, early)
		require.Len(t, late, 1)
		assert.Contains(t, late[0], "github.com/kinformer/cache/internal/testkit.Journal")
	})
	synctest.Test(t, func(t *testing.T) {
		source, release := testkit.NewPods(), make(chan struct{})
		source.Put(testkit.Pod("a", "1"))
		queue := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true})
		c := cache.New(&cache.Config{Queue: queue, ListerWatcher: source, Process: func(any, bool) error { <-release; return nil }})
		lines := &testkit.Logged{}
		_, late := endsSlowly(t, c.RunWithContext, lines, time.Minute, release)
		require.Len(t, late, 1)
		assert.Contains(t, late[0], "the process function")
	})
	synctest.Test(t, func(t *testing.T) {
		source, release := testkit.NewPods(), make(chan struct{})
		source.Put(testkit.Pod("a", "1"))
		informer := cache.NewSharedIndexInformer(source, &v1.Pod{}, 0, nil)
		require.NoError(t, informer.SetTransform(func(obj any) (any, error) { <-release; return obj, nil }))
		lines := &testkit.Logged{}
		_, late := endsSlowly(t, informer.RunWithContext, lines, time.Minute, release)
		require.NotEmpty(t, late)
		assert.Contains(t, late[0], `Run waits until a call returns" "type"="*v1.Pod" "of"="the transform or an index function"`)
	})
}
