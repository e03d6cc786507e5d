// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
)

// outages are times since the first request in which a Server has other answers.
type outages []struct {
	from, to time.Duration
	list     error
	watch    any // an error or a watch.Interface
}

// serve makes the server answer so, and with a list at 5 and silent watches at all other times.
// Open watches are closed when an outage begins.
func (o outages) serve(server *testkit.Server) *testkit.Server {
	began := time.Now()
	now := func() (w any, list error) {
		for _, outage := range o {
			if at := time.Since(began); at >= outage.from && at < outage.to {
				return outage.watch, outage.list
			}
		}
		return nil, nil
	}
	server.OnList = func(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
		if _, err := now(); err != nil {
			return nil, err
		}
		return testkit.PodList("5", testkit.PodAt("a", "3")), nil
	}
	server.OnWatch = func(_ int, ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
		switch w, _ := now(); w := w.(type) {
		case error:
			return nil, w
		case watch.Interface:
			return w, nil
		}
		open := testkit.NewScriptedWatch(0)
		for _, outage := range o {
			if wait := outage.from - time.Since(began); wait >= 0 {
				time.AfterFunc(wait, func() { close(open.Events) })
				break
			}
		}
		return open, nil
	}
	return server
}

// TestOutage: the beginning and the end of a long outage are each logged once, the end with its
// length. A short one is only counted.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := outages{
			{from: 10 * time.Second, to: 22 * time.Second, list: testkit.ErrRefused, watch: testkit.ErrRefused},
			{from: time.Minute, to: time.Minute + 3*time.Second, list: testkit.ErrRefused, watch: testkit.ErrRefused},
		}
		ctx, lines := testkit.Loud(t, 0)
		informer := informers.OnServers(&reflector.Servers{}, informers.Of(down.serve(&testkit.Server{NoStream: true}), kinformer.Options{ObjectDescription: "test pods", Decoding: kinformer.Decoding{Off: true}}))
		began := time.Now()
		ended := make(chan struct{})
		ctx, cancel := context.WithCancel(ctx)
		go func() { defer close(ended); informer.RunWithContext(ctx) }()

		time.Sleep(14*time.Second + 500*time.Millisecond)
		assert.Empty(t, lines.Take(), "not yet worth a line")
		s := informers.Status(t, informer)
		assert.Equal(t, began.Add(10*time.Second), s.LastOutageAt)
		assert.Equal(t, 4500*time.Millisecond, s.LastOutage)
		assert.Zero(t, s.Reconnects)
		assert.Contains(t, informers.Texts(s), "the server went out of reach 4.5s ago")

		time.Sleep(4 * time.Second)
		said := lines.Take()
		require.Len(t, said, 1, "once")
		for _, part := range []string{"Warning: the server is out of reach", `"outage"="5s"`, "connection refused", `"informers"=1`, `"names"=["test pods`} {
			assert.Contains(t, said[0], part)
		}
		time.Sleep(20 * time.Second)
		said = lines.Take()
		require.Len(t, said, 1)
		assert.Contains(t, said[0], "The server is in reach again")
		assert.Contains(t, said[0], `"shortest"="12s" "median"="12s" "longest"="12s"`)
		s = informers.Status(t, informer)
		assert.Equal(t, 12*time.Second, s.LastOutage)
		assert.EqualValues(t, 1, s.Reconnects)
		assert.Empty(t, informers.Texts(s))
		assert.Contains(t, s.String(), "1 reconnect (last outage 12s)")

		time.Sleep(time.Minute)
		s = informers.Status(t, informer)
		assert.Equal(t, began.Add(time.Minute), s.LastOutageAt)
		assert.Equal(t, 3*time.Second, s.LastOutage)
		assert.EqualValues(t, 2, s.Reconnects)
		assert.Empty(t, lines.Take(), "too short for a line")
		cancel()
		<-ended
	})
}

// aMinute runs an informer of server for a minute, and returns the informer, its log lines, and its
// start. look is called after half a minute.
func aMinute(t *testing.T, server *testkit.Server, look func(inspect.Status)) (informer cache.SharedIndexInformer, lines *testkit.Logged, began time.Time) {
	testkit.Reports(t)
	ctx, lines := testkit.Loud(t, 0)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	informer = informers.OnServers(&reflector.Servers{}, informers.Of(server, kinformer.Options{}))
	time.AfterFunc(30*time.Second, func() {
		s, err := inspect.StatusOf(informer)
		assert.NoError(t, err)
		look(s)
	})
	began = time.Now()
	informer.RunWithContext(ctx)
	return informer, lines, began
}

func nothing(inspect.Status) {}

// TestOutageFromTheStart: an outage at the start counts, too. An informer that stops in an outage
// logs nothing more.
func TestOutageFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := outages{{to: time.Hour, list: testkit.ErrRefused, watch: testkit.ErrRefused}}
		informer, lines, _ := aMinute(t, down.serve(&testkit.Server{NoStream: true}), nothing)
		assert.Equal(t, 1, lines.Count("Warning: the server is out of reach"))
		assert.Zero(t, lines.Count("in reach again"))
		time.Sleep(time.Hour)
		s := informers.Status(t, informer)
		assert.Equal(t, time.Minute, s.LastOutage, "up to the end of the informer")
		assert.Zero(t, s.Reconnects)
		assert.NotContains(t, fmt.Sprint(informers.Texts(s)), "out of reach")
	})
}

