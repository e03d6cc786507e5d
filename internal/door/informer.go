// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package door is between the root package and those beside it: what these have to know, and may do,
// of an informer, a store, a queue or the registration of a handler, and no user may.
//
// What it promises: nothing is done for an event, and nothing of what has ended is kept.
package door

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/fanout"
	"github.com/kinformer/cache/internal/minor"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/store"
	"github.com/kinformer/cache/internal/table"
)

// ErrForeign says that an informer, a store, a queue or a registration is not of this module, so
// that nothing is known about it.
var ErrForeign = errors.New("not made by package github.com/kinformer/cache (of several namespaces controller-runtime makes several " +
	"informers, and one of them with factory.Namespaces)")

// Look returns an informer as it is at the time of the call. It is what the seat of one holds.
type Look func() *Informer

// Informer is an informer or controller as it was when somebody looked, for any number of
// goroutines.
type Informer struct {
	clientgo.Controller        // without wrappers
	Resource            string // what logs call its objects
	Example             any    // of them
	Identity            clientgo.InformerNameAndResource

	Report        *reflector.Journal
	Relister      *reflector.Relister
	Observed      *Observed
	Processor     *fanout.Processor      // nil for a controller
	ProcessErrors func() (uint64, error) // how many, and the last

	// Configure changes what is set about a shared informer that does not run and that nobody else
	// has yet. It is nil for a controller.
	Configure func(change func(*Config))

	// Parts returns the sources of an informer that has several, by their names; nil: it has one.
	Parts func() map[string]*Informer

	// How far the store is, and how many objects there are; nil with a queue of the user's.
	Progress *store.Progress
	Applied  func() string // the version
	Len      func() int

	// The way into the store. They are nil with a queue of the user's. One of several sources has no
	// table, but a session of the applier's.
	Table    *table.Table
	Applier  *store.Applier
	Delivery *sync.Mutex // held while a batch goes into the store and on to the handlers
	Part     *store.Session

	// They are nil before the start of a shared informer; the last two also with a foreign queue.
	Requests  func() reflector.Options // how the informer asks for what, and of whom
	Queue     *queue.Queue
	Transform *event.Transformer
}

// Named returns the name of something, with what it is of, and of which server, as far as it does not say so.
func (i *Informer) Named(name string) string {
	if !strings.Contains(name, i.Resource) {
		name += " of " + i.Resource
	}
	if server := i.Report.Server(); server != "" {
		name += " at " + server
	}
	return name
}

// Observed is what an informer keeps for those who look at it.
type Observed struct {
	Number atomic.Uint64 // among all that ran; 0 before Run
	Memo   atomic.Value  // of package inspect
	Audits atomic.Value  // of package audit
}

// Enter begins a time in which the informer runs, leave ends it.
func (o *Observed) Enter(informer clientgo.Controller) (leave func()) {
	number := Running.Enter(informer)
	o.Number.Store(number)
	return func() { Running.Leave(number) }
}

// SetStore notes the way into the store.
func (i *Informer) SetStore(t *table.Table, a *store.Applier, delivery *sync.Mutex) {
	i.Table, i.Applier, i.Delivery = t, a, delivery
	i.Progress, i.Applied, i.Len = &a.Progress, t.RV, t.Len
}

// AddQueue notes the queue, if it is one of ours.
func (i *Informer) AddQueue(queueOrOurs any) {
	if i.Queue = QueueOf(queueOrOurs); i.Queue != nil {
		i.Transform = &i.Queue.Reader.Transform
	}
}

// Of returns what is known of an informer or controller of this module, also of one in wrappers
// that pass GetController on, as the typed informers of client-go do. It returns nil for others.
func Of(informer any) *Informer {
	for range maxWrappers {
		if look, ok := Held[Look](informer); ok {
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

// maxWrappers keeps a wrapper from being unwrapped for ever that returns itself.
const maxWrappers = 16

// QueueOf returns what a queue of this module, or a type that embeds one, is made of; nil for
// others.
func QueueOf(v any) *queue.Queue {
	if own, ok := v.(*queue.Queue); ok {
		return own
	}
	own, _ := Held[*queue.Queue](v)
	return own
}

// TableOf returns the table of a store of this module, or of the store of an informer, however they
// are handed out. It returns nil for others.
func TableOf(storeOrInformer any) *table.Table {
	s, isStore := storeOrInformer.(clientgo.Store)
	if !isStore {
		if own := Of(storeOrInformer); own != nil {
			return own.Table
		}
		return nil
	}
	for range maxWrappers {
		if own, ok := Held[*table.Table](s); ok {
			return own
		}
		inside, typed := insideTyped(s)
		if !typed {
			break
		}
		s = inside
	}
	return nil
}

// insideTyped returns the indexer inside of one of client-go's typed ones, whose type is not
// exported. Wrappers of other packages are not looked into: they may show something else than what
// is inside.
func insideTyped(s clientgo.Store) (indexer clientgo.Indexer, ok bool) {
	v := reflect.ValueOf(s)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct || v.Type().PkgPath() != reflect.TypeFor[minor.DeletedObject[*metav1.ObjectMeta]]().PkgPath() {
		return nil, false
	}
	field, ok := v.Type().FieldByName("Indexer")
	if !ok || !field.Anonymous {
		return nil, false
	}
	indexer, ok = v.FieldByIndex(field.Index).Interface().(clientgo.Indexer)
	return indexer, ok
}

// Running are the informers and controllers of the process whose Run has not returned.
var Running Registry[clientgo.Controller]

// Registry knows what runs. The zero value is empty and ready, for any number of goroutines.
type Registry[T any] struct {
	mu struct {
		sync.Mutex
		last    uint64 // number that was given
		running map[uint64]T
	}
}

// Enter adds what begins to run, under a number from 1 that no other gets.
func (r *Registry[T]) Enter(what T) (number uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.running == nil {
		r.mu.running = map[uint64]T{}
	}
	r.mu.last++
	r.mu.running[r.mu.last] = what
	return r.mu.last
}

// Leave forgets what has ended. A second call does nothing.
func (r *Registry[T]) Leave(number uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.mu.running, number)
}

// Find returns what runs under that number, and whether anything does.
func (r *Registry[T]) Find(number uint64) (what T, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	what, found = r.mu.running[number]
	return what, found
}

// All returns what runs, in the order of Enter, in a slice of the caller's own.
func (r *Registry[T]) All() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]T, 0, len(r.mu.running))
	for _, number := range slices.Sorted(maps.Keys(r.mu.running)) {
		all = append(all, r.mu.running[number])
	}
	return all
}

// Seat is embedded in a type that the root hands out, and holds what is behind it. Its method is not
// exported, so that only Held finds what it holds: also where users embed the type in one of theirs.
type Seat[T any] struct{ held T }

// Seated returns a Seat that holds what is given.
func Seated[T any](held T) Seat[T] { return Seat[T]{held} }

func (s Seat[T]) seated() T { return s.held }

// Held returns what the Seat[T] in a value holds, and whether there is one.
func Held[T any](v any) (held T, ok bool) {
	seat, ok := v.(interface{ seated() T })
	if ok {
		held = seat.seated()
	}
	return held, ok
}
