// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clientinformers "k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/beside"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/fanout"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/draw"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/view"
)

// TestStopWhileTheWatchIsHeld: a blocked informer stops at once, and Run waits for the handler.
func TestStopWhileTheWatchIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := testkit.NewPods()
		informer := cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, nil)
		handler, release := informers.Stuck("late")
		informers.Handle(t, informer, kinformer.Deliver(handler, kinformer.Delivery{Overflow: kinformer.OverflowBlock, Max: 1}))
		stop := informers.Run(t, informer)
		for range 5 {
			synctest.Wait()
			source.Put(testkit.Pod("late", "1"))
		}
		time.Sleep(time.Minute)
		require.Positive(t, source.Unread())
		time.AfterFunc(time.Second, func() {
			assert.True(t, informer.IsStopped(), "the controller does not wait for the handler")
			close(release)
		})
		stop()
	})
}

func TestBlockHoldsTheWatch(t *testing.T) {
	informers.InBubble(t, func(e *informers.Exact) {
		handler, release := informers.Stuck("b")
		other := &testkit.Journal{}
		e.Add(other, kinformer.Delivery{})
		blocked := e.Add(handler, kinformer.Delivery{Overflow: kinformer.OverflowBlock, Max: 4})
		e.Change("b", 2*event.BatchLimit)
		assert.Equal(t, 4, informers.Stats(blocked).Pending)
		assert.Len(t, other.Take(), 1+4)
		assert.GreaterOrEqual(t, e.Source.Unread(), event.BatchLimit-4, "the reflector holds a batch, and the watch is not read")

		close(release)
		synctest.Wait()
		assert.Zero(t, e.Source.Unread())
		assert.Len(t, handler.Take(), 1+2*event.BatchLimit)
		assert.Len(t, other.Take(), 2*event.BatchLimit-4)
	})
}

func TestBlockedHandlerMayAddAndRemoveHandlers(t *testing.T) {
	informers.InBubble(t, func(e *informers.Exact) {
		late := &testkit.Journal{}
		var handle informers.Registration
		handler := &testkit.Journal{}
		handler.On = func(line string) {
			if line == "add b1" {
				time.Sleep(time.Minute) // until the watch is blocked
				e.AddNow(late, kinformer.Delivery{})
				assert.NoError(t, e.Informer.RemoveEventHandler(handle))
			}
		}
		handle = e.Add(handler, kinformer.Delivery{Overflow: kinformer.OverflowBlock, Max: 1})
		e.Change("b", 2*event.BatchLimit)
		require.Positive(t, e.Source.Unread())
		time.Sleep(2 * time.Minute)
		assert.Zero(t, e.Source.Unread())
		assert.Equal(t, []string{"initial a1", "add b1"}, handler.Take())
		assert.Contains(t, late.Take(), fmt.Sprintf("update b%d b%d", 2*event.BatchLimit-1, 2*event.BatchLimit))
	})
}

func TestListsAndResyncsDoNotBlock(t *testing.T) {
	informers.InResyncedBubble(t, time.Minute, func(e *informers.Exact) {
		e.Change("b", 1)
		release := make(chan struct{})
		handler := &testkit.Journal{On: func(string) { <-release }}
		handle := e.Add(handler, kinformer.Delivery{Overflow: kinformer.OverflowBlock, Max: 2})
		require.Equal(t, 2, informers.Stats(handle).Pending, "two objects of the initial list")
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, 4, informers.Stats(handle).Pending)
		e.Change("c", 1)
		assert.Zero(t, e.Source.Unread(), "one notification waits")
		close(release)
	})
}

func TestDisconnect(t *testing.T) {
	informers.InBubble(t, func(e *informers.Exact) {
		handler, release := informers.Stuck("b")
		var reported []error
		again, logged := &testkit.Journal{}, testkit.CaptureLog(t)
		handle := e.Add(handler, kinformer.Delivery{Name: "lazy", Overflow: kinformer.OverflowDisconnect, Max: 3, OnDisconnect: func(err error) {
			reported = append(reported, err)
			e.AddNow(again, kinformer.Delivery{})
		}})
		e.Change("b", 3)
		assert.True(t, e.Informer.IsRegistered(handle), "three may wait")
		assert.Equal(t, 1, e.Informer.EventHandlerCount())
		e.Change("c", 1)
		require.Len(t, reported, 1)
		assert.Equal(t, 1, logged.Count(`An event handler was removed" "severity"="warning" "handler"="lazy" "informer"="SharedIndexInformer `))
		assert.ErrorIs(t, reported[0], kinformer.ErrDisconnected)
		assert.ErrorContains(t, reported[0], "lazy")
		assert.False(t, e.Informer.IsRegistered(handle))
		assert.Equal(t, inspect.HandlerDisconnected, informers.Stats(handle).State)
		assert.True(t, handle.HasSynced(), "the last value stays")
		assert.Equal(t, 1, informers.Inspected(t, e.Informer).Disconnected)
		assert.Len(t, informers.Inspected(t, e.Informer).Handlers, 1, "the new one")
		assert.Len(t, again.Take(), 3)
		select {
		case <-handle.ShutdownChan():
			t.Fatal("shut down while a call is running")
		default:
		}
		close(release)
		<-handle.ShutdownChan()
		assert.Equal(t, []string{"initial a1", "add b1"}, handler.Take())
	})
}

