// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"fmt"
	"iter"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/shard"
	"github.com/kinformer/cache/internal/sources"
	"github.com/kinformer/cache/kinformer"
)

// ErrUnknown says that there is no source of a name.
var ErrUnknown = sources.ErrUnknown

// New returns an informer for the objects of the sources of the Set, which has none yet. The informer
// does nothing until it is run; it may be run without a source. The options are as of kinformer.New,
// and count for each source.
func New(exampleObject runtime.Object, options kinformer.Options) (cache.SharedIndexInformer, *Set) {
	informer := kinformer.New(nil, exampleObject, options)
	return informer, &Set{sources.Attach(door.Of(informer))}
}

// Shard returns a ListerWatcher for one of n parts of what lw lists and watches, i from 0 to n-1. The
// parts of all n have each object once, and about as many objects each: which one has an object is
// decided by a hash of its UID, and so does not change while the object lives. With n of 1 it is all.
// Another i or n for a source is another request: see Set.Put.
//
// Servers with the feature gate ShardedListAndWatch (alpha in Kubernetes 1.37) send nothing but the
// part. Others ignore what they are asked for and send everything; then the informer leaves the other
// parts out, before it decodes them where it decodes directly, and inspect.StatusOf says "the server
// does not shard".
//
// If there is no i-th of n parts, each request fails with an error that says so.
func Shard(lw cache.ListerWatcher, i, n int) cache.ListerWatcher {
	if event.IsNil(lw) {
		return nil
	}
	return shard.NewLister(lw, i, n)
}

// Set is the sources of an informer. Any number of goroutines may use it. No method waits for a
// request, for a handler or for the store, so that handlers may call all of them.
type Set struct{ group *sources.Group }

// Put adds a source that lists and watches with lw, before the informer runs or while it does. In the
// place of a source of the same name it ends the requests of that, and what it had stays until the
// first state of the new one is in the store. Then handlers hear the difference only: nothing of an
// object that is in both in one version.
//
// If lw is nil, the source never syncs, and its status says why. After the informer has stopped, the
// call has no effect but a source that has stopped.
func (s *Set) Put(name string, lw cache.ListerWatcher) { s.group.Put(name, lw) }

// Remove ends the requests of a source, and has its objects leave the store that no other source has,
// in one transaction. It does not wait until they have left, and they stay if the informer has stopped.
// The error is ErrUnknown.
func (s *Set) Remove(name string) error { return s.group.Remove(name) }

// Source returns a source. If there is none of this name, what it returns never syncs, and
// kinformer.WaitForSync and inspect.StatusOf say why.
func (s *Set) Source(name string) *Source {
	if of := s.group.Source(name); of != nil {
		return newSource(name, of)
	}
	absent := sources.NewGroup(&door.Informer{Resource: "objects"})
	absent.Refuse(fmt.Errorf("%w: %q", ErrUnknown, name))
	absent.Put(name, nil)
	return newSource(name, absent.Source(name))
}

// All yields the sources by their names, in the order of these, as they are when the loop begins.
func (s *Set) All() iter.Seq2[string, *Source] {
	return func(yield func(string, *Source) bool) {
		for _, name := range s.group.Names() {
			if of := s.group.Source(name); of != nil && !yield(name, newSource(name, of)) {
				return
			}
		}
	}
}

// Source is one source of a Set. kinformer.WaitForSync, kinformer.WaitForVersion, kinformer.Relist and
// inspect.StatusOf take it as they take an informer. It stays the same when it is replaced, and is
// over when it is removed: another one of its name has nothing to do with it.
type Source struct {
	seat
	name string
	of   *sources.Source
}

// seat shows a source to packages beside this one.
type seat = door.Seat[door.Look]

func newSource(name string, of *sources.Source) *Source { return &Source{of.Seat, name, of} }

// Name returns the name of the source in its Set.
func (s *Source) Name() string { return s.name }

// HasSynced reports whether the first state of the source is in the store, and the handlers have been
// given it. They may not have been called for all of it yet.
func (s *Source) HasSynced() bool { return s.of.HasSynced() }

// HasSyncedChecker returns what HasSynced answers as a channel.
func (s *Source) HasSyncedChecker() cache.DoneChecker { return s.of.HasSyncedChecker() }

// LastSyncResourceVersion returns the resourceVersion to which the store has come for this source,
// "" before its first state.
func (s *Source) LastSyncResourceVersion() string { return s.of.LastSyncResourceVersion() }
