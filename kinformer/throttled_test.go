// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/tap/engine/taptest"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/sources"
)

// throttling is a server without a network that answers watches, or lists, with 429 and a Retry-After.
type throttling struct {
	lists   bool
	seconds string
	refused atomic.Int64
	over    atomic.Bool
}

func (s *throttling) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {runtime.ContentTypeJSON}}, Request: r}
	watches := r.URL.Query().Get("watch") != ""
	switch {
	case watches != s.lists && !s.over.Load():
		s.refused.Add(1)
		answer.StatusCode, answer.Body = http.StatusTooManyRequests, io.NopCloser(strings.NewReader("later"))
		answer.Header.Set("Retry-After", s.seconds)
	case watches:
		read, write := io.Pipe()
		go func() {
			<-r.Context().Done()
			_ = write.CloseWithError(r.Context().Err())
		}()
		answer.Body = read
	default:
		answer.Body = io.NopCloser(bytes.NewReader(taptest.Encoded(&v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}}, runtime.ContentTypeJSON)))
	}
	return answer, nil
}

// informerOver returns an informer of a server, which may be that of one of two sources.
func informerOver(t *testing.T, server http.RoundTripper, several bool, options kinformer.Options) cache.SharedIndexInformer {
	lw := informers.ClientOver(t, server, runtime.ContentTypeJSON, true)
	if !several {
		return kinformer.New(lw, &v1.Pod{}, options)
	}
	informer, set := sources.New(&v1.Pod{}, options)
	set.Put("a", informers.Quiet())
	set.Put("b", lw)
	return informer
}

// TestThrottledIsNotHung checks that a server which asks to wait, each time, is said to do so and not to hang, that such
// an informer is ready if it has synced, and that it keeps its slot.
func TestThrottledIsNotHung(t *testing.T) {
	testkit.Reports(t)
	for name, c := range map[string]struct {
		mode    kinformer.ListMode
		lists   bool
		seconds string
		source  bool // the server is that of one of two sources
	}{
		"a watch":                     {kinformer.ListModeList, false, "7", false},
		"a watch-list":                {kinformer.ListModeWatchList, false, "7", false},
		"a list, longer than a hang":  {kinformer.ListModeList, true, "62", false},
		"a watch, longer than a hang": {kinformer.ListModeList, false, "300", false},
		"a watch of a source":         {kinformer.ListModeList, false, "7", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &throttling{lists: c.lists, seconds: c.seconds}
				slots := kinformer.NewListSlots(1)
				options := kinformer.Options{Requests: kinformer.Requests{Mode: c.mode, Slots: slots}}
				informer := informerOver(t, server, c.source, options)
				ready := inspect.Ready(inspect.ReadyOptions{MaxOutage: 30 * time.Second}, informer)
				defer testkit.InBackground(t, informer.RunWithContext)()
				time.Sleep(time.Second)
				synctest.Wait()
				synced := informer.HasSynced()
				other := kinformer.New(informers.ClientOver(t, server, runtime.ContentTypeJSON, true), &v1.Pod{}, options)
				if !synced {
					defer testkit.InBackground(t, other.RunWithContext)()
				}
				throttled := 0
				for second := range 120 {
					time.Sleep(time.Second)
					status := informers.Status(t, informer)
					for _, problem := range status.Problems {
						require.NotEqual(t, "hangs", problem.Cause, problem.Text)
						if problem.Cause == "throttled" {
							throttled++
							require.Regexp(t, `^(source "b": )?the server asks to wait until 2000-01-01T00:`, problem.Text)
						}
					}
					if err := ready.Check(nil); synced {
						require.NoError(t, err)
						answer := httptest.NewRecorder()
						ready.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/readyz", nil))
						require.Regexp(t, "^ok\nSharedIndexInformer .* is slow: the server asks to wait\n$", answer.Body.String())
					} else {
						require.Error(t, err)
						require.True(t, second > 60 || informers.Status(t, other).Phase == "waiting for a list slot")
					}
				}
				assert.Greater(t, throttled, 60)
				if !synced {
					assert.ErrorContains(t, ready.Check(nil), "; the server asks to wait")
				}
				server.over.Store(true)
				time.Sleep(5*time.Minute + time.Second)
				assert.Empty(t, informers.Status(t, informer).Problems)
			})
		})
	}
}

// TestHangsOrWaits checks that without a transport of package direct, which sees the answers, the status does not say
// that a request hangs for certain.
func TestHangsOrWaits(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		server := &throttling{seconds: "7"}
		informer := kinformer.New(informers.ClientOver(t, server, runtime.ContentTypeJSON, false), &v1.Pod{}, kinformer.Options{
			Requests: kinformer.Requests{Mode: kinformer.ListModeList},
		})
		defer testkit.InBackground(t, informer.RunWithContext)()
		time.Sleep(62 * time.Second)
		status := informers.Status(t, informer)
		require.Len(t, status.Problems, 1)
		assert.Equal(t, "hangs", status.Problems[0].Cause)
		assert.Regexp(t, "^the opening of a watch hangs, or waits for Retry-After, nothing has come for 1m", status.Problems[0].Text)
	})
}

