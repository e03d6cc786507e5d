// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/retry"
)

// TestStatusOf follows the status of an informer through its life.
func TestStatusOf(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		w := testkit.NewScriptedWatch(2)
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5", testkit.PodAt("a", "3")), testkit.ErrForbidden, testkit.ErrInternal), OnWatch: testkit.Watches(w)}
		informer := informers.Of(server, kinformer.Options{})
		status := func() inspect.Status {
			s := informers.Status(t, informer)
			assert.Equal(t, s.Decoding.Why == "", s.Decoding.Reason == "")
			s.Decoding.Why, s.Decoding.Reason = "", "" // tested in kinformer/decoding_test.go
			return s
		}
		assert.Equal(t, inspect.Status{At: time.Now(), Phase: "new"}, status())

		began := time.Now()
		stop := informers.Run(t, informer)
		failed := status()
		assert.Equal(t, inspect.Status{
			At: began, Phase: "backing off", PhaseSince: began, Mode: "list", LastError: failed.LastError, LastErrorReason: "forbidden", LastErrorAt: began,
			Attempts: 1, Lists: 1, Problems: []inspect.Problem{{Cause: "errors", Text: "1 error since the last success"}},
		}, failed)
		assert.True(t, apierrors.IsForbidden(failed.LastError))
		time.Sleep(time.Second)
		assert.Equal(t, 2, status().Attempts)
		assert.True(t, apierrors.IsInternalError(status().LastError))

		time.Sleep(time.Second)
		assert.Equal(t, inspect.Status{
			At: time.Now(), Phase: inspect.PhaseWatching, PhaseSince: began.Add(2 * time.Second), Mode: "list", ResourceVersion: "5", Synced: true,
			LastError: status().LastError, LastErrorReason: "internal-error", LastErrorAt: began.Add(time.Second), Objects: 1, Lists: 3, Watches: 1,
			Reconnects: 1, LastOutageAt: began.Add(time.Second), LastOutage: time.Second, // the internal error
		}, status())

		w.Events <- testkit.Added("b", "6")
		synctest.Wait()
		time.Sleep(3 * time.Second)
		heard := status()
		assert.Equal(t, 3*time.Second, heard.At.Sub(heard.LastEvent))
		assert.Equal(t, 2, heard.Objects)
		assert.Equal(t, "6", heard.ResourceVersion)
		assert.Equal(t, `watching for 3s (list) at version "6", 2 objects, 3 lists, 1 watch, 1 reconnect (last outage 1s), last event 3s ago`, heard.String())

		stop()
		assert.Equal(t, inspect.PhaseStopped, status().Phase)
		assert.Equal(t, 2, status().Objects)
	})
}

// TestWaitForResource: a resource that appears late is noticed within a period, however late.
func TestWaitForResource(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		missing := slices.Repeat([]error{apierrors.NewNotFound(v1.Resource("widgets"), "")}, 100)
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5"), missing...), OnWatch: testkit.Watches()}
		informer := informers.Of(server, kinformer.Options{Errors: kinformer.Errors{Policy: kinformer.ExpectNotFound(0)}})
		defer informers.Run(t, informer)()
		began := time.Now()
		require.NoError(t, kinformer.WaitForSync(t.Context(), informer))
		assert.Equal(t, 100*5*time.Second, time.Since(began))
	})
}

// TestWaitForCacheSync: the pauses grow, and HasSynced is not called after the stop.
func TestWaitForCacheSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []int64
		began := time.Now()
		late := func() bool {
			asked = append(asked, time.Since(began).Milliseconds())
			return time.Since(began) > 300*time.Millisecond
		}
		assert.True(t, cache.WaitForCacheSync(t.Context().Done(), func() bool { return true }, late))
		assert.Equal(t, []int64{0, 1, 3, 7, 15, 31, 63, 127, 227, 327}, asked)

		stop := make(chan struct{})
		time.AfterFunc(50*time.Millisecond, func() { close(stop) })
		began = time.Now()
		assert.False(t, cache.WaitForNamedCacheSync("test", stop, func() bool { return false }))
		assert.Equal(t, 50*time.Millisecond, time.Since(began))
		assert.True(t, cache.WaitForCacheSync(stop, func() bool { return true }), "what has synced has, as in client-go")
		assert.True(t, cache.WaitForNamedCacheSyncWithContext(t.Context()))
	})
}