func TestDisconnectIgnoresInitialLists(t *testing.T) {
	informers.InBubble(t, func(e *informers.Exact) {
		for _, name := range []string{"b", "c", "d"} {
			e.Change(name, 1)
		}
		release := make(chan struct{})
		handle := e.Add(&testkit.Journal{On: func(string) { <-release }}, kinformer.Delivery{Overflow: kinformer.OverflowDisconnect, Max: 1})
		e.Change("e", 1)
		assert.True(t, e.Informer.IsRegistered(handle))
		e.Change("f", 1)
		assert.False(t, e.Informer.IsRegistered(handle))
		assert.False(t, handle.HasSynced())
		close(release)
	})
}

func TestOnDisconnectThatPanicsOrEndsItsGoroutine(t *testing.T) {
	panics := testkit.QuietPanics(t)
	for name, fail := range map[string]func(error){"panic": func(error) { panic("cannot take it") }, "exit": func(error) { runtime.Goexit() }} {
		t.Run(name, func(t *testing.T) {
			informers.InBubble(t, func(e *informers.Exact) {
				handler, release := informers.Stuck("b")
				e.Add(handler, kinformer.Delivery{Overflow: kinformer.OverflowDisconnect, Max: 1, OnDisconnect: fail})
				e.Change("b", 2)
				assert.Zero(t, e.Informer.EventHandlerCount())
				close(release)
			})
		})
	}
	assert.Equal(t, 1, panics())
}

// deliveryStep is one step of a schedule.
type deliveryStep struct{ op, name, uid string }

func drawSchedule(t *draw.T) []deliveryStep {
	return draw.Slice(t, 1, 40, func() deliveryStep {
		return deliveryStep{
			op:   draw.Of(t, "put", "put", "put", "put", "delete", "settle", "call", "call", "call", "resync", "relist", "join", "leave"),
			name: draw.Of(t, "a", "b", "c"),
			uid:  draw.Of(t, "x", "x", "y"),
		}
	})
}

// deliveryModel plays a schedule against an informer in a synctest bubble. A call of a handler returns
// when it receives a token; handlers that join during the schedule are like the first.
type deliveryModel struct {
	*assert.Assertions
	delivery kinformer.Delivery
	limit    int // of the queue
	source   *testkit.Pods
	informer informers.Informer
	version  int
	handlers []*testkit.Mirror
	handles  []cache.ResourceEventHandlerRegistration
	tokens   chan struct{}
	dropped  atomic.Int64 // calls of OnDisconnect
}

func (m *deliveryModel) join() {
	handler := testkit.NewMirror()
	handler.SameUID = m.delivery.Overflow == kinformer.OverflowCoalesce
	handler.Before = func(string) { <-m.tokens }
	delivery := m.delivery
	if delivery.Overflow == kinformer.OverflowDisconnect {
		delivery.OnDisconnect = func(error) { m.dropped.Add(1) }
	}
	handle, err := m.informer.AddEventHandlerWithResyncPeriod(kinformer.Deliver(handler, delivery), time.Minute)
	m.NoError(err)
	m.handlers, m.handles = append(m.handlers, handler), append(m.handles, handle)
}

func (m *deliveryModel) put(name, uid string) {
	m.version++
	m.source.Put(testkit.PodOf(name, fmt.Sprint(m.version), uid))
}

func (m *deliveryModel) play(step deliveryStep) {
	switch step.op {
	case "put":
		m.put(step.name, step.uid)
	case "delete":
		m.source.Remove(step.name)
	case "settle":
		synctest.Wait()
	case "call":
		select {
		case m.tokens <- struct{}{}:
		default:
		}
	case "resync":
		time.Sleep(time.Minute)
	case "relist":
		m.source.Expire()
	case "join":
		m.join()
	case "leave":
		if m.delivery.Overflow == kinformer.OverflowDisconnect {
			synctest.Wait() // do not remove a handler that is being disconnected
		}
		if last := len(m.handles) - 1; last >= 0 && m.informer.IsRegistered(m.handles[last]) {
			m.NoError(m.informer.RemoveEventHandler(m.handles[last]))
			m.handlers, m.handles = m.handlers[:last], m.handles[:last]
		}
	}
}

// run plays the schedule in a bubble.
func (m *deliveryModel) run(t *testing.T, schedule []deliveryStep) {
	synctest.Test(t, func(t *testing.T) {
		m.Assertions = assert.New(t)
		m.source, m.tokens = testkit.NewPods(), make(chan struct{})
		m.informer = kinformer.New(m.source, &corev1.Pod{}, kinformer.Options{
			ResyncPeriod: time.Minute, Queue: kinformer.Queue{Limit: m.limit},
		}).(informers.Informer)
		m.put("a", "x")
		m.join()
		defer informers.Run(t, m.informer)()
		for _, step := range schedule {
			m.play(step)
		}
		close(m.tokens)
		time.Sleep(2 * time.Minute) // longer than a resync and any backoff
		synctest.Wait()
		m.judge()
	})
}

