// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package audited is the door between an informer and its audit: what package audit has to know of
// an informer and users have not. The root package fills it, package audit reads it.
//
// What it promises: nothing is done, and nothing kept, for an informer that nobody audits.
package audited

import (
	"errors"
	"iter"
	"sync/atomic"
	"time"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/reflector"
)

// Of returns what is to be known of an informer, however it is handed out. The root package sets it
// before anything runs.
var Of func(informer any) (*Informer, error)

// Informer is one as it was when Of was called, for any number of goroutines.
type Informer struct {
	Name    string          // what logs call its objects
	History *atomic.Value   // what package audit keeps
	Ended   <-chan struct{} // closed when nothing more comes into the store

	// Requests says how the informer asks for what, and of whom; nil before it runs.
	Requests *reflector.Options
	// State returns what is stored. It waits for nobody: the error is ErrBusy, ErrUnvouched,
	// ErrUnsynced, also if the informer did not run when Of was called, or ErrEnded.
	State func() (State, error)
	// Relist has the informer request the most recent state of its server, even if that is older
	// than what is stored. It waits for nobody; stored reports whether the answer is in the store.
	Relist func() (stored func() bool, err error)
	// Version returns the version of what is stored. It delays nobody.
	Version func() string
	// Transform is the transform function, as the informer calls it: a panic is an error, and so is
	// a nil result. nil: there is none.
	Transform clientgo.TransformFunc
	// Refused returns the keys of objects that are not as on the server, because the transform
	// refused them. Nobody else has the map.
	Refused func() map[string]struct{}
}

// State is what an informer has stored, between two batches.
type State struct {
	Snapshot
	// Received is what the server said of the objects that do not show it any more. Nobody else
	// has the map.
	Received map[string]event.Origin
}

// Origin returns what the server said of an object of the state.
func (s *State) Origin(key string, obj any) event.Origin {
	if origin, hidden := s.Received[key]; hidden {
		return origin
	}
	return event.OriginOf(obj)
}

// Snapshot is a store at a moment. The caller of State closes it.
type Snapshot interface {
	ResourceVersion() string
	Len() int
	Get(key string) (obj any, exists bool)
	All() iter.Seq2[string, any]
	Close()
}

// AheadPause is the least time from one list at a version that the server does not know to the next
// one: an API server that merely lags behind has caught up by then. Only tests of real servers
// change it, before an audit begins.
var AheadPause = 30 * time.Second

var (
	// ErrBusy says that a batch is on its way into the store, or to the handlers.
	ErrBusy = errors.New("the informer is storing a batch")
	// ErrUnvouched says that the store has no version that the server has vouched for.
	ErrUnvouched = errors.New("the server does not vouch for the version of what is stored")
	// ErrUnsynced says that there is nothing to be audited yet, and ErrEnded that nothing is
	// brought up to date any more.
	ErrUnsynced = errors.New("the informer has not synced")
	ErrEnded    = errors.New("the informer has stopped")
)
