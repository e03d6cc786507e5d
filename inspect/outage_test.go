// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
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
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
)

// away makes a server of a pod answer with err from a time to another. Its watches break when that
// begins.
func away(server *testkit.Pods, from, to time.Duration, err error) {
	time.AfterFunc(from, func() { time.AfterFunc(to-from, server.Outage(err)) })
}

// TestOutage: the beginning and the end of a long outage are each logged once, the end with its
// length. A short one is only counted.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := testkit.NewPods(testkit.PodAt("a", ""))
		away(server, 10*time.Second, 22*time.Second-1, testkit.ErrRefused)
		away(server, time.Minute, 63*time.Second-1, testkit.ErrRefused)
		ctx, lines := testkit.Loud(t, 0)
		informer := called("test pods", server, kinformer.Options{Decoding: kinformer.Decoding{Off: true}})
		began := time.Now()
		defer runningIn(ctx, informers.OnServers(&reflector.Servers{}, informer))()

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
		for _, part := range []string{"The server is out of reach, and caches get old", `"outage"="5s"`, "connection refused", `"informers"=1`, `"names"=["test pods`} {
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
	})
}

// aMinute runs an informer of server for a minute, and returns the informer and its log lines. look
// is called after half a minute.
func aMinute(t *testing.T, server cache.ListerWatcher, look func(inspect.Status)) (cache.SharedIndexInformer, *testkit.Logged) {
	testkit.Reports(t)
	ctx, lines := testkit.Loud(t, 0)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	informer := informers.OnServers(&reflector.Servers{}, called("pods", server, kinformer.Options{}))
	time.AfterFunc(30*time.Second, func() {
		s, err := inspect.StatusOf(informer)
		assert.NoError(t, err)
		look(s)
	})
	informer.RunWithContext(ctx)
	return informer, lines
}

func nothing(inspect.Status) {}

// TestOutageFromTheStart: an outage at the start counts, too. An informer that stops in an outage
// logs nothing more.
func TestOutageFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := testkit.NewPods(testkit.PodAt("a", ""))
		server.Outage(testkit.ErrRefused)
		informer, lines := aMinute(t, server, nothing)
		assert.Equal(t, 1, lines.Count("The server is out of reach, and caches get old"))
		assert.Zero(t, lines.Count("in reach again"))
		time.Sleep(time.Hour)
		s := informers.Status(t, informer)
		assert.Equal(t, time.Minute, s.LastOutage, "up to the end of the informer")
		assert.Zero(t, s.Reconnects)
		assert.NotContains(t, fmt.Sprint(informers.Texts(s)), "out of reach")
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
		assert.Equal(t, 1, lines.Count("The server is out of reach, and caches get old"))
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
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5"), slices.Repeat([]error{testkit.ErrRefused}, 10)...)}
		server.OnWatch = func(_ int, ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		informer, lines := aMinute(t, server, nothing)
		assert.Equal(t, 1, lines.Count("in reach again"))
		assert.Equal(t, 10*time.Second, informers.Status(t, informer).LastOutage)
	})
}

// TestOutageEndsWhenFresh: an error as an answer does not end an outage.
func TestOutageEndsWhenFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := testkit.NewPods(testkit.PodAt("a", ""))
		away(server, 10*time.Second, 19*time.Second+1, testkit.ErrRefused)
		away(server, 19*time.Second+2, 40*time.Second-1, testkit.ErrForbidden)
		informer, lines := aMinute(t, server, func(s inspect.Status) {
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
				servers := &reflector.Servers{}
				for range many {
					server := testkit.NewPods(testkit.PodAt("a", ""))
					away(server, 10*time.Second, 22*time.Second, gone)
					if back != nil {
						time.AfterFunc(22*time.Second, func() { server.FailNext(cachetest.VerbWatch, back) })
					}
					informer := kinformer.New(server, &v1.Pod{}, kinformer.Options{ObjectDescription: "test pods"})
					defer runningIn(ctx, informers.OnServers(servers, informer))()
				}
				time.Sleep(9 * time.Second)
				synctest.Wait()
				lines.Take()
				time.Sleep(3 * time.Minute)
				synctest.Wait()
				said := lines.Take()
				require.Len(t, said, 2)
				for _, part := range []string{`"level"=0`, "The server is out of reach, and caches get old", `"server"="10.0.0.1:6443"`, `"informers"=61`, `"test pods (`} {
					assert.Contains(t, said[0], part)
				}
				for _, part := range []string{`"level"=0`, "in reach again", `"server"="10.0.0.1:6443"`, `"informers"=61 "missing"=0 "shortest"="1`, `"longest"="1`} {
					assert.Contains(t, said[1], part)
				}
			})
		})
	}
}

