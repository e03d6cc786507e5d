// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"
	"time"
)

// registrationSynced is the DoneChecker of a registration. It keeps neither the handler nor the informer alive.
type registrationSynced struct {
	upstream DoneChecker
	handler  string
	synced   <-chan struct{}
}

func (c registrationSynced) Name() string {
	return fmt.Sprintf("%s + event handler %s", c.upstream.Name(), c.handler)
}

func (c registrationSynced) Done() <-chan struct{} { return c.synced }

// syncedChecker returns what says whether the informer has synced and the handler has returned from the Adds of its initial
// list.
func (l *processorListener) syncedChecker() DoneChecker {
	return registrationSynced{l.processor.upstream, l.name, l.synced}
}

var errRemovedUnsynced = errors.New("it was removed, or its informer stopped, before it had heard all of its initial list")

// syncFailure is why a registration will never count as synced.
type syncFailure struct{ reason error }

// syncError returns why the registration will never count as synced, nil if it may yet or does.
func (l *processorListener) syncError() error {
	if failure := l.syncFailed.Load(); failure != nil {
		return failure.reason
	}
	return nil
}

// failSyncLocked notes why the registration will never count as synced. The first reason counts. The caller holds the
// processor's lock.
func (l *processorListener) failSyncLocked(reason error) (first bool) {
	if first = l.syncFailed.CompareAndSwap(nil, &syncFailure{reason}); first && l.hopeless != nil {
		close(l.hopeless)
	}
	return first
}

// neverSyncs returns a channel that is closed when there is a syncError.
func (l *processorListener) neverSyncs() <-chan struct{} {
	l.processor.mu.Lock()
	defer l.processor.mu.Unlock()
	if l.hopeless == nil {
		l.hopeless = make(chan struct{})
		if l.syncFailed.Load() != nil {
			close(l.hopeless)
		}
	}
	return l.hopeless
}

// lostCall is a call of an initial list that did not return.
type lostCall struct {
	obj      any
	panicked bool // else it has ended its goroutine
}

func (c *lostCall) error() error {
	what, how := "an object", "ended its goroutine"
	if key, err := MetaNamespaceKeyFunc(c.obj); err == nil {
		what = key
	}
	if c.panicked {
		how = "panicked"
	}
	return fmt.Errorf("OnAdd of %s, which belongs to its initial list, %s", what, how)
}

// remark is what there is to say of a listener once no lock is held. The zero value is nothing.
type remark struct {
	listener *processorListener
	call     time.Duration // a slow call, which perhaps does not return
	backlog  int64         // how far the listener is behind then
	lost     *lostCall
}

func (r remark) say() {
	if r.lost != nil {
		r.listener.failSync(r.lost.error())
	}
	if r.call > 0 {
		r.listener.logSlowCall(r.call, r.backlog)
	}
}

// failSync notes, and logs once, why the registration will never count as synced.
func (l *processorListener) failSync(reason error) {
	l.processor.mu.Lock()
	first := l.failSyncLocked(reason)
	l.processor.mu.Unlock()
	if first {
		l.logger.Error(reason, "An event handler will never count as synced", "handler", l.name)
	}
}