// TestWaitForCacheSyncAfterItsStop: WaitForCacheSync returns false if the caches had not synced at the
// stop, even if they have synced at the next round. A million calls run beside a loop that takes the only
// processor: in a few of them the pause ends before the select, and both cases are ready.
func TestWaitForCacheSyncAfterItsStop(t *testing.T) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(1))
	stop := make(chan struct{})
	close(stop)
	busy, cancel := context.WithCancel(t.Context())
	var loop sync.WaitGroup
	loop.Go(func() {
		for busy.Err() == nil {
		}
	})
	for range 1_000_000 {
		looks := 0
		if !assert.False(t, cache.WaitForCacheSync(stop, func() bool { looks++; return looks > 1 })) {
			break
		}
	}
	cancel()
	loop.Wait()
}

// TestStatusPrintsWell: every status is one readable line, with every logger.
func TestStatusPrintsWell(t *testing.T) {
	at := time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC)
	for want, s := range map[string]inspect.Status{
		"never run, 0 objects, 0 lists, 0 watches":                                 {},
		"never run, 1 object, 0 lists, 0 watches":                                  {Phase: "new", Objects: 1},
		"never run, 0 objects, 0 lists, 0 watches; it cannot run; last error: bad": {Phase: "new", Problems: []inspect.Problem{{Text: "it cannot run"}}, LastError: errors.New("bad")},
		"listing for 1.235s (list), 0 objects, 1 list, 0 watches":                  {Phase: "listing", PhaseSince: at, At: at.Add(1234567 * time.Microsecond), Mode: "list", Lists: 1},
		`watching for 1h0m1s (watch-list) at version "7", 2 objects, 0 lists, 3 watches, 2 reconnects (last outage 1m2s), last event 3s ago`: {
			Phase: inspect.PhaseWatching, PhaseSince: at, At: at.Add(time.Hour + time.Second), Mode: "watch-list", ResourceVersion: "7", Objects: 2, Watches: 3,
			LastError: errors.New("long ago"), LastErrorAt: at, Reconnects: 2, LastOutage: 62111 * time.Millisecond, LastEvent: at.Add(time.Hour - 2*time.Second)},
		"backing off for 1s (list), 0 objects, 2 lists, 0 watches; 2 errors since the last success; last error: one; two": {
			Phase: "backing off", PhaseSince: at, At: at.Add(time.Second), Mode: "list", Lists: 2, Attempts: 2,
			Problems: []inspect.Problem{{Text: "2 errors since the last success"}}, LastError: errors.Join(errors.New("one"), errors.New("two"))},
		"backing off, 0 objects, 0 lists, 0 watches": {Phase: "backing off", Attempts: 1}, // such a status does not occur, but must not print nil
	} {
		for _, verb := range []string{"%v", "%+v", "%s"} {
			assert.Equal(t, want, fmt.Sprintf(verb, s), verb)
			assert.Equal(t, want, fmt.Sprintf(verb, &s), verb)
		}
		for name, line := range logLines(s) {
			assert.NotContains(t, line, "nil", name)
			assert.Contains(t, line, fmt.Sprintf("%q", want), name)
		}
	}
}

// TestHandlerIsOneLine: String returns the figures of a handler in one line.
func TestHandlerIsOneLine(t *testing.T) {
	h := inspect.Handler{Name: "internal/source.EventHandler#2", State: "idle"}
	assert.Equal(t, "internal/source.EventHandler#2: idle, 0 pending, 0 calls", h.String())
	h.State, h.Calling, h.Oldest, h.Pending = inspect.HandlerStuck, 12*time.Second, 13*time.Second, 5
	h.Delivered, h.Busy, h.Longest, h.Coalesced = 1, 7*time.Microsecond, 7*time.Microsecond, 3
	h.SyncError = errors.New("it was removed")
	assert.Equal(t, "internal/source.EventHandler#2: stuck in a call for 12s, about a change of 13s ago, 5 pending, 1 call in 7µs, the longest 7µs, "+
		"3 changes merged; it never syncs: it was removed", h.String())
}