// judge checks that the calls of all handlers were consistent, and that each handler has received exactly
// the state of the store or was disconnected.
func (m *deliveryModel) judge() {
	want := testkit.StateOfPods(slices.Values(m.informer.GetStore().List()))
	m.Equal(m.source.State(), want, "the store")
	disconnected := 0
	for i, handler := range m.handlers {
		known, problems, calls := handler.State()
		m.Empty(problems, "handler %d", i)
		if !m.informer.IsRegistered(m.handles[i]) {
			disconnected++
			m.True(cache.IsDone(doneChannel(m.handles[i].(informers.Registration).ShutdownChan())), "handler %d is shut down", i)
			continue
		}
		m.Equal(want, known, "handler %d", i)
		s, _ := inspect.HandlerOf(m.handles[i])
		m.True(s.State == "idle" && s.Pending == 0 && s.Delivered == uint64(calls), "handler %d: %+v after %d calls", i, s, calls)
		m.True(m.handles[i].HasSynced(), "handler %d has synced", i)
	}
	m.EqualValues(disconnected, m.dropped.Load(), "calls of OnDisconnect")
}

func TestEveryScheduleOfEveryDelivery(t *testing.T) {
	for overflow, most := range map[kinformer.Overflow]int{
		kinformer.OverflowLossless: 0, kinformer.OverflowBlock: 2, kinformer.OverflowCoalesce: 0, kinformer.OverflowDisconnect: 3,
	} {
		for _, parallel := range []int{1, 3} {
			t.Run(fmt.Sprintf("overflow %q, parallel %d", overflow, parallel), func(t *testing.T) {
				t.Parallel()
				draw.Check(t, func(t *draw.T) {
					m := &deliveryModel{
						limit:    draw.Int(t, 0, 2),
						delivery: kinformer.Delivery{Overflow: overflow, Max: most, Parallel: parallel},
					}
					m.run(t.T, drawSchedule(t))
				})
			})
		}
	}
}

// TestDeliveryIsRefused: an invalid Delivery gives an error that names the field and the correction:
// from AddEventHandler of the shared informer, from Run of the other one.
func TestDeliveryIsRefused(t *testing.T) {
	journal := cache.ResourceEventHandlerFuncs{AddFunc: func(any) {}}
	disconnected := func(error) {}
	for name, tc := range map[string]struct {
		handler cache.ResourceEventHandler
		says    []string
	}{
		"unknown overflow":        {kinformer.Deliver(journal, kinformer.Delivery{Overflow: "none"}), []string{`there is no "none"`, "use OverflowLossless, OverflowBlock, OverflowCoalesce or OverflowDisconnect"}},
		"Max of Lossless":         {kinformer.Deliver(journal, kinformer.Delivery{Max: 5}), []string{"Max is 5", `Overflow is ""`, "OverflowBlock"}},
		"Max of Coalesce":         {kinformer.Deliver(journal, kinformer.Delivery{Overflow: kinformer.OverflowCoalesce, Max: 5}), []string{"Max is 5", `Overflow is "coalesce"`}},
		"OnDisconnect of another": {kinformer.Deliver(journal, kinformer.Delivery{Overflow: kinformer.OverflowBlock, OnDisconnect: disconnected}), []string{"OnDisconnect", `Overflow is "block"`}},
		"Parallel of too many":    {kinformer.Deliver(journal, kinformer.Delivery{Parallel: 1025}), []string{"Parallel is 1025", "1024"}},
		"negative numbers": {kinformer.Deliver(journal, kinformer.Delivery{Overflow: kinformer.OverflowBlock, Max: -3, Parallel: -7}),
			[]string{"Max is -3", "; Parallel is -7"}},
		"Deliver of Deliver": {kinformer.Deliver(kinformer.Deliver(journal, kinformer.Delivery{Parallel: 2}), kinformer.Delivery{Name: "outer"}), []string{"outer", "Deliver once, outermost"}},
		"Deliver of DeliverTyped": {kinformer.Deliver(kinformer.DeliverTyped(&typedJournal{}, kinformer.Delivery{}), kinformer.Delivery{}),
			[]string{"Deliver once, outermost"}},
		"DeliverTyped": {kinformer.DeliverTyped(&typedJournal{}, kinformer.Delivery{Parallel: -1}), []string{"Parallel is -1"}},
		"inside a filter": {cache.FilteringResourceEventHandler{Handler: kinformer.Deliver(journal, kinformer.Delivery{Parallel: 2})},
			[]string{"FilteringResourceEventHandler", "pass the FilteringResourceEventHandler to Deliver"}},
		"inside a filter by pointer": {&cache.FilteringResourceEventHandler{Handler: kinformer.Deliver(journal, kinformer.Delivery{Parallel: 2})},
			[]string{"FilteringResourceEventHandler"}},
		"inside two filters and Deliver": {
			kinformer.Deliver(cache.FilteringResourceEventHandler{Handler: &cache.FilteringResourceEventHandler{Handler: kinformer.Deliver(journal, kinformer.Delivery{})}}, kinformer.Delivery{}),
			[]string{"FilteringResourceEventHandler"}},
	} {
		t.Run(name, func(t *testing.T) {
			informer := cache.NewSharedIndexInformer(testkit.NewPods(), &corev1.Pod{}, 0, nil)
			handle, err := informer.AddEventHandler(tc.handler)
			assert.Nil(t, handle)
			require.ErrorIs(t, err, fanout.ErrBadDelivery)
			for _, says := range tc.says {
				assert.ErrorContains(t, err, says)
			}
			assert.NotContains(t, err.Error(), "\n", "one line of a log")
			assert.Zero(t, informer.(informers.Informer).EventHandlerCount())
		})
	}
}

