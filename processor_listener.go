// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/fanout"
)

// minimumResyncPeriod is the shortest period of resyncs, as in client-go.
const minimumResyncPeriod = time.Second

// AddEventHandler is AddEventHandlerWithOptions with the informer's resync period.
func (s *sharedIndexInformer) AddEventHandler(handler ResourceEventHandler) (ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(handler, HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod is AddEventHandlerWithOptions with a resync period.
func (s *sharedIndexInformer) AddEventHandlerWithResyncPeriod(handler ResourceEventHandler, resyncPeriod time.Duration) (ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(handler, HandlerOptions{ResyncPeriod: &resyncPeriod})
}

// AddEventHandlerWithOptions registers a handler for all later changes, one call at a time, in order. If
// the informer runs, the handler is called first with an Add for each object in the store. A handler that
// is added several times is called as often. AddEventHandlerWithOptions fails on a stopped informer.
func (s *sharedIndexInformer) AddEventHandlerWithOptions(handler ResourceEventHandler, options HandlerOptions) (ResourceEventHandlerRegistration, error) {
	if handler == nil {
		return nil, fanout.ErrNilHandler
	}
	s.pipeline.Delivery.Lock() // before life, which no goroutine holds while it waits for a batch
	defer s.pipeline.Delivery.Unlock()
	s.life.Lock()
	defer s.life.Unlock()
	if s.life.phase == phaseStopped {
		return nil, fmt.Errorf("handler %s was not added to shared informer because %w",
			fanout.NameOf(handler), errAlreadyStopped)
	}
	listener, err := s.newListenerLocked(handler, options)
	if err != nil {
		return nil, err
	}
	if s.life.phase == phaseNew {
		s.processor.Add(listener, &event.Snapshot{})
		return newRegistration(listener), nil
	}
	s.processor.Add(listener, event.StoredSnapshot(s.store.table.Snapshot()))
	return newRegistration(listener), nil
}

// newListenerLocked makes the listener of a handler from the user's options. A refused handler has no
// effect.
func (s *sharedIndexInformer) newListenerLocked(handler ResourceEventHandler, options HandlerOptions) (*fanout.Listener, error) {
	handler, served, err := fanout.Unwrap(handler, s.config.Standard)
	if err != nil {
		return nil, err
	}
	served.Logger = options.Logger
	logger := s.processor.LoggerOr(options.Logger)
	fanout.WarnOfTypedNil(logger, handler)
	served.Resync = s.resyncPeriodLocked(logger, ptr.Deref(options.ResyncPeriod, s.options.ResyncPeriod))
	served.Check = s.life.resyncCheckPeriod
	return s.processor.NewListener(handler, served), nil
}

// resyncPeriodLocked returns the period that the informer supports for a requested one. Before the start, the
// shortest requested period sets how often the informer checks. Afterwards no handler can have a shorter one.
func (s *sharedIndexInformer) resyncPeriodLocked(logger klog.Logger, requested time.Duration) time.Duration {
	if requested <= 0 {
		return requested
	}
	if requested < minimumResyncPeriod {
		event.Warn(logger, 0, "Resync period raised to the minimum",
			"requested", requested, "minimum", minimumResyncPeriod)
		requested = minimumResyncPeriod
	}
	check := s.life.resyncCheckPeriod
	if requested >= check {
		return requested
	}
	if s.life.phase != phaseNew {
		event.Warn(logger, 0, "The informer runs already: resync period raised to its check period",
			"requested", requested, "checkPeriod", check)
		return check
	}
	s.life.resyncCheckPeriod = requested
	s.processor.ResyncCheckPeriodChanged(requested)
	return requested
}

// RemoveEventHandler stops calling the handler. It does not wait for a call that is running;
// ShutDownEventHandler does. Removing twice, or with a handle of another informer, does nothing. The
// handler may call RemoveEventHandler. A handle of another type is an error.
func (s *sharedIndexInformer) RemoveEventHandler(handle ResourceEventHandlerRegistration) error {
	own, ok := handle.(*registration)
	if !ok {
		return fmt.Errorf("invalid registration handle of type %T", handle)
	}
	s.processor.Remove(own.listener)
	return nil
}

// EventHandlerCount returns how many handlers are registered.
func (s *sharedIndexInformer) EventHandlerCount() int { return s.processor.Count() }

// IsRegistered reports whether the handle's handler is registered with this informer.
func (s *sharedIndexInformer) IsRegistered(handle ResourceEventHandlerRegistration) bool {
	own, ok := handle.(*registration)
	return ok && s.processor.Has(own.listener)
}

// registration is the handle of a handler of a shared informer. As in client-go, it is a pointer that is
// unique to the registration.
type registration struct {
	listenerHolder
	listener *fanout.Listener
}

func newRegistration(l *fanout.Listener) *registration { return &registration{door.NewHolder(l), l} }

var _ ResourceEventHandlerRegistration = (*registration)(nil)

// HasSynced reports whether the informer has synced and the handler has returned from the Adds of
// its initial list.
func (r *registration) HasSynced() bool { return IsDone(r.HasSyncedChecker()) }

// HasSyncedChecker returns a checker whose channel is closed once HasSynced returns true.
func (r *registration) HasSyncedChecker() DoneChecker { return r.listener.SyncedChecker() }

// ShutdownChan returns a channel that is closed when the handler is removed, or the informer stopped, and
// the last call of the handler has returned.
func (r *registration) ShutdownChan() <-chan struct{} { return r.listener.Shutdown() }