// logLines returns the lines that loggers write for a value.
func logLines(value any) map[string]string {
	var klogs, slogs, funcs bytes.Buffer
	textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&klogs))).Info("said", "status", value)
	slog.New(slog.NewTextHandler(&slogs, nil)).Info("said", "status", value)
	funcr.New(func(_, args string) { funcs.WriteString(args) }, funcr.Options{}).Info("said", "status", value)
	return map[string]string{"klog": klogs.String(), "slog": slogs.String(), "funcr": funcs.String()}
}

// heldBy returns the result of make, and the number of bytes that it holds.
func heldBy[T any](make func() T) (value T, bytes int64) {
	var before, after goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&before)
	value = make()
	goruntime.GC()
	goruntime.ReadMemStats(&after)
	return value, int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

// largeErrors returns errors that hold an answer of 8 MB.
func largeErrors() map[string]func() error {
	const large = 8 << 20
	return map[string]func() error{
		"kind": func() error { return runtime.NewMissingKindErr(strings.Repeat("x", large)) },
		"causes": func() error {
			err := apierrors.NewInternalError(io.EOF)
			err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "cause", Message: strings.Repeat("x", large)}}
			return err
		},
		"key": func() error { return cache.KeyError{Obj: struct{ large *[large]byte }{new([large]byte)}, Err: io.EOF} },
	}
}

// TestStatusKeepsNoAnswer: an informer that works again does not retain the answer that it could
// not decode, nor does its queue retain an error of a process function.
func TestStatusKeepsNoAnswer(t *testing.T) {
	before := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = nil // a handler that keeps its arguments would be counted
	defer func() { utilruntime.ErrorHandlers = before }()
	for name, broken := range largeErrors() {
		t.Run(name, func(t *testing.T) {
			var informer cache.SharedIndexInformer
			status, held := heldBy(func() (status inspect.Status) {
				synctest.Test(t, func(t *testing.T) {
					informer = informers.Of(&testkit.Server{NoStream: true, OnList: func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
						if n == 1 {
							return nil, broken()
						}
						return testkit.PodList("5"), nil
					}, OnWatch: testkit.Watches()}, kinformer.Options{})
					defer informers.Run(t, informer)()
					require.NoError(t, kinformer.WaitForSync(t.Context(), informer))
					status = informers.Status(t, informer)
				})
				return status
			})
			assert.Less(t, held, int64(2<<20))
			assert.Zero(t, status.Attempts, "it is fine again")
			require.Error(t, status.LastError)
			assert.ErrorContains(t, status.LastError, "failed to list *v1.Pod")
			goruntime.KeepAlive(informer)

			controller, held := heldBy(func() cache.Controller { return failsOnce(t, broken()) })
			assert.Less(t, held, int64(2<<20))
			stats, _ := inspect.QueueOf(controller)
			assert.EqualValues(t, 1, stats.ProcessErrors)
			assert.Error(t, stats.LastProcessError)
		})
	}
}

// failsOnce returns a controller that has run, and whose process function returned err once.
func failsOnce(t *testing.T, err error) (c cache.Controller) {
	synctest.Test(t, func(t *testing.T) {
		c = cache.New(&cache.Config{
			Queue:         cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true}),
			ListerWatcher: &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches(testkit.Sent(testkit.Added("a", "6")))},
			Process: func(any, bool) (failed error) {
				failed, err = err, nil
				return failed
			},
		})
		defer informers.Run(t, c)()
		synctest.Wait()
	})
	return c
}

// keyless returns an object without metadata.
func keyless() runtime.Object { return &metav1.Status{Message: testkit.Secret} }

// failing is a key function that has no key for any object.
func failing(obj any) (string, error) {
	return "", cache.KeyError{Obj: obj, Err: errors.New("no key today")}
}

// keylessStore is a store of the user's that refuses every object.
type keylessStore struct{ cache.ReflectorStore }

func (keylessStore) Replace([]any, string) error { return nil }

func (keylessStore) Add(obj any) error { _, err := failing(obj); return err }

func (keylessStore) Resync() error { return cache.KeyError{Obj: keyless(), Err: io.EOF} }

