// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/testkit"
)

// runs runs a reflector that shares servers with others, until stop is called or the test ends.
func runs(t *testing.T, servers *Servers, server *apiServer, change func(*Options)) (report *Journal, stop func()) {
	report = NewJournal()
	stop = process(t, 1, server, func(o *Options) {
		if o.Servers, o.Journal = servers, report; change != nil {
			change(o)
		}
	})
	t.Cleanup(stop)
	return report, stop
}

// TestAnAnswerDuringARequest: a reflector whose request takes long returns early if another
// reflector gets an answer meanwhile, even if that request is its first one without an answer.
func TestAnAnswerDuringARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := &Servers{}
		var reports []*Journal
		for i := range 8 {
			server := newAPIServer(t, between(10*time.Second, 40*time.Second, refusedBy("a:6443")))
			if i == 0 {
				open := server.OnWatch
				server.OnWatch = func(n int, ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
					if at := time.Since(server.began); at >= 10*time.Second && at < 40*time.Second {
						time.Sleep(time.Until(server.began.Add(100 * time.Second))) // the connection gets no reply at all
						return nil, refusedBy("a:6443")
					}
					return open(n, ctx, o)
				}
			}
			report, _ := runs(t, servers, server, nil)
			reports = append(reports, report)
		}
		time.Sleep(103 * time.Second)
		synctest.Wait()
		for i, report := range reports {
			assert.False(t, report.Status().Outage.GoesOn(), i)
		}
	})
}

// TestAnswersAfterAWaking: an answer after a waking leads to the next waking. A reflector that a
// busy server rejected in the first one does not wait for its turn.
func TestAnswersAfterAWaking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := &Servers{}
		var reports []*Journal
		for i := range 40 {
			gone := between(10*time.Second, 40*time.Second, refusedBy("a:6443"))
			var turned bool
			server := newAPIServer(t, func(at time.Duration) error {
				if err := gone(at); err != nil || at < 40*time.Second || i >= 8 || turned {
					return err
				}
				turned = true
				return &url.Error{Op: "Get", URL: "https://a:6443/", Err: syscall.ECONNRESET}
			})
			report, _ := runs(t, servers, server, nil)
			reports = append(reports, report)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		shortest := time.Hour
		for _, report := range reports {
			shortest = min(shortest, report.Status().Outage.Length)
		}
		for i, report := range reports {
			assert.False(t, report.Status().Outage.GoesOn(), i)
			assert.LessOrEqual(t, report.Status().Outage.Length-shortest, wakePace+2*returnSpread, i)
		}
	})
}

// TestOutagesInARow: the time between outages does not make the delays longer, but the outages do, until there was none
// for two minutes.
func TestOutagesInARow(t *testing.T) {
	longest := func() float64 { return 1 }
	var u turns
	now, began := time.Now(), time.Duration(0)
	outage := func(up time.Duration) time.Duration {
		delay := u.next(now, longest)
		now = now.Add(delay)
		u.caughtUp(now)
		now = now.Add(up)
		u.caughtUp(now) // the next watch
		return delay
	}
	for range 8 {
		length := min(time.Duration(turnShare*float64(max(began, firstTurn))), longestTurn)
		require.Equal(t, firstTurn+length, outage(time.Minute))
		began += firstTurn + length
	}
	assert.Equal(t, firstTurn+longestTurn, outage(backoffReset), "the ninth")
	assert.Less(t, outage(time.Minute), 2*firstTurn, "two minutes later")
}

// TestDelaysOfOnesOwn: a reflector with a backoff of its own does not delay others.
func TestDelaysOfOnesOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := &Servers{}
		gone := between(10*time.Second, time.Hour, refusedBy("a:6443"))
		slow, fast := newAPIServer(t, gone), newAPIServer(t, gone)
		runs(t, servers, slow, func(o *Options) { o.Backoff = &wait.Backoff{Duration: 20 * time.Minute, Factor: 1, Steps: 1} })
		time.Sleep(9 * time.Second)
		runs(t, servers, fast, nil)
		time.Sleep(9*time.Second + time.Minute)
		synctest.Wait()
		assert.Greater(t, len(fast.seen().watches), 3)
	})
}

// TestTurnsThatAreGivenUp: the last reflector of a lane does not wait for the turns of ended ones.
func TestTurnsThatAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers, stops := &Servers{}, map[*apiServer]func(){}
		for range 4 {
			server := newAPIServer(t, between(10*time.Second, time.Hour, refusedBy("a:6443")))
			_, stops[server] = runs(t, servers, server, nil)
		}
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		var last *apiServer // the one with the latest request
		at := func(w *apiServer) time.Duration { return w.seen().watches[len(w.seen().watches)-1] }
		for server := range stops {
			if last == nil || at(server) > at(last) {
				last = server
			}
		}
		for server, stop := range stops {
			if server != last {
				stop()
			}
		}
		asked := len(last.seen().watches)
		time.Sleep(longestTurn)
		synctest.Wait()
		assert.Greater(t, len(last.seen().watches), asked)
		stops[last]()
		assert.Empty(t, servers.mu.byHost)
	})
}

