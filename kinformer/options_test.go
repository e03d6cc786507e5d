// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
)

// TestStreamSilence: an informer whose watch-list stays silent lists, and goes on to list, unless
// watch-lists are wanted. The scenarios of internal/reflector have the requests in all other cases.
func TestStreamSilence(t *testing.T) {
	for mode, prefersLists := range map[kinformer.ListMode]bool{"": true, kinformer.ListModeWatchList: false} {
		synctest.Test(t, func(t *testing.T) {
			server := &testkit.Server{NoStream: !prefersLists, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches()}
			informer := informers.Of(server, kinformer.Options{Requests: kinformer.Requests{Mode: mode, StreamSilence: 3 * time.Second}})
			defer informers.Run(t, informer)()
			began := time.Now()
			require.NoError(t, kinformer.WaitForSync(t.Context(), informer))
			assert.Equal(t, 3*time.Second, time.Since(began))
			status := informers.Status(t, informer)
			assert.Equal(t, []string{"stream rv=", "list rv=0 limit=500", "watch rv=5"}, server.Requests())
			assert.Equal(t, prefersLists, strings.Contains(status.String(), "LIST instead of watch-list until"))
		})
	}
}

// TestBackoffAndPageSize: the reflector uses Backoff and PageSize of the options. Without Steps the
// delays grow up to Cap.
func TestBackoffAndPageSize(t *testing.T) {
	testkit.Reports(t)
	for _, tc := range []struct {
		backoff wait.Backoff
		want    time.Duration
	}{
		{wait.Backoff{Duration: 10 * time.Second, Factor: 3, Steps: 10}, 1 + 3 + 9},
		{wait.Backoff{Duration: 10 * time.Second, Factor: 3, Cap: 20 * time.Second}, 1 + 2 + 2},
		{wait.Backoff{Duration: 10 * time.Second, Factor: 3, Cap: time.Hour}, 1 + 3 + 9},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5"), testkit.ErrForbidden, testkit.ErrForbidden, testkit.ErrForbidden), OnWatch: testkit.Watches()}
			informer := informers.Of(server, kinformer.Options{Requests: kinformer.Requests{PageSize: 7, Backoff: tc.backoff}})
			defer informers.Run(t, informer)()
			began := time.Now()
			require.NoError(t, kinformer.WaitForSync(t.Context(), informer))
			assert.Equal(t, tc.want*10*time.Second, time.Since(began))
			assert.Equal(t, "list rv=0 limit=7", server.Requests()[0])
		})
	}
}

// TestStartJitter: the first request is delayed by a random part of StartJitter, and cancel ends the
// delay.
func TestStartJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := map[time.Duration]bool{}
		for range 20 {
			informer := informers.Of(&testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches()}, kinformer.Options{Requests: kinformer.Requests{StartJitter: time.Hour}})
			stop, began := informers.Run(t, informer), time.Now()
			require.NoError(t, kinformer.WaitForSync(t.Context(), informer))
			stop()
			assert.Less(t, time.Since(began), time.Hour)
			seen[time.Since(began)] = true
		}
		assert.Greater(t, len(seen), 10)

		server := &testkit.Server{}
		stop, began := informers.Run(t, informers.Of(server, kinformer.Options{Requests: kinformer.Requests{StartJitter: 1000 * time.Hour}})), time.Now()
		stop()
		assert.Zero(t, time.Since(began))
		assert.Empty(t, server.Requests())
	})
}

// TestListSlots: at most as many informers as slots request their collection at the same time, by list
// or by stream, and a waiting informer can be stopped.
func TestListSlots(t *testing.T) {
	for _, mode := range []kinformer.ListMode{kinformer.ListModeList, kinformer.ListModeWatchList} {
		synctest.Test(t, func(t *testing.T) {
			slots := kinformer.NewListSlots(2)
			var all []inspect.Syncer
			for range 6 {
				source := cachetest.Of(testkit.Pod("a", "1"))
				source.Script(cachetest.VerbList, cachetest.Fault{Delay: time.Second})
				source.Script(cachetest.VerbWatchList, cachetest.Fault{Delay: time.Second})
				informer := kinformer.New(source, &v1.Pod{}, kinformer.Options{Requests: kinformer.Requests{Slots: slots, Mode: mode}})
				all = append(all, informer)
				defer informers.Run(t, informer)()
			}
			began := time.Now()
			synctest.Wait()
			late := informers.Of(&testkit.Server{}, kinformer.Options{Requests: kinformer.Requests{Slots: slots}})
			informers.Run(t, late)()
			assert.Zero(t, time.Since(began), "stopped while it waits for its turn")

			require.NoError(t, kinformer.WaitForSync(t.Context(), all...))
			assert.Equal(t, 3*time.Second, time.Since(began))
		})
	}
}

