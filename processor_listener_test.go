// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/fanout"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
)

// addLoud adds a handler whose log lines are collected.
func addLoud(e *informers.Exact, handler cache.ResourceEventHandler, delivery kinformer.Delivery) (informers.Registration, *testkit.Logged) {
	lines := &testkit.Logged{}
	logger := funcr.New(lines.Write, funcr.Options{})
	handle, err := e.Informer.AddEventHandlerWithOptions(kinformer.Deliver(handler, delivery), cache.HandlerOptions{Logger: &logger})
	require.NoError(e, err)
	synctest.Wait()
	return handle.(informers.Registration), lines
}

const (
	isStuck     = "does not return from a call"
	fallsBehind = "is slow and falls behind"
	caughtUp    = "The event handler has caught up"
)

// TestStuckHandlerWithoutBacklog: a stuck handler is logged even with few pending notifications, and although the
// watch is idle.
func TestStuckHandlerWithoutBacklog(t *testing.T) {
	informers.InBubble(t, func(e *informers.Exact) {
		handler, release := informers.Stuck("b")
		handle, lines := addLoud(e, handler, kinformer.Delivery{Name: "stone"})
		e.Change("b", 1)
		time.Sleep(9 * time.Second)
		synctest.Wait()
		assert.Empty(t, lines.Take(), "many calls take some seconds")
		time.Sleep(3 * time.Second)
		synctest.Wait()
		said := lines.Take()
		require.Len(t, said, 1)
		assert.Contains(t, said[0], isStuck)
		assert.Contains(t, said[0], `"call"="10s" "pendingNotifications"=1 "oldest"="10s"`)
		time.Sleep(time.Hour)
		e.Change("c", 1)
		assert.Empty(t, lines.Take(), "once")
		close(release)
		time.Sleep(time.Second)
		synctest.Wait()
		said = lines.Take()
		require.Len(t, said, 1)
		assert.Contains(t, said[0], caughtUp)
		assert.Contains(t, said[0], `"after"="1h0m3s"`)
		assert.Zero(t, informers.Stats(handle).Pending)
	})
}

// TestLaggingHandler: a handler is logged if many calls that are too quick to be logged add up to a
// delay.
func TestLaggingHandler(t *testing.T) {
	informers.InBubble(t, func(e *informers.Exact) {
		handler := &testkit.Journal{On: func(string) { time.Sleep(50 * time.Millisecond) }}
		_, lines := addLoud(e, handler, kinformer.Delivery{Name: "tortoise"})
		e.Change("b", 900)
		for range 60 {
			time.Sleep(time.Second)
			e.Change("c", 1)
		}
		said := lines.Take()
		require.Len(t, said, 2)
		assert.Contains(t, said[0], fallsBehind)
		assert.Regexp(t, `"oldest"="1\d[.\d]*s"$`, said[0])
		assert.Contains(t, said[1], caughtUp)
	})
}

// TestLoggerOfHandlers: lines about a handler go to its own logger, else to that of the context in
// which the informer runs, and to klog's before.
func TestLoggerOfHandlers(t *testing.T) {
	klogs := testkit.CaptureLog(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, lines := testkit.Loud(t, 0)
		own, release := &testkit.Logged{}, make(chan struct{})
		logger := funcr.New(own.Write, funcr.Options{})
		source := testkit.NewPods()
		source.Put(testkit.Pod("a", "1"))
		informer := cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, nil)
		add := func(name string, options cache.HandlerOptions) {
			options.ResyncPeriod = new(time.Millisecond)
			stuck := cache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-release }}
			_, err := informer.AddEventHandlerWithOptions(kinformer.Deliver(stuck, kinformer.Delivery{Name: name}), options)
			require.NoError(t, err)
		}
		add("early", cache.HandlerOptions{})
		add("loud", cache.HandlerOptions{Logger: &logger})
		assert.Len(t, testkit.About("Resync period raised", klogs.Take()), 1)
		stop := testkit.InBackground(t, func(c context.Context) {
			informer.RunWithContext(klog.NewContext(c, klog.FromContext(ctx)))
		})
		synctest.Wait()
		add("late", cache.HandlerOptions{})
		assert.Len(t, testkit.About("Resync period raised", lines.Take()), 1)
		time.Sleep(time.Minute)
		synctest.Wait()
		var names []string
		for _, line := range testkit.About(isStuck, lines.Take()) {
			assert.Contains(t, line, `"severity"="warning"`)
			names = append(names, regexp.MustCompile(`"handler"="(\w+)"`).FindStringSubmatch(line)[1])
		}
		assert.ElementsMatch(t, []string{"early", "late"}, names)
		assert.Equal(t, 1, own.Count(`"handler"="loud"`))
		close(release)
		stop()
		assert.Empty(t, klogs.Take())
	})
}

