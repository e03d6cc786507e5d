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

// deafServer answers lists and watches after fixed delays, even if the context has ended.
type deafServer struct {
	testkit.Server
	late *testkit.ScriptedWatch // the result of a late watch
}

func newDeafServer(listDelay, watchDelay time.Duration, answers ...any) *deafServer {
	s := &deafServer{late: testkit.NewScriptedWatch(0)}
	s.OnList = func(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
		time.Sleep(listDelay)
		return testkit.PodList("5"), nil
	}
	answer := testkit.Watches(answers...)
	s.OnWatch = func(n int, ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		if n <= len(answers) {
			return answer(n, ctx, o)
		}
		time.Sleep(watchDelay)
		return s.late, nil
	}
	return s
}

func (s *deafServer) streamless() *deafServer {
	s.NoStream = true
	return s
}

const never, always = time.Hour, 0

// obedient returns a server that answers nothing and returns when its context ends.
func obedient(noStream bool) func() *deafServer {
	return func() *deafServer {
		s := newDeafServer(never, never)
		s.NoStream = noStream
		s.OnList = func(_ int, ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		s.OnWatch = func(_ int, ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return s
	}
}

// TestCancel: in every state the reflector returns at the moment when the context ends. Later
// results of the ListerWatcher are dropped, and a watch is stopped.
func TestCancel(t *testing.T) {
	for name, tc := range map[string]struct {
		server func() *deafServer
		stored []string
		late   bool // whether a watch is opened late
	}{
		"listing":                   {obedient(true), nil, false},
		"listing, deaf":             {func() *deafServer { return newDeafServer(never, always).streamless() }, nil, false},
		"opening a stream":          {obedient(false), nil, false},
		"opening a stream, deaf":    {func() *deafServer { return newDeafServer(always, never) }, nil, true},
		"following a stream":        {func() *deafServer { return newDeafServer(always, always, testkit.Sent(testkit.Added("a", "1"))) }, nil, false},
		"opening a watch, deaf":     {func() *deafServer { return newDeafServer(always, never).streamless() }, []string{"replace 5:"}, true},
		"following a watch":         {func() *deafServer { return newDeafServer(always, always).streamless() }, []string{"replace 5:"}, true},
		"backing off from a stream": {func() *deafServer { return newDeafServer(always, always, testkit.ErrTooManyRequests) }, nil, false},
		"backing off from a broken stream": {func() *deafServer {
			return newDeafServer(always, always, testkit.Sent(testkit.FailedWith(testkit.ErrTooManyRequests)))
		}, nil, false},
		"backing off from a watch": {func() *deafServer { return newDeafServer(always, always, testkit.ErrRefused).streamless() }, []string{"replace 5:"}, false},
		"backing off from a broken watch": {func() *deafServer {
			return newDeafServer(always, always, testkit.Sent(testkit.FailedWith(testkit.ErrTooManyRequests))).streamless()
		}, []string{"replace 5:"}, false},
		"between rounds": {func() *deafServer { return newDeafServer(always, always, testkit.ErrForbidden).streamless() }, []string{"replace 5:"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, store := tc.server(), &testkit.StoreLog{}
				var handler testkit.Handled
				backoff := testkit.Second()
				backoff.Duration = time.Minute
				r := New(Options{ListerWatcher: server, Sink: Foreign(store), Backoff: backoff, OnError: toldTo(&handler)})
				stop := testkit.InBackground(t, r.Run)
				time.Sleep(time.Second)
				synctest.Wait()

				ended, before := time.Now(), len(handler.Errors())
				stop()
				assert.Zero(t, time.Since(ended), "Run must return at once")
				assert.Len(t, handler.Errors(), before, "the end of the context is no watch error")

				time.Sleep(2 * never) // every late result has arrived
				assert.Equal(t, tc.stored, store.Entries())
				assert.Equal(t, tc.late, len(server.late.Stopped) == 1, "the watch is stopped, once")
			})
		})
	}
}

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
		server := newDeafServer(time.Hour, 0, testkit.Sent(testkit.EndMark("9")))
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
