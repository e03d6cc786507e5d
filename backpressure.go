// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// gatedQueue is the queue of a shared informer as its reflector sees it: events of the watch wait until the handlers with
// Block have room for them. Lists and resyncs do not wait. No lock is held meanwhile.
type gatedQueue struct {
	informerQueue
	processor *sharedProcessor
	done      <-chan struct{} // closed when there is no more use in waiting
}

func (q gatedQueue) Add(obj any) error    { return q.put(obj, q.informerQueue.Add) }
func (q gatedQueue) Update(obj any) error { return q.put(obj, q.informerQueue.Update) }
func (q gatedQueue) Delete(obj any) error { return q.put(obj, q.informerQueue.Delete) }

func (q gatedQueue) put(obj any, put func(any) error) error {
	q.processor.admit(1, q.done)
	err := put(obj)
	if err != nil {
		q.processor.arrived(1)
	}
	return err
}

// putBatch lets as many records in at a time as there is room for.
func (q gatedQueue) putBatch(records []record) (refused []refusedRecord) {
	for len(records) > 0 {
		n := q.processor.admit(len(records), q.done)
		keyed := keyedRecords(records[:n])
		bad := q.informerQueue.putBatch(records[:n])
		q.processor.arrived(n - keyed + len(bad))
		refused = append(refused, bad...)
		records = records[n:]
	}
	return refused
}

// admit waits until there is room for some of n more events on their way to the handlers, or done is closed. It returns
// how many may go, at least one; each of them must arrive some time.
func (p *sharedProcessor) admit(n int, done <-chan struct{}) int {
	for p.blockers.Load() > 0 {
		fullest, room := p.fullestListener()
		if fullest == nil {
			break
		}
		if room > 0 {
			n = min(n, room)
			break
		}
		select {
		case <-fullest.room:
			continue
		case <-fullest.closing:
			continue
		case <-done:
		}
		break
	}
	if !p.merges {
		p.inFlight.Add(int64(n))
	}
	return n
}

// arrived says that n admitted events are distributed, or came to nothing.
func (p *sharedProcessor) arrived(n int) {
	if p.merges {
		return
	}
	if p.inFlight.Add(int64(-n)); p.blockers.Load() == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, listener := range p.mu.tended {
		listener.madeRoom() // what arrived may not have been for it
	}
}

// fullestListener returns which handler with Block has room for the fewest events, and for how many; nil if none has Block.
func (p *sharedProcessor) fullestListener() (fullest *processorListener, room int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, listener := range p.mu.tended {
		if listener.delivery.Overflow != Block {
			continue
		}
		left := listener.delivery.Max - listener.behind() - int(p.inFlight.Load())
		if fullest == nil || left < room {
			fullest, room = listener, left
		}
	}
	return fullest, room
}

// madeRoom has admit look again, if the handler has Block.
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