// TestDeliveryIsTaken: values at the limits, and a filter inside a Delivery, are valid. A nil handler is not.
func TestDeliveryIsTaken(t *testing.T) {
	informer := cache.NewSharedIndexInformer(testkit.NewPods(), &corev1.Pod{}, 0, nil)
	for _, handler := range []cache.ResourceEventHandler{
		kinformer.Deliver(cache.ResourceEventHandlerFuncs{}, kinformer.Delivery{Parallel: 1024}),
		kinformer.Deliver(cache.ResourceEventHandlerFuncs{}, kinformer.Delivery{Overflow: kinformer.OverflowDisconnect, Max: 1, OnDisconnect: func(error) {}}),
		kinformer.Deliver(cache.FilteringResourceEventHandler{Handler: cache.ResourceEventHandlerFuncs{}}, kinformer.Delivery{Overflow: kinformer.OverflowBlock, Max: 5}),
		kinformer.Deliver((*cache.FilteringResourceEventHandler)(nil), kinformer.Delivery{}),
		cache.FilteringResourceEventHandler{},
	} {
		_, err := informer.AddEventHandler(handler)
		assert.NoError(t, err)
	}
	for _, none := range []cache.ResourceEventHandler{
		kinformer.Deliver(nil, kinformer.Delivery{}), kinformer.DeliverTyped[*corev1.Pod](nil, kinformer.Delivery{}),
	} {
		_, err := informer.AddEventHandler(none)
		assert.ErrorIs(t, err, fanout.ErrNilHandler)
	}
}

// quietHandler may be a nil pointer.
type quietHandler struct{}

func (*quietHandler) OnAdd(any, bool) {}

func (*quietHandler) OnUpdate(any, any) {}

func (*quietHandler) OnDelete(any) {}

// TestTypedNilHandler: a nil pointer as a handler may be intended, so it is called; the log states once
// that it is nil.
func TestTypedNilHandler(t *testing.T) {
	lines := &testkit.Logged{}
	logger := funcr.New(lines.Write, funcr.Options{})
	warnings := func() int {
		return lines.Count(`An event handler is a nil pointer: its calls panic, unless its methods accept that" "severity"="warning" "type"="*kinformer_test.quietHandler"`)
	}
	synctest.Test(t, func(t *testing.T) {
		source := testkit.NewPods()
		source.Put(testkit.Pod("a", "1"))
		informer := cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, nil)
		handle, err := informer.AddEventHandlerWithOptions((*quietHandler)(nil), cache.HandlerOptions{Logger: &logger})
		require.NoError(t, err)
		assert.Equal(t, 1, warnings())
		stop := informers.Run(t, informer)
		synctest.Wait()
		assert.True(t, handle.HasSynced(), "it was called")
		assert.Equal(t, 1, warnings(), "once, not for each call")
		_, err = informer.AddEventHandlerWithOptions(&quietHandler{}, cache.HandlerOptions{Logger: &logger})
		require.NoError(t, err)
		stop()
	})
	cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: testkit.NewPods(), ObjectType: &corev1.Pod{}, Handler: (*quietHandler)(nil), Logger: &logger})
	assert.Equal(t, 2, warnings())
	cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: testkit.NewPods(), ObjectType: &corev1.Pod{}, Handler: &quietHandler{}, Logger: &logger})
	assert.Equal(t, 2, warnings())
}

// typedJournal is a testkit.Journal for typed handlers.
type typedJournal struct{ testkit.Journal }

func (j *typedJournal) OnAdd(pod *corev1.Pod, initial bool) { j.Journal.OnAdd(pod, initial) }

func (j *typedJournal) OnUpdate(old, current *corev1.Pod) { j.Journal.OnUpdate(old, current) }

func (j *typedJournal) OnDelete(deleted cache.DeletedObject[*corev1.Pod]) {
	j.Note("delete %s %s, unknown %t", deleted.GetKey(), describeOptional(deleted.OptionalObj), deleted.FinalStateUnknown != nil)
}

func describeOptional(p *corev1.Pod) string {
	if p == nil {
		return "nothing"
	}
	return testkit.Describe(p)
}

// TestDeliverTyped: the handler receives all changes, typed and according to its Delivery.
func TestDeliverTyped(t *testing.T) {
	informers.InBubble(t, func(e *informers.Exact) {
		e.Source.Put(testkit.Pod("b", "1"))
		synctest.Wait()
		release := make(chan struct{})
		handler := &typedJournal{}
		handler.On = func(string) { <-release }
		informer := cache.NewTypedSharedIndexInformer[*corev1.Pod](e.Informer)
		registration, err := informer.AddEventHandler(kinformer.DeliverTyped(handler, kinformer.Delivery{Name: "typed", Overflow: kinformer.OverflowCoalesce}))
		require.NoError(e, err)
		synctest.Wait() // the first call, for a or for b, is under way
		for range 3 {
			e.Change("a", 3)
		}
		e.Source.Remove("b")
		synctest.Wait()
		close(release)
		synctest.Wait()
		statistics, _ := inspect.HandlerOf(registration)
		assert.Equal(e, "typed", statistics.Name)
		assert.NotZero(e, statistics.Coalesced)
		lines := handler.Take()
		want := []string{"initial a1", "update a1 a3"} // b was deleted before its call
		if len(lines) > 0 && lines[0] == "initial b1" {
			want = []string{"initial b1", "initial a3", "delete ns/b b1, unknown false"}
		}
		assert.Equal(e, want, lines)
		e.Source.Remove("a")
		synctest.Wait()
		assert.Equal(e, []string{"delete ns/a a3, unknown false"}, handler.Take())
	})
}

