// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// TestDeliveryIsRefused: a wish that would be lost is an error that names the field and the mend,
// for the shared informer when the handler is added, for the other one when it runs.
func TestDeliveryIsRefused(t *testing.T) {
	journal := cache.ResourceEventHandlerFuncs{AddFunc: func(any) {}}
	disconnected := func(error) {}
	for name, tc := range map[string]struct {
		handler cache.ResourceEventHandler
		says    []string
	}{
		"unknown overflow":        {cache.Deliver(journal, cache.Delivery{Overflow: 77}), []string{"Overflow(77)", "use OverflowLossless, OverflowBlock, OverflowCoalesce or OverflowDisconnect"}},
		"negative Max":            {cache.Deliver(journal, cache.Delivery{Overflow: cache.OverflowBlock, Max: -1}), []string{"Max is -1"}},
		"Max of Lossless":         {cache.Deliver(journal, cache.Delivery{Max: 5}), []string{"Max is 5", "Overflow is OverflowLossless", "OverflowBlock"}},
		"Max of Coalesce":         {cache.Deliver(journal, cache.Delivery{Overflow: cache.OverflowCoalesce, Max: 5}), []string{"Max is 5", "Overflow is OverflowCoalesce"}},
		"OnDisconnect of another": {cache.Deliver(journal, cache.Delivery{Overflow: cache.OverflowBlock, OnDisconnect: disconnected}), []string{"OnDisconnect", "Overflow is OverflowBlock"}},
		"negative Parallel":       {cache.Deliver(journal, cache.Delivery{Parallel: -1}), []string{"Parallel is -1"}},
		"Parallel of too many":    {cache.Deliver(journal, cache.Delivery{Parallel: 1025}), []string{"Parallel is 1025", "1024"}},
		"two faults": {cache.Deliver(journal, cache.Delivery{Max: -3, Parallel: -7}),
			[]string{"Max is -3", "; Parallel is -7"}},
		"Deliver of Deliver": {cache.Deliver(cache.Deliver(journal, cache.Delivery{Parallel: 2}), cache.Delivery{Name: "outer"}), []string{"outer", "one Delivery"}},
		"inside a filter": {cache.FilteringResourceEventHandler{Handler: cache.Deliver(journal, cache.Delivery{Parallel: 2})},
			[]string{"FilteringResourceEventHandler", "Deliver the filter"}},
		"inside a filter by pointer": {&cache.FilteringResourceEventHandler{Handler: cache.Deliver(journal, cache.Delivery{Parallel: 2})},
			[]string{"FilteringResourceEventHandler"}},
		"inside two filters and Deliver": {
			cache.Deliver(cache.FilteringResourceEventHandler{Handler: &cache.FilteringResourceEventHandler{Handler: cache.Deliver(journal, cache.Delivery{})}}, cache.Delivery{}),
			[]string{"FilteringResourceEventHandler"}},
	} {
		t.Run(name, func(t *testing.T) {
			informer := cache.NewSharedIndexInformer(testkit.NewPods(), &v1.Pod{}, 0, nil)
			handle, err := informer.AddEventHandler(tc.handler)
			assert.Nil(t, handle)
			require.ErrorIs(t, err, cache.ErrBadDelivery)
			for _, says := range tc.says {
				assert.ErrorContains(t, err, says)
			}
			assert.NotContains(t, err.Error(), "\n", "one line of a log")
			assert.Zero(t, informer.(ownInformer).EventHandlerCount())
		})
	}
}

// TestDeliveryIsTaken: what is at the bounds, and a filter that is delivered, is no fault.
func TestDeliveryIsTaken(t *testing.T) {
	informer := cache.NewSharedIndexInformer(testkit.NewPods(), &v1.Pod{}, 0, nil)
	for _, handler := range []cache.ResourceEventHandler{
		cache.Deliver(cache.ResourceEventHandlerFuncs{}, cache.Delivery{Parallel: cache.MaxParallel}),
		cache.Deliver(cache.ResourceEventHandlerFuncs{}, cache.Delivery{Overflow: cache.OverflowDisconnect, Max: 1, OnDisconnect: func(error) {}}),
		cache.Deliver(cache.FilteringResourceEventHandler{Handler: cache.ResourceEventHandlerFuncs{}}, cache.Delivery{Overflow: cache.OverflowBlock, Max: 5}),
		cache.Deliver((*cache.FilteringResourceEventHandler)(nil), cache.Delivery{}),
		cache.FilteringResourceEventHandler{},
	} {
		_, err := informer.AddEventHandler(handler)
		assert.NoError(t, err)
	}
}

// TestDeliverOfNothing: there is nobody to call.
func TestDeliverOfNothing(t *testing.T) {
	_, err := cache.NewSharedIndexInformer(testkit.NewPods(), &v1.Pod{}, 0, nil).AddEventHandler(cache.Deliver(nil, cache.Delivery{}))
	assert.ErrorIs(t, err, cache.ErrNilHandler)
}

// TestOverflowNames: errors and logs say which Overflow it is.
func TestOverflowNames(t *testing.T) {
	for overflow, name := range map[cache.Overflow]string{
		cache.OverflowLossless: "OverflowLossless", cache.OverflowBlock: "OverflowBlock", cache.OverflowCoalesce: "OverflowCoalesce", cache.OverflowDisconnect: "OverflowDisconnect", cache.OverflowDisconnect + 1: "Overflow(4)",
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

// TestTypedNilHandler: a handler that is a nil pointer may be meant, so it is called; but the log
// says once what it is.
func TestTypedNilHandler(t *testing.T) {
	lines := &testkit.Logged{}
	logger := funcr.New(lines.Write, funcr.Options{})
	warnings := func() int {
		return lines.Count(`an event handler is a nil pointer: its calls panic, unless its methods accept that" "type"="*cache_test.quietHandler"`)
	}
	synctest.Test(t, func(t *testing.T) {
		source := testkit.NewPods()
		source.Put(testkit.Pod("a", "1"))
		informer := cache.NewSharedIndexInformer(source, &v1.Pod{}, 0, nil)
		handle, err := informer.AddEventHandlerWithOptions((*quietHandler)(nil), cache.HandlerOptions{Logger: &logger})
		require.NoError(t, err)
		assert.Equal(t, 1, warnings())
		stop := running(t, informer)
		synctest.Wait()
		assert.True(t, handle.HasSynced(), "it was called")
		assert.Equal(t, 1, warnings(), "once, not for each call")
		_, err = informer.AddEventHandlerWithOptions(&quietHandler{}, cache.HandlerOptions{Logger: &logger})
		require.NoError(t, err)
		stop()
	})
	cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: testkit.NewPods(), ObjectType: &v1.Pod{}, Handler: (*quietHandler)(nil), Logger: &logger})
	assert.Equal(t, 2, warnings())
	cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: testkit.NewPods(), ObjectType: &v1.Pod{}, Handler: &quietHandler{}, Logger: &logger})
	assert.Equal(t, 2, warnings())
}