// TestLagLinesAreFew: a handler that lags repeatedly is logged at most once a minute. A line that it
// has caught up follows each line that it lags.
func TestLagLinesAreFew(t *testing.T) {
	informers.InBubble(t, func(e *informers.Exact) {
		handler := &testkit.Journal{On: func(line string) {
			if line != "initial a1" {
				time.Sleep(11 * time.Second)
			}
		}}
		_, lines := addLoud(e, handler, kinformer.Delivery{})
		for i := range 60 { // a call of 11 s each 20 s
			e.Change(fmt.Sprint("b", i), 1)
			time.Sleep(10500 * time.Millisecond)
			e.Source.Bookmark()
			time.Sleep(9500 * time.Millisecond)
		}
		assert.Equal(t, 20, lines.Count(isStuck), "in 20 minutes")
		assert.Equal(t, 20, lines.Count(caughtUp))
		assert.Len(t, lines.Take(), 40)
	})
}

// TestLagLineOfSeveralGoroutines: the goroutines of a handler share one line that it lags, and one line
// when the last has caught up.
func TestLagLineOfSeveralGoroutines(t *testing.T) {
	informers.InBubble(t, func(e *informers.Exact) {
		release := make(chan struct{}, 100)
		handler := &testkit.Journal{On: func(line string) {
			if line != "initial a1" {
				<-release
			}
		}}
		handle, lines := addLoud(e, handler, kinformer.Delivery{Parallel: 4})
		for i := range 60 { // so many that each goroutine gets one, but for one process in ten millions
			e.Change(fmt.Sprint("b", i), 1)
		}
		assert.Len(t, handler.Take(), 1+4, "each is in a call")
		time.Sleep(time.Minute)
		assert.Equal(t, time.Minute, informers.Stats(handle).Calling)
		e.Source.Bookmark()
		synctest.Wait()
		require.Len(t, lines.Take(), 1)
		for range 59 {
			release <- struct{}{}
			time.Sleep(time.Second)
			synctest.Wait()
			require.Empty(t, lines.Take(), "some of it still lags")
		}
		release <- struct{}{}
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Zero(t, informers.Stats(handle).Pending)
		said := lines.Take()
		require.Len(t, said, 1)
		assert.Contains(t, said[0], caughtUp)
	})
}

// TestRemovedHandlerIsNotLogged: a removed handler is not logged, even if it lagged.
func TestRemovedHandlerIsNotLogged(t *testing.T) {
	informers.InBubble(t, func(e *informers.Exact) {
		handler, release := informers.Stuck("b")
		handle, lines := addLoud(e, handler, kinformer.Delivery{})
		e.Change("b", 5)
		time.Sleep(time.Minute)
		e.Source.Bookmark()
		synctest.Wait()
		require.Len(t, lines.Take(), 1)
		require.NoError(t, e.Informer.RemoveEventHandler(handle))
		close(release)
		<-handle.ShutdownChan()
		time.Sleep(time.Minute)
		assert.Empty(t, lines.Take())
	})
}

// TestLagLinesOfManyHandlers: the lines of many handlers are spread over time.
func TestLagLinesOfManyHandlers(t *testing.T) {
	informers.InBubble(t, func(e *informers.Exact) {
		release := make(chan struct{})
		var all []*testkit.Logged
		for range 20 {
			_, lines := addLoud(e, &testkit.Journal{On: func(string) { <-release }}, kinformer.Delivery{})
			all = append(all, lines)
		}
		requireLines := func(part string, wants ...int) {
			for _, want := range wants {
				time.Sleep(time.Second)
				synctest.Wait()
				said := 0
				for _, lines := range all {
					said += lines.Count(part)
				}
				assert.Equal(t, want, said)
			}
		}
		time.Sleep(9 * time.Second)
		requireLines(isStuck, 8, 16, 20, 20)
		close(release)
		requireLines(caughtUp, 8, 16, 20, 20)
	})
}

