// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
)

// heldHandler stays in its first call until release is closed, and notes the updates that it hears.
type heldHandler struct {
	release chan struct{}
	hold    sync.Once
	updates []string
}

func (h *heldHandler) added(any) { h.hold.Do(func() { <-h.release }) }

func (h *heldHandler) updated(old, current any) {
	h.updates = append(h.updates, value(old)+" -> "+value(current))
}

func value(obj any) string { return obj.(*corev1.ConfigMap).Data["value"] }

func (h *heldHandler) untyped() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{AddFunc: h.added, UpdateFunc: h.updated}
}

func (h *heldHandler) typed() cache.TypedResourceEventHandler[*corev1.ConfigMap] {
	return cache.TypedResourceEventHandlerFuncs[*corev1.ConfigMap]{
		AddFunc:    func(obj *corev1.ConfigMap) { h.added(obj) },
		UpdateFunc: func(old, current *corev1.ConfigMap) { h.updated(old, current) },
	}
}

type handle = cache.ResourceEventHandlerRegistration

// TestWithDelivery: handlers are served as the informer's Delivery says, by whatever method they
// are added, unless they were added with Deliver, which goes before it as a whole.
func TestWithDelivery(t *testing.T) {
	newest, each := []string{"1 -> 4"}, []string{"1 -> 2", "2 -> 3", "3 -> 4"}
	period := time.Hour
	everything := func(any) bool { return true }
	for name, tc := range map[string]struct {
		add  func(cache.SharedIndexInformer, *heldHandler) (handle, error)
		want []string
	}{
		"AddEventHandler": {func(i cache.SharedIndexInformer, h *heldHandler) (handle, error) {
			return i.AddEventHandler(h.untyped())
		}, newest},
		"AddEventHandlerWithResyncPeriod": {func(i cache.SharedIndexInformer, h *heldHandler) (handle, error) {
			return i.AddEventHandlerWithResyncPeriod(h.untyped(), period)
		}, newest},
		"AddEventHandlerWithOptions": {func(i cache.SharedIndexInformer, h *heldHandler) (handle, error) {
			return i.AddEventHandlerWithOptions(h.untyped(), cache.HandlerOptions{ResyncPeriod: &period})
		}, newest},
		"AddTypedEventHandler": {func(i cache.SharedIndexInformer, h *heldHandler) (handle, error) {
			return cache.NewTypedSharedIndexInformer[*corev1.ConfigMap](i).AddTypedEventHandler(h.typed())
		}, newest},
		"a filter": {func(i cache.SharedIndexInformer, h *heldHandler) (handle, error) {
			filter := cache.FilteringResourceEventHandler{FilterFunc: everything, Handler: h.untyped()}
			return i.AddEventHandler(filter)
		}, newest},
		"Deliver": {func(i cache.SharedIndexInformer, h *heldHandler) (handle, error) {
			delivery := cache.Delivery{Overflow: cache.OverflowDisconnect, Max: 10}
			return i.AddEventHandler(cache.Deliver(h.untyped(), delivery))
		}, each},
		"Deliver with nothing": {func(i cache.SharedIndexInformer, h *heldHandler) (handle, error) {
			return i.AddEventHandler(cache.Deliver(h.untyped(), cache.Delivery{}))
		}, each},
		"DeliverTyped with nothing": {func(i cache.SharedIndexInformer, h *heldHandler) (handle, error) {
			return i.AddEventHandler(cache.DeliverTyped(h.typed(), cache.Delivery{}))
		}, each},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				assert.Equal(t, tc.want, heardByHeld(t, tc.add))
			})
		})
	}
}

// heardByHeld returns what a handler hears of an object that changes three times during its first
// call, from an informer that coalesces.
func heardByHeld(t *testing.T, add func(cache.SharedIndexInformer, *heldHandler) (handle, error)) []string {
	server := cachetest.New(newConfigMap("a", "1"))
	informer := cache.InformerFunc(
		cache.WithDelivery(cache.Delivery{Overflow: cache.OverflowDisconnect, Max: 1}),
		cache.WithDelivery(cache.Delivery{Overflow: cache.OverflowCoalesce}), // the last one counts
	)(server, &corev1.ConfigMap{}, 0, nil)
	handler := &heldHandler{release: make(chan struct{})}
	registration, err := add(informer, handler)
	require.NoError(t, err)
	defer runInformer(informer)()
	synctest.Wait()
	for _, value := range []string{"2", "3", "4"} {
		server.Update(newConfigMap("a", value))
		synctest.Wait()
	}
	close(handler.release)
	synctest.Wait()
	statistics := registration.(cache.MeasuredRegistration).Stats()
	assert.Equal(t, cache.HandlerIdle, statistics.State)
	assert.Contains(t, statistics.Name, "cache_test", "named by its place, or type")
	return handler.updates
}

// TestWithDeliveryForLateHandlers: so are handlers that are added to an informer that runs.
func TestWithDeliveryForLateHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := cachetest.New()
		for _, name := range "abcdefghij" {
			server.Create(newConfigMap(string(name), "1"))
		}
		parallel := cache.InformerFunc(cache.WithDelivery(cache.Delivery{Parallel: 1000}))
		informer := parallel(server, &corev1.ConfigMap{}, 0, nil)
		defer runInformer(informer)()
		synctest.Wait()
		release, running := make(chan struct{}), make(chan struct{}, 10)
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) {
			running <- struct{}{}
			<-release
		}})
		require.NoError(t, err)
		synctest.Wait()
		assert.Greater(t, len(running), 1, "several calls at a time")
		close(release)
		synctest.Wait()
		assert.Len(t, running, 10)
	})
}

// TestWithDeliveryIsRefused: an informer whose Delivery makes no sense does not run, and says so;
// nor does it take handlers that it would have to serve so.
func TestWithDeliveryIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		delivery cache.Delivery
		says     string
	}{
		"Overflow":     {cache.Delivery{Overflow: 77}, "WithDelivery: Overflow is Overflow(77)"},
		"Max":          {cache.Delivery{Max: -1}, "WithDelivery: Max is -1"},
		"Max of none":  {cache.Delivery{Max: 5}, "WithDelivery: Max is 5, which is for OverflowBlock"},
		"OnDisconnect": {cache.Delivery{OnDisconnect: func(error) {}}, "WithDelivery: OnDisconnect is set"},
		"Parallel":     {cache.Delivery{Parallel: 1025}, "WithDelivery: Parallel is 1025"},
		"Name":         {cache.Delivery{Name: "all"}, `WithDelivery: Name is "all", which is for one handler`},
	} {
		t.Run(name, func(t *testing.T) {
			informer := cache.InformerFunc(cache.WithDelivery(tc.delivery))(cachetest.New(), &corev1.ConfigMap{}, 0, nil)
			status, err := cache.StatusOf(informer)
			require.NoError(t, err)
			assert.ErrorContains(t, status.LastError, tc.says)
			assert.ErrorContains(t, cache.WaitForSync(t.Context(), informer), tc.says)
			_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
			assert.ErrorContains(t, err, tc.says)
			_, err = informer.AddEventHandler(cache.Deliver(cache.ResourceEventHandlerFuncs{}, cache.Delivery{}))
			assert.NoError(t, err)
			informer.RunWithContext(t.Context())
			assert.True(t, informer.IsStopped(), "it did not run")
		})
	}
}
