// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
)

// ask returns the check's answer to a request, once all goroutines are blocked.
func ask(check http.Handler, method string) (code int, text string, header http.Header) {
	synctest.Wait()
	answer := httptest.NewRecorder()
	check.ServeHTTP(answer, httptest.NewRequest(method, "/readyz", nil))
	return answer.Code, answer.Body.String(), answer.Header()
}

// called returns an informer of server with a name for logs.
func called(name string, server cache.ListerWatcher, options kinformer.Options) cache.SharedIndexInformer {
	options.Requests.Backoff, options.ObjectDescription = *testkit.Second(), name
	return kinformer.New(server, &v1.Pod{}, options)
}

// TestReady follows informers from their start to their end.
func TestReady(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		fine := called("fine", informers.Quiet(), kinformer.Options{})
		refused := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5"), testkit.ErrForbidden), OnWatch: testkit.Watches()}
		late := called("late", refused, kinformer.Options{})
		ready := inspect.Ready(inspect.ReadyOptions{}, fine, cache.NewTypedSharedIndexInformer[*v1.Pod](late))
		code, text, _ := ask(ready, http.MethodGet)
		assert.Equal(t, http.StatusServiceUnavailable, code)
		assert.Equal(t, "2 of 2 informers are not ready\nSharedIndexInformer fine has not synced: never run\n"+
			"SharedIndexInformer late has not synced: never run\n", text)

		stopFine, stopLate := informers.Run(t, fine), informers.Run(t, late)
		_, text, header := ask(ready, http.MethodGet)
		assert.Equal(t, "1 of 2 informers are not ready\nSharedIndexInformer late has not synced: backing off for 0s\n", text)
		assert.Equal(t, "text/plain; charset=utf-8", header.Get("Content-Type"))
		assert.Equal(t, "nosniff", header.Get("X-Content-Type-Options"))
		assert.Equal(t, "no-store", header.Get("Cache-Control"))
		err := ready.Check(nil)
		assert.True(t, apierrors.IsForbidden(err))
		assert.ErrorContains(t, err, "forbidden")
		assert.NotContains(t, text, "forbidden", "to strangers")
		assert.NotContains(t, err.Error(), "\n")

		time.Sleep(time.Second)
		code, text, _ = ask(ready, http.MethodGet)
		assert.Equal(t, http.StatusOK, code)
		assert.Equal(t, "ok\n", text)
		assert.NoError(t, ready.Check(nil))
		code, text, _ = ask(ready, http.MethodHead)
		assert.Equal(t, http.StatusOK, code)
		assert.Empty(t, text)
		code, _, header = ask(ready, http.MethodPost)
		assert.Equal(t, http.StatusMethodNotAllowed, code)
		assert.Equal(t, "GET, HEAD", header.Get("Allow"))

		stopLate()
		code, text, _ = ask(ready, http.MethodGet)
		assert.Equal(t, http.StatusServiceUnavailable, code)
		assert.Equal(t, "1 of 2 informers are not ready\nSharedIndexInformer late has stopped\n", text)
		stopFine()
	})
}

// TestReadyOfNone: a check without informers fails, even if informers run.
func TestReadyOfNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var none []interface{ HasSyncedChecker() cache.DoneChecker }
		ready := inspect.Ready(inspect.ReadyOptions{}, none...)
		defer informers.Run(t, called("fine", informers.Quiet(), kinformer.Options{}))()
		synctest.Wait()
		assert.EqualError(t, ready.Check(nil), "not ready: Ready was given no informers")
		code, text, _ := ask(ready, http.MethodGet)
		assert.Equal(t, http.StatusServiceUnavailable, code)
		assert.Equal(t, "not ready: Ready was given no informers\n", text)
	})
}

// TestReadyOfAll: the check includes the running informers, each once, and the informers given to
// Ready.
func TestReadyOfAll(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		fine := called("fine", informers.Quiet(), kinformer.Options{})
		ready, mine := inspect.Ready(inspect.ReadyOptions{All: true}), inspect.Ready(inspect.ReadyOptions{All: true}, cache.NewTypedSharedIndexInformer[*v1.Pod](fine), nil)
		assert.EqualError(t, ready.Check(nil), "not ready: no informer runs")
		code, text, _ := ask(ready, http.MethodGet)
		assert.Equal(t, http.StatusServiceUnavailable, code)
		assert.Equal(t, "not ready: no informer runs\n", text)
		assert.ErrorContains(t, mine.Check(nil), "2 of 2 informers are not ready")
		stop := informers.Run(t, fine)
		synctest.Wait()
		assert.NoError(t, ready.Check(nil))
		refused := called("refused", &testkit.Server{NoStream: true, OnList: testkit.ListOf(nil, testkit.ErrForbidden), OnWatch: testkit.Watches()}, kinformer.Options{})
		stopRefused := informers.Run(t, refused)
		synctest.Wait()
		assert.ErrorContains(t, ready.Check(nil), "1 of 2 informers are not ready; SharedIndexInformer refused has not synced")
		assert.ErrorContains(t, mine.Check(nil), "2 of 3 informers are not ready; informer 2 is nil")
		stopRefused()
		assert.NoError(t, ready.Check(nil), "it does not run any more")
		busy, last := called("busy", &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5", testkit.PodAt("a", "1"))), OnWatch: testkit.Watches()}, kinformer.Options{}), make(chan struct{})
		_, err := busy.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-last }})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		go busy.RunWithContext(ctx)
		synctest.Wait()
		cancel()
		synctest.Wait()
		assert.NoError(t, ready.Check(nil), "it only waits for its handler")
		close(last)
		stop()
	})
}

