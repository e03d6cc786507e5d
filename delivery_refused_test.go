// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"

	"github.com/kinformer/cache/internal/testkit"
)

// TestDeliveryIsRefused: a wish that would be lost is an error that names the field and the mend, for the shared informer
// when the handler is added, for the other one when it runs.
func TestDeliveryIsRefused(t *testing.T) {
	journal := ResourceEventHandlerFuncs{AddFunc: func(any) {}}
	disconnected := func(error) {}
	for name, tc := range map[string]struct {
		handler ResourceEventHandler
		says    []string
	}{
		"unknown overflow":        {Deliver(journal, Delivery{Overflow: 77}), []string{"Overflow(77)", "use OverflowLossless, OverflowBlock, OverflowCoalesce or OverflowDisconnect"}},
		"negative Max":            {Deliver(journal, Delivery{Overflow: OverflowBlock, Max: -1}), []string{"Max is -1"}},
		"Max of Lossless":         {Deliver(journal, Delivery{Max: 5}), []string{"Max is 5", "Overflow is OverflowLossless", "OverflowBlock"}},
		"Max of Coalesce":         {Deliver(journal, Delivery{Overflow: OverflowCoalesce, Max: 5}), []string{"Max is 5", "Overflow is OverflowCoalesce"}},
		"OnDisconnect of another": {Deliver(journal, Delivery{Overflow: OverflowBlock, OnDisconnect: disconnected}), []string{"OnDisconnect", "Overflow is OverflowBlock"}},
		"negative Parallel":       {Deliver(journal, Delivery{Parallel: -1}), []string{"Parallel is -1"}},
		"Parallel of too many":    {Deliver(journal, Delivery{Parallel: 1025}), []string{"Parallel is 1025", "1024"}},
		"two faults": {Deliver(journal, Delivery{Max: -3, Parallel: -7}),
			[]string{"Max is -3", "; Parallel is -7"}},
		"Deliver of Deliver": {Deliver(Deliver(journal, Delivery{Parallel: 2}), Delivery{Name: "outer"}), []string{"outer", "one Delivery"}},
		"inside a filter": {FilteringResourceEventHandler{Handler: Deliver(journal, Delivery{Parallel: 2})},
			[]string{"FilteringResourceEventHandler", "Deliver the filter"}},
		"inside a filter by pointer": {&FilteringResourceEventHandler{Handler: Deliver(journal, Delivery{Parallel: 2})},
			[]string{"FilteringResourceEventHandler"}},
		"inside two filters and Deliver": {
			Deliver(FilteringResourceEventHandler{Handler: &FilteringResourceEventHandler{Handler: Deliver(journal, Delivery{})}}, Delivery{}),
			[]string{"FilteringResourceEventHandler"}},
	} {
		t.Run(name, func(t *testing.T) {
			informer := NewSharedIndexInformer(testkit.NewPods(), &v1.Pod{}, 0, nil)
			handle, err := informer.AddEventHandler(tc.handler)
			assert.Nil(t, handle)
			require.ErrorIs(t, err, errBadDelivery)
			for _, says := range tc.says {
				assert.ErrorContains(t, err, says)
			}
			assert.NotContains(t, err.Error(), "\n", "one line of a log")
			assert.Zero(t, informer.(*sharedIndexInformer).EventHandlerCount())
		})
	}
}

// TestRefusedHandlerLeavesTheResyncPeriod: who is not added does not have the others resynced more often.
func TestRefusedHandlerLeavesTheResyncPeriod(t *testing.T) {
	informer := NewSharedIndexInformer(testkit.NewPods(), &v1.Pod{}, time.Hour, nil).(*sharedIndexInformer)
	_, err := informer.AddEventHandlerWithResyncPeriod(Deliver(&testkit.Journal{}, Delivery{Max: -1}), time.Minute)
	require.ErrorIs(t, err, errBadDelivery)
	assert.Equal(t, time.Hour, informer.life.resyncCheckPeriod)
	_, err = informer.AddEventHandlerWithResyncPeriod(&testkit.Journal{}, time.Minute)
	require.NoError(t, err)
	assert.Equal(t, time.Minute, informer.life.resyncCheckPeriod)
}