// TestHandlerThatLosesACallOfItsInitialList: its registration never counts as synced, as in client-go,
// and the log, its statistics and the error of WaitForSync name the handler and the reason.
func TestHandlerThatLosesACallOfItsInitialList(t *testing.T) {
	testkit.QuietPanics(t)
	for how, lose := range map[string]func(){"panicked": func() { panic("cannot take it") }, "ended its goroutine": runtime.Goexit} {
		for _, delivery := range []kinformer.Delivery{{}, {Parallel: 2}, {Overflow: kinformer.OverflowBlock, Max: 100}, {Overflow: kinformer.OverflowCoalesce}, {Overflow: kinformer.OverflowDisconnect}} {
			t.Run(fmt.Sprint(how, delivery.Overflow, delivery.Parallel), func(t *testing.T) {
				delivery.Name = "clumsy"
				loseOneCall(t, delivery, how, lose)
			})
		}
	}
}

func loseOneCall(t *testing.T, delivery kinformer.Delivery, how string, lose func()) {
	informers.InBubble(t, func(e *informers.Exact) {
		e.Change("b", 1)
		lost := 0
		handler := &testkit.Journal{On: func(line string) {
			if line == "initial a1" {
				lost++
				lose()
			}
		}}
		registration, lines := addLoud(e, handler, delivery)
		began := time.Now()
		err := kinformer.WaitForSync(e.Context(), e.Informer, registration)
		assert.Zero(e, time.Since(began), "it is of no use to wait")
		time.Sleep(time.Minute)
		e.Change("c", 1)
		want := "the call for the Add of ns/a, which belongs to its initial list, " + how
		assert.ErrorContains(e, err, "an event handler will never count as synced")
		assert.ErrorContains(e, err, "+ event handler clumsy has not synced, and never will: "+want)

		statistics := informers.Stats(registration)
		assert.EqualError(e, statistics.SyncError, want)
		assert.Equal(e, uint64(3), statistics.Delivered)
		assert.False(e, registration.HasSynced())
		assert.Equal(e, []string{fmt.Sprintf(`"msg"="An event handler will never count as synced" "error"=%q "handler"="clumsy"`, want)}, lines.Take())
		assert.Equal(e, 1, lost)
		require.NoError(e, e.Informer.RemoveEventHandler(registration))
		assert.EqualError(e, informers.Stats(registration).SyncError, want, "the first reason stays")
	})
}

// TestOneLineForAHandlerThatFailsAllOfItsInitialList: a handler that fails in each call of the initial
// list is logged once.
func TestOneLineForAHandlerThatFailsAllOfItsInitialList(t *testing.T) {
	testkit.QuietPanics(t)
	informers.InBubble(t, func(e *informers.Exact) {
		e.Change("b", 1)
		handler := &testkit.Journal{On: func(string) { panic("cannot take it") }}
		_, lines := addLoud(e, handler, kinformer.Delivery{})
		time.Sleep(time.Minute)
		assert.Len(e, handler.Take(), 2)
		assert.Len(e, lines.Take(), 1)
	})
}

// TestHandlerThatWasRemovedBeforeItSynced: a handler that is removed before it has synced is not
// logged.
func TestHandlerThatWasRemovedBeforeItSynced(t *testing.T) {
	for name, end := range map[string]func(e *informers.Exact, r cache.ResourceEventHandlerRegistration){
		"removed": func(e *informers.Exact, r cache.ResourceEventHandlerRegistration) {
			require.NoError(e, e.Informer.RemoveEventHandler(r))
		},
		"informer stopped": func(e *informers.Exact, _ cache.ResourceEventHandlerRegistration) { go e.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			informers.InBubble(t, func(e *informers.Exact) {
				release := make(chan struct{})
				synced := e.Add(&testkit.Journal{}, kinformer.Delivery{})
				registration := e.Add(&testkit.Journal{On: func(string) { <-release }}, kinformer.Delivery{Name: "slow"})
				assert.NoError(e, informers.Stats(registration).SyncError)
				result := make(chan error, 1)
				go func() { result <- kinformer.WaitForSync(e.Context(), registration) }()
				synctest.Wait()
				end(e, registration)
				synctest.Wait()
				err := <-result
				assert.ErrorContains(e, err, "an event handler will never count as synced")
				assert.ErrorIs(e, err, fanout.ErrRemovedUnsynced)
				assert.ErrorIs(e, informers.Stats(registration).SyncError, fanout.ErrRemovedUnsynced)
				close(release)
				assert.ErrorIs(e, kinformer.WaitForSync(e.Context(), registration), fanout.ErrRemovedUnsynced, "also of one that is gone already")
				end(e, synced)
				<-synced.ShutdownChan()
				assert.NoError(e, informers.Stats(synced).SyncError)
				assert.NoError(e, kinformer.WaitForSync(e.Context(), synced))
			})
		})
	}
}

