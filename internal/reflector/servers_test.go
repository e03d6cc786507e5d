// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/testkit"
)

// apiServer answers lists and watches by a function of the time since it was made. A nil error opens
// a watch without events, which closes within a tenth of a second once the function returns an
// error. A list fails only if the server is out of reach. After an outage lists have another
// version, and watches at the earlier one are answered with back.
type apiServer struct {
	*testkit.Server
	answer func(at time.Duration) error
	began  time.Time
	back   error // nil means that the version is still available

	mu sync.Mutex
	requestTimes
	open []*testkit.ScriptedWatch
}

// requestTimes are times since a server was made.
type requestTimes struct {
	lists   []time.Duration // the lists that were answered
	watches []time.Duration // the requests for watches
	opened  []time.Duration // the watches that were opened
	refused []time.Duration // the requests while the server was out of reach
	firsts  time.Duration   // the first answer after that; 0 if there was none
}

func newAPIServer(t *testing.T, answer func(at time.Duration) error) *apiServer {
	s := &apiServer{answer: answer, began: time.Now()}
	s.Server = &testkit.Server{NoStream: true, OnList: s.list}
	s.OnWatch = func(_ int, _ context.Context, o metav1.ListOptions) (watch.Interface, error) {
		return s.watch(t, o.ResourceVersion)
	}
	return s
}

// seen returns the times until now.
func (s *apiServer) seen() requestTimes {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requestTimes
}

// askLocked returns the answer to a request, and its time.
func (s *apiServer) askLocked() (at time.Duration, err error) {
	at = time.Since(s.began)
	if err = s.answer(at); err != nil && isOutOfReach(err) {
		s.refused = append(s.refused, at)
	} else if s.firsts == 0 && len(s.refused) > 0 {
		s.firsts = at
	}
	return at, err
}

func (s *apiServer) list(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, err := s.askLocked()
	if err != nil && isOutOfReach(err) {
		return nil, err
	}
	s.lists = append(s.lists, at)
	if s.firsts == 0 {
		return testkit.PodList("5"), nil
	}
	return testkit.PodList("10"), nil
}

func (s *apiServer) watch(t *testing.T, version string) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, err := s.askLocked()
	s.watches = append(s.watches, at)
	if err == nil && s.firsts != 0 && version == "5" {
		err = s.back
	}
	if err != nil {
		return nil, err
	}
	if len(s.open) == 0 {
		go s.close(t.Context())
	}
	w := testkit.NewScriptedWatch(1)
	s.open, s.opened = append(s.open, w), append(s.opened, at)
	return w, nil
}

// close closes the open watches at the next time with an error.
func (s *apiServer) close(ctx context.Context) {
	for closed := false; !closed; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
		s.mu.Lock()
		if closed = s.answer(time.Since(s.began)) != nil; closed {
			for _, w := range s.open {
				close(w.Events)
			}
			s.open = nil
		}
		s.mu.Unlock()
	}
}

// refusedBy returns the error of a connection that host has refused.
func refusedBy(host string) error {
	return &url.Error{Op: "Get", URL: "https://" + host + "/api/v1/pods", Err: syscall.ECONNREFUSED}
}

// between returns a function that returns err from one time to another, and nil otherwise.
func between(from, to time.Duration, err error) func(time.Duration) error {
	return func(at time.Duration) error {
		if at >= from && at < to {
			return err
		}
		return nil
	}
}

// process runs a number of reflectors of a server, as a process of their own, until stop is called.
func process(t *testing.T, reflectors int, server clientgo.ListerWatcher, change func(*Options)) (stop func()) {
	var stops []func()
	servers := &Servers{}
	for i := range reflectors {
		o := Options{
			Name: fmt.Sprint("reflector-", i), ListerWatcher: server, ExpectedType: &v1.Pod{}, Sink: Foreign(&testkit.StoreLog{}), Servers: servers,
		}
		if change != nil {
			change(&o)
		}
		stops = append(stops, testkit.InBackground(t, New(o).Run))
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// TestAnAnswerAfterAnOutage: the first answer leads to the next request within a second, because
// the server is back. The same answer again, and an answer that the server can serve no request,
// lead to a backoff.
func TestAnAnswerAfterAnOutage(t *testing.T) {
	refused := refusedBy("a:6443")
	noGateway := apierrors.NewGenericServerResponse(http.StatusBadGateway, "get", v1.Resource("pods"), "", "", 0, true)
	for name, tc := range map[string]struct {
		gone, back error
		soon       bool
	}{
		"expired":                 {refused, testkit.ErrExpired, true},
		"expired, by a proxy":     {noGateway, testkit.ErrExpired, true},
		"forbidden":               {refused, testkit.ErrForbidden, true},
		"too many requests":       {refused, testkit.ErrTooManyRequests, false},
		"unavailable":             {refused, apierrors.NewServiceUnavailable("starting"), false},
		"internal":                {refused, testkit.ErrInternal, false},
		"expired, after internal": {testkit.ErrInternal, testkit.ErrExpired, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newAPIServer(t, between(5*time.Minute, 5*time.Minute+12*time.Second, tc.gone))
				server.back = tc.back
				defer process(t, 1, server, nil)()
				time.Sleep(7 * time.Minute)
				synctest.Wait()
				seen := server.seen()
				next := seen.firsts + time.Hour // the watch succeeds and goes on
				if len(seen.lists) > 1 {
					next = seen.lists[1]
				}
				if took := next - seen.firsts; tc.soon {
					assert.LessOrEqual(t, took, time.Second)
				} else {
					assert.Greater(t, took, backoffFirst)
				}
			})
		})
	}
}

