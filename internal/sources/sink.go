// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"sync"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/owners"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/reflector"
)

// sink receives the changes of one session. It has a reader of its own, because several reflectors
// read concurrently.
type sink struct {
	informer *door.Informer
	session  *owners.Session
	reader   *event.Reader
	queue    *queue.Queue
	room     *sharedRoom
}

// Put passes changes of a watch to the queue.
func (s *sink) Put(changes []event.Record) (refused []event.Refused) {
	for i := range changes {
		changes[i].State = s.session
	}
	return s.queue.PutBatchOf(s.reader, changes)
}

// Stage returns a stage for the next state of the source, which passes through the queue.
func (s *sink) Stage(o event.Staging) reflector.Stage {
	if o.Streamed {
		o.Size = s.session.Len()
	}
	return owners.NewStage(s.reader, s.session, s.informer.Applier, o, s.queue.PutState)
}

func (s *sink) Settle(ctx context.Context) { s.queue.Settle(ctx) }

// Resync does nothing: the Group has one timer for all sources.
func (*sink) Resync() error { return nil }

func (s *sink) Room() (changes int, freed <-chan struct{}) { return s.room.ask() }

// sharedRoom shares the room of an informer among the reflectors of its sources. Each of them may
// take all of it, so that together they may exceed a bound by one batch each.
type sharedRoom struct {
	of reflector.Sink // its Room may be called by one goroutine at a time

	mu struct {
		sync.Mutex
		freed <-chan struct{} // the last one, while it is not closed; nil if there is none
	}
}

// ask implements Sink.Room. All callers without room wait for the same channel.
func (r *sharedRoom) ask() (changes int, freed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.freed != nil {
		select {
		case <-r.mu.freed:
		default:
			return 0, r.mu.freed
		}
	}
	changes, r.mu.freed = r.of.Room()
	return changes, r.mu.freed
}