// TestWaitForSyncOfRegistrations: WaitForSync waits for handlers, and its error has their state.
func TestWaitForSyncOfRegistrations(t *testing.T) {
	informers.InBubble(t, func(e *informers.Exact) {
		slow := e.AddNow(&testkit.Journal{On: func(string) { time.Sleep(10 * time.Second) }}, kinformer.Delivery{Name: "slow"})
		asleep := cache.NewSharedIndexInformer(e.Source, &corev1.Pod{}, 0, nil)
		never, err := asleep.AddEventHandler(kinformer.Deliver(&testkit.Journal{}, kinformer.Delivery{Name: "never"}))
		require.NoError(e, err)
		foreign := foreignRegistration{}

		errLate := errors.New("it is late")
		ctx, cancel := context.WithTimeoutCause(e.Context(), 3*time.Second, errLate)
		defer cancel()
		err = kinformer.WaitForSync(ctx, e.Informer, slow, never, foreign)
		require.ErrorIs(e, err, errLate)
		assert.EqualError(e, err, "it is late\n"+
			"SharedIndexInformer *v1.Pod + event handler slow has not synced (stuck, 1 calls outstanding, in one for 3s)\n"+
			"SharedIndexInformer *v1.Pod + event handler never has not synced (it waits for the informer)\n"+
			"foreign has not synced")
		require.NoError(e, kinformer.WaitForSync(e.Context(), slow, e.Informer))
		assert.True(e, slow.HasSynced())
	})
}

type foreignRegistration struct{}

func (foreignRegistration) HasSynced() bool { return false }

func (foreignRegistration) HasSyncedChecker() cache.DoneChecker { return foreignRegistration{} }

func (foreignRegistration) Name() string { return "foreign" }

func (foreignRegistration) Done() <-chan struct{} { return nil }

// endsSlowly stops run and closes release after hold. It returns the log lines until just before the
// patience ends, and those until run returns.
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

// TestStopNamesTheHandlerItWaitsFor: a stopping informer logs each handler that it waits for once, also
// a removed one, and none that returns soon.
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
				informer := cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, nil)
				logger := funcr.New(lines.Write, funcr.Options{})
				add := func(name string, onAdd func(any)) cache.ResourceEventHandlerRegistration {
					handler := kinformer.Deliver(cache.ResourceEventHandlerFuncs{AddFunc: onAdd}, kinformer.Delivery{Name: name})
					registration, err := informer.AddEventHandlerWithOptions(handler, cache.HandlerOptions{Logger: &logger})
					require.NoError(t, err)
					return registration
				}
				slow := add("sloth", func(any) { <-release })
				add("hare", nil)
				gone := add("gone", func(any) { time.Sleep(time.Second * 3 / 4) })
				early, late := endsSlowly(t, func(ctx context.Context) {
					time.AfterFunc(time.Second/2, func() {
						_ = informer.RemoveEventHandler(gone) // during its call
						if tc.removed {
							_ = informer.RemoveEventHandler(slow)
						}
					})
					informer.RunWithContext(ctx)
				}, lines, tc.hold, release)
				assert.Empty(t, early)
				require.Len(t, late, tc.want)
				for _, line := range late {
					assert.Contains(t, line, `Run waits until a call of an event handler returns" "severity"="warning" "handler"="sloth" "call"="6s"`)
				}
			})
		})
	}
}

