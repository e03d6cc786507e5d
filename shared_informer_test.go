// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache/testing"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// ownInformer is all that an informer of ours has.
type ownInformer interface {
	cache.SharedIndexInformer
	HasStarted() bool
	EventHandlerCount() int
	IsRegistered(handle cache.ResourceEventHandlerRegistration) bool
}

// bubble is an informer on a fake source inside a synctest bubble.
type bubble struct {
	*testing.T
	source   *framework.FakeControllerSource
	informer ownInformer
	stop     context.CancelFunc
}

// inBubble runs test with an informer that is not started yet, and stops it in the end.
func inBubble(t *testing.T, options cache.SharedIndexInformerOptions, test func(b *bubble)) {
	synctest.Test(t, func(t *testing.T) {
		source := framework.NewFakeControllerSource()
		b := &bubble{T: t, source: source, stop: func() {}}
		b.informer = cache.NewSharedIndexInformerWithOptions(source, &corev1.Pod{}, options).(ownInformer)
		test(b)
		b.stop()
		synctest.Wait() // a source that is shut down holds up whoever asks it for ever
		source.Shutdown()
		synctest.Wait()
	})
}

func (b *bubble) start() {
	ctx, cancel := context.WithCancel(b.Context())
	b.stop = cancel
	go b.informer.RunWithContext(ctx)
	synctest.Wait()
}

func (b *bubble) handle(handler cache.ResourceEventHandler) cache.ResourceEventHandlerRegistration {
	registration, err := b.informer.AddEventHandler(handler)
	require.NoError(b, err)
	return registration
}

func TestInformerTellsEveryHandlerInOrder(t *testing.T) {
	inBubble(t, cache.SharedIndexInformerOptions{}, func(b *bubble) {
		b.source.Add(testkit.Pod("a", "1"))
		early, twice := &testkit.Journal{}, &testkit.Journal{}
		b.handle(early)
		b.handle(twice)
		b.handle(twice)
		b.start()
		assert.Equal(t, []string{"initial a1"}, early.Take())
		assert.Equal(t, []string{"initial a1", "initial a1"}, twice.Take())

		b.source.Modify(testkit.Pod("a", "2"))
		b.source.Add(testkit.Pod("b", "1"))
		synctest.Wait()
		late := &testkit.Journal{}
		b.handle(late)
		synctest.Wait()
		assert.ElementsMatch(t, []string{"initial a2", "initial b1"}, late.Take(), "a late handler hears of the store first")

		b.source.Delete(testkit.Pod("a", "2"))
		synctest.Wait()
		assert.Equal(t, []string{"update a1 a2", "add b1", "delete a2"}, early.Take())
		assert.Equal(t, []string{"delete a2"}, late.Take())
		assert.Len(t, twice.Take(), 6)
	})
}

func TestStoreHasWhatAHandlerHears(t *testing.T) {
	byLabel := func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Labels["v"]}, nil }
	inBubble(t, cache.SharedIndexInformerOptions{Indexers: cache.Indexers{"v": byLabel}}, func(b *bubble) {
		seen := &testkit.Journal{}
		seen.On = func(line string) {
			if line == "update a1 a2" {
				found, err := b.informer.GetIndexer().ByIndex("v", "2")
				assert.NoError(t, err)
				assert.Len(t, found, 1)
			}
		}
		b.handle(seen)
		b.start()
		b.source.Add(testkit.Pod("a", "1"))
		b.source.Modify(testkit.Pod("a", "2"))
		synctest.Wait()
		assert.Equal(t, []string{"add a1", "update a1 a2"}, seen.Take())
	})
}

func TestRegistrationSyncsWhenItsInitialListIsThrough(t *testing.T) {
	inBubble(t, cache.SharedIndexInformerOptions{}, func(b *bubble) {
		b.source.Add(testkit.Pod("a", "1"))
		release := make(chan struct{})
		stuck := b.handle(&testkit.Journal{On: func(string) { <-release }})
		quick := b.handle(&testkit.Journal{})
		assert.False(t, b.informer.HasSynced())
		b.start()
		assert.True(t, b.informer.HasSynced())
		assert.True(t, b.informer.GetController().HasSynced())
		assert.True(t, quick.HasSynced())
		assert.False(t, stuck.HasSynced(), "its Add has not returned")
		assert.Contains(t, stuck.HasSyncedChecker().Name(), "SharedIndexInformer *v1.Pod + event handler github.com/kinformer/cache/internal/testkit.Journal")
		close(release)
		<-stuck.HasSyncedChecker().Done()
		late := b.handle(&testkit.Journal{})
		<-late.HasSyncedChecker().Done()
	})
}