// TestDeliverTypedOfTombstones: the handler receives the last known state of a deleted object, as with
// client-go's adapter.
func TestDeliverTypedOfTombstones(t *testing.T) {
	handler := &typedJournal{}
	untyped := kinformer.DeliverTyped(handler, kinformer.Delivery{})
	theirs := testkit.AsClientGoAdaptsIt(t, handler)
	for _, obj := range []any{testkit.Pod("a", "1"), cache.DeletedFinalStateUnknown{Key: "ns/a", Obj: testkit.Pod("a", "1")}, cache.DeletedFinalStateUnknown{Key: "ns/a"}} {
		untyped.OnDelete(obj)
		ours := handler.Take()
		theirs.OnDelete(obj)
		assert.Equal(t, handler.Take(), ours)
		assert.Len(t, ours, 1)
	}
	untyped.OnUpdate(testkit.Pod("a", "1"), testkit.Pod("a", "2"))
	assert.Equal(t, []string{"update a1 a2"}, handler.Take())
	assert.Panics(t, func() { untyped.OnAdd(&corev1.Node{}, false) })
	assert.Panics(t, func() { theirs.OnAdd(&corev1.Node{}, false) })
}

// generatedPods returns the pod informers of a generated factory with kinformer's informers.
func generatedPods(source cache.ListerWatcher) coreinformers.PodInformer {
	factory := clientinformers.NewSharedInformerFactory(nil, 0)
	factory.InformerFor(&corev1.Pod{}, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
		return cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	})
	return factory.Core().V1().Pods()
}

// TestInformersOfFactoriesAreSupported: the functions of this module accept informers of
// factories without a type assertion by the user.
func TestInformersOfFactoriesAreSupported(t *testing.T) {
	informers.InBubble(t, func(e *informers.Exact) {
		pods := generatedPods(e.Source)
		go pods.Informer().RunWithContext(e.Context())
		require.NoError(e, kinformer.WaitForSync(e.Context(), pods.Informer()))
		own := pods.Informer()
		typed := cache.NewTypedSharedIndexInformer[*corev1.Pod](own)
		assertKnown(e, map[string]inspect.Syncer{
			"generated": own, "generated, typed": typed,
			"typed twice": cache.NewTypedSharedIndexInformer[*corev1.Pod](typed), "wrapped": struct{ cache.SharedIndexInformer }{typed},
		})
		for _, indexer := range []cache.Store{own.GetIndexer(), own.GetStore(), typed.GetIndexer(), typed.GetTypedIndexer(), cache.NewTypedSharedIndexInformer[*corev1.Pod](typed).GetTypedIndexer()} {
			assertSnapshot(e, indexer)
			assert.NotNil(e, beside.TableOf(indexer), "All, Len and their kin do not copy")
		}
	})
}

// assertKnown checks what is known of informers of one object.
func assertKnown(e *informers.Exact, all map[string]inspect.Syncer) {
	for name, informer := range all {
		status, err := inspect.StatusOf(informer)
		require.NoError(e, err, name)
		assert.True(e, status.Synced, name)
		assert.Equal(e, 1, status.Objects, name)
		_, err = inspect.QueueOf(informer)
		assert.NoError(e, err, name)
		assertSnapshot(e, informer)
		assert.NoError(e, kinformer.WaitForVersion(e.Context(), informer, "1"), name)
	}
}

func assertSnapshot(e *informers.Exact, storeOrInformer any) {
	name := fmt.Sprintf("%T", storeOrInformer)
	snapshot, err := view.Of(storeOrInformer)
	require.NoError(e, err, name)
	assert.Equal(e, 1, snapshot.Len(), name)
	stats := beside.TableOf(storeOrInformer).Snapshots()
	assert.Equal(e, 1, stats.Open, name)
	snapshot.Close()
}

// filtered is an indexer that hides some objects of another one.
type filtered struct{ cache.Indexer }

func (filtered) ListKeys() []string { return []string{"ns/a"} }

// wrapsItself is a foreign informer that is its own controller.
type wrapsItself struct{ cache.SharedIndexInformer }

func (w wrapsItself) GetController() cache.Controller { return w }

