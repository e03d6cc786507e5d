// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

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

	"github.com/kinformer/cache/internal/testkit"
)

// TestOptionsAreRefused: what cannot be had is an error that names the option, and never a panic of the constructor.
func TestOptionsAreRefused(t *testing.T) {
	indexless := Indexers{"good": MetaNamespaceIndexFunc, "bad": nil}
	for name, tc := range map[string]struct {
		options  []Option
		indexers Indexers
		says     []string // nothing: it is taken
	}{
		"nil option":         {[]Option{WithPageSize(3), nil}, nil, []string{"option 2 of 2 is nil"}},
		"nil index function": {nil, indexless, []string{`Indexers["bad"] is nil`}},
		"list mode":          {[]Option{WithListMode("lists")}, nil, []string{`WithListMode: there is no mode "lists"`, "ListModeWatchList"}},
		"reuse mode":         {[]Option{WithReuse("some")}, nil, []string{`WithReuse: there is no mode "some"`, "ReuseNever"}},
		"page size":          {[]Option{WithPageSize(-500)}, nil, []string{"WithPageSize is -500"}},
		"queue limit":        {[]Option{WithQueueLimit(-1)}, nil, []string{"WithQueueLimit is -1"}},
		"stream silence":     {[]Option{WithStreamSilence(-time.Second)}, nil, []string{"WithStreamSilence is -1s"}},
		"idle timeout":       {[]Option{WithIdleTimeout(-time.Minute)}, nil, []string{"WithIdleTimeout is -1m0s"}},
		"start jitter":       {[]Option{WithStartJitter(-time.Minute)}, nil, []string{"WithStartJitter is -1m0s"}},
		"backoff without a delay": {[]Option{WithBackoff(wait.Backoff{Steps: 5})}, nil,
			[]string{"WithBackoff: Duration is 0s"}},
		"backoff below zero": {[]Option{WithBackoff(wait.Backoff{Duration: time.Second, Cap: -1})}, nil,
			[]string{"WithBackoff", "Cap -1ns"}},
		"backoff by no number": {[]Option{WithBackoff(wait.Backoff{Duration: time.Second, Factor: math.NaN()})}, nil,
			[]string{"WithBackoff", "Factor NaN"}},
		"backoff without an end": {[]Option{WithBackoff(wait.Backoff{Duration: time.Second, Jitter: math.Inf(1)})}, nil,
			[]string{"WithBackoff", "Jitter +Inf"}},
		"list slots of nobody":         {[]Option{WithListSlots(&ListSlots{})}, nil, []string{"WithListSlots"}},
		"list slots of a negative":     {[]Option{WithListSlots(NewListSlots(-2))}, nil, []string{"WithListSlots"}},
		"watch-list in pages":          {[]Option{WithPageSize(5), WithListMode(ListModeWatchList)}, nil, []string{"WithPageSize", "leave out one"}},
		"silence without a watch-list": {[]Option{WithListMode(ListModeList), WithStreamSilence(1)}, nil, []string{"WithStreamSilence", "leave out one"}},
		"all at once":                  {[]Option{nil, WithPageSize(-1), WithQueueLimit(-2)}, indexless, []string{"option 1 of 3", "WithQueueLimit is -2", "WithPageSize is -1", `Indexers["bad"]`}},

		"the last counts":             {[]Option{WithPageSize(-1), WithPageSize(5), WithListMode("lists"), WithListMode(ListModeList)}, nil, nil},
		"the last of a pair":          {[]Option{WithListMode(ListModeWatchList), WithPageSize(5), WithPageSize(0)}, nil, nil},
		"zero values are the default": {[]Option{WithPageSize(0), WithQueueLimit(0), WithStreamSilence(0), WithIdleTimeout(0), WithStartJitter(0), WithListMode(""), WithReuse(""), WithBackoff(wait.Backoff{}), WithListSlots(nil), WithListSlots(NewListSlots(0)), WithErrorPolicy(nil), WithProcessErrorHandler(nil)}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			informer := InformerFunc(tc.options...)(testkit.NewPods(), &v1.Pod{}, 0, tc.indexers)
			status, err := StatusOf(informer)
			require.NoError(t, err)
			if tc.says == nil {
				assert.Equal(t, Status{Phase: PhaseNew}, status)
				return
			}
			require.ErrorIs(t, status.LastError, errBadOptions)
			for _, says := range tc.says {
				assert.ErrorContains(t, status.LastError, says)
			}
			assert.NotContains(t, status.LastError.Error(), "\n", "one line of a log")
		})
	}
}

// doesNotRun checks that informer, which is not running, cannot: Run says why and returns, as do all that tell of it.
func doesNotRun(t *testing.T, informer Controller, why error) {
	t.Helper()
	said := testkit.Reports(t)
	informer.RunWithContext(t.Context())
	lines := said()
	if assert.Len(t, lines, 1) {
		assert.Contains(t, lines[0], "The informer does not run")
		assert.Contains(t, lines[0], why.Error())
	}
	status, err := StatusOf(informer)
	require.NoError(t, err)
	assert.Equal(t, PhaseStopped, status.Phase)
	require.ErrorIs(t, status.LastError, why)
	assert.Equal(t, []string{"it cannot run"}, status.Degraded)
	assert.Contains(t, status.String(), why.Error())
	assert.False(t, informer.HasSynced())
	assert.ErrorIs(t, WaitForSync(t.Context(), informer), why)
	if err := WaitForVersion(t.Context(), informer, "1"); !errors.Is(err, ErrNotSupported) { // with a store of the user's
		assert.ErrorIs(t, err, why)
	}
}

