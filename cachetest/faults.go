// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Fault scripts the handling of one request, in the order of the fields. The zero value is a request
// without faults.
type Fault struct {
	// Delay is the time before anything else.
	Delay time.Duration
	// Until, if not nil, delays the request further, until it is closed or a value can be received.
	Until <-chan struct{}
	// IgnoreContext makes these delays, and the stream of a watch, outlive the request's context: the
	// response is late, after the client has given up.
	IgnoreContext bool
	// Panic, if not nil, is the value of a panic of the call.
	Panic any
	// Err, if not nil, is returned by the call.
	Err error
	// Stream scripts the stream of a watch.
	Stream StreamScript
}

// StreamScript scripts one stream. The zero value is a stream without faults.
type StreamScript struct {
	// First are sent before everything else.
	First []watch.Event
	// Cut makes the source end the stream when CutAfter events, including bookmarks, have been
	// delivered: before the first one if 0.
	Cut      bool
	CutAfter int
	// OmitInitialEventsEnd omits the bookmark that ends the initial events.
	OmitInitialEventsEnd bool
}

// Script queues faults for the next requests of the verb, one for each.
func (s *Source) Script(verb Verb, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.faults[verb] = append(s.mu.faults[verb], faults...)
}

// FailNext makes the next requests of the verb fail, one for each error, after the faults that are
// already queued. A nil error means a request without faults.
func (s *Source) FailNext(verb Verb, errs ...error) {
	for _, err := range errs {
		s.Script(verb, Fault{Err: err})
	}
}

// Outage breaks all open streams, and makes every request without a queued fault fail with err, until
// end is called. If outages overlap, the last error applies, and the first call of an end ends the
// outage.
func (s *Source) Outage(err error) (end func()) {
	s.setOutage(err)
	return sync.OnceFunc(func() { s.setOutage(nil) })
}

func (s *Source) setOutage(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.outage = err
	if err != nil {
		s.breakLocked()
	}
}

// Partition breaks all open streams, and makes every request block, until heal is called, like a
// network that drops everything. A blocked request meets its scripted faults, or an outage, after heal,
// so that clients see all changes that the test has made in between. Overlapping partitions last until all
// are healed.
func (s *Source) Partition() (heal func()) {
	heal = s.count(&s.mu.partitions)
	s.Break()
	return heal
}

// count increments a counter of s.mu. end decrements it.
func (s *Source) count(counter *int) (end func()) {
	add := func(n int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		*counter += n
		s.mu.changed.notify()
	}
	add(1)
	return sync.OnceFunc(func() { add(-1) })
}

// begin records the request and removes its fault from the queue. scripted is false if there was none.
func (s *Source) begin(verb Verb, options metav1.ListOptions) (f Fault, scripted bool) {
	request := Request{Verb: verb, Options: *options.DeepCopy(), At: time.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.requests = append(s.mu.requests, request)
	s.mu.changed.notify()
	queue := s.mu.faults[verb]
	if len(queue) == 0 {
		return Fault{}, false
	}
	s.mu.faults[verb] = queue[1:]
	return queue[0], true
}

// hold applies the fault to a request, except for its stream. It returns the context of the rest of the
// request.
func (s *Source) hold(ctx context.Context, f Fault) (context.Context, error) {
	if f.IgnoreContext {
		ctx = context.WithoutCancel(ctx)
	}
	if err := s.await(ctx, s.connectedLocked); err != nil {
		return ctx, err
	}
	if f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-ctx.Done():
		}
	}
	if f.Until != nil {
		select {
		case <-f.Until:
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return ctx, err
	}
	if err := s.await(ctx, s.connectedLocked); err != nil {
		return ctx, err
	}
	if f.Panic != nil {
		panic(f.Panic)
	}
	return ctx, f.Err
}

func (s *Source) connectedLocked() bool { return s.mu.partitions == 0 }

// lockToAnswer waits for the end of partitions, and locks mu, so that the answer precedes the next
// partition or outage. It returns an error, without the lock, if ctx ends, or for an outage if no fault
// was scripted.
func (s *Source) lockToAnswer(ctx context.Context, scripted bool) error {
	if err := s.lockWhen(ctx, s.connectedLocked); err != nil {
		return err
	}
	if err := s.mu.outage; err != nil && !scripted {
		s.mu.Unlock()
		return err
	}
	return nil
}
