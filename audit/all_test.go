// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/sources"
)

// named returns an informer of one pod whose name in reports is name.
func named(name string) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformerWithOptions(pods(name), &corev1.Pod{}, cache.SharedIndexInformerOptions{ObjectDescription: name})
}

// reported collects what OnReport receives.
type reported struct {
	mu     sync.Mutex
	times  map[string][]time.Time // of audits that compared, by name
	errors map[string][]error
}

func (r *reported) note(report audit.Report, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.errors[report.Informer] = append(r.errors[report.Informer], err)
		return
	}
	r.times[report.Informer] = append(r.times[report.Informer], time.Now())
}

// count returns the number of audits of an informer so far.
func (r *reported) count(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.times[name])
}

// all runs RunAll each minute, and returns its reports. stop ends it and returns its error.
func all(t *testing.T, cause error) (r *reported, stop func() error) {
	r = &reported{times: map[string][]time.Time{}, errors: map[string][]error{}}
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- audit.RunAll(ctx, audit.RunOptions{Every: time.Minute, OnReport: r.note}) }()
	return r, func() error {
		cancel(cause)
		return <-ended
	}
}

// TestRunAll: all informers are audited at times of their own, those that start later as well, and
// those that have stopped no longer. The end leaves no goroutine behind.
func TestRunAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running(t, named("a"))
		stopB := testkit.InBackground(t, named("b").RunWithContext)
		cause := errors.New("enough")
		r, stop := all(t, cause)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		assert.NotZero(t, r.count("a"))
		assert.NotZero(t, r.count("b"))
		assert.NotEqual(t, r.times["a"], r.times["b"])
		assert.Zero(t, r.count("c"))

		running(t, named("c"))
		stopB()
		before := r.count("b")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		assert.NotZero(t, r.count("c"))
		assert.Equal(t, before, r.count("b"))
		assert.Equal(t, cause, stop())
		assert.Empty(t, r.errors, "the end of an informer, or of all, is none")
		audited := r.count("a")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		assert.Equal(t, audited, r.count("a"))
		assert.InDelta(t, 20, audited, 10, "as often as by Run")
	})
}

// TestRunAllSkips: an informer that cannot be audited is reported once, by its name, to OnReport or else to the log, and
// those that run beside it are audited.
func TestRunAllSkips(t *testing.T) {
	log := testkit.CaptureLog(t)
	synctest.Test(t, func(t *testing.T) {
		queue := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{KnownObjects: cache.NewStore(cache.MetaNamespaceKeyFunc)})
		running(t, cache.New(&cache.Config{
			Queue: queue, ListerWatcher: pods("x"), ObjectType: &corev1.Pod{}, ObjectDescription: "theirs",
			Process: func(any, bool) error { return nil },
		}))
		running(t, named("a"))
		r, stop := all(t, context.Canceled)
		time.Sleep(time.Hour)
		require.ErrorIs(t, stop(), context.Canceled)
		assert.NotZero(t, r.count("a"))
		require.Len(t, r.errors["theirs"], 1)
		require.ErrorIs(t, r.errors["theirs"][0], inspect.ErrForeign)
		assert.Len(t, r.errors, 1)
		assert.NotContains(t, log.Take(), "not audited")

		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		assert.ErrorIs(t, audit.RunAll(ctx, audit.RunOptions{Every: time.Minute}), context.DeadlineExceeded)
		lines := testkit.About("not audited", log.Take())
		require.Len(t, lines, 1)
		assert.Contains(t, lines[0], `"type"="theirs"`)
	})
}

// TestRunAllRefuses: invalid options are refused at once.
func TestRunAllRefuses(t *testing.T) {
	require.ErrorContains(t, audit.RunAll(t.Context(), audit.RunOptions{Every: time.Second}), "RunOptions.Every")
	require.ErrorContains(t, audit.RunAll(t.Context(), audit.RunOptions{Options: audit.Options{Source: pods()}}), "Options.Source")
}

// TestRunAllEndsAtOnce: the end does not wait for an audit whose server does not answer.
func TestRunAllEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := pods("a")
		running(t, kinformer.New(src, &corev1.Pod{}, kinformer.Options{}))
		synctest.Wait()
		_, stop := all(t, context.Canceled)
		before, answer := len(listings(src, 0)), make(chan struct{})
		defer close(answer)
		src.Script(cachetest.VerbList, cachetest.Fault{Until: answer})
		for len(listings(src, 0)) == before {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		began := time.Now()
		require.ErrorIs(t, stop(), context.Canceled)
		assert.Zero(t, time.Since(began))
	})
}

// panicking is a ListerWatcher that panics from a time on.
type panicking struct {
	cache.ListerWatcher
	from *atomic.Bool
}

func (p panicking) List(o metav1.ListOptions) (apiruntime.Object, error) {
	if p.from.Load() {
		panic("no list")
	}
	//lint:ignore SA1019 it implements the interface that has the method
	return p.ListerWatcher.List(o)
}

// TestRunAllPanics: panics of a ListerWatcher and of OnReport do not end a program that goes on after those
// of informers, and the audits go on.
func TestRunAllPanics(t *testing.T) {
	testkit.QuietPanics(t)
	synctest.Test(t, func(t *testing.T) {
		var from atomic.Bool
		running(t, cache.NewSharedIndexInformerWithOptions(panicking{pods("a"), &from}, &corev1.Pod{}, cache.SharedIndexInformerOptions{ObjectDescription: "a"}))
		many, set := sources.New(&corev1.Pod{}, kinformer.Options{ObjectDescription: "many"})
		set.Put("s", panicking{pods("b"), &from})
		running(t, many)
		synctest.Wait()
		from.Store(true)
		r := &reported{times: map[string][]time.Time{}, errors: map[string][]error{}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- audit.RunAll(ctx, audit.RunOptions{Every: time.Minute, OnReport: func(report audit.Report, err error) {
				r.note(report, err)
				panic("no report")
			}})
		}()
		time.Sleep(10 * time.Minute)
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		for _, name := range []string{"a", "many"} {
			require.Greater(t, len(r.errors[name]), 3, name)
			require.ErrorContains(t, r.errors[name][0], "the ListerWatcher panicked: no list")
		}
	})
}

// TestSubjectOfAFailedAudit: the report of every failed audit names its informer.
func TestSubjectOfAFailedAudit(t *testing.T) {
	for want, informer := range map[string]inspect.Syncer{
		"*v1.Pod":                    cache.NewSharedIndexInformer(pods(), &corev1.Pod{}, 0, nil),
		"*cache.sharedIndexInformer": clientgo.NewSharedIndexInformer(pods(), &corev1.Pod{}, 0, nil),
		"<nil>":                      nil,
	} {
		report, err := audit.Once(t.Context(), informer, audit.Options{})
		require.Error(t, err)
		assert.Equal(t, want+", by versions: not compared", report.String())
	}
}
