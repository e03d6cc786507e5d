// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"sync"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/store"
)

// sink takes what the reflector of one session brings, and has a reader of its own, since several
// reflectors read at once.
type sink struct {
	session *store.Session
	reader  *event.Reader
	queue   *queue.Queue
	room    *sharedRoom
}

// Put takes changes of a watch.
func (s *sink) Put(changes []event.Record) (refused []event.Refused) {
	for i := range changes {
		changes[i].State = s.session
	}
	return s.queue.PutBatchOf(s.reader, changes)
}

// Stage returns the next state of the source. It gets into the store by way of the queue.
func (s *sink) Stage(size int, streamed bool) reflector.Stage {
	if streamed {
		size = s.session.Len()
	}
	return store.NewPartStage(s.reader, s.session, size, s.queue.PutState)
}

// Resync does nothing: the Group has one timer for all.
func (*sink) Resync() error { return nil }

func (s *sink) Room() (changes int, freed <-chan struct{}) { return s.room.ask() }

// sharedRoom is the room of an informer for the reflectors of its sources. Each may take all of the
// room, so that sources together may go beyond a bound by one batch each.
type sharedRoom struct {
	of reflector.Sink // which one goroutine may ask at a time

	mu struct {
		sync.Mutex
		freed <-chan struct{} // the last that was not closed yet; nil: none
	}
}

// ask is Sink.Room. All who find no room wait for the same channel.
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
