// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
)

// TestOneErrorARound: a watch-list that fails and the failing list that replaces it count as one error,
// for the policy and in the status, which has the error of the list.
func TestOneErrorARound(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{OnList: testkit.ListOf(testkit.PodList("5"), testkit.ErrForbidden, testkit.ErrForbidden, testkit.ErrForbidden)}
		server.OnWatch = func(_ int, _ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if o.SendInitialEvents != nil {
				return nil, testkit.ErrInternal
			}
			return watch.NewFake(), nil
		}
		var asked []int
		informer := informers.Of(server, kinformer.Options{Errors: kinformer.Errors{Policy: func(_ context.Context, f kinformer.Failure) kinformer.ErrorDecision {
			asked = append(asked, f.Attempts)
			return kinformer.ErrorDecision{}
		}}})
		defer informers.Run(t, informer)()
		for round := 1; round <= 3; round++ {
			synctest.Wait()
			status := informers.Status(t, informer)
			assert.Equal(t, round, status.Attempts)
			assert.ErrorIs(t, status.LastError, testkit.ErrForbidden)
			time.Sleep(time.Second)
		}
		assert.Equal(t, []int{1, 2, 3}, asked)
		synctest.Wait()
		status := informers.Status(t, informer)
		assert.Zero(t, status.Attempts)
	})
}

// stops are decisions of a policy, and whether they end an informer before and after its first list.
var stops = map[string]struct {
	decision          func(kinformer.Failure) kinformer.ErrorDecision
	unsynced, forever bool
}{
	"stop": {func(f kinformer.Failure) kinformer.ErrorDecision { return kinformer.ErrorDecision{Stop: !f.Synced} }, true, false},
	"stop, with a delay": {func(f kinformer.Failure) kinformer.ErrorDecision {
		return kinformer.ErrorDecision{Stop: !f.Synced, After: time.Second}
	}, true, false},
	"stop even if synced": {func(kinformer.Failure) kinformer.ErrorDecision { return kinformer.ErrorDecision{Stop: true} }, true, true},
	"go on":               {func(kinformer.Failure) kinformer.ErrorDecision { return kinformer.ErrorDecision{After: time.Second} }, false, false},
}

// failures are the ways in which an informer can fail: the server's responses to its lists and watches,
// and whether they precede the first list.
var failures = map[string]struct {
	unsynced, noStream bool
	onList             func(int, context.Context, metav1.ListOptions) (runtime.Object, error)
	onWatch            func(int, context.Context, metav1.ListOptions) (watch.Interface, error)
}{
	"the first list": {true, true, testkit.ListOf(testkit.PodList("5"), testkit.ErrForbidden), testkit.Watches()},
	"the first stream, and its list": {true, false, testkit.ListOf(testkit.PodList("5"), testkit.ErrForbidden),
		testkit.Watches(testkit.ErrForbidden, testkit.Sent(testkit.EndMark("5")))},
	"the first stream, busy": {true, false, nil, testkit.Watches(testkit.ErrRefused, testkit.Sent(testkit.EndMark("5")))},
	"the first watch":        {false, true, testkit.ListOf(testkit.PodList("5")), testkit.Watches(testkit.ErrForbidden)},
	"the first watch, busy":  {false, true, testkit.ListOf(testkit.PodList("5")), testkit.Watches(testkit.ErrRefused)},
	"a later watch": {false, false, nil, testkit.Watches(
		testkit.Sent(testkit.EndMark("5"), testkit.Added("a", "6"), testkit.Closed), testkit.ErrForbidden, testkit.Sent(testkit.EndMark("7")))},
	"a later list": {false, true, func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
		if n == 2 {
			return nil, testkit.ErrForbidden
		}
		return testkit.PodList("5"), nil
	}, testkit.Watches(testkit.Sent(testkit.Added("a", "6"), testkit.FailedWith(testkit.ErrExpired)))},
}