// TestLongOutage: the delays of a lane do not start again while the server does not answer, but two
// minutes after it has.
func TestLongOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		again := 40 * time.Minute
		server := newAPIServer(t, func(at time.Duration) error {
			return between(10*time.Second, 30*time.Minute, refusedBy("a:6443"))(at % again)
		})
		runs(t, &Servers{}, server, nil)
		time.Sleep(again + time.Minute)
		synctest.Wait()
		var before time.Duration
		many, anew := 0, false
		for _, at := range server.seen().watches {
			if before > 5*time.Minute && at < 30*time.Minute {
				many++
				assert.GreaterOrEqual(t, at-before, longestTurn-time.Second)
			}
			if !anew && before > again+10*time.Second && before < again+11*time.Second { // the second waiter in this second has to wait twice as long
				assert.LessOrEqual(t, at-before, 2*6*backoffFirst)
				many, anew = many+1, true
			}
			before = at
		}
		assert.Greater(t, many, 10)
	})
}

// TestServerLostAgain: a server that answers and then is lost again gets a request at once after its next
// answer.
func TestServerLostAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		answers := []error{refusedBy("a:6443"), testkit.ErrExpired, refusedBy("a:6443"), testkit.ErrForbidden, nil}
		server := &testkit.Server{NoStream: true}
		next := func() error {
			at = append(at, time.Now())
			return answers[min(len(at), len(answers))-1]
		}
		server.OnList = func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			if n == 1 {
				return testkit.PodList("5"), nil
			}
			return testkit.PodList("6"), next()
		}
		server.OnWatch = func(int, context.Context, metav1.ListOptions) (watch.Interface, error) {
			if err := next(); err != nil {
				return nil, err
			}
			return testkit.NewScriptedWatch(0), nil
		}
		defer process(t, 1, server, func(o *Options) { o.Backoff = &wait.Backoff{Duration: time.Minute, Factor: 1, Steps: 1} })()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Len(t, at, 6)
		assert.LessOrEqual(t, at[2].Sub(at[1]), returnSpread)
		assert.GreaterOrEqual(t, at[3].Sub(at[2]), time.Minute)
		assert.LessOrEqual(t, at[4].Sub(at[3]), returnSpread)
	})
}

// TestLateAnswer: if a client repeats a request in an outage by itself and returns a late 410, the
// reflector lists at once. A late answer to the list leads to a backoff, and so does a late 410
// soon after, because the server may be slow. A late 410 long after that leads to a list at once.
func TestLateAnswer(t *testing.T) {
	for name, opens := range map[string]bool{"of a request": false, "of a watch that opens": true} {
		t.Run(name, func(t *testing.T) { testLateAnswer(t, opens) })
	}
}

func testLateAnswer(t *testing.T, opens bool) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		lists, asked := []error{nil, testkit.ErrForbidden, nil}, []time.Duration{}
		server := &testkit.Server{NoStream: true}
		server.OnList = func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			asked = append(asked, time.Since(began).Truncate(time.Second))
			if n > 1 {
				time.Sleep(6 * time.Second)
			}
			return testkit.PodList("5"), lists[min(n, len(lists))-1]
		}
		server.OnWatch = func(n int, _ context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			if n > 3 {
				return testkit.NewScriptedWatch(0), nil
			}
			time.Sleep([]time.Duration{6 * time.Second, 6 * time.Second, 200 * time.Second}[n-1])
			if w := testkit.NewScriptedWatch(1); opens {
				w.Events <- testkit.FailedWith(testkit.ErrExpired)
				return w, nil
			}
			return nil, testkit.ErrExpired
		}
		defer process(t, 1, server, func(o *Options) { o.Backoff = &wait.Backoff{Duration: time.Minute, Factor: 1, Steps: 1} })()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Len(t, asked, 5)
		assert.Equal(t, []time.Duration{0, 6 * time.Second}, asked[:2])
		assert.GreaterOrEqual(t, asked[2], 72*time.Second, "after a late answer to a list")
		assert.GreaterOrEqual(t, asked[3]-asked[2], 72*time.Second, "after a new state and a second late 410")
		assert.LessOrEqual(t, asked[4]-asked[3], 207*time.Second, "after a new state and one that is late long after that")
	})
}