// TestInformerWithBadOptionsDoesNotRun, and who waits for it is told at once, also before it is run.
func TestInformerWithBadOptionsDoesNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := testkit.NewPods()
		source.Put(testkit.Pod("a", "1"))
		informer := InformerFunc(WithPageSize(-1))(source, &v1.Pod{}, 0, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		handle, err := informer.AddEventHandler(ResourceEventHandlerFuncs{})
		require.NoError(t, err)
		require.ErrorIs(t, WaitForSync(ctx, informer), errBadOptions)
		require.ErrorIs(t, WaitForVersion(ctx, informer, "1"), errBadOptions)
		require.NoError(t, ctx.Err(), "nobody waited")

		doesNotRun(t, informer, errBadOptions)
		assert.True(t, informer.IsStopped())
		assert.False(t, handle.HasSynced())
		assert.True(t, IsDone(doneChannel(handle.(*registration).ShutdownChan())))
		assert.Empty(t, source.Requests())
		assert.Empty(t, informer.GetStore().List())
	})
}

// doneChannel is a channel as a DoneChecker.
type doneChannel <-chan struct{}

func (doneChannel) Name() string { return "channel" }

func (c doneChannel) Done() <-chan struct{} { return c }

// TestNilListerWatcher: who only fills the indexer needs none. Run refuses it, of every kind of informer.
func TestNilListerWatcher(t *testing.T) {
	for name, lw := range map[string]ListerWatcher{"nil": nil, "typed nil": (*ListWatch)(nil)} {
		t.Run(name, func(t *testing.T) {
			informer := NewSharedIndexInformer(lw, &v1.Pod{}, 0, Indexers{NamespaceIndex: MetaNamespaceIndexFunc})
			require.NoError(t, informer.GetIndexer().Add(testkit.PodAt("a", "1")))
			found, err := informer.GetIndexer().ByIndex(NamespaceIndex, "ns")
			require.NoError(t, err)
			assert.Len(t, found, 1)
			status, err := StatusOf(informer)
			require.NoError(t, err)
			assert.Equal(t, Status{Phase: PhaseNew, Objects: 1}, status)
			doesNotRun(t, informer, errNoListerWatcher)

			_, simple := NewInformerWithOptions(InformerOptions{ListerWatcher: lw, ObjectType: &v1.Pod{}})
			doesNotRun(t, simple, errNoListerWatcher)
			doesNotRun(t, New(&Config{Queue: NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true}), ListerWatcher: lw}), errNoListerWatcher)
		})
	}
}

// TestSimpleInformerWithWishes: an informer that calls its handler itself cannot honour Deliver, and says so.
func TestSimpleInformerWithWishes(t *testing.T) {
	delivered := Deliver(ResourceEventHandlerFuncs{}, Delivery{Overflow: OverflowCoalesce})
	for name, options := range map[string]InformerOptions{
		"Deliver":             {Handler: delivered},
		"Deliver in a filter": {Handler: FilteringResourceEventHandler{Handler: delivered}},
		"nil index function":  {Indexers: Indexers{"bad": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			options.ListerWatcher, options.ObjectType = testkit.NewPods(), &v1.Pod{}
			_, informer := NewInformerWithOptions(options)
			doesNotRun(t, informer, errBadOptions)
		})
	}
}

// TestNilFunctionsOfStores: each write says what is missing, and none panics.
func TestNilFunctionsOfStores(t *testing.T) {
	s := NewStore(nil)
	for name, write := range map[string]func(any) error{
		"add": s.Add, "update": s.Update, "delete": s.Delete,
		"replace": func(obj any) error { return s.Replace([]any{obj}, "1") },
		"get":     func(obj any) error { _, _, err := s.Get(obj); return err },
		"transaction": func(obj any) error {
			return s.(TransactionStore).Transaction(Transaction{Type: TransactionTypeAdd, Object: obj}).Errors[0]
		},
		"undelta": NewUndeltaStore(func([]any) {}, nil).Add,
	} {
		assert.ErrorIs(t, write(testkit.PodAt("a", "1")), errNoKeyFunc, name)
	}
	assert.Empty(t, s.List())

	said := testkit.Reports(t)
	indexed := NewIndexer(MetaNamespaceKeyFunc, Indexers{"bad": nil})
	require.NoError(t, indexed.Add(testkit.PodAt("a", "1")))
	assert.Len(t, indexed.List(), 1)
	if lines := said(); assert.Len(t, lines, 1) {
		assert.Contains(t, lines[0], `on index "bad": index function is nil`)
	}
	err := indexed.AddIndexers(Indexers{"good": MetaNamespaceIndexFunc, "worse": nil})
	require.ErrorIs(t, err, errNilIndexFunc)
	assert.ErrorContains(t, err, `Indexers["worse"]`)
	assert.Len(t, indexed.GetIndexers(), 1, "all or nothing")
	assert.ErrorIs(t, NewSharedIndexInformer(nil, &v1.Pod{}, 0, nil).AddIndexers(Indexers{"worse": nil}), errNilIndexFunc)
}