// TestForeignInformersAreRefused: neither foreign informers nor wrappers of stores, which may have
// other content than the wrapped store, are supported.
func TestForeignInformersAreRefused(t *testing.T) {
	foreign := clientgo.NewSharedIndexInformer(testkit.NewPods(), &corev1.Pod{}, 0, nil)
	typed := cache.NewTypedSharedIndexInformer[*corev1.Pod](foreign)
	for _, informer := range []inspect.Syncer{foreign, typed, wrapsItself{foreign}} {
		_, err := inspect.StatusOf(informer)
		assert.ErrorIs(t, err, inspect.ErrForeign)
		_, err = inspect.QueueOf(informer)
		assert.ErrorIs(t, err, inspect.ErrForeign)
		assert.ErrorIs(t, kinformer.WaitForVersion(t.Context(), informer, "1"), inspect.ErrForeign)
	}
	partial := filtered{cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})}
	require.NoError(t, partial.Add(testkit.Pod("a", "1")))
	require.NoError(t, partial.Add(testkit.Pod("b", "1")))
	stores := []any{foreign.GetStore(), typed.GetTypedIndexer(), partial}
	for _, store := range append(stores, foreign, typed, wrapsItself{foreign}, (*corev1.Pod)(nil), 7, nil) {
		_, err := view.Of(store)
		assert.ErrorIs(t, err, inspect.ErrForeign)
		assert.Nil(t, beside.TableOf(store))
	}
	assert.Equal(t, 1, view.Len(partial))
	assert.Equal(t, []string{"ns/a"}, slices.Collect(maps.Keys(maps.Collect(view.TypedAll[*corev1.Pod](partial)))))
}

type handle = cache.ResourceEventHandlerRegistration

// TestWithDelivery: handlers are called according to the informer's Delivery, regardless of the method
// that adds them. A handler that was added with Deliver follows only its own Delivery.
func TestWithDelivery(t *testing.T) {
	newest, each := []string{"initial a1", "update a1 a4"}, []string{"initial a1", "update a1 a2", "update a2 a3", "update a3 a4"}
	period := time.Hour
	for name, tc := range map[string]struct {
		add  func(cache.SharedIndexInformer, *typedJournal) (handle, error)
		want []string
	}{
		"AddEventHandler": {func(i cache.SharedIndexInformer, h *typedJournal) (handle, error) {
			return i.AddEventHandler(&h.Journal)
		}, newest},
		"AddEventHandlerWithResyncPeriod": {func(i cache.SharedIndexInformer, h *typedJournal) (handle, error) {
			return i.AddEventHandlerWithResyncPeriod(&h.Journal, period)
		}, newest},
		"AddEventHandlerWithOptions": {func(i cache.SharedIndexInformer, h *typedJournal) (handle, error) {
			return i.AddEventHandlerWithOptions(&h.Journal, cache.HandlerOptions{ResyncPeriod: &period})
		}, newest},
		"AddTypedEventHandler": {func(i cache.SharedIndexInformer, h *typedJournal) (handle, error) {
			return cache.NewTypedSharedIndexInformer[*corev1.Pod](i).AddTypedEventHandler(h)
		}, newest},
		"a filter": {func(i cache.SharedIndexInformer, h *typedJournal) (handle, error) {
			return i.AddEventHandler(cache.FilteringResourceEventHandler{FilterFunc: func(any) bool { return true }, Handler: &h.Journal})
		}, newest},
		"Deliver": {func(i cache.SharedIndexInformer, h *typedJournal) (handle, error) {
			return i.AddEventHandler(kinformer.Deliver(&h.Journal, kinformer.Delivery{Overflow: kinformer.OverflowDisconnect, Max: 10}))
		}, each},
		"Deliver with nothing": {func(i cache.SharedIndexInformer, h *typedJournal) (handle, error) {
			return i.AddEventHandler(kinformer.Deliver(&h.Journal, kinformer.Delivery{}))
		}, each},
		"DeliverTyped with nothing": {func(i cache.SharedIndexInformer, h *typedJournal) (handle, error) {
			return i.AddEventHandler(kinformer.DeliverTyped(h, kinformer.Delivery{}))
		}, each},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				assert.Equal(t, tc.want, heardByHeld(t, tc.add))
			})
		})
	}
}

// heardByHeld returns the calls of a handler for an object that changes three times during its first
// call, in an informer that coalesces.
func heardByHeld(t *testing.T, add func(cache.SharedIndexInformer, *typedJournal) (handle, error)) []string {
	source, handler, release := testkit.NewPods(testkit.Pod("a", "1")), &typedJournal{}, make(chan struct{})
	handler.On = func(string) { <-release }
	informer := kinformer.New(source, &corev1.Pod{}, kinformer.Options{Delivery: kinformer.Delivery{Overflow: kinformer.OverflowCoalesce}})
	registration, err := add(informer, handler)
	require.NoError(t, err)
	defer informers.Run(t, informer)()
	synctest.Wait()
	for _, version := range []string{"2", "3", "4"} {
		source.Put(testkit.Pod("a", version))
		synctest.Wait()
	}
	close(release)
	synctest.Wait()
	statistics, heard := informers.Stats(registration), handler.Take()
	assert.Equal(t, "idle", statistics.State)
	assert.Contains(t, statistics.Name, "ournal", "named by its type")
	assert.EqualValues(t, 4-len(heard), statistics.Coalesced)
	return heard
}

