// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// TestOptionsAreRefused: what cannot be had is an error that names the option, and never a panic of
// the constructor.
func TestOptionsAreRefused(t *testing.T) {
	indexless := cache.Indexers{"good": cache.MetaNamespaceIndexFunc, "bad": nil}
	for name, tc := range map[string]struct {
		options  []cache.Option
		indexers cache.Indexers
		says     []string // nothing: it is taken
	}{
		"nil option":         {[]cache.Option{cache.WithPageSize(3), nil}, nil, []string{"option 2 of 2 is nil"}},
		"nil index function": {nil, indexless, []string{`Indexers["bad"] is nil`}},
		"list mode":          {[]cache.Option{cache.WithListMode("lists")}, nil, []string{`WithListMode: there is no mode "lists"`, "ListModeWatchList"}},
		"page size":          {[]cache.Option{cache.WithPageSize(-500)}, nil, []string{"WithPageSize is -500"}},
		"queue limit":        {[]cache.Option{cache.WithQueueLimit(-1)}, nil, []string{"WithQueueLimit is -1"}},
		"stream silence":     {[]cache.Option{cache.WithStreamSilence(-time.Second)}, nil, []string{"WithStreamSilence is -1s"}},
		"idle timeout":       {[]cache.Option{cache.WithIdleTimeout(-time.Minute)}, nil, []string{"WithIdleTimeout is -1m0s"}},
		"start jitter":       {[]cache.Option{cache.WithStartJitter(-time.Minute)}, nil, []string{"WithStartJitter is -1m0s"}},
		"read-ahead":         {[]cache.Option{cache.WithDecoding(cache.Decoding{ReadAhead: -1})}, nil, []string{"WithDecoding: ReadAhead is -1"}},
		"verify":             {[]cache.Option{cache.WithDecoding(cache.Decoding{Verify: -3})}, nil, []string{"WithDecoding: Verify is -3"}},
		"drop": {[]cache.Option{cache.WithDecoding(cache.Decoding{Drop: []string{"metadata.managedFields", "spec", "metadata.annotations[k8s.io/initial-events-end]"}})}, nil,
			[]string{`WithDecoding: Drop: "spec" cannot be left out`, `Drop: "metadata.annotations[k8s.io/initial-events-end]"`}},
		"backoff without a delay": {[]cache.Option{cache.WithBackoff(wait.Backoff{Steps: 5})}, nil,
			[]string{"WithBackoff: Duration is 0s"}},
		"backoff below zero": {[]cache.Option{cache.WithBackoff(wait.Backoff{Duration: time.Second, Cap: -1})}, nil,
			[]string{"WithBackoff", "Cap -1ns"}},
		"backoff by no number": {[]cache.Option{cache.WithBackoff(wait.Backoff{Duration: time.Second, Factor: math.NaN()})}, nil,
			[]string{"WithBackoff", "Factor NaN"}},
		"backoff without an end": {[]cache.Option{cache.WithBackoff(wait.Backoff{Duration: time.Second, Jitter: math.Inf(1)})}, nil,
			[]string{"WithBackoff", "Jitter +Inf"}},
		"list slots of nobody":         {[]cache.Option{cache.WithListSlots(&cache.ListSlots{})}, nil, []string{"WithListSlots"}},
		"list slots of a negative":     {[]cache.Option{cache.WithListSlots(cache.NewListSlots(-2))}, nil, []string{"WithListSlots"}},
		"watch-list in pages":          {[]cache.Option{cache.WithPageSize(5), cache.WithListMode(cache.ListModeWatchList)}, nil, []string{"WithPageSize", "leave out one"}},
		"silence without a watch-list": {[]cache.Option{cache.WithListMode(cache.ListModeList), cache.WithStreamSilence(1)}, nil, []string{"WithStreamSilence", "leave out one"}},
		"all at once":                  {[]cache.Option{nil, cache.WithPageSize(-1), cache.WithQueueLimit(-2)}, indexless, []string{"option 1 of 3", "WithQueueLimit is -2", "WithPageSize is -1", `Indexers["bad"]`}},

		"the last counts":             {[]cache.Option{cache.WithPageSize(-1), cache.WithPageSize(5), cache.WithListMode("lists"), cache.WithListMode(cache.ListModeList)}, nil, nil},
		"the last drop":               {[]cache.Option{cache.WithDecoding(cache.Decoding{Drop: []string{"spec"}}), cache.WithDecoding(cache.Decoding{Drop: []string{"metadata.managedFields"}})}, nil, nil},
		"the last of a pair":          {[]cache.Option{cache.WithListMode(cache.ListModeWatchList), cache.WithPageSize(5), cache.WithPageSize(0)}, nil, nil},
		"zero values are the default": {[]cache.Option{cache.WithPageSize(0), cache.WithQueueLimit(0), cache.WithStreamSilence(0), cache.WithIdleTimeout(0), cache.WithStartJitter(0), cache.WithListMode(""), cache.WithDecoding(cache.Decoding{}), cache.WithBackoff(wait.Backoff{}), cache.WithListSlots(nil), cache.WithListSlots(cache.NewListSlots(0)), cache.WithErrorPolicy(nil), cache.WithProcessErrorHandler(nil)}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			informer := cache.InformerFunc(tc.options...)(testkit.NewPods(), &v1.Pod{}, 0, tc.indexers)
			status, err := cache.StatusOf(informer)
			require.NoError(t, err)
			if tc.says == nil {
				assert.Equal(t, cache.Status{Phase: cache.PhaseNew}, status)
				return
			}
			require.ErrorIs(t, status.LastError, cache.ErrBadOptions)
			for _, says := range tc.says {
				assert.ErrorContains(t, status.LastError, says)
			}
			assert.NotContains(t, status.LastError.Error(), "\n", "one line of a log")
		})
	}
}