// TestReturningServerWakesAllReflectors: an answer wakes all reflectors, whose delays would last up to
// longestTurn. All are up to date within two seconds of the first answer, or four if they have to
// list. It arrives within a second of the server's return.
func TestReturningServerWakesAllReflectors(t *testing.T) {
	for _, away := range []time.Duration{12 * time.Second, time.Minute, 4 * time.Minute} {
		for name, back := range map[string]error{"the version is gone": testkit.ErrExpired, "the version is there": nil} {
			t.Run(fmt.Sprint(name, " after ", away), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const reflectors = 60
					server := newAPIServer(t, between(5*time.Minute, 5*time.Minute+away, refusedBy("a:6443")))
					server.back = back
					defer process(t, reflectors, server, nil)()
					time.Sleep(5*time.Minute - time.Second)
					synctest.Wait()
					before := server.seen()
					time.Sleep(5*time.Minute + time.Second)
					synctest.Wait()
					seen, opened := server.seen(), len(before.opened)
					require.Len(t, seen.opened, opened+reflectors)
					assert.LessOrEqual(t, seen.opened[opened+reflectors-1]-seen.firsts, map[bool]time.Duration{true: 2 * time.Second, false: 4 * time.Second}[back == nil])
					assert.LessOrEqual(t, seen.firsts-5*time.Minute-away, time.Second)
					assert.LessOrEqual(t, len(seen.refused), reflectors*(6+int(away/longestTurn)))
					if back == nil {
						assert.Len(t, seen.lists, len(before.lists), "nothing is listed where a watch goes on")
					} else {
						assert.Len(t, seen.lists, len(before.lists)+reflectors)
					}
				})
			})
		}
	}
}

// TestWakesArePaced: a server that answers some requests and refuses others wakes a reflector three
// times, at most.
func TestWakesArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := &Servers{}
		refused := refusedBy("a:6443")
		run := func(backoff *wait.Backoff, answer func(n int) error) *testkit.Server {
			server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5"))}
			server.OnWatch = func(n int, _ context.Context, _ metav1.ListOptions) (watch.Interface, error) { return nil, answer(n) }
			t.Cleanup(process(t, 1, server, func(o *Options) { o.Servers, o.Backoff = servers, backoff }))
			return server
		}
		unserved := run(nil, func(int) error { return refused })
		for range 5 {
			run(testkit.Second(), func(n int) error {
				if n%2 == 1 {
					return refused
				}
				return testkit.ErrForbidden
			})
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		assert.Greater(t, unserved.Mu.Watches, 10*60/20+maxInVain, "it is woken")
		assert.Less(t, unserved.Mu.Watches, 10*60/20+maxInVain+8, "besides its own turns")
	})
}

// TestThrottledAreNotWoken: a delay that the server has asked for is not cut short.
func TestThrottledAreNotWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := &Servers{}
		throttled := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5"))}
		throttled.OnWatch = testkit.Watches(refusedBy("a:6443"), apierrors.NewTooManyRequests("later", 290))
		defer testkit.InBackground(t, New(Options{ListerWatcher: throttled, Sink: Foreign(&testkit.StoreLog{}), Servers: servers}).Run)()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		other := newAPIServer(t, between(time.Second, 13*time.Second, refusedBy("a:6443")))
		defer process(t, 1, other, func(o *Options) { o.Servers = servers })()
		time.Sleep(longestTurn + time.Minute)
		synctest.Wait()
		require.NotZero(t, other.seen().firsts)
		assert.Equal(t, 2, throttled.Mu.Watches)
	})
}

// TestWatchBeforeList: however a server was lost, the first successful request is a watch, and if
// the watch continues nothing is listed.
func TestWatchBeforeList(t *testing.T) {
	for name, gone := range map[string]error{
		"refused":     refusedBy("a:6443"),
		"reset":       &url.Error{Op: "Get", URL: "https://a:6443/", Err: syscall.ECONNRESET},
		"end":         &url.Error{Op: "Get", URL: "https://a:6443/", Err: io.EOF},
		"timeout":     &url.Error{Op: "Get", URL: "https://a:6443/", Err: context.DeadlineExceeded},
		"unavailable": apierrors.NewServiceUnavailable("starting"),
	} {
		t.Run(name, func(t *testing.T) {
			testkit.Reports(t)
			synctest.Test(t, func(t *testing.T) {
				server := newAPIServer(t, between(5*time.Minute, 8*time.Minute, gone))
				defer process(t, 1, server, nil)()
				time.Sleep(15 * time.Minute)
				synctest.Wait()
				assert.Equal(t, []string{"list rv=0 limit=500", "watch rv=5", "watch rv=5"}, server.Requests()[:3])
				assert.Less(t, server.seen().watches[1], 5*time.Minute+time.Second)
				assert.Len(t, server.seen().lists, 1)
				assert.Len(t, server.seen().opened, 2)
			})
		})
	}
}