// TestWithDeliveryForLateHandlers is TestWithDelivery for handlers that are added to a running
// informer.
func TestWithDeliveryForLateHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := testkit.NewPods()
		for _, name := range "abcdefghij" {
			source.Put(testkit.Pod(string(name), "1"))
		}
		parallel := kinformer.Constructor(kinformer.Options{Delivery: kinformer.Delivery{Parallel: 1000}})
		informer := parallel(source, &corev1.Pod{}, 0, nil)
		defer informers.Run(t, informer)()
		synctest.Wait()
		release := make(chan struct{})
		handler := &testkit.Journal{On: func(string) { <-release }}
		informers.Handle(t, informer, handler)
		synctest.Wait()
		running := handler.Take()
		assert.Greater(t, len(running), 1, "several calls at a time")
		close(release)
		synctest.Wait()
		assert.Len(t, append(running, handler.Take()...), 10)
	})
}

// TestWithDeliveryIsRefused: an informer with an invalid Delivery does not run, reports why, and
// refuses handlers that would use the Delivery.
func TestWithDeliveryIsRefused(t *testing.T) {
	for says, delivery := range map[string]kinformer.Delivery{
		`Options.Delivery: Overflow: there is no "none"`:            {Overflow: "none"},
		"Options.Delivery: Max is -1":                               {Max: -1},
		"Options.Delivery: Max is 5, which is for OverflowBlock":    {Max: 5},
		"Options.Delivery: OnDisconnect is set":                     {OnDisconnect: func(error) {}},
		"Options.Delivery: Parallel is 1025":                        {Parallel: 1025},
		`Options.Delivery: Name is "all", which is for one handler`: {Name: "all"},
	} {
		t.Run(says, func(t *testing.T) {
			informer := kinformer.New(testkit.NewPods(), &corev1.Pod{}, kinformer.Options{Delivery: delivery})
			_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
			assert.ErrorContains(t, err, says)
			_, err = informer.AddEventHandler(kinformer.Deliver(cache.ResourceEventHandlerFuncs{}, kinformer.Delivery{}))
			assert.NoError(t, err)
			doesNotRun(t, informer, says)
			assert.True(t, informer.IsStopped())
		})
	}
}

// remnant is an object after a transform that removes its metadata.
type remnant struct{ name, version string }

func strip(obj any) (any, error) {
	pod, isPod := obj.(interface{ GetName() string })
	if !isPod {
		return obj, nil
	}
	version, _ := event.VersionOf(obj)
	return remnant{pod.GetName(), version}, nil
}

// rename is a transform that gives all objects the same name, which differs from the store's key.
func rename(obj any) (any, error) {
	object := obj.(metav1.Object)
	object.SetLabels(map[string]string{"name": object.GetName()})
	object.SetName("one")
	return obj, nil
}

// remnantHandler notes its calls as "NAME KIND VERSION". They wait for gate.
type remnantHandler struct {
	testkit.Journal
	t      *testing.T
	gate   chan struct{}
	inside sync.Map // the names of objects in a call
}

func (h *remnantHandler) OnAdd(obj any, _ bool) { h.hear("add", obj) }

func (h *remnantHandler) OnUpdate(_, obj any) { h.hear("update", obj) }

func (h *remnantHandler) OnDelete(obj any) { h.hear("delete", obj) }

func (h *remnantHandler) hear(kind string, obj any) {
	name, version := identityOf(obj)
	_, overlaps := h.inside.LoadOrStore(name, true)
	assert.False(h.t, overlaps, "two calls about %s at once", name)
	h.Note("%s %s %s", name, kind, version)
	<-h.gate
	h.inside.Delete(name)
}

func identityOf(obj any) (name, version string) {
	if b, isRemnant := obj.(remnant); isRemnant {
		return b.name, b.version
	}
	version, _ = event.VersionOf(obj)
	return obj.(metav1.Object).GetLabels()["name"], version
}

// manyPods is the number of objects in a list of these tests: more than there are consumers.
const manyPods = 10

func listOfMany(version string) *testkit.Server {
	list := testkit.PodList(version)
	for i := range manyPods {
		list.Items = append(list.Items, *testkit.PodAt(fmt.Sprint("p", i), version))
	}
	fresh := func(int, context.Context, metav1.ListOptions) (apiruntime.Object, error) { return list.DeepCopy(), nil }
	return &testkit.Server{NoStream: true, OnList: fresh}
}

// TestBulkRecordsKeepObjectsApart: a list, a resync, a relist and the initial calls of a late handler
// are delivered by object, in order with the single changes of the object, although the store's keys
// cannot be derived from the objects.
func TestBulkRecordsKeepObjectsApart(t *testing.T) {
	for what, transform := range map[string]cache.TransformFunc{"stripped": strip, "renamed": rename} {
		for name, delivery := range map[string]kinformer.Delivery{
			"coalesced": {Overflow: kinformer.OverflowCoalesce},
			"parallel":  {Parallel: 4},
			"both":      {Overflow: kinformer.OverflowCoalesce, Parallel: 4},
		} {
			for _, late := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s, late %v", what, name, late), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { tellOfMany(t, transform, delivery, late) })
				})
			}
		}
	}
}