func TestEmptyListSyncs(t *testing.T) {
	inBubble(t, cache.SharedIndexInformerOptions{}, func(b *bubble) {
		registration := b.handle(&testkit.Journal{})
		b.start()
		assert.True(t, b.informer.HasSynced())
		assert.True(t, registration.HasSynced())
	})
}

func TestRelistDeletesFirst(t *testing.T) {
	inBubble(t, cache.SharedIndexInformerOptions{}, func(b *bubble) {
		seen := &testkit.Journal{}
		b.handle(seen)
		b.source.Add(testkit.Pod("a", "1"))
		b.source.Add(testkit.Pod("b", "1"))
		b.start()
		seen.Take()
		b.source.DeleteDropWatch(testkit.Pod("a", "1"))
		b.source.ModifyDropWatch(testkit.Pod("b", "2"))
		b.source.AddDropWatch(testkit.Pod("c", "1"))
		b.source.ResetWatch()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		lines := seen.Take()
		require.NotEmpty(t, lines)
		assert.Equal(t, "delete unknown(a1)", lines[0])
		assert.ElementsMatch(t, []string{"delete unknown(a1)", "update b1 b2", "add c1"}, lines)
	})
}

func TestStoppedInformer(t *testing.T) {
	inBubble(t, cache.SharedIndexInformerOptions{}, func(b *bubble) {
		inCall, release := make(chan struct{}), make(chan struct{})
		seen := &testkit.Journal{}
		seen.On = func(string) { close(inCall); <-release }
		handle := b.handle(seen)
		ctx, cancel := context.WithCancel(b.Context())
		done := make(chan struct{})
		go func() { b.informer.RunWithContext(ctx); close(done) }()
		b.source.Add(testkit.Pod("a", "1"))
		<-inCall
		b.source.Add(testkit.Pod("b", "1"))
		synctest.Wait()

		cancel()
		synctest.Wait()
		assert.True(t, b.informer.IsStopped())
		select {
		case <-done:
			t.Fatal("Run returned while a handler was running")
		default:
		}
		close(release)
		<-done
		<-handle.(interface{ ShutdownChan() <-chan struct{} }).ShutdownChan()
		assert.Len(t, seen.Take(), 1, "what was pending is dropped")

		_, err := b.informer.AddEventHandler(&testkit.Journal{})
		assert.ErrorIs(t, err, cache.ErrAlreadyStopped)
		assert.ErrorIs(t, b.informer.AddIndexers(cache.Indexers{}), cache.ErrAlreadyStopped)
		assert.NoError(t, b.informer.RemoveEventHandler(handle))
		assert.Zero(t, b.informer.EventHandlerCount())
	})
}

func TestRunTwiceOnlyLogs(t *testing.T) {
	inBubble(t, cache.SharedIndexInformerOptions{}, func(b *bubble) {
		assert.False(t, b.informer.HasStarted())
		b.start()
		assert.True(t, b.informer.HasStarted())
		var logged []string
		logger := funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{})
		b.informer.RunWithContext(klog.NewContext(b.Context(), logger))
		require.Len(t, logged, 1, "the context's logger is used")
		assert.Contains(t, logged[0], "runs only once")
		assert.False(t, b.informer.IsStopped())
	})
}

func TestSettersFailAfterStart(t *testing.T) {
	inBubble(t, cache.SharedIndexInformerOptions{}, func(b *bubble) {
		transform := func(obj any) (any, error) { return obj, nil }
		require.NoError(t, b.informer.SetTransform(transform))
		require.NoError(t, b.informer.SetWatchErrorHandler(func(*cache.Reflector, error) {}))
		b.start()
		assert.ErrorIs(t, b.informer.SetTransform(transform), cache.ErrAlreadyStarted)
		assert.ErrorIs(t, b.informer.SetWatchErrorHandler(func(*cache.Reflector, error) {}), cache.ErrAlreadyStarted)
	})
}

func TestControllerViewDoesNotRun(t *testing.T) {
	inBubble(t, cache.SharedIndexInformerOptions{}, func(b *bubble) {
		view := b.informer.GetController()
		view.RunWithContext(b.Context())
		view.Run(nil)
		assert.False(t, b.informer.HasStarted())
		assert.Empty(t, view.LastSyncResourceVersion())
		b.source.Add(testkit.Pod("a", "1"))
		b.start()
		assert.NotEmpty(t, view.LastSyncResourceVersion())
		assert.Equal(t, b.informer.LastSyncResourceVersion(), view.LastSyncResourceVersion())
		assert.True(t, cache.IsDone(view.HasSyncedChecker()))
	})
}

