// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"fmt"
	"iter"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/shard"
	"github.com/kinformer/cache/internal/sources"
	"github.com/kinformer/cache/kinformer"
)

// ErrUnknown is the error for a name without a source.
var ErrUnknown = sources.ErrUnknown

// New returns an informer for the objects of the sources of the Set, and the Set, which is empty. The
// informer does nothing until it is run; it may be run without sources. The options are as in
// kinformer.New, and apply to each source.
func New(exampleObject runtime.Object, options kinformer.Options) (cache.SharedIndexInformer, *Set) {
	informer := kinformer.New(nil, exampleObject, options)
	return informer, &Set{sources.Attach(door.Of(informer))}
}

// Shard returns a ListerWatcher for the i-th of n parts of the objects of lw, with i from 0 to n-1.
// Each object is in exactly one of the n parts, which have about as many objects each. A hash of the
// UID determines the part of an object, which therefore does not change while the object exists. With n
// of 1 the part has all objects. For a source, another i or n is another request: see Set.Put.
//
// Servers with the feature gate ShardedListAndWatch (alpha in Kubernetes 1.37, on in 1.38) send only the
// part. Other servers ignore the selector and send everything; then the informer drops the other parts,
// without decoding them if it decodes directly, and inspect.StatusOf reports "the server does not shard".
//
// If i is not from 0 to n-1, or lw is a shard by UIDs itself, each request fails with an error that says so. If
// lw is nil, so is the result. The SetShardSelector of an informer of a Shard selects from its objects.
func Shard(lw cache.ListerWatcher, i, n int) cache.ListerWatcher {
	if event.IsNil(lw) {
		return nil
	}
	return shard.NewListWatch(lw, i, n)
}

// Set is the set of sources of an informer. It may be used by any number of goroutines. No method waits
// for a request, for a handler or for the store, so handlers may call all of them. Only New and Of return
// a usable Set.
type Set struct{ group *sources.Group }

// Of returns the Set of an informer, and whether the informer has one: an informer of New, or one
// that follows a factory.Namespaces, whose sources have the names of the namespaces. Wrappers are as for
// inspect.StatusOf. The sources of a factory.Namespaces are put and removed by its own methods.
func Of(informer inspect.Syncer) (set *Set, ok bool) {
	own := door.Of(informer)
	if own == nil {
		return nil, false
	}
	group, ok := own.Follower.(*sources.Group)
	if !ok {
		return nil, false
	}
	return &Set{group}, true
}

// Put adds a source that lists and watches with lw, before the informer runs or while it does. If there
// is a source with this name, Put replaces it: the requests of the old source end, and its objects stay
// until the first list of the new one is in the store. Then handlers are called only for the
// difference, and not for an object that both have in the same version.
//
// The result is for what must know when this request, and not an earlier one of the source, is in the
// store: kinformer.WaitForSync waits for its first list.
//
// If lw is nil, the source never syncs, and its status gives the reason. After the informer has
// stopped, the call only adds a stopped source.
func (s *Set) Put(name string, lw cache.ListerWatcher) *Session {
	of := s.group.Put(name, lw)
	return &Session{of.Holder, name, of}
}

// Remove ends the requests of a source, and removes its objects that no other source has from the
// store, in one transaction. It does not wait for the removal, and if the informer has stopped the
// objects stay. The error is ErrUnknown.
func (s *Set) Remove(name string) error { return s.group.Remove(name) }

// Source returns the source with this name. If there is none, the result never syncs, and
// kinformer.WaitForSync and inspect.StatusOf return the reason.
func (s *Set) Source(name string) *Source {
	if of := s.group.Source(name); of != nil {
		return newSource(name, of)
	}
	report := reflector.NewJournal()
	(&reflector.Options{TypeDescription: "objects"}).Describe(report)
	absent := sources.NewGroup(&door.Informer{Report: report})
	absent.Refuse(fmt.Errorf("%w: %q", ErrUnknown, name))
	absent.Put(name, nil)
	return newSource(name, absent.Source(name))
}

// All yields the sources by name, in the order of their names, as of the beginning of the loop.
func (s *Set) All() iter.Seq2[string, *Source] {
	return func(yield func(string, *Source) bool) {
		for _, name := range s.group.Names() {
			if of := s.group.Source(name); of != nil && !yield(name, newSource(name, of)) {
				return
			}
		}
	}
}

// Source is one source of a Set. The functions that accept an informer accept it, apart from
// inspect.QueueOf: kinformer.WaitForSync, kinformer.WaitForVersion, kinformer.Relist, inspect.StatusOf,
// inspect.Of, view.Of, audit.Once and audit.Run. It stays valid when it is replaced, and ends when it is
// removed: a later source with the same name is another one. Its versions and HasSynced are those of its
// present request, so that HasSynced is false again until the first list of a replacement. Only the
// methods of a Set return usable Sources.
type Source struct {
	holder
	name string
	of   *sources.Source
}

// holder gives other packages access to a source or a session.
type holder = door.Holder[door.Look]

func newSource(name string, of *sources.Source) *Source { return &Source{of.Holder, name, of} }

// Name returns the name of the source in its Set.
func (s *Source) Name() string { return s.name }

// HasSynced reports whether the first list of the source, or of its replacement, is in the store and was
// queued for the handlers. They may not have been called for all of it yet.
func (s *Source) HasSynced() bool { return s.of.HasSynced() }

// HasSyncedChecker returns a DoneChecker that is done when HasSynced is true. A replacement of a source
// that has not synced goes on with it; one of a source that has synced needs another DoneChecker.
func (s *Source) HasSyncedChecker() cache.DoneChecker { return s.of.HasSyncedChecker() }

// LastStoreSyncResourceVersion returns the resourceVersion of the source that the store has reached, or ""
// before its first list.
func (s *Source) LastStoreSyncResourceVersion() string { return s.of.LastSyncResourceVersion() }

// Session is a source with the ListerWatcher of one call of Put, and may be used like a Source. It ends
// when the source is replaced or removed: waits for it then return an error that says so.
type Session struct {
	holder
	name string
	of   *sources.Session
}

// Name returns the name of the source in its Set.
func (s *Session) Name() string { return s.name }

// HasSynced reports whether the first list of the session is in the store and was queued for the handlers.
// They may not have been called for all of it yet.
func (s *Session) HasSynced() bool { return s.of.HasSynced() }

// HasSyncedChecker returns a DoneChecker that is done when HasSynced is true.
func (s *Session) HasSyncedChecker() cache.DoneChecker { return s.of.HasSyncedChecker() }

// LastStoreSyncResourceVersion returns the resourceVersion of the session that the store has reached, or ""
// before its first list.
func (s *Session) LastStoreSyncResourceVersion() string { return s.of.LastSyncResourceVersion() }