// doesNotRun checks that informer, which is not running, cannot: Run says why and returns, as do
// all that tell of it.
func doesNotRun(t *testing.T, informer cache.Controller, why error) {
	t.Helper()
	said := testkit.Reports(t)
	informer.RunWithContext(t.Context())
	lines := said()
	if assert.Len(t, lines, 1) {
		assert.Contains(t, lines[0], "The informer does not run")
		assert.Contains(t, lines[0], why.Error())
	}
	status, err := cache.StatusOf(informer)
	require.NoError(t, err)
	assert.Equal(t, cache.PhaseStopped, status.Phase)
	require.ErrorIs(t, status.LastError, why)
	assert.Equal(t, []string{"it cannot run"}, status.Degraded)
	assert.Contains(t, status.String(), why.Error())
	assert.False(t, informer.HasSynced())
	assert.ErrorIs(t, cache.WaitForSync(t.Context(), informer), why)
	if err := cache.WaitForVersion(t.Context(), informer, "1"); !errors.Is(err, cache.ErrNotSupported) { // with a store of the user's
		assert.ErrorIs(t, err, why)
	}
}

// TestInformerWithBadOptionsDoesNotRun, and who waits for it is told at once, also before it is
// run.
func TestInformerWithBadOptionsDoesNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := testkit.NewPods()
		source.Put(testkit.Pod("a", "1"))
		informer := cache.InformerFunc(cache.WithPageSize(-1))(source, &v1.Pod{}, 0, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		handle, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
		require.NoError(t, err)
		require.ErrorIs(t, cache.WaitForSync(ctx, informer), cache.ErrBadOptions)
		require.ErrorIs(t, cache.WaitForVersion(ctx, informer, "1"), cache.ErrBadOptions)
		require.NoError(t, ctx.Err(), "nobody waited")

		doesNotRun(t, informer, cache.ErrBadOptions)
		assert.True(t, informer.IsStopped())
		assert.False(t, handle.HasSynced())
		assert.True(t, cache.IsDone(doneChannel(handle.(ownRegistration).ShutdownChan())))
		assert.Empty(t, source.Requests())
		assert.Empty(t, informer.GetStore().List())
	})
}

// doneChannel is a channel as a DoneChecker.
type doneChannel <-chan struct{}

