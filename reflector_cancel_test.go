// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

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
)

// deafServer answers lists and watches with fixed delays, whether the context ended or not.
type deafServer struct {
	fakeServer
	late *scriptedWatch // what a late watch returns
}

func newDeafServer(listDelay, watchDelay time.Duration, answers ...any) *deafServer {
	s := &deafServer{late: newScriptedWatch(0)}
	s.list = func(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
		time.Sleep(listDelay)
		return podList("5"), nil
	}
	answer := watches(answers...)
	s.watch = func(n int, ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		if n <= len(answers) {
			return answer(n, ctx, o)
		}
		time.Sleep(watchDelay)
		return s.late, nil
	}
	return s
}

func (s *deafServer) streamless() *deafServer {
	s.noStream = true
	return s
}

// TestCancel: in whatever state the reflector is, it returns in the moment in which the context ends; what a
// ListerWatcher brings later reaches nobody, and a watch is stopped.
func TestCancel(t *testing.T) {
	const never, always = time.Hour, 0
	obedient := func(noStream bool) func() *deafServer {
		return func() *deafServer {
			s := newDeafServer(never, never)
			s.noStream = noStream
			s.list = func(_ int, ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			s.watch = func(_ int, ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return s
		}
	}
	for name, tc := range map[string]struct {
		server func() *deafServer
		stored []string
		late   bool // a watch is opened late
	}{
		"listing":                   {obedient(true), nil, false},
		"listing, deaf":             {func() *deafServer { return newDeafServer(never, always).streamless() }, nil, false},
		"opening a stream":          {obedient(false), nil, false},
		"opening a stream, deaf":    {func() *deafServer { return newDeafServer(always, never) }, nil, true},
		"following a stream":        {func() *deafServer { return newDeafServer(always, always, sent(added("a", "1"))) }, nil, false},
		"opening a watch, deaf":     {func() *deafServer { return newDeafServer(always, never).streamless() }, []string{"replace 5:"}, true},
		"following a watch":         {func() *deafServer { return newDeafServer(always, always).streamless() }, []string{"replace 5:"}, true},
		"backing off from a stream": {func() *deafServer { return newDeafServer(always, always, errTooManyRequests) }, nil, false},
		"backing off from a broken stream": {func() *deafServer {
			return newDeafServer(always, always, sent(failedWith(errTooManyRequests)))
		}, nil, false},
		"backing off from a watch": {func() *deafServer { return newDeafServer(always, always, errRefused).streamless() }, []string{"replace 5:"}, false},
		"backing off from a broken watch": {func() *deafServer {
			return newDeafServer(always, always, sent(failedWith(errTooManyRequests))).streamless()
		}, []string{"replace 5:"}, false},
		"between rounds": {func() *deafServer { return newDeafServer(always, always, errForbidden).streamless() }, []string{"replace 5:"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, store := tc.server(), &storeLog{}
				var handler handled
				backoff := second()
				backoff.Duration = time.Minute
				r := newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(store), backoff: backoff, onError: toldTo(&handler)})
				stop := inBackground(t, r.run)
				time.Sleep(time.Second)
				synctest.Wait()

				ended, before := time.Now(), len(handler.errors())
				stop()
				assert.Zero(t, time.Since(ended), "Run must return at once")
				assert.Len(t, handler.errors(), before, "the end of the context is no watch error")

				time.Sleep(2 * never) // all that is late has come
				assert.Equal(t, tc.stored, store.entries())
				assert.Equal(t, tc.late, len(server.late.stopped) == 1, "the watch is stopped, once")
			})
		})
	}
}

// TestCancelBefore: a context that ended already leads to no request.
func TestCancelBefore(t *testing.T) {
	for _, noStream := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			server := &fakeServer{noStream: noStream, list: listOf(podList("5")), watch: watches()}
			r := newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(&storeLog{})})
			require.NoError(t, r.listAndWatch(ctx))
			r.run(ctx)
			synctest.Wait()
			assert.Empty(t, server.asked())
		})
	}
}

// TestCancelFailsTheRequest: the error that a request brings because the context ended is not the round's, whichever of
// the two the reflector notices first. Here both are there when a long Resync returns to the wait for the watch.
func TestCancelFailsTheRequest(t *testing.T) {
	for range 30 { // which one it notices is drawn by chance
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			server := &fakeServer{noStream: true, list: listOf(podList("5"))}
			server.watch = func(_ int, ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			store := &storeLog{fail: func(entry string) error {
				if entry == "resync" {
					cancel()
					time.Sleep(time.Second)
				}
				return nil
			}}
			r := newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(store), resyncPeriod: time.Second})
			require.NoError(t, r.listAndWatch(ctx))
		})
	}
}

