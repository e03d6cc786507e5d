// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package door connects the root package to the packages beside it. It gives these the access to
// informers, stores, queues and registrations that users must not have.
//
// It adds no work per event, and retains nothing of an informer that has ended.
package door

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/fanout"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/store"
	"github.com/kinformer/cache/internal/table"
	"github.com/kinformer/cache/internal/tap"
)

// ErrForeign means that an informer, a store, a queue or a registration does not belong to this
// module, so that nothing is known about it.
var ErrForeign = errors.New("not made by package github.com/kinformer/cache (of several namespaces controller-runtime makes several " +
	"informers, and one of them with factory.Namespaces; with KINFORMER=off or Options.Engine they are client-go's)")

// Look returns the current state of an informer. The Holder of an informer holds its Look.
type Look func() *Informer

// Informer is a snapshot of an informer or controller. It may be used by any number of goroutines.
type Informer struct {
	clientgo.Controller        // the informer without wrappers
	Resource            string // the name of its objects in logs
	Example             any    // an example object
	Identity            clientgo.InformerNameAndResource
	Keep                tap.Keeper // what objects have; nil: all

	Report        *reflector.Journal
	Relister      *reflector.Relister
	Observed      *Observed
	Processor     *fanout.Processor      // nil for a controller
	ProcessErrors func() (uint64, error) // returns the number of process errors, and the last one

	// Configure changes the Config of a shared informer, before it runs and before other callers
	// have it. It is nil for a controller.
	Configure func(change func(*Config))

	// Follower follows the sources of an informer, and Parts returns these by name. Together calls
	// read with the sources while none is replaced or removed: what the informer has counted of former
	// ones and what its sources have counted are then all that was counted. read must not call the
	// informer or its sources. All are nil if the informer has one source.
	Follower Follower
	Parts    func() map[string]*Informer
	Together func(read func(parts map[string]*Informer))

	// The progress and size of the store; nil with a queue of the user's.
	Progress *store.Progress
	Applied  func() string // returns the version of the store
	Len      func() int

	// Access to the store; nil with a queue of the user's. A source among several has a Part instead
	// of a Table.
	Table    *table.Table
	Applier  *store.Applier
	Delivery *sync.Mutex // held while a batch is written to the store and passed to the handlers
	Part     store.Part

	// These are nil before a shared informer starts. Queue and Transform are also nil with a
	// foreign queue.
	Requests  func() reflector.Options // returns the options for the informer's requests
	Queue     *queue.Queue
	Transform *event.Transformer
}

// Replaced returns the session that has replaced the one of i, if i is a source that has another session
// now; otherwise nil.
func (i *Informer) Replaced() *Informer {
	if now := Of(i.Controller); now != nil && now.Report != i.Report {
		return now
	}
	return nil
}

// Observed is the state that packages of observers keep with an informer.
type Observed struct {
	Number atomic.Uint64 // the informer's number in Running; 0 before Run
	Memo   atomic.Value  // owned by package inspect
	Audits atomic.Value  // owned by package audit
}

// Enter records in Running that the informer runs, until leave is called.
func (o *Observed) Enter(informer clientgo.Controller) (leave func()) {
	number := Running.Enter(informer)
	o.Number.Store(number)
	return func() { Running.Leave(number) }
}

// SetStore sets the fields for access to the store.
func (i *Informer) SetStore(t *table.Table, a *store.Applier, delivery *sync.Mutex) {
	i.Table, i.Applier, i.Delivery = t, a, delivery
	i.Progress, i.Applied, i.Len = &a.Progress, t.RV, t.Len
}

// AddQueue sets Queue and Transform if the queue belongs to this module.
func (i *Informer) AddQueue(queueOrOurs any) {
	if i.Queue = QueueOf(queueOrOurs); i.Queue != nil {
		i.Transform = &i.Queue.Reader.Transform
	}
}

// Of returns the Informer of an informer or controller of this module, or nil. It unwraps wrappers
// with a GetController method, such as client-go's typed informers.
func Of(informer any) *Informer {
	for range MaxWrappers {
		if look, ok := HeldBy[Look](informer); ok {
			return look()
		}
		wrapper, ok := informer.(interface{ GetController() clientgo.Controller })
		if !ok {
			return nil
		}
		informer = wrapper.GetController()
	}
	return nil
}

// MaxWrappers bounds the unwrapping, for a wrapper that returns itself.
const MaxWrappers = 16

// QueueOf returns the internal queue of a queue of this module, or of a type that embeds one, or
// nil.
func QueueOf(v any) *queue.Queue {
	if own, ok := v.(*queue.Queue); ok {
		return own
	}
	own, _ := HeldBy[*queue.Queue](v)
	return own
}

// Running has the informers and controllers of the process whose Run has not returned.
var Running Registry[clientgo.Controller]

// Registry is a set of running things. The zero value is empty and ready for use by any number of
// goroutines.
type Registry[T any] struct {
	mu struct {
		sync.Mutex
		last    uint64 // the last number that was assigned
		running map[uint64]T
	}
}

// Enter adds element and returns its number. Numbers start at 1 and are not reused.
func (r *Registry[T]) Enter(element T) (number uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.running == nil {
		r.mu.running = map[uint64]T{}
	}
	r.mu.last++
	r.mu.running[r.mu.last] = element
	return r.mu.last
}

// Leave removes the element of a number. A second call does nothing.
func (r *Registry[T]) Leave(number uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.mu.running, number)
}

// Find returns the element of a number, and whether it exists.
func (r *Registry[T]) Find(number uint64) (element T, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	element, found = r.mu.running[number]
	return element, found
}

// All returns the elements in the order of Enter, in a new slice.
func (r *Registry[T]) All() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]T, 0, len(r.mu.running))
	for _, number := range slices.Sorted(maps.Keys(r.mu.running)) {
		all = append(all, r.mu.running[number])
	}
	return all
}

// Holder is embedded in a type that the root package exports, and holds the internal value behind it.
// Its method is unexported, so that only HeldBy reads the value, also from types of users that embed
// such a type.
type Holder[T any] struct{ value T }

// NewHolder returns a Holder that holds value.
func NewHolder[T any](value T) Holder[T] { return Holder[T]{value} }

func (s Holder[T]) held() T { return s.value }

// HeldBy returns the value of the Holder[T] in v, and whether v has one.
func HeldBy[T any](v any) (value T, ok bool) {
	holder, ok := v.(interface{ held() T })
	if ok {
		value = holder.held()
	}
	return value, ok
}