func (doneChannel) Name() string { return "channel" }

func (c doneChannel) Done() <-chan struct{} { return c }

// TestNilListerWatcher: who only fills the indexer needs none. Run refuses it, of every kind of
// informer.
func TestNilListerWatcher(t *testing.T) {
	for name, lw := range map[string]cache.ListerWatcher{"nil": nil, "typed nil": (*cache.ListWatch)(nil)} {
		t.Run(name, func(t *testing.T) {
			informer := cache.NewSharedIndexInformer(lw, &v1.Pod{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
			require.NoError(t, informer.GetIndexer().Add(testkit.PodAt("a", "1")))
			found, err := informer.GetIndexer().ByIndex(cache.NamespaceIndex, "ns")
			require.NoError(t, err)
			assert.Len(t, found, 1)
			status, err := cache.StatusOf(informer)
			require.NoError(t, err)
			assert.Equal(t, cache.Status{Phase: cache.PhaseNew, Objects: 1}, status)
			doesNotRun(t, informer, cache.ErrNoListerWatcher)

			_, simple := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: lw, ObjectType: &v1.Pod{}})
			doesNotRun(t, simple, cache.ErrNoListerWatcher)
			doesNotRun(t, cache.New(&cache.Config{Queue: cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true}), ListerWatcher: lw}), cache.ErrNoListerWatcher)
		})
	}
}

// TestSimpleInformerWithWishes: an informer that calls its handler itself cannot honor Deliver,
// and says so.
func TestSimpleInformerWithWishes(t *testing.T) {
	delivered := cache.Deliver(cache.ResourceEventHandlerFuncs{}, cache.Delivery{Overflow: cache.OverflowCoalesce})
	for name, options := range map[string]cache.InformerOptions{
		"Deliver":             {Handler: delivered},
		"Deliver in a filter": {Handler: cache.FilteringResourceEventHandler{Handler: delivered}},
		"nil index function":  {Indexers: cache.Indexers{"bad": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			options.ListerWatcher, options.ObjectType = testkit.NewPods(), &v1.Pod{}
			_, informer := cache.NewInformerWithOptions(options)
			doesNotRun(t, informer, cache.ErrBadOptions)
		})
	}
}

// TestNilFunctionsOfStores: each write says what is missing, and none panics.
func TestNilFunctionsOfStores(t *testing.T) {
	s := cache.NewStore(nil)
	for name, write := range map[string]func(any) error{
		"add": s.Add, "update": s.Update, "delete": s.Delete,
		"replace": func(obj any) error { return s.Replace([]any{obj}, "1") },
		"get":     func(obj any) error { _, _, err := s.Get(obj); return err },
		"transaction": func(obj any) error {
			return s.(cache.TransactionStore).Transaction(cache.Transaction{Type: cache.TransactionTypeAdd, Object: obj}).Errors[0]
		},
		"undelta": cache.NewUndeltaStore(func([]any) {}, nil).Add,
	} {
		assert.ErrorIs(t, write(testkit.PodAt("a", "1")), cache.ErrNoKeyFunc, name)
	}
	assert.Empty(t, s.List())

	said := testkit.Reports(t)
	indexed := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{"bad": nil})
	require.NoError(t, indexed.Add(testkit.PodAt("a", "1")))
	assert.Len(t, indexed.List(), 1)
	if lines := said(); assert.Len(t, lines, 1) {
		assert.Contains(t, lines[0], `on index "bad": index function is nil`)
	}
	err := indexed.AddIndexers(cache.Indexers{"good": cache.MetaNamespaceIndexFunc, "worse": nil})
	require.ErrorIs(t, err, cache.ErrNilIndexFunc)
	assert.ErrorContains(t, err, `Indexers["worse"]`)
	assert.Len(t, indexed.GetIndexers(), 1, "all or nothing")
	assert.ErrorIs(t, cache.NewSharedIndexInformer(nil, &v1.Pod{}, 0, nil).AddIndexers(cache.Indexers{"worse": nil}), cache.ErrNilIndexFunc)
}
