// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// gatedQueue is the queue of a shared informer as its reflector sees it: an event of the watch waits until the handlers with
// Block have room for it. Lists and resyncs do not wait. No lock is held meanwhile.
type gatedQueue struct {
	informerQueue
	processor *sharedProcessor
	done      <-chan struct{} // closed when there is no use in waiting any more
}

func (q gatedQueue) Add(obj any) error {
	q.processor.awaitRoom(q.done)
	return q.informerQueue.Add(obj)
}

func (q gatedQueue) Update(obj any) error {
	q.processor.awaitRoom(q.done)
	return q.informerQueue.Update(obj)
}

func (q gatedQueue) Delete(obj any) error {
	q.processor.awaitRoom(q.done)
	return q.informerQueue.Delete(obj)
}

// putBatch lets the records in one by one as long as a handler has asked for Block, so that each can wait.
func (q gatedQueue) putBatch(records []record, more bool) (refused []refusedRecord) {
	for len(records) > 0 && q.processor.blockers.Load() > 0 {
		q.processor.awaitRoom(q.done)
		refused = append(refused, q.informerQueue.putBatch(records[:1], false)...)
		records = records[1:]
	}
	if len(records) == 0 {
		return refused
	}
	return append(refused, q.informerQueue.putBatch(records, more)...)
}

// awaitRoom returns when no handler with Block has its Max of notifications waiting, or done is closed.
func (p *sharedProcessor) awaitRoom(done <-chan struct{}) {
	for p.blockers.Load() > 0 {
		full := p.fullListener()
		if full == nil {
			return
		}
		select {
		case <-full.room:
		case <-full.closing:
		case <-done:
			return
		}
	}
}

// fullListener returns a listener that does not want more, nil if there is none.
func (p *sharedProcessor) fullListener() *processorListener {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, listener := range p.mu.tended {
		if listener.delivery.Overflow == Block && listener.behind() >= listener.delivery.Max {
			return listener
		}
	}
	return nil
}

// madeRoom is called when the handler has returned from calls.
func (l *processorListener) madeRoom() {
	if l.room == nil {
		return
	}
	select {
	case l.room <- struct{}{}:
	default: // the token that is there does as well
	}
}

// disconnectLocked removes a listener that is too far behind.
func (p *sharedProcessor) disconnectLocked(listener *processorListener, behind int) {
	listener.fault.Store(true)
	p.removeLocked(listener)
	err := fmt.Errorf("%w: %s: %d notifications are waiting, the most are %d",
		ErrDisconnected, listener.delivery.Name, behind, listener.delivery.Max)
	p.running.Go(func() {
		defer utilruntime.HandleCrashWithLogger(listener.logger)
		listener.logger.Info("Warning: event handler removed", "err", err)
		if listener.delivery.OnDisconnect != nil {
			listener.delivery.OnDisconnect(err)
		}
	})
}