// TestDeliveryIsTaken: what is at the bounds, and a filter that is delivered, is no fault.
func TestDeliveryIsTaken(t *testing.T) {
	informer := NewSharedIndexInformer(testkit.NewPods(), &v1.Pod{}, 0, nil)
	for _, handler := range []ResourceEventHandler{
		Deliver(ResourceEventHandlerFuncs{}, Delivery{Parallel: maxParallel}),
		Deliver(ResourceEventHandlerFuncs{}, Delivery{Overflow: OverflowDisconnect, Max: 1, OnDisconnect: func(error) {}}),
		Deliver(FilteringResourceEventHandler{Handler: ResourceEventHandlerFuncs{}}, Delivery{Overflow: OverflowBlock, Max: 5}),
		Deliver((*FilteringResourceEventHandler)(nil), Delivery{}),
		FilteringResourceEventHandler{},
	} {
		_, err := informer.AddEventHandler(handler)
		assert.NoError(t, err)
	}
}

// TestDeliverOfNothing: there is nobody to call.
func TestDeliverOfNothing(t *testing.T) {
	_, err := NewSharedIndexInformer(testkit.NewPods(), &v1.Pod{}, 0, nil).AddEventHandler(Deliver(nil, Delivery{}))
	assert.ErrorIs(t, err, errNilHandler)
}

// TestOverflowNames: errors and logs say which Overflow it is.
func TestOverflowNames(t *testing.T) {
	for overflow, name := range map[Overflow]string{
		OverflowLossless: "OverflowLossless", OverflowBlock: "OverflowBlock", OverflowCoalesce: "OverflowCoalesce", OverflowDisconnect: "OverflowDisconnect", OverflowDisconnect + 1: "Overflow(4)",
	} {
		assert.Equal(t, name, overflow.String())
	}
}

// quietHandler hears everything, also where there is none.
type quietHandler struct{ heard int }

func (h *quietHandler) OnAdd(any, bool) {
	if h != nil {
		h.heard++
	}
}

func (h *quietHandler) OnUpdate(any, any) {}

func (h *quietHandler) OnDelete(any) {}

// TestTypedNilHandler: a handler that is a nil pointer may be meant, so it is called; but the log says once what it is.
func TestTypedNilHandler(t *testing.T) {
	lines := &testkit.Logged{}
	logger := funcr.New(lines.Write, funcr.Options{})
	warnings := func() int {
		return lines.Count(`an event handler is nil: its calls panic, unless its methods expect that" "type"="*cache.quietHandler"`)
	}
	synctest.Test(t, func(t *testing.T) {
		source := testkit.NewPods()
		source.Put(testkit.Pod("a", "1"))
		informer := NewSharedIndexInformer(source, &v1.Pod{}, 0, nil)
		handle, err := informer.AddEventHandlerWithOptions((*quietHandler)(nil), HandlerOptions{Logger: &logger})
		require.NoError(t, err)
		assert.Equal(t, 1, warnings())
		stop := running(t, informer)
		synctest.Wait()
		assert.True(t, handle.HasSynced(), "it was called")
		assert.Equal(t, 1, warnings(), "once, not for each call")
		_, err = informer.AddEventHandlerWithOptions(&quietHandler{}, HandlerOptions{Logger: &logger})
		require.NoError(t, err)
		stop()
	})
	NewInformerWithOptions(InformerOptions{ListerWatcher: testkit.NewPods(), ObjectType: &v1.Pod{}, Handler: (*quietHandler)(nil), Logger: &logger})
	assert.Equal(t, 2, warnings())
	NewInformerWithOptions(InformerOptions{ListerWatcher: testkit.NewPods(), ObjectType: &v1.Pod{}, Handler: &quietHandler{}, Logger: &logger})
	assert.Equal(t, 2, warnings())
}
