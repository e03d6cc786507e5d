// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/consistencydetector"

	"github.com/kinformer/cache/internal/testkit"
)

// TestCancelBefore: no request is sent if the context has ended before the start.
func TestCancelBefore(t *testing.T) {
	for _, noStream := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			server := &testkit.Server{NoStream: noStream, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches()}
			r := New(Options{ListerWatcher: server, Sink: Foreign(&testkit.StoreLog{})})
			require.NoError(t, r.ListAndWatch(ctx))
			r.Run(ctx)
			synctest.Wait()
			assert.Empty(t, server.Requests())
		})
	}
}

// TestCancelFailsTheRequest: the error of a request that failed because the context ended is not
// the error of the round, whether the reflector sees the error or the end of the context first.
// Here both are ready when a long Resync returns to the wait for the watch.
func TestCancelFailsTheRequest(t *testing.T) {
	for range 30 { // select chooses one at random
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5"))}
			server.OnWatch = func(_ int, ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			store := &testkit.StoreLog{Fail: func(entry string) error {
				if entry == "resync" {
					cancel()
					time.Sleep(time.Second)
				}
				return nil
			}}
			r := New(Options{ListerWatcher: server, Sink: Foreign(store), ResyncPeriod: time.Second})
			require.NoError(t, r.ListAndWatch(ctx))
		})
	}
}

// TestCancelDuringConsistencyCheck: the extra list of the consistency detector does not delay the
// return.
func TestCancelDuringConsistencyCheck(t *testing.T) {
	defer consistencydetector.SetDataConsistencyDetectionForWatchListEnabledForTest(true)()
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{OnWatch: testkit.Watches(testkit.Sent(testkit.EndMark("9")))}
		server.OnList = func(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
			time.Sleep(time.Hour)
			return testkit.PodList("5"), nil
		}
		stop := testkit.InBackground(t, New(Options{ListerWatcher: server, Sink: Foreign(&testkit.StoreLog{})}).Run)
		time.Sleep(time.Second)
		ended := time.Now()
		stop()
		assert.Zero(t, time.Since(ended))
		time.Sleep(2 * time.Hour)
	})
}

// TestLatePanic: a panic in a request that was given up is reported, because no caller is left to
// recover.
func TestLatePanic(t *testing.T) {
	reported := testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true, OnList: func(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
			time.Sleep(time.Hour)
			panic("too late")
		}}
		stop := testkit.InBackground(t, New(Options{ListerWatcher: server, Sink: Foreign(&testkit.StoreLog{})}).Run)
		time.Sleep(time.Second)
		stop()
		time.Sleep(2 * time.Hour)
	})
	require.Len(t, reported(), 1)
	assert.Contains(t, reported()[0], "too late")
}

// TestLateWatch: a watch or stream that opens after the end is stopped, once.
func TestLateWatch(t *testing.T) {
	for _, noStream := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			late := testkit.NewScriptedWatch(0)
			server := &testkit.Server{NoStream: noStream, OnList: testkit.ListOf(testkit.PodList("5"))}
			server.OnWatch = func(int, context.Context, metav1.ListOptions) (watch.Interface, error) {
				time.Sleep(time.Hour)
				return late, nil
			}
			stop := testkit.InBackground(t, New(Options{ListerWatcher: server, Sink: Foreign(&testkit.StoreLog{})}).Run)
			time.Sleep(time.Second)
			stop()
			time.Sleep(2 * time.Hour)
			assert.Len(t, late.Stopped, 1)
		})
	}
}

// TestStreamWinsOverCancel: if the end mark was received, the state is published even if the
// context ends at that moment.
func TestStreamWinsOverCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	mark := testkit.EndMark("9")
	w := testkit.NewScriptedWatch(0)
	server, store := &testkit.Server{OnWatch: testkit.Watches(w)}, &testkit.StoreLog{}
	go func() {
		w.Events <- testkit.Added("a", "1")
		w.Events <- mark // received by the reflector, so the state is complete
		cancel()
	}()
	require.NoError(t, New(Options{ListerWatcher: server, Sink: Foreign(store)}).ListAndWatch(ctx))
	assert.Equal(t, []string{"replace 9: a@1"}, store.Entries())
	assert.Len(t, w.Stopped, 1)
}

// TestNothingBeginsAfterTheEnd holds the goroutine of a request, started and still idle, for longer
// than the reflector runs: the ListerWatcher is not called. A goroutine that has reached the call
// is not held.
func TestNothingBeginsAfterTheEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		noStream bool
		hold     int // the number of the request to hold, from 1
		want     []string
	}{
		"list":   {true, 1, nil},
		"watch":  {true, 2, []string{"list rv=0 limit=500"}},
		"stream": {false, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, held, n := &testkit.Server{NoStream: tc.noStream, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches()}, make(chan func(), 1), 0
				r := New(Options{ListerWatcher: server, Sink: Foreign(&testkit.StoreLog{}), spawn: func(f func()) {
					if n++; n == tc.hold {
						held <- f
						return
					}
					go f()
				}})
				stop := testkit.InBackground(t, r.Run)
				synctest.Wait()
				stop()
				(<-held)()
				assert.Equal(t, tc.want, server.Requests())
				assert.EqualValues(t, len(tc.want), r.state.reader.options.Journal.Status().Lists+r.state.reader.options.Journal.Status().Watches, "no request was made, and none is counted")
			})
		})
	}
}

// TestRequestGivenUpByAResync: a request that a failed resync gives up before it has begun is not
// sent later, next to the requests of the following round.
func TestRequestGivenUpByAResync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held, n := make(chan func(), 1), 0
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches()}
		store := &testkit.StoreLog{Fail: func(entry string) error {
			if entry == "resync" {
				return errors.New("cannot")
			}
			return nil
		}}
		r := New(Options{ListerWatcher: server, Sink: Foreign(store), Backoff: testkit.Second(), ResyncPeriod: time.Second, spawn: func(f func()) {
			if n++; n == 2 {
				held <- f
				return
			}
			go f()
		}})
		stop := testkit.InBackground(t, r.Run)
		time.Sleep(2500 * time.Millisecond) // the resync has failed, and another round has listed
		(<-held)()
		assert.Equal(t, []string{"list rv=0 limit=500", "list rv=5 limit=0", "watch rv=5"}, server.Requests())
		stop()
	})
}