// scripted is a server without a network whose watches are scripted; its lists are empty.
type scripted struct {
	n     atomic.Int64
	watch func(n int64, r *http.Request) (answer *http.Response, sends string, lasts time.Duration)
}

func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("watch") == "" {
		return (&throttling{}).RoundTrip(r)
	}
	answer, sends, lasts := s.watch(s.n.Add(1), r)
	if answer != nil {
		answer.Request = r
		return answer, nil
	}
	if lasts < 0 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	read, write := io.Pipe()
	go func() {
		_, _ = io.WriteString(write, sends)
		select {
		case <-r.Context().Done():
		case <-time.After(lasts):
		}
		_ = write.Close()
	}()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {runtime.ContentTypeJSON}}, Request: r, Body: read}, nil
}

func refusal(code int, after string) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{"Retry-After": {after}}, Body: io.NopCloser(strings.NewReader("no"))}
}

// causesOver returns the causes of the problems that an informer has, and those of its being unready, in their order.
func causesOver(t *testing.T, s *scripted, long time.Duration) (seen []string) {
	informer := kinformer.New(informers.ClientOver(t, s, runtime.ContentTypeJSON, true), &v1.Pod{}, byLists(false))
	ready := inspect.Ready(inspect.ReadyOptions{MaxOutage: 30 * time.Second}, informer)
	defer testkit.InBackground(t, informer.RunWithContext)()
	for range int(long / time.Second) {
		time.Sleep(time.Second)
		now := informers.Causes(informers.Status(t, informer))
		if informer.HasSynced() && ready.Check(nil) != nil {
			now = append(now, "unready")
		}
		if said := strings.Join(now, " "); len(seen) == 0 || seen[len(seen)-1] != said {
			seen = append(seen, said)
		}
	}
	return seen
}

// TestEndedWatchIsNotHung checks that a watch that its server has ended does not hang while the next one is throttled, or is
// slow to open.
func TestEndedWatchIsNotHung(t *testing.T) {
	testkit.Reports(t)
	const bookmark = `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"6"}}}` + "\n"
	timeout := func(r *http.Request) time.Duration {
		length, _ := time.ParseDuration(r.URL.Query().Get("timeoutSeconds") + "s")
		return length
	}
	synctest.Test(t, func(t *testing.T) {
		seen := causesOver(t, &scripted{watch: func(n int64, r *http.Request) (*http.Response, string, time.Duration) {
			if n == 1 {
				return nil, bookmark, timeout(r)
			}
			return refusal(http.StatusTooManyRequests, "300"), "", 0
		}}, 20*time.Minute)
		assert.Equal(t, []string{"", "throttled"}, seen)
	})
	synctest.Test(t, func(t *testing.T) {
		seen := causesOver(t, &scripted{watch: func(n int64, r *http.Request) (*http.Response, string, time.Duration) {
			if n > 1 {
				select {
				case <-time.After(45 * time.Second):
				case <-r.Context().Done():
				}
			}
			return nil, bookmark, timeout(r)
		}}, 25*time.Minute)
		assert.Equal(t, []string{""}, seen)
	})
}

// TestStaleRetryAfter checks that a Retry-After that the client does not obey hides no hang.
func TestStaleRetryAfter(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		seen := causesOver(t, &scripted{watch: func(n int64, _ *http.Request) (*http.Response, string, time.Duration) {
			if n == 1 {
				return refusal(http.StatusForbidden, "7200"), "", 0
			}
			return nil, "", -1
		}}, 8*time.Minute) // the informer itself waits for five
		assert.Contains(t, strings.Join(seen, "|"), "hangs")
	})
}

// TestThrottledSourceHidesNoOutage checks that a source whose server throttles does not hide the outage of another.
func TestThrottledSourceHidesNoOutage(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		throttles := &scripted{watch: func(int64, *http.Request) (*http.Response, string, time.Duration) {
			return refusal(http.StatusTooManyRequests, "7"), "", 0
		}}
		lost := &scripted{watch: func(int64, *http.Request) (*http.Response, string, time.Duration) { return nil, "", time.Hour }}
		informer, set := sources.New(&v1.Pod{}, byLists(false))
		set.Put("throttles", informers.ClientOver(t, throttles, runtime.ContentTypeJSON, true))
		set.Put("lost", informers.ClientOver(t, noWatches{lost, syscall.ECONNREFUSED}, runtime.ContentTypeJSON, true))
		ready := inspect.Ready(inspect.ReadyOptions{MaxOutage: 5 * time.Minute}, informer)
		defer testkit.InBackground(t, informer.RunWithContext)()
		time.Sleep(time.Minute)
		require.True(t, informer.HasSynced())
		require.NoError(t, ready.Check(nil))
		time.Sleep(40 * time.Minute)
		assert.ErrorContains(t, ready.Check(nil), "gets old: requests fail for")
	})
}
