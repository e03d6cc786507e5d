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

// Fault describes what happens to one request, in the order of the fields. The zero value serves
// the request.
type Fault struct {
	// Delay passes first.
	Delay time.Duration
	// Until, if not nil, is waited for next, until it is closed or a value can be received.
	Until <-chan struct{}
	// IgnoreContext makes these waits, and the stream of a watch, outlive the request's context:
	// the answer comes late, after the client has gone.
	IgnoreContext bool
	// Panic, if not nil, is what the call panics with.
	Panic any
	// Err, if not nil, is what the call returns.
	Err error
	// Stream shapes the stream of a watch.
	Stream StreamScript
}

// StreamScript describes what happens on one stream. The zero value is a stream without faults.
type StreamScript struct {
	// First are sent before everything else.
	First []watch.Event
	// Cut makes the source end the stream when CutAfter events, bookmarks
	// included, have been delivered: before the first one if 0.
	Cut      bool
	CutAfter int
	// OmitInitialEventsEnd leaves out the bookmark that ends the initial events.
	OmitInitialEventsEnd bool
}

// Script queues faults for the next requests of the verb, one for each.
func (s *Source) Script(verb Verb, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.faults[verb] = append(s.mu.faults[verb], faults...)
}

// FailNext makes the next requests of the verb fail, one for each error, after those for which
// faults are queued already. A nil error serves a request.
func (s *Source) FailNext(verb Verb, errs ...error) {
	for _, err := range errs {
		s.Script(verb, Fault{Err: err})
	}
}

// Outage breaks all open streams, and makes every request without a queued fault fail with err,
// until end is called. Of overlapping outages the last one counts, and the first end ends it.
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

// Partition breaks all open streams, and makes every request hang, until heal is called, like a
// network that drops everything. What is scripted for a request happens after that. So clients that
// come back find all that a test has done meanwhile. Overlapping partitions last until all are
// healed.
func (s *Source) Partition() (heal func()) {
	s.partition(1)
	return sync.OnceFunc(func() { s.partition(-1) })
}

func (s *Source) partition(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.partitions += n
	if n > 0 {
		s.breakLocked()
	}
	s.notifyLocked()
}

// begin records the request and takes the fault that is meant for it.
func (s *Source) begin(verb Verb, options metav1.ListOptions) Fault {
	request := Request{Verb: verb, Options: *options.DeepCopy(), At: time.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.requests = append(s.mu.requests, request)
	s.notifyLocked()
	queue := s.mu.faults[verb]
	if len(queue) == 0 {
		return Fault{Err: s.mu.outage}
	}
	s.mu.faults[verb] = queue[1:]
	return queue[0]
}

// hold does what the fault says short of its stream. It returns the context
// that the rest of the request is bound to.
func (s *Source) hold(ctx context.Context, f Fault) (context.Context, error) {
	if f.IgnoreContext {
		ctx = context.WithoutCancel(ctx)
	}
	if err := s.await(ctx, func() bool { return s.mu.partitions == 0 }); err != nil {
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
	if f.Panic != nil {
		panic(f.Panic)
	}
	return ctx, f.Err
}