// TestStopNamesOnDisconnect: a stopping informer also logs an OnDisconnect function.
func TestStopNamesOnDisconnect(t *testing.T) {
	lines := testkit.CaptureLog(t)
	synctest.Test(t, func(t *testing.T) {
		source, release, returned := testkit.NewPods(), make(chan struct{}), make(chan struct{})
		informer := cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, nil)
		_, err := informer.AddEventHandler(kinformer.Deliver(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-returned }},
			kinformer.Delivery{Overflow: kinformer.OverflowDisconnect, Max: 1, OnDisconnect: func(error) { <-release }}))
		require.NoError(t, err)
		_, late := endsSlowly(t, func(ctx context.Context) {
			time.AfterFunc(time.Second/2, func() {
				for _, name := range []string{"a", "b", "c"} {
					source.Put(testkit.Pod(name, "1"))
					time.Sleep(time.Millisecond) // in fake time, so that each is distributed separately
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

// TestStopNamesTheRunningFunction: Run logs which of the user's functions it waits for: the handler of
// NewInformer*, a process function, a transform.
func TestStopNamesTheRunningFunction(t *testing.T) {
	for name, tc := range map[string]struct {
		controller func(source cache.ListerWatcher, release chan struct{}) cache.Controller
		says       string
	}{
		"handler": {func(source cache.ListerWatcher, release chan struct{}) cache.Controller {
			_, simple := cache.NewInformerWithOptions(cache.InformerOptions{
				ListerWatcher: source, ObjectType: &corev1.Pod{}, Handler: &testkit.Journal{On: func(string) { <-release }},
			})
			return simple
		}, "internal/testkit.Journal"},
		"process function": {func(source cache.ListerWatcher, release chan struct{}) cache.Controller {
			return cache.New(&cache.Config{Queue: cache.AtomicFIFO(), ListerWatcher: source, Process: func(any, bool) error { <-release; return nil }})
		}, "the process function"},
		"transform": {func(source cache.ListerWatcher, release chan struct{}) cache.Controller {
			informer := cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, nil)
			require.NoError(t, informer.SetTransform(func(obj any) (any, error) { <-release; return obj, nil }))
			return informer
		}, `Run waits until a call returns" "severity"="warning" "type"="*v1.Pod" "of"="the transform or an index function"`},
	} {
		synctest.Test(t, func(t *testing.T) {
			source, release, lines := testkit.NewPods(), make(chan struct{}), &testkit.Logged{}
			source.Put(testkit.Pod("a", "1"))
			early, late := endsSlowly(t, tc.controller(source, release).RunWithContext, lines, time.Minute, release)
			assert.Empty(t, testkit.About("Run waits", early), name)
			late = testkit.About("Run waits", late)
			require.Len(t, late, 1, name)
			assert.Contains(t, late[0], tc.says)
		})
	}
}

// TestStopNamesAFunctionThatCloseWaitsFor: the process function is named, too, if it runs under the lock of the
// queue, so that Close waits for it.
func TestStopNamesAFunctionThatCloseWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, release, lines := testkit.NewPods(), make(chan struct{}), &testkit.Logged{}
		source.Put(testkit.Pod("a", "1"))
		c := cache.New(&cache.Config{
			Queue: closedLate{cache.AtomicFIFO(), release}, ListerWatcher: source,
			Process: func(any, bool) error { <-release; return nil },
		})
		_, late := endsSlowly(t, c.RunWithContext, lines, time.Minute, release)
		late = testkit.About("Run waits", late)
		require.Len(t, late, 1)
		assert.Contains(t, late[0], "the process function")
	})
}

// closedLate is a queue whose Close returns after release. A mutex would stop the time of the bubble.
type closedLate struct {
	*cache.RealFIFO
	release chan struct{}
}

func (q closedLate) Close() {
	<-q.release
	q.RealFIFO.Close()
}

// secondRun is a mutation detector that panics in its second run.
type secondRun struct {
	cache.MutationDetector
	runs atomic.Int32
}

func (d *secondRun) Run(stop <-chan struct{}) {
	if d.runs.Add(1) > 1 {
		panic("cache modified")
	}
	<-stop
}

// suspected runs an informer with this name, with handlers with these names, until the test ends.
func suspected(t *testing.T, name string, lw cache.ListerWatcher, options kinformer.Options, handlers ...string) (cache.SharedIndexInformer, []cache.ResourceEventHandlerRegistration) {
	options.Requests.Mode, options.ObjectDescription = kinformer.ListModeList, name
	informer := kinformer.New(lw, &corev1.Pod{}, options)
	cache.WrapDetector(informer, func(d cache.MutationDetector) cache.MutationDetector { return &secondRun{MutationDetector: d} })
	var registrations []cache.ResourceEventHandlerRegistration
	for _, handler := range handlers {
		registration, err := informer.AddEventHandler(kinformer.Deliver(cache.ResourceEventHandlerFuncs{}, kinformer.Delivery{Name: handler}))
		require.NoError(t, err)
		registrations = append(registrations, registration)
	}
	t.Cleanup(informers.Run(t, informer))
	return informer, registrations
}

// accusation returns the log line before the panic of a detector, which is passed on unchanged.
func accusation(t *testing.T, informer cache.SharedIndexInformer) string {
	ctx, lines := testkit.Loud(t, 0)
	assert.PanicsWithValue(t, "cache modified", func() { cache.DetectMutations(ctx, informer) })
	return strings.Join(lines.Take(), "\n")
}

// TestSuspectsOfAMutation: when the mutation detector panics, one error names the handlers of the
// informer or, if its objects share parts, those of all informers whose objects do.
func TestSuspectsOfAMutation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := func() cache.ListerWatcher {
			set := informers.EqualPodsOver(t, apiruntime.ContentTypeJSON, func() [][]byte { return nil })
			return cache.NewListWatchFromClient(set.CoreV1().RESTClient(), "pods", "", fields.Everything())
		}
		sharing := kinformer.Options{Decoding: kinformer.Decoding{ShareParts: true}}
		first, registrations := suspected(t, "first", pods(), sharing, "a", "b", "gone")
		suspected(t, "second", pods(), sharing, "c")
		third, _ := suspected(t, "third", pods(), kinformer.Options{Decoding: kinformer.Decoding{}}, "d")
		suspected(t, "fake", cachetest.Of(informers.EqualPod(1, "")), sharing, "e")
		empty, _ := suspected(t, "empty", cachetest.Of(), sharing, "idle")
		time.Sleep(time.Second)
		synctest.Wait()
		require.NoError(t, first.RemoveEventHandler(registrations[2]))
		for informer, suspects := range map[cache.SharedIndexInformer]string{
			first: `["a of first" "b of first" "c of second"]`,
			third: `["d of third"]`,
			empty: `["idle of empty"]`,
		} {
			said := accusation(t, informer)
			assert.Equal(t, 1, strings.Count(said, "a caller has modified cached objects"), said)
			assert.Contains(t, said, fmt.Sprintf(`"oneOf"=%s`, suspects))
		}
	})
}

