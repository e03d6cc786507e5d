// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer

import (
	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/fanout"
)

// Change is what a ChangeHandler is told: what has become of an object, and why that is known.
type Change struct {
	Type cache.DeltaType // cache.Added, cache.Updated or cache.Deleted
	Key  string          // of the object in the store
	Old  any             // the state before; of Deleted the last one that is known, nil if none is; nil for Added
	New  any             // the state now; nil for Deleted

	// Cause is empty where a ChangeFunc is called by its three other methods.
	Cause Cause

	// Version is the resourceVersion that New has, or for Deleted Old: empty where a transform function
	// has removed it.
	Version string

	// Source is the name of the source that the change came from, of an informer of package sources, or
	// its namespace with factory.Namespaces; empty for a resync, for what there is when a handler is added,
	// and for other informers.
	Source string
}

// Cause is why a Change came.
type Cause string

const (
	// CauseInitial: an Added of the first list, or of what was in the store when the handler was added.
	CauseInitial Cause = "Initial"
	// CauseWatch: the server has sent an event.
	CauseWatch Cause = "Watch"
	// CauseRelist: a list has an object that the store had, or lacks it, or a later list has a new one. What
	// Deleted says was not seen: the object may have changed before, and Old may not be its last state.
	CauseRelist Cause = "Relist"
	// CauseResync: the resync period is over. Nothing is new.
	CauseResync Cause = "Resync"
	// CauseSourceGone: the source that had the object was removed; see Source.
	CauseSourceGone Cause = "SourceGone"
)

// ChangeHandler is a handler that informers of this module, those of cache.NewInformer too, call by
// OnChange, in place of its three other methods: as these in order, one call at a time, and as its Delivery
// says. The three methods are called by a filter or a typed adapter around it, and by informers of other
// packages. A type that embeds a ChangeHandler has its OnChange, and so has to override that.
//
// Where OverflowCoalesce merges changes, Cause and Source are of the last one that says anything new, but
// the Cause of an Added stays CauseInitial. A Deleted stays as it is when a later Added and Deleted cancel
// each other out.
type ChangeHandler interface {
	cache.ResourceEventHandler
	OnChange(Change)
}

// ChangeFunc is a function as a ChangeHandler. Its three other methods call it without Cause, Version and
// Source, and without the Key of an object that has none by cache.DeletionHandlingMetaNamespaceKeyFunc.
type ChangeFunc func(Change)

// OnChange calls f.
func (f ChangeFunc) OnChange(c Change) { f(c) }

// OnAdd calls f.
func (f ChangeFunc) OnAdd(obj any, _ bool) { f.call(Change{Type: cache.Added, New: obj}, obj) }

// OnUpdate calls f.
func (f ChangeFunc) OnUpdate(oldObj, newObj any) {
	f.call(Change{Type: cache.Updated, Old: oldObj, New: newObj}, newObj)
}

// OnDelete calls f.
func (f ChangeFunc) OnDelete(obj any) { f.call(Change{Type: cache.Deleted, Old: lastState(obj)}, obj) }

func (f ChangeFunc) call(c Change, obj any) {
	c.Key, _ = cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	f(c)
}

func lastState(obj any) any {
	if tombstone, is := obj.(cache.DeletedFinalStateUnknown); is {
		return tombstone.Obj
	}
	return obj
}

func init() {
	fanout.TellOf = func(handler cache.ResourceEventHandler) func(*event.Change) {
		if h, is := handler.(ChangeHandler); is {
			return func(c *event.Change) { h.OnChange(changeOf(c)) }
		}
		return nil
	}
}

var (
	typesOf = [...]cache.DeltaType{
		event.ChangeAdd: cache.Added, event.ChangeUpdate: cache.Updated, event.ChangeDelete: cache.Deleted,
	}
	causes = [...]Cause{
		event.CauseInitial: CauseInitial, event.CauseWatch: CauseWatch, event.CauseRelist: CauseRelist,
		event.CauseResync: CauseResync, event.CauseGone: CauseSourceGone,
	}
)

func changeOf(c *event.Change) Change {
	told := Change{Type: typesOf[c.Kind], Key: c.Key, Old: lastState(c.Old), New: c.New, Cause: causes[c.Cause]}
	shown := told.New
	if c.Kind == event.ChangeDelete {
		shown = told.Old
	}
	told.Version, _ = event.VersionOf(shown)
	if c.Source != nil {
		told.Source = *c.Source
	}
	return told
}