// TestPoliciesStop: for any failure, the Failure reports whether the informer has its first list, and an
// informer that the policy does not stop continues and recovers.
func TestPoliciesStop(t *testing.T) {
	for what, policy := range stops {
		for where, failure := range failures {
			t.Run(what+"/"+where, func(t *testing.T) {
				reported := testkit.Reports(t)
				synctest.Test(t, func(t *testing.T) {
					var stopped []error
					var informer cache.SharedIndexInformer
					server := &testkit.Server{NoStream: failure.noStream, OnList: failure.onList, OnWatch: failure.onWatch}
					decide := func(_ context.Context, f kinformer.Failure) kinformer.ErrorDecision { return policy.decision(f) }
					onStop := func(_ context.Context, of kinformer.Stopped) {
						stopped = append(stopped, of.Err)
						status, _ := inspect.StatusOf(informer)
						assert.Equal(t, inspect.PhaseStopped, status.Phase, "the status knows before the handler does")
					}
					informer = informers.Of(server, kinformer.Options{Errors: kinformer.Errors{Policy: decide, OnStop: onStop}})
					var returned atomic.Bool
					defer testkit.InBackground(t, func(ctx context.Context) { informer.RunWithContext(ctx); returned.Store(true) })()
					time.Sleep(time.Minute)
					synctest.Wait()
					status := informers.Status(t, informer)
					require.Error(t, status.LastError, "something has failed")
					if !policy.forever && (!failure.unsynced || !policy.unsynced) {
						assert.Equal(t, inspect.PhaseWatching, status.Phase)
						assert.Zero(t, status.Attempts, "it came through")
						assert.Empty(t, stopped)
						assert.Empty(t, testkit.About("stopped for good", reported()))
						return
					}
					assert.True(t, informer.IsStopped())
					assert.True(t, returned.Load(), "Run has returned by itself")
					assert.Equal(t, failure.unsynced, !status.Synced)
					assert.Contains(t, informers.Texts(status), "stopped by its error policy")
					require.Len(t, testkit.About("stopped for good", reported()), 1, "said once, as an error")
					require.Len(t, stopped, 1)
					require.ErrorIs(t, stopped[0], status.LastError)
					assert.ErrorContains(t, stopped[0], "*v1.Pod has stopped for good")
				})
			})
		}
	}
}

// TestStopOnForbiddenOutlivesALapse: an informer whose permissions are missing for five seconds, while
// the watch ends, continues, and is up to date when they are back.
func TestStopOnForbiddenOutlivesALapse(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		source := testkit.NewPods(testkit.Pod("a", "1"))
		informer := kinformer.New(source, &v1.Pod{}, kinformer.Options{Errors: kinformer.Errors{Policy: kinformer.StopOnForbidden}})
		defer informers.Run(t, informer)()
		require.NoError(t, kinformer.WaitForSync(t.Context(), informer))
		synctest.Wait() // until the watch is open, so that the outage ends it
		end := source.Outage(testkit.ErrForbidden)
		source.Put(testkit.Pod("new", "1"))
		time.Sleep(5 * time.Second)
		assert.ErrorIs(t, informers.Status(t, informer).LastError, testkit.ErrForbidden)
		end()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.False(t, informer.IsStopped())
		assert.ElementsMatch(t, []string{"ns/a", "ns/new"}, informer.GetStore().ListKeys())
	})
}

// TestWaitForResourceIsQuiet: a missing resource is logged once, at info, each time it disappears, and
// not as an error; a watch-error handler of the user is called for each attempt.
func TestWaitForResourceIsQuiet(t *testing.T) {
	for name, own := range map[string]bool{"default handler": false, "own handler": true} {
		t.Run(name, func(t *testing.T) {
			reported, lines := testkit.Reports(t), testkit.CaptureLog(t)
			synctest.Test(t, func(t *testing.T) {
				notFound := apierrors.NewNotFound(v1.Resource("widgets"), "")
				gone := []error{notFound, notFound, notFound}
				server := &testkit.Server{NoStream: true, OnList: func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
					switch { // missing, present, missing, broken, missing, present
					case n <= 3, n >= 5 && n <= 7, n == 9:
						return nil, gone[0]
					case n == 8:
						return nil, testkit.ErrForbidden
					}
					return testkit.PodList("5"), nil
				}, OnWatch: testkit.Watches(testkit.Sent(testkit.FailedWith(testkit.ErrExpired)))}
				informer := informers.Of(server, kinformer.Options{Errors: kinformer.Errors{Policy: kinformer.ExpectNotFound(0)}})
				var handler testkit.Handled
				if own {
					require.NoError(t, informer.SetWatchErrorHandlerWithContext(handler.Handle))
				}
				stop := informers.Run(t, informer)
				time.Sleep(5 * time.Minute)
				stop()
				require.Len(t, server.Requests(), 10+2)
				assert.Len(t, testkit.About("as expected", lines.Take()), 3, "when it was missing at first, when it was gone, and after another error")
				if own {
					assert.Len(t, handler.Errors(), 8)
					assert.Empty(t, reported())
					return
				}
				require.Len(t, reported(), 1, "%v", reported())
				assert.Contains(t, reported()[0], "forbidden")
			})
		})
	}
}