// TestNoSuspectsWithoutAMutation: without a mutation no handlers are logged.
func TestNoSuspectsWithoutAMutation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, lines := testkit.Loud(t, 0)
		informer := cache.NewSharedIndexInformer(cachetest.Of(informers.EqualPod(1, "")), &corev1.Pod{}, 0, nil)
		cache.WrapDetector(informer, func(d cache.MutationDetector) cache.MutationDetector { return &secondRun{MutationDetector: d} })
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		informer.RunWithContext(ctx)
		assert.Zero(t, lines.Count("oneOf"))
	})
}

// TestAnIdleInformerHasTwoGoroutines: an idle informer has the goroutine of Run and that of the
// reflector, for any number of handlers. The watch of this test has no goroutine of its own.
func TestAnIdleInformerHasTwoGoroutines(t *testing.T) {
	const many = 20
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		newInformer := kinformer.Constructor(kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList}})
		before := goroutinesInBubble()
		var synced []cache.InformerSynced
		for range many {
			informer := newInformer(informers.Quiet(testkit.PodAt("a", "1")), &corev1.Pod{}, 0, cache.Indexers{})
			for range 3 {
				informers.Handle(t, informer, cache.ResourceEventHandlerFuncs{})
			}
			running.Go(func() { informer.RunWithContext(ctx) })
			synced = append(synced, informer.HasSynced)
		}
		synctest.Wait()
		for _, hasSynced := range synced {
			assert.True(t, hasSynced())
		}
		assert.Equal(t, 2*many, goroutinesInBubble()-before)
		cancel()
		running.Wait()
	})
}