// TestOutageOfEmptyWatches: the watch that client-go returns after a broken connection does not
// count as an answer of the server.
func TestOutageOfEmptyWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := outages{{from: 10 * time.Second, to: 30 * time.Second, list: &url.Error{Op: "Get", URL: "/pods", Err: io.EOF}, watch: watch.NewEmptyWatch()}}
		informer, lines, began := aMinute(t, down.serve(&testkit.Server{NoStream: true}), nothing)
		assert.Equal(t, 1, lines.Count("Warning: the server is out of reach"))
		assert.Equal(t, 1, lines.Count("in reach again"))
		s := informers.Status(t, informer)
		assert.Equal(t, began.Add(10*time.Second), s.LastOutageAt)
		assert.Equal(t, 20*time.Second, s.LastOutage)
		assert.EqualValues(t, 1, s.Reconnects)
	})
}

// TestOutageOfTimeouts: a server that does not answer at all is out of reach, although client-go
// returns a watch for each of its timeouts.
func TestOutageOfTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, began := testkit.NewScriptedWatch(0), time.Now()
		server := &testkit.Server{NoStream: true}
		server.OnList = func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			if n > 1 {
				return nil, context.DeadlineExceeded
			}
			return testkit.PodList("5"), nil
		}
		server.OnWatch = func(n int, ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			switch {
			case n == 1:
				return w, nil
			case time.Since(began) < 2*time.Minute:
				time.Sleep(30 * time.Second)
				return watch.NewEmptyWatch(), nil
			default:
				return testkit.NewScriptedWatch(0), nil
			}
		}
		ctx, lines := testkit.Loud(t, 0)
		ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
		defer cancel()
		informer := informers.OnServers(&reflector.Servers{}, informers.Of(server, kinformer.Options{}))
		time.AfterFunc(10*time.Second, func() { close(w.Events) })
		time.AfterFunc(time.Minute, func() {
			s, err := inspect.StatusOf(informer)
			assert.NoError(t, err)
			assert.ErrorIs(t, s.LastError, reflector.ErrNoConnection)
			assert.NotZero(t, s.Attempts)
		})
		informer.RunWithContext(ctx)
		assert.Equal(t, 1, lines.Count("Warning: the server is out of reach"))
		assert.Equal(t, 1, lines.Count("in reach again"))
		s := informers.Status(t, informer)
		assert.Equal(t, began.Add(40*time.Second), s.LastOutageAt)
		assert.Equal(t, 94*time.Second, s.LastOutage, "with a backoff between two watches")
		assert.EqualValues(t, 1, s.Reconnects)
		assert.Zero(t, s.Attempts)
	})
}

// TestOutageEndsWithAList: an outage ends with a list, because proxies may delay the headers of the
// watch that follows.
func TestOutageEndsWithAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true, OnList: informers.ListsThen(testkit.PodList("5"), slices.Repeat([]error{testkit.ErrRefused}, 10)...)}
		server.OnWatch = func(_ int, ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		informer, lines, _ := aMinute(t, server, nothing)
		assert.Equal(t, 1, lines.Count("in reach again"))
		assert.Equal(t, 10*time.Second, informers.Status(t, informer).LastOutage)
	})
}

// TestOutageEndsWhenFresh: an error as an answer does not end an outage.
func TestOutageEndsWhenFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := outages{
			{from: 10 * time.Second, to: 20 * time.Second, list: testkit.ErrRefused, watch: testkit.ErrRefused},
			{from: 20 * time.Second, to: 40 * time.Second, list: testkit.ErrForbidden, watch: testkit.ErrForbidden},
		}
		informer, lines, _ := aMinute(t, down.serve(&testkit.Server{NoStream: true}), func(s inspect.Status) {
			assert.Contains(t, informers.Texts(s), "the server went out of reach 20s ago")
		})
		assert.Equal(t, 1, lines.Count("in reach again"))
		assert.InDelta(t, 30*time.Second, informers.Status(t, informer).LastOutage, float64(2*time.Second))
	})
}

// TestLinesOfARestart: at -v=2 the restart of a server causes two log lines for all informers, with
// their number, some of their names, and the length of the outage. client-go logs one for each
// informer.
func TestLinesOfARestart(t *testing.T) {
	const many = 61
	for name, back := range map[string]error{"the versions are gone": testkit.ErrExpired, "the versions are there": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				testkit.Reports(t)
				gone := &url.Error{Op: "Get", URL: "https://10.0.0.1:6443/api/v1/pods", Err: syscall.ECONNREFUSED}
				ctx, lines := testkit.Loud(t, 2)
				ctx, cancel := context.WithCancel(ctx)
				servers, ended := &reflector.Servers{}, make(chan struct{}, many)
				for range many {
					down := outages{{from: 10 * time.Second, to: 22 * time.Second, list: gone, watch: gone}}
					server := down.serve(&testkit.Server{NoStream: true})
					serve, expired := server.OnWatch, false
					server.OnWatch = func(n int, ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
						w, err := serve(n, ctx, o)
						if n > 1 && err == nil && !expired && back != nil {
							expired = true
							return nil, back
						}
						return w, err
					}
					informer := informers.OnServers(servers, kinformer.New(server, &v1.Pod{}, kinformer.Options{ObjectDescription: "test pods"}))
					go func() { informer.RunWithContext(ctx); ended <- struct{}{} }()
				}
				time.Sleep(9 * time.Second)
				synctest.Wait()
				lines.Take()
				time.Sleep(3 * time.Minute)
				synctest.Wait()
				said := lines.Take()
				require.Len(t, said, 2)
				for _, part := range []string{`"level"=0`, "Warning: the server is out of reach", `"server"="10.0.0.1:6443"`, `"informers"=61`, `"test pods (`} {
					assert.Contains(t, said[0], part)
				}
				for _, part := range []string{`"level"=0`, "in reach again", `"server"="10.0.0.1:6443"`, `"informers"=61 "missing"=0 "shortest"="1`, `"longest"="1`} {
					assert.Contains(t, said[1], part)
				}
				cancel()
				for range many {
					<-ended
				}
			})
		})
	}
}