// TestStoppedSince: for an informer that its policy stopped, the phase begins at the stop, which a panic
// of OnStop does not prevent.
func TestStoppedSince(t *testing.T) {
	testkit.Reports(t)
	panicked := testkit.QuietPanics(t)
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true, OnList: func(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
			time.Sleep(time.Minute)
			return nil, testkit.ErrForbidden
		}}
		panics := func(context.Context, kinformer.Stopped) { panic("no") }
		informer := informers.Of(server, kinformer.Options{Errors: kinformer.Errors{Policy: kinformer.StopOnForbidden, OnStop: panics}})
		informer.RunWithContext(t.Context())
		assert.Equal(t, 1, panicked())
		time.Sleep(time.Second)
		s := informers.Status(t, informer)
		assert.Equal(t, inspect.PhaseStopped, s.Phase)
		assert.Equal(t, time.Second, s.At.Sub(s.PhaseSince))
	})
}

// TestSyncedAfterThePolicyStopped: WaitForSync does not report that the informer ended unsynced if its
// policy stops it while its first list is on the way to the store.
func TestSyncedAfterThePolicyStopped(t *testing.T) {
	testkit.Reports(t)
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5", testkit.PodAt("a", "3"))), OnWatch: testkit.Watches(testkit.ErrForbidden)}
			informer := informers.Of(server, kinformer.Options{Errors: kinformer.Errors{Policy: func(context.Context, kinformer.Failure) kinformer.ErrorDecision {
				return kinformer.ErrorDecision{Stop: true}
			}}})
			require.NoError(t, informer.AddIndexers(cache.Indexers{"slow": func(any) ([]string, error) { time.Sleep(10 * time.Second); return nil, nil }}))
			go informer.RunWithContext(t.Context())
			err := kinformer.WaitForSync(t.Context(), informer)
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.Len(t, informer.GetStore().List(), 1)
			assert.True(t, informer.HasSynced())
			assert.NoError(t, err)
		})
	}
}

// panickingWatch is a watch with methods that panic.
type panickingWatch struct {
	watch.Interface
	inStop, inChan bool
}

func (u *panickingWatch) Stop() {
	if u.inStop {
		panic("in Stop")
	}
	u.Interface.Stop()
}

func (u *panickingWatch) ResultChan() <-chan watch.Event {
	if u.inChan {
		panic("in ResultChan")
	}
	return u.Interface.ResultChan()
}

// TestWatchThatPanics: in a process that survives panics, an informer survives those of a watch, and
// continues.
func TestWatchThatPanics(t *testing.T) {
	for name, tc := range map[string]struct{ inStop, inChan bool }{"stop": {true, false}, "channel": {false, true}} {
		t.Run(name, func(t *testing.T) {
			testkit.Reports(t)
			testkit.QuietPanics(t)
			synctest.Test(t, func(t *testing.T) {
				first := testkit.NewScriptedWatch(1)
				first.Events <- testkit.FailedWith(testkit.ErrExpired)
				server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches(&panickingWatch{first, tc.inStop, tc.inChan})}
				informer := informers.Of(server, kinformer.Options{})
				stop := informers.Run(t, informer)
				time.Sleep(time.Minute)
				s := informers.Status(t, informer)
				assert.Equal(t, inspect.PhaseWatching, s.Phase)
				assert.ErrorContains(t, s.LastError, "in ")
				stop()
			})
		})
	}
}

// TestLateWatchThatPanics: the panic of a watch that arrives after the informer has stopped is reported.
func TestLateWatchThatPanics(t *testing.T) {
	reported := testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5"))}
		server.OnWatch = func(int, context.Context, metav1.ListOptions) (watch.Interface, error) {
			time.Sleep(time.Hour)
			return &panickingWatch{testkit.NewScriptedWatch(0), true, false}, nil
		}
		stop := informers.Run(t, informers.Of(server, kinformer.Options{}))
		time.Sleep(time.Second)
		stop()
		time.Sleep(2 * time.Hour)
	})
	assert.Len(t, reported(), 1)
}