// goroutinesInBubble returns the number of goroutines in synctest's bubbles, of which there is one.
func goroutinesInBubble() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return strings.Count(string(stacks), "synctest bubble")
}

// TestNothingOfAStoppedInformerIsKept: neither a registration nor a DoneChecker, which programs may
// keep forever, refers to the objects of a stopped informer.
func TestNothingOfAStoppedInformerIsKept(t *testing.T) {
	for name, keep := range map[string]func(cache.SharedIndexInformer, cache.ResourceEventHandlerRegistration) any{
		"registration": func(_ cache.SharedIndexInformer, r cache.ResourceEventHandlerRegistration) any { return r },
		"registration's checker": func(_ cache.SharedIndexInformer, r cache.ResourceEventHandlerRegistration) any {
			return r.HasSyncedChecker()
		},
		"informer's checker": func(s cache.SharedIndexInformer, _ cache.ResourceEventHandlerRegistration) any {
			return s.HasSyncedChecker()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kept, objects := runAndStop(t, keep)
				alive := 0
				synctest.Wait() // an idle goroutine may still have objects on its stack
				runtime.GC()
				for _, obj := range objects {
					if obj.Value() != nil {
						alive++
					}
				}
				assert.Zero(t, alive)
				runtime.KeepAlive(kept)
			})
		})
	}
}

// runAndStop runs an informer with 200 objects until it has synced, stops it, and returns the result of
// keep and weak pointers to the objects.
func runAndStop(t *testing.T, keep func(cache.SharedIndexInformer, cache.ResourceEventHandlerRegistration) any) (kept any, objects []weak.Pointer[corev1.Pod]) {
	source := testkit.NewPods()
	for i := range 200 {
		source.Put(testkit.Pod(fmt.Sprint("p", i), "1"))
	}
	informer := cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, nil)
	registration, err := informer.AddEventHandler(&testkit.Journal{})
	require.NoError(t, err)
	kept = keep(informer, registration)
	stop := informers.Run(t, informer)
	synctest.Wait()
	require.True(t, registration.HasSynced())
	for _, obj := range informer.GetStore().List() {
		objects = append(objects, weak.Make(obj.(*corev1.Pod)))
	}
	stop()
	return kept, objects
}

// TestInformerAnswersWhileAHandlerWaitsToJoin: a handler is added between two batches, and so waits for
// a slow index function. Other calls of the informer do not wait, even those of the index function
// itself.
func TestInformerAnswersWhileAHandlerWaitsToJoin(t *testing.T) {
	inside, held := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(held) })
	indexers := cache.Indexers{"slow": func(any) ([]string, error) {
		close(inside)
		<-held
		return nil, nil
	}}
	server := cachetest.Of()
	informer := cache.NewSharedIndexInformer(server, &corev1.ConfigMap{}, 0, indexers)
	defer runInformer(informer)()
	defer release()
	cache.WaitFor(t.Context(), "config maps", informer.HasSyncedChecker())
	server.Create(newConfigMap("a", "1"))
	<-inside

	joined, asked := make(chan error, 1), make(chan struct{})
	go func() {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
		joined <- err
	}()
	go func() {
		defer close(asked)
		for range 10_000 { // the other goroutine is waiting long before the last of them
			_, _ = inspect.StatusOf(informer)
			informer.IsStopped()
			runtime.Gosched()
		}
	}()
	within(t, "StatusOf waits for AddEventHandler", func() { <-asked })
	assert.Empty(t, joined, "the handler waits for the batch")
	release()
	assert.NoError(t, <-joined)
	<-asked
}

// TestMutationDetector runs the test binary again, because client-go reads the environment variable at
// start.
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
	t.Setenv("KUBE_CACHE_MUTATION_DETECTOR", "") // too late to change anything
	informer := cache.NewSharedIndexInformer(testkit.NewPods(testkit.Pod("a", "1")), &corev1.Pod{}, 0, nil)
	writer := cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) { obj.(*corev1.Pod).Labels["v"] = "changed" }}
	informers.Handle(t, informer, kinformer.Deliver(writer, kinformer.Delivery{Name: "the writer"}))
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience) // it crashes within seconds
	defer cancel()
	informer.RunWithContext(ctx)
}