// TestOptionsAreRefused: an invalid option gives an error that names it, and the constructor never
// panics.
func TestOptionsAreRefused(t *testing.T) {
	indexless := cache.Indexers{"good": cache.MetaNamespaceIndexFunc, "bad": nil}
	for name, tc := range map[string]struct {
		options  kinformer.Options
		indexers cache.Indexers
		says     []string // empty if the options are valid
	}{
		"list mode":      {kinformer.Options{Requests: kinformer.Requests{Mode: "lists"}}, nil, []string{`Requests.Mode: there is no mode "lists"`, "ListModeWatchList"}},
		"stream silence": {kinformer.Options{Requests: kinformer.Requests{StreamSilence: -time.Second}}, nil, []string{"Requests.StreamSilence is -1s"}},
		"idle timeout":   {kinformer.Options{Requests: kinformer.Requests{IdleTimeout: -time.Minute}}, nil, []string{"Requests.IdleTimeout is -1m0s"}},
		"start jitter":   {kinformer.Options{Requests: kinformer.Requests{StartJitter: -time.Minute}}, nil, []string{"Requests.StartJitter is -1m0s"}},
		"read-ahead":     {kinformer.Options{Decoding: kinformer.Decoding{ReadAhead: -1}}, nil, []string{"Decoding.ReadAhead is -1"}},
		"verify":         {kinformer.Options{Decoding: kinformer.Decoding{Verify: -3}}, nil, []string{"Decoding.Verify is -3"}},
		"decoding beside off": {kinformer.Options{Decoding: kinformer.Decoding{Off: true, ReadAhead: 1, Verify: 1, ShareParts: true, TransformCopies: true}}, nil,
			[]string{"Decoding.ReadAhead is for", "Decoding.Verify is for", "Decoding.ShareParts is for", "Decoding.TransformCopies is for", "Decoding.Off the client decodes all: leave out one"}},
		"drop": {kinformer.Options{Decoding: kinformer.Decoding{Drop: []string{"metadata.managedFields", "spec", "metadata.annotations[k8s.io/initial-events-end]"}}}, nil,
			[]string{`Decoding.Drop: "spec" cannot be left out`, `Drop: "metadata.annotations[k8s.io/initial-events-end]"`}},
		"backoff without a delay": {kinformer.Options{Requests: kinformer.Requests{Backoff: wait.Backoff{Steps: 5}}}, nil,
			[]string{"Requests.Backoff: Duration is 0s"}},
		"backoff without a limit": {kinformer.Options{Requests: kinformer.Requests{Backoff: wait.Backoff{Duration: time.Second, Factor: 2}}}, nil,
			[]string{"Requests.Backoff: Factor is 2", "set Cap"}},
		"backoff below zero": {kinformer.Options{Requests: kinformer.Requests{Backoff: wait.Backoff{Duration: time.Second, Cap: -1}}}, nil,
			[]string{"Requests.Backoff", "Cap -1ns"}},
		"backoff by no number": {kinformer.Options{Requests: kinformer.Requests{Backoff: wait.Backoff{Duration: time.Second, Factor: math.NaN()}}}, nil,
			[]string{"Requests.Backoff", "Factor NaN"}},
		"backoff without an end": {kinformer.Options{Requests: kinformer.Requests{Backoff: wait.Backoff{Duration: time.Second, Jitter: math.Inf(1)}}}, nil,
			[]string{"Requests.Backoff", "Jitter +Inf"}},
		"list slots of nobody":         {kinformer.Options{Requests: kinformer.Requests{Slots: &kinformer.ListSlots{}}}, nil, []string{"Requests.Slots"}},
		"list slots of a negative":     {kinformer.Options{Requests: kinformer.Requests{Slots: kinformer.NewListSlots(-2)}}, nil, []string{"Requests.Slots"}},
		"watch-list in pages":          {kinformer.Options{Requests: kinformer.Requests{PageSize: 5, Mode: kinformer.ListModeWatchList}}, nil, []string{"Requests.PageSize", "leave out one"}},
		"silence without a watch-list": {kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList, StreamSilence: 1}}, nil, []string{"Requests.StreamSilence", "leave out one"}},
		"all at once":                  {kinformer.Options{Queue: kinformer.Queue{Limit: -2}, Requests: kinformer.Requests{PageSize: -1}}, indexless, []string{"Queue.Limit is -2", "Requests.PageSize is -1", `Indexers["bad"] is nil`}},
		"indices of both":              {kinformer.Options{Indexers: cache.Indexers{"good": cache.MetaNamespaceIndexFunc}}, cache.Indexers{"good": cache.MetaNamespaceIndexFunc}, []string{`"good" is an index of the constructor's caller as well`}},

		"drop beside off": {kinformer.Options{Decoding: kinformer.Decoding{Off: true, Drop: []string{"metadata.managedFields"}}}, nil, nil},
		"slots of zero":   {kinformer.Options{Requests: kinformer.Requests{Slots: kinformer.NewListSlots(0)}}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			informer := kinformer.Constructor(tc.options)(testkit.NewPods(), &v1.Pod{}, 0, tc.indexers)
			status, err := inspect.StatusOf(informer)
			require.NoError(t, err)
			if tc.says == nil {
				assert.Equal(t, inspect.Status{At: status.At, Phase: "new"}, status)
				return
			}
			require.ErrorIs(t, status.LastError, door.ErrBadOptions)
			for _, says := range tc.says {
				assert.ErrorContains(t, status.LastError, says)
			}
			assert.NotContains(t, status.LastError.Error(), "\n", "one line of a log")
		})
	}
}