// TestWatchesThatAreNeverServed: after three unserved watches, or two if the server opens and
// closes them, the reflector lists, so that the cache does not become stale.
func TestWatchesThatAreNeverServed(t *testing.T) {
	const list, again = "list rv=0 limit=500", "list rv=5 limit=0"
	for name, tc := range map[string]struct {
		answer any
		misses int
	}{
		"reset":                {&url.Error{Op: "Get", URL: "https://a:6443/", Err: syscall.ECONNRESET}, watchMisses},
		"unavailable":          {apierrors.NewServiceUnavailable("no watches"), watchMisses},
		"no connection":        {watch.NewEmptyWatch(), watchMisses},
		"broken at once":       {testkit.Sent(testkit.FailedWith(apierrors.NewServiceUnavailable("no watches"))), watchMisses},
		"closed at once":       {testkit.Sent(testkit.Closed), 2},
		"closed without sense": {testkit.Sent(watch.Event{Type: watch.Added}, testkit.Closed), 2},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.Reports(t)
			synctest.Test(t, func(t *testing.T) {
				server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5"))}
				server.OnWatch = func(_ int, ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
					return testkit.Watches(tc.answer)(1, ctx, o)
				}
				report := NewJournal()
				defer process(t, 1, server, func(o *Options) { o.Backoff, o.Journal = testkit.Second(), report })()
				time.Sleep(8500 * time.Millisecond)
				synctest.Wait()
				watches := slices.Repeat([]string{"watch rv=5"}, tc.misses)
				testkit.FirstCalls(t, slices.Concat([]string{list}, watches, []string{again}, watches, []string{again}), server.Requests())
				assert.Equal(t, tc.misses == watchMisses, len(report.History().Outages) > 0)
			})
		})
	}
}

// TestListObeysRetryAfter: a list in the place of watches, or of a watch-list, that the server has refused with a
// Retry-After waits as long.
func TestListObeysRetryAfter(t *testing.T) {
	refused := apierrors.NewServiceUnavailable("later")
	refused.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 60}
	faulty := apierrors.NewInternalError(errors.New("no"))
	faulty.ErrStatus.Details.RetryAfterSeconds = 60
	for name, tc := range map[string]struct {
		answer   any
		noStream bool
		lists    []time.Duration
	}{
		"of watches":        {refused, true, []time.Duration{0, watchMisses * time.Minute}},
		"of opened watches": {testkit.Sent(testkit.FailedWith(refused)), true, []time.Duration{0, watchMisses * time.Minute}},
		"of other faults":   {testkit.Sent(testkit.FailedWith(faulty)), true, []time.Duration{0, time.Minute, 2 * time.Minute, 3 * time.Minute}},
		"of watch-list":     {refused, false, []time.Duration{time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.Reports(t)
			synctest.Test(t, func(t *testing.T) {
				var lists []time.Duration
				began := time.Now()
				server := &testkit.Server{NoStream: tc.noStream, OnWatch: func(_ int, ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
					return testkit.Watches(tc.answer)(1, ctx, o)
				}}
				server.OnList = func(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
					lists = append(lists, time.Since(began))
					return testkit.PodList("5"), nil
				}
				defer process(t, 1, server, func(o *Options) { o.Backoff, o.Journal = testkit.Second(), NewJournal() })()
				time.Sleep(watchMisses*time.Minute + time.Second)
				synctest.Wait()
				assert.Equal(t, tc.lists, lists)
			})
		})
	}
}

// TestBlindUntilFresh: servers report only on an open watch that its version has expired. The
// outage lasts until the list.
func TestBlindUntilFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true}
		var listed time.Duration
		began := time.Now()
		server.OnList = func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			if n == 2 {
				time.Sleep(3 * time.Second)
				listed = time.Since(began)
			}
			return testkit.PodList("5"), nil
		}
		server.OnWatch = testkit.Watches(testkit.ErrRefused, testkit.Sent(testkit.FailedWith(testkit.ErrExpired)))
		report := NewJournal()
		r := New(Options{ListerWatcher: server, Sink: Foreign(&testkit.StoreLog{}), Journal: report, Servers: &Servers{}})
		defer testkit.InBackground(t, r.Run)()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, listed, report.Status().Outage.Length)
		assert.False(t, report.Status().Outage.GoesOn())
		assert.EqualValues(t, 1, report.Status().Reconnects)
		assert.Len(t, report.History().Outages, 1)
	})
}
