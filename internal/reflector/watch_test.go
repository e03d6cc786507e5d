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
	"k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/testkit"
)

// watched has the requests and the store's calls of a reflector that ran for a minute.
type watched struct {
	asked, stored []string
	handled       []error
	version       string
}

// watchedFor runs a reflector in a bubble for a minute, with the given watch answers. The list
// answers version 5.
func watchedFor(t *testing.T, change func(*Options), answers ...any) (got watched) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var handler testkit.Handled
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5", testkit.PodAt("a", "1"))), OnWatch: testkit.Watches(answers...)}
		store := &testkit.StoreLog{}
		cfg := Options{
			ListerWatcher: server, ExpectedType: &v1.Pod{}, Sink: Foreign(store), Backoff: testkit.Second(), OnError: toldTo(&handler),
		}
		if change != nil {
			change(&cfg)
		}
		r := New(cfg)
		defer testkit.InBackground(t, r.Run)()
		time.Sleep(time.Minute)
		synctest.Wait()
		got = watched{server.Requests(), store.Entries(), handler.Errors(), r.state.Version()}
	})
	return got
}

// toldTo returns an OnError that passes the errors of a reflector to h.
func toldTo(h *testkit.Handled) func(context.Context, Failure) {
	return func(ctx context.Context, f Failure) { h.Handle(ctx, nil, f.Err) }
}

// fullStoreLog also takes bookmarks and versions.
type fullStoreLog struct{ testkit.StoreLog }

func (j *fullStoreLog) Bookmark(version string) error { return j.Note("bookmark " + version) }

func (j *fullStoreLog) UpdateResourceVersion(version string) { _ = j.Note("version " + version) }

// TestWatchTellsStoreOfVersions: the optional interfaces of the store are called after the change
// is stored.
func TestWatchTellsStoreOfVersions(t *testing.T) {
	store := &fullStoreLog{}
	watchedFor(t, func(c *Options) { c.Sink = Foreign(store) }, testkit.Sent(testkit.Added("b", "7"), testkit.Bookmark("12")))
	assert.Equal(t, []string{"replace 5: a@1", "add b@7", "version 7", "bookmark 12", "version 12"}, store.Entries())
}

// TestWatchStoreErrors: an error of the store is reported with the key. It drops only its own event
// and does not delay others.
func TestWatchStoreErrors(t *testing.T) {
	reported := testkit.Reports(t)
	store := &fullStoreLog{}
	store.Fail = func(entry string) error {
		if entry == "replace 5: a@1" {
			return nil
		}
		return errors.New("store says no")
	}
	got := watchedFor(t, func(c *Options) { c.Sink = Foreign(store) },
		testkit.Sent(testkit.Added("b", "7"), testkit.Modified("b", "8"), testkit.Deleted("b", "9"), testkit.Bookmark("10")))
	assert.Equal(t, "10", got.version)
	require.Len(t, reported(), 4)
	assert.Contains(t, reported()[0], "store says no")
	assert.Contains(t, reported()[0], "ns/b")
}

// TestWatchOfNothing: a nil watch without an error ends the round, and OnError is called.
func TestWatchOfNothing(t *testing.T) {
	got := watchedFor(t, nil, (*testkit.ScriptedWatch)(nil))
	assert.Equal(t, []string{"list rv=0 limit=500", "watch rv=5", "list rv=5 limit=0", "watch rv=5"}, got.asked)
	assert.Equal(t, []error{errNoStream}, got.handled)
}

// TestWatchDelays: requests to a busy server follow after growing delays, and those to a server
// that does not answer have a series of their own. After an outage, the first answer
// starts the next round within a second; later answers start it after a delay.
func TestWatchDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []time.Duration
		answer := testkit.Watches(testkit.ErrRefused, testkit.ErrTooManyRequests, testkit.Sent(testkit.FailedWith(testkit.ErrTooManyRequests)), testkit.ErrForbidden, testkit.ErrForbidden)
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: func(n int, ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			at = append(at, time.Since(start))
			return answer(n, ctx, o)
		}}
		backoff := testkit.Second()
		backoff.Factor = 2
		defer testkit.InBackground(t, New(Options{ListerWatcher: server, Sink: Foreign(&testkit.StoreLog{}), Backoff: backoff}).Run)()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(t, at, 6)
		assert.Equal(t, []time.Duration{0, 1 * time.Second, 2 * time.Second, 4 * time.Second}, at[:4])
		assert.Less(t, at[4]-at[3], time.Second, "at once")
		assert.Equal(t, 4*time.Second, at[5]-at[4])
	})
}

// TestWatchInternalErrorWithDelay: an internal error that asks for a delay gets it, also while such errors
// are retried.
func TestWatchInternalErrorWithDelay(t *testing.T) {
	busy := apierrors.NewInternalError(errors.New("busy"))
	busy.ErrStatus.Details.RetryAfterSeconds = 40
	got := watchedFor(t, func(o *Options) { o.MaxInternalErrorRetry = time.Minute }, testkit.Sent(testkit.FailedWith(busy)), testkit.Sent(testkit.FailedWith(busy)))
	assert.Equal(t, []string{"list rv=0 limit=500", "watch rv=5", "list rv=5 limit=0", "watch rv=5"}, got.asked)
}

// TestWatchContext: the context of a watch request ends with the watch.
func TestWatchContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testkit.NewScriptedWatch(0)
		var contexts []context.Context
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: func(n int, ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			contexts = append(contexts, ctx)
			return testkit.Watches(w, testkit.ErrRefused)(n, ctx, o)
		}}
		defer testkit.InBackground(t, New(Options{ListerWatcher: server, Sink: Foreign(&testkit.StoreLog{}), Backoff: testkit.Second()}).Run)()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Len(t, contexts, 1)
		assert.NoError(t, contexts[0].Err())
		close(w.Events)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(t, contexts, 3)
		assert.Error(t, contexts[0].Err(), "closed")
		assert.Error(t, contexts[1].Err(), "not opened")
		assert.NoError(t, contexts[2].Err(), "open")
	})
}

// TestWatchErrorTextsHaveNoObjects: the error for an Error event whose object is not a Status has
// only the object's type.
func TestWatchErrorTextsHaveNoObjects(t *testing.T) {
	hush := testkit.PodAt("a", "1")
	hush.Spec.Hostname = "hush"
	assert.EqualError(t, errorOf(hush), "watch error event with an object of type *v1.Pod")
	assert.True(t, apierrors.IsForbidden(errorOf(&testkit.ErrForbidden.ErrStatus)))
	assert.Error(t, errorOf(nil))
	assert.Error(t, errorOf((*metav1.Status)(nil)))
}