// doesNotRun checks that informer, which is not running, cannot run: Run reports why and returns, and
// so do all functions that describe the informer.
func doesNotRun(t *testing.T, informer cache.Controller, why string) {
	t.Helper()
	said := testkit.Reports(t)
	informer.RunWithContext(t.Context())
	lines := said()
	if assert.Len(t, lines, 1) {
		assert.Contains(t, lines[0], "The informer does not run")
		assert.Contains(t, lines[0], why)
	}
	status, err := inspect.StatusOf(informer)
	require.NoError(t, err)
	assert.Equal(t, inspect.PhaseStopped, status.Phase)
	require.ErrorContains(t, status.LastError, why)
	assert.Equal(t, []string{"it cannot run"}, informers.Texts(status))
	assert.Contains(t, status.String(), why)
	assert.False(t, informer.HasSynced())
	assert.ErrorContains(t, kinformer.WaitForSync(t.Context(), informer), why)
	if err := kinformer.WaitForVersion(t.Context(), informer, "1"); !errors.Is(err, inspect.ErrForeign) { // a controller with the user's store
		assert.ErrorContains(t, err, why)
	}
}

// TestInformerWithBadOptionsDoesNotRun: waits for such an informer return at once, also before it is
// run. OnStop receives the reason.
func TestInformerWithBadOptionsDoesNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := testkit.NewPods(testkit.Pod("a", "1"))
		var stopped []error
		informer := kinformer.New(source, &v1.Pod{}, kinformer.Options{
			Requests: kinformer.Requests{PageSize: -1},
			Errors:   kinformer.Errors{OnStop: func(_ context.Context, of kinformer.Stopped) { stopped = append(stopped, of.Err) }},
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		handle, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
		require.NoError(t, err)
		require.ErrorIs(t, kinformer.WaitForSync(ctx, informer), door.ErrBadOptions)
		require.ErrorIs(t, kinformer.WaitForVersion(ctx, informer, "1"), door.ErrBadOptions)
		require.NoError(t, ctx.Err(), "nobody waited")

		doesNotRun(t, informer, door.ErrBadOptions.Error())
		require.Len(t, stopped, 1)
		assert.ErrorContains(t, stopped[0], "Requests.PageSize")
		assert.True(t, informer.IsStopped())
		assert.False(t, handle.HasSynced())
		assert.True(t, cache.IsDone(doneChannel(handle.(informers.Registration).ShutdownChan())))
		assert.Empty(t, source.Requests())
		assert.Empty(t, informer.GetStore().List())
	})
}

// doneChannel adapts a channel to a DoneChecker.
type doneChannel <-chan struct{}

func (doneChannel) Name() string { return "channel" }

func (c doneChannel) Done() <-chan struct{} { return c }

const noListerWatcher = "the ListerWatcher is nil, so nothing can be listed or watched"

// TestNilListerWatcher: an informer of which only the indexer is used needs no ListerWatcher. Run
// refuses to run it, for every kind of informer.
func TestNilListerWatcher(t *testing.T) {
	for name, lw := range map[string]cache.ListerWatcher{"nil": nil, "typed nil": (*cache.ListWatch)(nil)} {
		t.Run(name, func(t *testing.T) {
			informer := cache.NewSharedIndexInformer(lw, &v1.Pod{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
			require.NoError(t, informer.GetIndexer().Add(testkit.PodAt("a", "1")))
			found, err := informer.GetIndexer().ByIndex(cache.NamespaceIndex, "ns")
			require.NoError(t, err)
			assert.Len(t, found, 1)
			status, err := inspect.StatusOf(informer)
			require.NoError(t, err)
			assert.Equal(t, inspect.Status{At: status.At, Phase: "new", Objects: 1}, status)
			doesNotRun(t, informer, noListerWatcher)

			_, simple := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: lw, ObjectType: &v1.Pod{}})
			doesNotRun(t, simple, noListerWatcher)
			doesNotRun(t, cache.New(&cache.Config{Queue: cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true}), ListerWatcher: lw}), noListerWatcher)
		})
	}
}

// TestSimpleInformerWithWishes: an informer that calls its handler itself cannot follow Deliver, and
// reports that.
func TestSimpleInformerWithWishes(t *testing.T) {
	delivered := kinformer.Deliver(cache.ResourceEventHandlerFuncs{}, kinformer.Delivery{Overflow: kinformer.OverflowCoalesce})
	for name, options := range map[string]cache.InformerOptions{
		"Deliver":             {Handler: delivered},
		"Deliver in a filter": {Handler: cache.FilteringResourceEventHandler{Handler: delivered}},
		"nil index function":  {Indexers: cache.Indexers{"bad": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			options.ListerWatcher, options.ObjectType = testkit.NewPods(), &v1.Pod{}
			_, informer := cache.NewInformerWithOptions(options)
			doesNotRun(t, informer, door.ErrBadOptions.Error())
		})
	}
}