var (
	stateOfLine   = regexp.MustCompile(`"level"=(\d) .*"state"="([\w-]+)"`)
	detailsOfLine = regexp.MustCompile(`"(reason|how|again|outage|degraded|failures)"="?([^" ]+)`)
)

// statesOf returns the states in log lines, each with its details, and with its verbosity if that
// is not 2.
func statesOf(lines []string) (states []string) {
	for _, line := range lines {
		state := stateOfLine.FindStringSubmatch(line)
		if state == nil {
			continue
		}
		told := state[2]
		if state[1] != "2" {
			told = "V" + state[1] + " " + told
		}
		for _, detail := range detailsOfLine.FindAllStringSubmatch(line, -1) {
			told += " " + detail[1] + "=" + detail[2]
		}
		states = append(states, told)
	}
	return states
}

// linesOf runs an informer for some time, and returns its log lines at V(2).
func linesOf(t *testing.T, informer cache.Controller, length time.Duration) []string {
	ctx, lines := testkit.Loud(t, 2)
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	informer.RunWithContext(ctx)
	return lines.Take()
}

// TestStateLines: each change of state is one line at V(2), and an outage has one line for all
// informers.
func TestStateLines(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		server := testkit.NewPods(testkit.PodAt("a", ""))
		away(server, 10*time.Second, 12*time.Second-1, testkit.ErrRefused)
		away(server, 60*time.Second, 70*time.Second-1, testkit.ErrForbidden)
		away(server, 120*time.Second, 132*time.Second-1, testkit.ErrRefused)
		informer := informers.OnServers(&reflector.Servers{}, called("test pods", server, kinformer.Options{}))
		said := linesOf(t, informer, 3*time.Minute)
		assert.Equal(t, []string{
			"started", "listing how=list", "synced",
			"degraded reason=forbidden", "listing how=list again=watch", "synced",
			"recovered degraded=10s failures=10",
			"V0 reachable",
			"stopped",
		}, statesOf(said))
		for _, line := range testkit.About(`"level"=2`, testkit.About(`"state"=`, said)) {
			assert.Contains(t, line, `"type"="test pods"`)
			assert.Contains(t, line, `"reflector"=`)
		}
	})
}

// TestStateLinesOfRelists: each list is logged with its mode and reason.
func TestStateLinesOfRelists(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		server, opened := &testkit.Server{}, 0
		server.OnList = func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			if n == 2 {
				return nil, testkit.ErrExpired
			}
			return testkit.PodList("5"), nil
		}
		server.OnWatch = func(_ int, _ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if o.SendInitialEvents != nil {
				return nil, testkit.ErrForbidden
			}
			if opened++; opened == 1 {
				return testkit.Sent(testkit.FailedWith(testkit.ErrExpired)).Open(), nil
			}
			return watch.NewFake(), nil
		}
		assert.Equal(t, []string{
			"started", "listing how=watch-list", "degraded reason=forbidden", "listing how=list again=fallback", "synced",
			"recovered degraded=0s failures=1", "degraded reason=expired",
			"listing how=watch-list again=expired", "listing how=list again=fallback", "listing how=list again=refused", "synced",
			"recovered degraded=1s failures=2", "stopped",
		}, statesOf(linesOf(t, informers.Of(server, kinformer.Options{}), time.Minute)))
	})
}

// TestStateLineOfAPolicy: an informer that its policy stops logs this once, at every verbosity.
func TestStateLineOfAPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for verbosity, want := range map[int][]string{0: nil, 2: {"started", "listing how=list", "degraded reason=forbidden"}} {
			ctx, lines := testkit.Loud(t, verbosity)
			server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(nil, testkit.ErrForbidden)}
			informers.Of(server, kinformer.Options{Errors: kinformer.Errors{Policy: kinformer.StopOnForbidden}}).RunWithContext(ctx)
			assert.Equal(t, 1, lines.Count("has stopped for good"))
			assert.Equal(t, 1, lines.Count(`"state"="stopped"`))
			assert.Equal(t, want, statesOf(lines.Take()))
		}
	})
}

// TestStateLinesOfAPanic: the lines after a panic of the ListerWatcher, in a process that survives
// it.
func TestStateLinesOfAPanic(t *testing.T) {
	testkit.QuietPanics(t)
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true, OnWatch: testkit.Watches(watch.NewFake())}
		server.OnList = func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			if n <= 2 {
				panic("no list today")
			}
			return testkit.PodList("5"), nil
		}
		assert.Equal(t, []string{
			"started", "listing how=list", "degraded reason=panic", "listing how=list again=panic", "synced",
			"recovered degraded=2s failures=2", "stopped",
		}, statesOf(linesOf(t, informers.Of(server, kinformer.Options{}), time.Minute)))
	})
}