// TestMutationDetectorSeesResyncs: the detector, which forgets objects after some minutes, is told about the
// objects of each resync.
func TestMutationDetectorSeesResyncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := &toldDetector{}
		informer := cache.NewSharedIndexInformer(testkit.NewPods(testkit.Pod("a", "1")), &corev1.Pod{}, time.Second, cache.Indexers{})
		cache.WrapDetector(informer, func(d cache.MutationDetector) cache.MutationDetector {
			told.MutationDetector = d
			return told
		})
		informers.Handle(t, informer, cache.ResourceEventHandlerFuncs{})
		t.Cleanup(informers.Run(t, informer))
		time.Sleep(4500 * time.Millisecond)
		synctest.Wait()
		assert.Equal(t, int32(1+4), told.objects.Load(), "the addition and four resyncs")
	})
}

// toldDetector counts the objects that the detector in it is told about.
type toldDetector struct {
	cache.MutationDetector
	objects atomic.Int32
}

func (d *toldDetector) AddObject(any) { d.objects.Add(1) }

func TestStatistics(t *testing.T) {
	informers.InBubble(t, func(e *informers.Exact) {
		var took time.Duration
		release := make(chan struct{})
		handler := &testkit.Journal{On: func(line string) {
			if strings.HasPrefix(line, "add") {
				<-release
			}
			time.Sleep(took)
		}}
		handle := e.Add(handler, kinformer.Delivery{Name: "counted"})
		idle := informers.Stats(handle)
		assert.Equal(t, "counted", idle.Name)
		assert.Equal(t, "idle", idle.State)
		assert.Equal(t, uint64(1), idle.Delivered)
		assert.Zero(t, idle.Pending)

		e.Change("b", 1)
		e.Change("c", 1)
		e.Change("d", 1)
		time.Sleep(time.Second / 2)
		running := informers.Stats(handle)
		assert.Equal(t, "running", running.State)
		assert.Equal(t, 3, running.Pending)
		assert.Equal(t, time.Second/2, running.Calling)
		assert.Equal(t, time.Second/2, running.Oldest)
		time.Sleep(time.Second / 2)
		assert.Equal(t, inspect.HandlerStuck, informers.Stats(handle).State)

		took = 20 * time.Millisecond
		close(release)
		time.Sleep(time.Minute)
		done := informers.Stats(handle)
		assert.Equal(t, "idle", done.State)
		assert.Equal(t, uint64(4), done.Delivered)
		assert.Equal(t, time.Second+3*took, done.Busy)
		assert.Equal(t, time.Second+took, done.Longest)
		var counts []uint64
		for _, bucket := range done.Calls {
			counts = append(counts, bucket.Count)
		}
		assert.Equal(t, []uint64{0: 1, 3: 2, 5: 1, 6: 0}, counts)
		require.NoError(t, e.Informer.RemoveEventHandler(handle))
		assert.Equal(t, "removed", informers.Stats(handle).State)
	})
}

func TestSlowHandlerIsLoggedOnce(t *testing.T) {
	informers.InBubble(t, func(e *informers.Exact) {
		handler := &testkit.Journal{On: func(line string) { time.Sleep(200 * time.Millisecond) }}
		handle, lines := addLoud(e, handler, kinformer.Delivery{Name: "sloth"})
		for range 2 {
			e.Change("b", 900)
			time.Sleep(100 * time.Millisecond)
			e.Change("b", 900)
			time.Sleep(time.Hour)
			require.Equal(t, "idle", informers.Stats(handle).State)
			said := lines.Take()
			require.Len(t, said, 2, "once until it has caught up, and then")
			assert.Contains(t, said[0], `falls behind; this is logged once until it has caught up" "severity"="warning" "handler"="sloth" "informer"="SharedIndexInformer *v1.Pod"`)
			assert.Regexp(t, `"call"="200ms" "pendingNotifications"=179[5-7] "oldest"="1s"$`, said[0])
			assert.Regexp(t, `has caught up" "handler"="sloth" "informer"="SharedIndexInformer \*v1.Pod" "after"="6m0(.2)?s"$`, said[1])
		}
	})
}