func tellOfMany(t *testing.T, transform cache.TransformFunc, delivery kinformer.Delivery, late bool) {
	stream, server := testkit.NewScriptedWatch(2*manyPods+1), listOfMany("1")
	handler := &remnantHandler{t: t, gate: make(chan struct{})}
	server.OnWatch = testkit.Watches(stream)
	add := func(s cache.SharedIndexInformer) {
		_, err := s.AddEventHandlerWithResyncPeriod(kinformer.Deliver(handler, delivery), time.Minute)
		require.NoError(t, err)
	}
	s, stop := informers.On(t, server, func(s cache.SharedIndexInformer) {
		require.NoError(t, s.SetTransform(transform))
		if !late {
			add(s)
		}
	}, kinformer.Options{})
	defer stop()
	if late {
		add(s)
		synctest.Wait()
	}
	for i := range manyPods {
		stream.Events <- testkit.Modified(fmt.Sprint("p", i), "2")
	}
	stream.Events <- testkit.FailedWith(testkit.ErrExpired) // followed by a list with version "1" again
	time.Sleep(2 * time.Minute)                             // including a resync
	close(handler.gate)
	synctest.Wait()

	heard := map[string][]string{}
	for _, line := range handler.Take() {
		name, call, _ := strings.Cut(line, " ")
		heard[name] = append(heard[name], call)
	}
	require.Len(t, heard, manyPods)
	again := 0
	for name, calls := range heard {
		want := []string{"add 1", "update 2", "update 1", "update 1"} // followed by further resyncs
		switch {
		case delivery.Overflow != kinformer.OverflowCoalesce:
			calls = calls[:min(len(calls), len(want))]
		case len(calls) > 1: // the first call ran while later ones were merged
			want = []string{"add 1", "update 1"}
			again++
		default:
			want = want[:1]
		}
		assert.Equal(t, want, calls, name)
	}
	if delivery.Overflow == kinformer.OverflowCoalesce {
		assert.Positive(t, again, "merged changes after a call")
	}
}

// chaos is an informer with concurrent writers, handlers and readers, in real time, for the race
// detector.
type chaos struct {
	*testing.T
	source   *testkit.Pods
	informer informers.Informer
}

// handler adds a handler, temporarily or permanently, and returns its state.
func (c *chaos) handler(random *rand.Rand) (*testkit.Mirror, cache.ResourceEventHandlerRegistration) {
	m := testkit.NewMirror()
	delivery := kinformer.Delivery{Overflow: []kinformer.Overflow{kinformer.OverflowLossless, kinformer.OverflowBlock, kinformer.OverflowCoalesce}[random.IntN(3)], Parallel: 1 + random.IntN(3)}
	if delivery.Overflow == kinformer.OverflowBlock {
		delivery.Max = 1 + random.IntN(8)
	}
	m.SameUID = delivery.Overflow == kinformer.OverflowCoalesce
	calls := random.Uint64()
	var once sync.Once
	m.Before = func(string) {
		if calls%7 == 0 {
			runtime.Gosched()
		}
		once.Do(func() {
			if calls%3 == 0 {
				_, err := c.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
				if err != nil {
					assert.ErrorContains(c, err, "has stopped already")
				}
			}
		})
	}
	handle, err := c.informer.AddEventHandlerWithResyncPeriod(kinformer.Deliver(m, delivery), time.Second)
	require.NoError(c, err)
	return m, handle
}

func TestChaos(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	c := &chaos{T: t, source: testkit.NewPods()}
	c.informer = cache.NewSharedIndexInformer(c.source, &corev1.Pod{}, time.Second, nil).(informers.Informer)
	stop := informers.Run(t, c.informer)
	var work sync.WaitGroup
	halt := make(chan struct{})
	var staying [4]*testkit.Mirror
	for i := range staying {
		random := rand.New(rand.NewPCG(seed, uint64(i+1)))
		staying[i], _ = c.handler(random)
		work.Go(func() { c.comeAndGo(random, halt) })
	}
	c.write(rand.New(rand.NewPCG(seed, 0)))
	close(halt)
	work.Wait()
	want := fmt.Sprint(c.source.State())
	enough, cancelWait := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancelWait()
	for i, m := range staying {
		assert.True(t, m.Await(enough, want), "handler %d", i)
		_, problems, _ := m.State()
		assert.Empty(t, problems)
	}
	stop()
	assert.Zero(t, c.informer.EventHandlerCount())
}

// write changes objects, and sometimes ends the watch.
func (c *chaos) write(random *rand.Rand) {
	for i := range 20_000 {
		name := string(rune('a' + random.IntN(20)))
		switch r := random.IntN(1000); {
		case r == 0:
			c.source.Expire()
		case r < 200:
			c.source.Remove(name)
		default:
			c.source.Put(testkit.PodOf(name, fmt.Sprint(i), fmt.Sprint(random.IntN(3))))
		}
		if i%64 == 0 {
			runtime.Gosched()
		}
	}
}

// comeAndGo adds and removes handlers, one after the other, until halt is closed.
func (c *chaos) comeAndGo(random *rand.Rand, halt <-chan struct{}) {
	for {
		select {
		case <-halt:
			return
		default:
		}
		m, handle := c.handler(random)
		for range random.IntN(1000) {
			runtime.Gosched()
		}
		assert.NoError(c, cache.ShutDownEventHandler(c.informer, handle))
		_, problems, _ := m.State()
		assert.Empty(c, problems)
		door.Of(c.informer).Processor.ShouldResync()
	}
}