// TestCancelDuringConsistencyCheck: the extra list of the consistency detector does not hold up the end either.
func TestCancelDuringConsistencyCheck(t *testing.T) {
	defer consistencydetector.SetDataConsistencyDetectionForWatchListEnabledForTest(true)()
	synctest.Test(t, func(t *testing.T) {
		server := newDeafServer(time.Hour, 0, sent(endMark("9")))
		stop := inBackground(t, newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(&storeLog{})}).run)
		time.Sleep(time.Second)
		ended := time.Now()
		stop()
		assert.Zero(t, time.Since(ended))
		time.Sleep(2 * time.Hour)
	})
}

// TestLatePanic: a panic in a request that was given up is reported, since nobody is left to throw it at.
func TestLatePanic(t *testing.T) {
	reported := reports(t)
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{noStream: true, list: func(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
			time.Sleep(time.Hour)
			panic("too late")
		}}
		stop := inBackground(t, newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(&storeLog{})}).run)
		time.Sleep(time.Second)
		stop()
		time.Sleep(2 * time.Hour)
	})
	require.Len(t, reported(), 1)
	assert.Contains(t, reported()[0], "too late")
}

// TestStreamWinsOverCancel: a state whose end mark was received is published even if the context ends in that moment.
func TestStreamWinsOverCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	mark := endMark("9")
	w := newScriptedWatch(0)
	server, store := &fakeServer{watch: watches(w)}, &storeLog{}
	go func() {
		w.events <- added("a", "1")
		w.events <- mark // taken by the reflector, so the state is whole
		cancel()
	}()
	require.NoError(t, newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(store)}).listAndWatch(ctx))
	assert.Equal(t, []string{"replace 9: a@1"}, store.entries())
	assert.Len(t, w.stopped, 1)
}

// TestResyncEndsTheRound: an error of Resync gives up the watch, or the request for one, and another round follows.
func TestResyncEndsTheRound(t *testing.T) {
	for name, watchDelay := range map[string]time.Duration{"following a watch": 0, "opening a watch": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newDeafServer(0, watchDelay).streamless()
				var handler handled
				store := &storeLog{fail: func(entry string) error {
					if entry == "resync" {
						return errors.New("cannot")
					}
					return nil
				}}
				stop := inBackground(t, newReflector(reflectorOptions{
					listerWatcher: server, sink: newForeignSink(store), backoff: second(), onError: toldTo(&handler), resyncPeriod: 10 * time.Second,
				}).run)
				time.Sleep(12 * time.Second)
				stop()
				assert.Equal(t, []string{"replace 5:", "resync", "replace 5:"}, store.entries())
				assert.Empty(t, handler.errors())
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

// TestNothingBeginsAfterTheEnd stops the goroutine of a request where it has been started and has not done anything yet, for
// longer than the reflector runs: the ListerWatcher is not called any more. One that got as far as the call is not held back.
func TestNothingBeginsAfterTheEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		noStream bool
		hold     int // which request is stopped, from 1
		want     []string
	}{
		"list":   {true, 1, nil},
		"watch":  {true, 2, []string{"list rv=0 limit=500"}},
		"stream": {false, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, held, n := &fakeServer{noStream: tc.noStream, list: listOf(podList("5")), watch: watches()}, make(chan func(), 1), 0
				r := newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(&storeLog{}), spawn: func(f func()) {
					if n++; n == tc.hold {
						held <- f
						return
					}
					go f()
				}})
				stop := inBackground(t, r.run)
				synctest.Wait()
				stop()
				(<-held)()
				assert.Equal(t, tc.want, server.asked())
				assert.EqualValues(t, len(tc.want), r.report.lists.Load()+r.report.watches.Load(), "no request was made, and none is counted")
			})
		})
	}
}

// TestRequestGivenUpByAResync: a request that a failed resync gives up before it has begun is not made later, next to those of
// the round that follows.
func TestRequestGivenUpByAResync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held, n := make(chan func(), 1), 0
		server := &fakeServer{noStream: true, list: listOf(podList("5")), watch: watches()}
		store := &storeLog{fail: func(entry string) error {
			if entry == "resync" {
				return errors.New("cannot")
			}
			return nil
		}}
		r := newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(store), backoff: second(), resyncPeriod: time.Second, spawn: func(f func()) {
			if n++; n == 2 {
				held <- f
				return
			}
			go f()
		}})
		stop := inBackground(t, r.run)
		time.Sleep(2500 * time.Millisecond) // the resync has failed, and another round has listed
		(<-held)()
		assert.Equal(t, []string{"list rv=0 limit=500", "list rv=5 limit=0", "watch rv=5"}, server.asked())
		stop()
	})
}