// TestObjectsStayOutOfLogs: if an object without a key occurs in a list, a stream or a watch, or in
// a store or a process function, then logs, reports and statuses contain at most its type.
func TestObjectsStayOutOfLogs(t *testing.T) {
	for name, run := range mayTellObjects() {
		t.Run(name, func(t *testing.T) {
			var lines testkit.Logged
			t.Cleanup(klog.CaptureState().Restore)
			klog.SetLogger(funcr.New(lines.Write, funcr.Options{Verbosity: 4}))
			reported := testkit.Reports(t)
			said := run(t)
			texts := append(reported(), lines.Take()...)
			for _, err := range said {
				texts = append(texts, fmt.Sprint(err))
			}
			assert.Regexp(t, "object of type|no key", strings.Join(texts, "\n"), "something was said about it")
			for _, text := range texts {
				assert.NotContains(t, text, testkit.Secret)
			}
		})
	}
}

// followed runs an informer for some seconds, and returns the reported errors and its status.
func followed(t *testing.T, informer cache.Controller) (said []error) {
	synctest.Test(t, func(t *testing.T) {
		stop := informers.Run(t, informer)
		time.Sleep(3 * time.Second)
		status := informers.Status(t, informer)
		stats, err := inspect.QueueOf(informer)
		require.NoError(t, err)
		stop()
		said = append(said, status.LastError, stats.LastProcessError, stats.LastTransformError, errors.New(status.String()))
	})
	return said
}

// keepsNothing runs a reflector for some seconds on a store that refuses every object.
func keepsNothing(t *testing.T, server *testkit.Server) []error {
	synctest.Test(t, func(t *testing.T) {
		stop := testkit.InBackground(t, reflector.New(reflector.Options{ListerWatcher: server, Sink: reflector.Foreign(keylessStore{}), ResyncPeriod: time.Second}).Run)
		time.Sleep(3 * time.Second)
		stop()
	})
	return nil
}

// mayTellObjects returns ways in which a secret object may be reported.
func mayTellObjects() map[string]func(t *testing.T) []error {
	items := &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []runtime.RawExtension{{Object: keyless()}}}
	hidden := testkit.PodAt("a", "6")
	hidden.Labels = map[string]string{"password": testkit.Secret}
	event := watch.Event{Type: watch.Added, Object: hidden}
	server := func() *testkit.Server {
		return &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5", hidden)), OnWatch: testkit.Watches(testkit.Sent(event))}
	}
	processed := func(t *testing.T, process cache.ProcessFunc) []error {
		return followed(t, cache.New(&cache.Config{Queue: cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true}), ListerWatcher: server(), Process: process}))
	}
	return map[string]func(t *testing.T) []error{
		"list": func(t *testing.T) []error {
			return followed(t, cache.NewSharedIndexInformer(&testkit.Server{NoStream: true, OnList: testkit.ListOf(items), OnWatch: testkit.Watches()}, nil, 0, cache.Indexers{}))
		},
		"transform": func(t *testing.T) []error {
			informer := informers.Of(server(), kinformer.Options{Queue: kinformer.Queue{KeepCached: true}})
			require.NoError(t, informer.SetTransform(func(obj any) (any, error) { _, err := failing(obj); return nil, err }))
			return followed(t, informer)
		},
		"index": func(t *testing.T) []error {
			informer := informers.Of(server(), kinformer.Options{})
			require.NoError(t, informer.AddIndexers(cache.Indexers{"i": func(obj any) ([]string, error) { _, err := failing(obj); return nil, err }}))
			return followed(t, informer)
		},
		"process": func(t *testing.T) []error {
			return processed(t, func(obj any, _ bool) error { _, err := failing(obj); return fmt.Errorf("process: %w", err) })
		},
		"retried": func(t *testing.T) []error {
			return processed(t, retry.Process(retry.Policy{MaxAttempts: 1}, func(obj any, _ bool) error { _, err := failing(obj); return err }))
		},
		"foreign store": func(t *testing.T) []error {
			return keepsNothing(t, &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches(testkit.Sent(event))})
		},
		"foreign store, stream": func(t *testing.T) []error {
			return keepsNothing(t, &testkit.Server{OnWatch: testkit.Watches(testkit.Sent(event, testkit.EndMark("7")))})
		},
	}
}