// TestAnswerWithADelay: the delay in the answer of a server that is back is respected.
func TestAnswerWithADelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		later := apierrors.NewTimeoutError(tooLargeVersion, 200)
		server := newAPIServer(t, func(at time.Duration) error {
			if at >= 20*time.Second {
				return later
			}
			return between(10*time.Second, 20*time.Second, refusedBy("a:6443"))(at)
		})
		runs(t, &Servers{}, server, nil)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		asked := server.seen().watches
		assert.Len(t, server.Requests(), len(asked)+1, "nothing but watches, and the first list")
	})
}

// TestBlindUntilTheEndMark: the outage does not end when a watch-list opens, but at its end mark.
func TestBlindUntilTheEndMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testkit.NewScriptedWatch(1)
		server := &testkit.Server{OnWatch: testkit.Watches(testkit.ErrRefused, w)}
		report, servers := NewJournal(), &Servers{}
		defer process(t, 1, server, func(o *Options) { o.Journal, o.Servers = report, servers })()
		time.Sleep(10 * time.Second)
		assert.True(t, report.Status().Outage.GoesOn())
		assert.Empty(t, servers.mu.byHost, "its host is not known")
		w.Events <- testkit.EndMark("5")
		synctest.Wait()
		assert.False(t, report.Status().Outage.GoesOn())
		assert.Equal(t, 10*time.Second, report.Status().Outage.Length)
	})
}

// TestTwoServers: an answer of one server does not affect reflectors of another one. A reflector
// that changes to another server in an outage is woken by an answer of the new one.
func TestTwoServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := &Servers{}
		begin := func(gone func(time.Duration) error) *apiServer {
			server := newAPIServer(t, gone)
			runs(t, servers, server, nil)
			return server
		}
		a := begin(between(10*time.Second, time.Hour, refusedBy("a:6443")))
		moving := begin(func(at time.Duration) error {
			if at > 5*time.Minute {
				return between(0, time.Hour, refusedBy("b:6443"))(at)
			}
			return between(10*time.Second, time.Hour, refusedBy("a:6443"))(at)
		})
		for range 30 {
			begin(between(10*time.Second, 10*time.Minute, refusedBy("b:6443")))
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		before, moved := len(a.seen().watches), len(moving.seen().watches)
		time.Sleep(longestTurn + wakePace)
		synctest.Wait()
		for i, at := range a.seen().watches {
			assert.True(t, i < before || at-a.seen().watches[i-1] >= longestTurn, "nobody wakes it")
		}
		assert.Greater(t, len(moving.seen().watches), moved, "b has answered others")
	})
}

// TestManyHosts: the state of a server is dropped with the last reflector that has lost it.
func TestManyHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers, server := &Servers{}, &testkit.Server{NoStream: true, OnWatch: testkit.Watches()}
		server.OnList = func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			return nil, refusedBy(fmt.Sprintf("host-%d:6443", n))
		}
		stop := process(t, 1, server, func(o *Options) { o.Servers, o.Backoff = servers, testkit.Second() })
		time.Sleep(1000 * time.Second)
		synctest.Wait()
		assert.GreaterOrEqual(t, server.Mu.Lists, 1000)
		assert.Len(t, servers.mu.byHost, 1)
		stop()
		assert.Empty(t, servers.mu.byHost)
	})
}

// TestStartWithoutAServer: sixty reflectors are up to date within four seconds of the first answer,
// and send few more requests than client-go before it.
func TestStartWithoutAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const reflectors = 60
		server := newAPIServer(t, between(0, 30*time.Second, refusedBy("a:6443")))
		defer process(t, reflectors, server, nil)()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		seen := server.seen()
		require.Len(t, seen.opened, reflectors)
		assert.LessOrEqual(t, seen.opened[reflectors-1]-seen.firsts, 4*time.Second)
		assert.LessOrEqual(t, len(seen.refused), 7*reflectors)
	})
}

// TestWatchesThatBreak: three consecutive watches that were open for less than a second lead to a
// list, and longer ones never do.
func TestWatchesThatBreak(t *testing.T) {
	for open, lists := range map[time.Duration]int{veryShortWatch - 1: 1, veryShortWatch: 0} {
		t.Run(open.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5"))}
				server.OnWatch = func(n int, _ context.Context, _ metav1.ListOptions) (watch.Interface, error) {
					w := testkit.NewScriptedWatch(1)
					if n <= watchMisses {
						time.AfterFunc(open, func() { w.Events <- testkit.FailedWith(apierrors.NewServiceUnavailable("broken")) })
					}
					return w, nil
				}
				defer process(t, 1, server, func(o *Options) { o.Backoff = testkit.Second() })()
				time.Sleep(time.Minute)
				synctest.Wait()
				assert.Equal(t, 1+lists, server.Mu.Lists)
			})
		})
	}
}