// blanking is a transform that takes from the objects what tells versions apart.
func blanking(obj any) (any, error) {
	pod := obj.(*corev1.Pod).DeepCopy()
	pod.ResourceVersion = ""
	return pod, nil
}

func TestTransformMayBlankTheResourceVersion(t *testing.T) {
	inBubble(t, cache.SharedIndexInformerOptions{}, func(b *bubble) {
		require.NoError(t, b.informer.SetTransform(blanking))
		seen := &testkit.Journal{}
		b.handle(seen)
		b.source.Add(testkit.Pod("a", "1"))
		b.start()
		cache.ShouldResync(b.informer) // from here on the handler hears of no resyncs
		b.source.Modify(testkit.Pod("a", "2"))
		b.source.Delete(testkit.Pod("a", "2"))
		synctest.Wait()
		assert.Equal(t, []string{"initial a1", "update a1 a2", "delete a2"}, seen.Take())
		assert.Equal(t, "3", b.informer.GetStore().LastStoreSyncResourceVersion())
	})
}

func TestTransformErrorKeepsTheCachedObject(t *testing.T) {
	inBubble(t, cache.SharedIndexInformerOptions{}, func(b *bubble) {
		require.NoError(t, b.informer.SetTransform(func(obj any) (any, error) {
			if obj.(*corev1.Pod).Labels["v"] == "bad" {
				return nil, errors.New("cannot transform")
			}
			return obj, nil
		}))
		b.source.Add(testkit.Pod("a", "1"))
		seen := &testkit.Journal{}
		b.handle(seen)
		b.start()
		b.source.Modify(testkit.Pod("a", "bad"))
		b.source.Modify(testkit.Pod("a", "3"))
		synctest.Wait()
		assert.Equal(t, []string{"initial a1", "update a1 a3"}, seen.Take())
	})
}

// scripted is a ListerWatcher of two functions that does not stream.
type scripted struct{ *cache.ListWatch }

func (scripted) IsWatchListSemanticsUnSupported() bool { return true }

func TestWatchErrorHandlerGetsTheReflectorsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("no such server")
		lw := scripted{&cache.ListWatch{
			ListWithContextFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, broken },
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, broken },
		}}
		informer := cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil)
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, informer.SetWatchErrorHandlerWithContext(func(_ context.Context, r *cache.Reflector, err error) {
			assert.ErrorIs(t, err, broken)
			assert.Equal(t, "*v1.Pod", r.TypeDescription())
			assert.NotEmpty(t, r.Name())
			cancel()
		}))
		informer.RunWithContext(ctx)
		assert.False(t, informer.HasSynced())
	})
}

func TestUpdatesWithoutResourceVersionReachEveryHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changes := watch.NewFake()
		lw := scripted{&cache.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				return &corev1.PodList{Items: []corev1.Pod{*testkit.Pod("a", "1")}}, nil
			},
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return changes, nil },
		}}
		informer := cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil)
		seen := &testkit.Journal{}
		_, err := informer.AddEventHandler(seen)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		go informer.RunWithContext(ctx)
		synctest.Wait()
		cache.ShouldResync(informer)
		changes.Modify(testkit.Pod("a", "2"))
		synctest.Wait()
		assert.Equal(t, []string{"initial a1", "update a1 a2"}, seen.Take())
		cancel()
		synctest.Wait()
	})
}

// TestMutationDetector runs itself again, because client-go reads the environment when it starts.
func TestMutationDetector(t *testing.T) {
	if os.Getenv("KUBE_CACHE_MUTATION_DETECTOR") == "" {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMutationDetector$", "-test.v")
		again.Env = append(os.Environ(), "KUBE_CACHE_MUTATION_DETECTOR=true")
		out, err := again.CombinedOutput()
		require.Error(t, err, "a changed object must crash the process")
		require.Contains(t, string(out), "ALTERED")
		require.Contains(t, string(out), `"oneOf"=["the writer of *v1.Pod"]`, "who may have been it")
		return
	}
	source := framework.NewFakeControllerSource()
	source.Add(testkit.Pod("a", "1"))
	informer := cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, nil)
	writer := cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) { obj.(*corev1.Pod).Labels["v"] = "changed" }}
	_, err := informer.AddEventHandler(cache.Deliver(writer, cache.Delivery{Name: "the writer"}))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience) // it crashes within seconds
	defer cancel()
	informer.RunWithContext(ctx)
}
