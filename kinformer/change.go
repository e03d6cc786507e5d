// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer

import (
	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/fanout"
)

// Change describes one change of an object, and its cause. The objects are shared with the store and must
// not be modified.
type Change struct {
	Type cache.DeltaType // cache.Added, cache.Updated or cache.Deleted
	Key  string          // the key of the object in the store
	Old  any             // the previous state; for Deleted the last known state, or nil; nil for Added
	New  any             // the current state; nil for Deleted

	// Cause is empty if one of the three other methods of a ChangeFunc was called.
	Cause Cause

	// Version is the resourceVersion of New, or of Old for Deleted. It is empty if a transform function
	// removed it.
	Version string

	// Source is the name of the source of the change in an informer of package sources, or its
	// namespace with factory.Namespaces. It is empty for a resync, for the initial objects of a new
	// handler, and for other informers.
	Source string
}

// Cause is the reason for a Change.
type Cause string

const (
	// CauseInitial: an Added for an object of the first list, or of the store when the handler was
	// added.
	CauseInitial Cause = "Initial"
	// CauseWatch: an event of the watch.
	CauseWatch Cause = "Watch"
	// CauseRelist: a difference between a later list and the store. A Deleted was inferred from the
	// list: the object may have changed before its deletion, so Old may not be its last state. Handlers
	// that get resyncs also get an Updated, of one version, for each object that is unchanged in that list.
	CauseRelist Cause = "Relist"
	// CauseResync: the resync period ended. The object has not changed.
	CauseResync Cause = "Resync"
	// CauseSourceGone: the source of the object was removed; see Source.
	CauseSourceGone Cause = "SourceGone"
)

// ChangeHandler is a handler with an OnChange method. Informers of this module, including those of
// cache.NewInformer, call OnChange instead of the three other methods: in the same order, and according to
// the handler's Delivery. Informers of other packages, and a filter or typed adapter around the handler,
// call the three methods. A type that embeds a ChangeHandler promotes its OnChange and must override it.
//
// If OverflowCoalesce merges changes, Cause and Source are those of the last change that has new
// content, but the Cause of an Added stays CauseInitial. A Deleted is unaffected when a later Added and
// Deleted cancel each other out.
type ChangeHandler interface {
	cache.ResourceEventHandler
	OnChange(Change)
}

// ChangeFunc adapts a function to a ChangeHandler. Its three other methods call the function without
// Cause, Version and Source. They leave Key empty if cache.DeletionHandlingMetaNamespaceKeyFunc fails.
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
	fanout.ChangeFuncOf = func(handler cache.ResourceEventHandler) func(*event.Change) {
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
	result := Change{Type: typesOf[c.Kind], Key: c.Key, Old: lastState(c.Old), New: c.New, Cause: causes[c.Cause]}
	shown := result.New
	if c.Kind == event.ChangeDelete {
		shown = result.Old
	}
	result.Version, _ = event.VersionOf(shown)
	if c.Source != nil {
		result.Source = *c.Source
	}
	return result
}