// TestWatchIsCutOff: a broken connection that client-go's reader of watches does not recognize
// leads to no list, and input that the reader cannot decode does.
func TestWatchIsCutOff(t *testing.T) {
	for cause, lists := range map[error]int{
		errors.New("http2: client connection lost"):                                  1,
		errors.New("http2: client connection force closed via ClientConn.Close"):     1,
		errors.New("stream error: stream ID 5; INTERNAL_ERROR; received from peer"):  1,
		errors.New("read tcp 10.0.0.1:40586->10.0.0.2:6443: read: no route to host"): 1,
		errors.New("write tcp 10.0.0.1:40586->10.0.0.2:6443: write: broken pipe"):    1,
		errors.New("no kind \"Pot\" is registered for version \"v1\""):               2,
	} {
		t.Run(cause.Error(), func(t *testing.T) {
			reporter := apierrors.NewClientErrorReporter(http.StatusInternalServerError, "GET", string(event.CauseWatchDecoding))
			failed := watch.Event{Type: watch.Error, Object: reporter.AsObject(fmt.Errorf("unable to decode an event from the watch stream: %w", cause))}
			got := watchedFor(t, nil, testkit.Sent(testkit.Added("b", "7"), failed))
			asked := strings.Join(got.asked, " ")
			assert.Equal(t, lists, strings.Count(asked, "list"), asked)
		})
	}
}

// TestLinesOfReturn: the log lines are written even if the reflectors that are due to write them
// lose the server again, or another one.
func TestLinesOfReturn(t *testing.T) {
	const lost, found = "The server is out of reach, and caches get old", "The server is in reach again"
	gone := func(from, to time.Duration) func(time.Duration) error {
		return between(from, to, refusedBy("a:6443"))
	}
	either := func(all ...func(time.Duration) error) func(time.Duration) error {
		return func(at time.Duration) error {
			for _, answer := range all {
				if err := answer(at); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for name, answer := range map[string]func(time.Duration) error{
		"once":           gone(10*time.Second, 30*time.Second),
		"lost again":     either(gone(10*time.Second, 30*time.Second), gone(32*time.Second, 33*time.Second)),
		"another one":    either(gone(10*time.Second, 30*time.Second), between(32*time.Second, 33*time.Second, refusedBy("b:6443"))),
		"came to others": either(gone(10*time.Second, 30*time.Second), between(30*time.Second, 32*time.Second, refusedBy("b:6443"))),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, lines := testkit.Loud(t, 0)
				servers := &Servers{}
				run := func(answer func(time.Duration) error) (stop func()) {
					r := New(Options{
						ListerWatcher: newAPIServer(t, answer), Sink: Foreign(&testkit.StoreLog{}), Servers: servers, Backoff: testkit.Second(),
					})
					return testkit.InBackground(t, func(c context.Context) { r.Run(klog.NewContext(c, klog.FromContext(ctx))) })
				}
				defer run(answer)()
				defer run(gone(10*time.Second, time.Hour))()
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				assert.Equal(t, 1, lines.Count(lost))
				assert.Equal(t, 1, lines.Count(found))
			})
		})
	}
}

// TestRelistInAnOutage: a reflector with a pending relist request lists within the time in which all would list.
func TestRelistInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers, relister := &Servers{}, &Relister{}
		var reports []*Journal
		for i := range 8 {
			report, _ := runs(t, servers, newAPIServer(t, between(10*time.Second, 40*time.Second, refusedBy("a:6443"))), func(o *Options) {
				if i == 0 {
					o.Relister = relister
				}
			})
			reports = append(reports, report)
		}
		time.Sleep(39 * time.Second)
		relister.Relist()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		for _, report := range reports {
			assert.Zero(t, report.History().FailingSince)
			assert.InDelta(t, reports[1].Status().Outage.Length, report.Status().Outage.Length, float64(fleetWindow/8+2*time.Second))
		}
	})
}

// TestStopInAnOutage: a reflector that a Decision stops leaves no state behind, and its outage
// ends.
func TestStopInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := &Servers{}
		report, _ := runs(t, servers, newAPIServer(t, between(10*time.Second, time.Hour, refusedBy("a:6443"))), func(o *Options) {
			o.Decide = func(_ context.Context, of Undecided) Decision { return Decision{Stop: of.Attempts == 3} }
		})
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.True(t, report.Status().Stopped)
		assert.False(t, report.Status().Outage.GoesOn())
		assert.Empty(t, servers.mu.byHost)
	})
}

// TestLostName: the line about an outage names a reflector by the target of its first request, once it is known.
func TestLostName(t *testing.T) {
	o := Options{Name: "*api.Widget (main.go:1)", Journal: NewJournal()}
	assert.Equal(t, o.Name, o.lostName())
	o.Journal.decoding.Ask(tap.Target{Resource: schema.GroupVersionResource{Group: "demo.example.com", Version: "v1", Resource: "widgets"}, Namespace: "web"})
	assert.Equal(t, "widgets.v1.demo.example.com in namespace web", o.lostName())
}
