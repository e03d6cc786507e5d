// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"k8s.io/apimachinery/pkg/util/sets"
)

// record is one change on its way from the reflector through the queue to the store. Key and version are read once, where
// the object enters the queue, and carried from there on.
type record struct {
	typ     DeltaType
	key     string
	version string // resourceVersion as received, before any transform
	object  any    // as it will be stored; a tombstone for synthetic deletions; nil for ReplacedAll, SyncAll and Bookmark
	list    *replacement

	transformed bool // object may tell another version than was received
}

// replacement is the content of a ReplacedAll record, owned by the record: three slices of equal length or, if the queue is
// that of an informer, the next state of its store; and the keys of listed objects that are to stay as they are in the store.
type replacement struct {
	next     *nextState
	keys     []string
	versions []string
	objects  []any
	kept     []string
}

// names is the set of the keys that the list has.
func (r *replacement) names() sets.Set[string] { return sets.New(r.keys...).Insert(r.kept...) }

// delta returns the record in the form that the exported queue API hands out.
func (r *record) delta() Delta {
	switch r.typ {
	case ReplacedAll:
		return Delta{Type: ReplacedAll, Object: ReplacedAllInfo{ResourceVersion: r.version, Objects: r.list.objects}}
	case SyncAll:
		return Delta{Type: SyncAll, Object: SyncAllInfo{}}
	case Bookmark:
		return Delta{Type: Bookmark, Object: BookmarkInfo{ResourceVersion: r.version}}
	default:
		return Delta{Type: r.typ, Object: r.object}
	}
}

// keyed tells whether the record is about one object, which alone may share a batch with others.
func (r *record) keyed() bool {
	switch r.typ {
	case ReplacedAll, SyncAll, Bookmark:
		return false
	default:
		return true
	}
}