// TestReadyOfOtherSyncers: other values with HasSyncedChecker count as ready when they have synced, and the
// error describes invalid ones.
func TestReadyOfOtherSyncers(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		foreign := clientgo.NewSharedIndexInformer(informers.Quiet(), &v1.Pod{}, 0, cache.Indexers{})
		ours := called("ours", informers.Quiet(), kinformer.Options{})
		registration, err := ours.AddEventHandler(&testkit.Journal{})
		require.NoError(t, err)
		_, simple := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: informers.Quiet(), ObjectType: &v1.Pod{}})
		unfit := called("unfit", informers.Quiet(), kinformer.Options{Requests: kinformer.Requests{PageSize: -1}})
		ready := inspect.Ready(inspect.ReadyOptions{}, foreign, registration, simple, nil, unfit)
		informers.Run(t, unfit)()
		err = ready.Check(nil)
		require.ErrorIs(t, err, door.ErrBadOptions)
		for _, text := range []string{"5 of 5", foreign.HasSyncedChecker().Name() + " has not synced", registration.HasSyncedChecker().Name() + " has not synced",
			"FIFO *v1.Pod has not synced: never run", "informer 4 is nil", "unfit cannot run"} {
			assert.ErrorContains(t, err, text)
		}
		defer informers.Run(t, foreign)()
		defer informers.Run(t, ours)()
		defer informers.Run(t, simple)()
		time.Sleep(time.Minute)
		assert.ErrorContains(t, ready.Check(nil), "2 of 5")
	})
}

// TestReadyNamesFew: at most 8 informers are named.
func TestReadyNamesFew(t *testing.T) {
	var many []interface{ HasSyncedChecker() cache.DoneChecker }
	for i := range 1000 {
		many = append(many, called(fmt.Sprintf("no-%d\nok", i), informers.Quiet(), kinformer.Options{}))
	}
	answer := httptest.NewRecorder()
	inspect.Ready(inspect.ReadyOptions{}, many...).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	lines := strings.Split(strings.TrimSpace(answer.Body.String()), "\n")
	assert.Len(t, lines, 10)
	assert.Equal(t, "1000 of 1000 informers are not ready", lines[0])
	assert.Equal(t, "and 992 more", lines[9])
}

// TestReadyHidesServers: what anybody may read does not name servers; errors do.
func TestReadyHidesServers(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		wire := roundTripper(func(r *http.Request) (*http.Response, error) { return nil, testkit.ErrRefused })
		informer := kinformer.New(informers.ClientOver(t, wire, runtime.ContentTypeJSON, true), &v1.Pod{}, kinformer.Options{})
		ready := inspect.Ready(inspect.ReadyOptions{}, informer)
		defer informers.Run(t, informer)()
		_, text, _ := ask(ready, http.MethodGet)
		assert.Contains(t, text, "SharedIndexInformer pods.v1 has not synced")
		assert.NotContains(t, text, "127.0.0.1")
		assert.ErrorContains(t, ready.Check(nil), "SharedIndexInformer pods.v1 at 127.0.0.1:1 has not synced")
	})
}

// TestReadyHidesFieldSelectors: the answer, which strangers can read, has no field selector, which may name an
// object.
func TestReadyHidesFieldSelectors(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		config := &rest.Config{Host: "http://127.0.0.1:1", Transport: roundTripper(func(*http.Request) (*http.Response, error) { return nil, testkit.ErrRefused })}
		config.Wrap(direct.Transport)
		client, err := kubernetes.NewForConfig(config)
		require.NoError(t, err)
		lw := direct.NewListWatch(client.CoreV1().RESTClient(), &v1.Secret{}, "secrets", "ns", func(o *metav1.ListOptions) { o.FieldSelector = "metadata.name=token" })
		informer := kinformer.New(lw, &v1.Secret{}, kinformer.Options{})
		ready := inspect.Ready(inspect.ReadyOptions{}, informer)
		defer informers.Run(t, informer)()
		time.Sleep(time.Second)
		_, text, _ := ask(ready, http.MethodGet)
		assert.Contains(t, text, "SharedIndexInformer secrets.v1 in namespace ns has not synced")
		assert.ErrorContains(t, ready.Check(nil), "with fields metadata.name=token")
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestReadyMaxOutage: MaxOutage counts from the first request that fails to the next open watch. It
// does not count the silence of a watch without bookmarks.
func TestReadyMaxOutage(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		w := testkit.NewScriptedWatch(1)
		server := informers.Quiet()
		server.OnWatch = func(n int, ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			switch {
			case n == 1:
				return w, nil
			case n < 100:
				return nil, testkit.ErrRefused
			default:
				return watch.NewFake(), nil
			}
		}
		informer := called("pods", server, kinformer.Options{})
		patient, strict := inspect.Ready(inspect.ReadyOptions{}, informer), inspect.Ready(inspect.ReadyOptions{MaxOutage: time.Minute}, informer)
		defer informers.Run(t, informer)()
		time.Sleep(24 * time.Hour)
		assert.NoError(t, strict.Check(nil), "silence is no outage")
		close(w.Events)
		time.Sleep(time.Minute - 1)
		assert.NoError(t, strict.Check(nil))
		time.Sleep(time.Second)
		err := strict.Check(nil)
		assert.ErrorIs(t, err, testkit.ErrRefused)
		_, text, _ := ask(strict, http.MethodGet)
		assert.Equal(t, "1 of 1 informer is not ready\nSharedIndexInformer pods gets old: requests fail for 1m1s\n", text)
		assert.NoError(t, patient.Check(nil))
		time.Sleep(time.Minute)
		assert.NoError(t, strict.Check(nil), "a watch is open again")
	})
}
