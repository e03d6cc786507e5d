// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
)

// replacement is a list as a queue takes it: three slices of equal length, and the keys of listed objects whose cached
// versions are to stay.
type replacement struct {
	keys     []string
	versions []string
	objects  []any
	kept     []string
}

// names is the set of the keys that the list has.
func (r *replacement) names() sets.Set[string] { return sets.New(r.keys...).Insert(r.kept...) }

// newReplacement reads the keys and versions of a list as received and transforms it. The slice stays the caller's, the
// objects do not.
func (q *recordQueue) newReplacement(objects []any) (*replacement, error) {
	r := &replacement{
		keys:     make([]string, 0, len(objects)),
		versions: make([]string, 0, len(objects)),
		objects:  make([]any, 0, len(objects)),
	}
	for _, obj := range objects {
		rec := record{typ: Replaced, object: obj}
		rec.version, _ = objectVersion(obj)
		if err := q.reader.readKey(&rec); err != nil {
			return nil, err
		}
		err := q.reader.transform.pass(&rec)
		switch {
		case err == nil:
			r.keys, r.versions, r.objects = append(r.keys, rec.key), append(r.versions, rec.version), append(r.objects, rec.object)
		case q.reader.transform.keepCached:
			utilruntime.HandleErrorWithLogger(q.reader.logger, discreet(err), "Object of a list keeps its cached version: transform failed", "key", rec.key)
			r.kept = append(r.kept, rec.key)
		default:
			return nil, err
		}
	}
	q.reader.transform.replaced(r.kept)
	return r, nil
}

// replaceAll queues a list as one record.
func (q *recordQueue) replaceAll(list []any, version string) error {
	listed, err := q.newReplacement(list)
	if err != nil {
		return err
	}
	q.putState(record{typ: ReplacedAll, version: version, state: listed})
	return nil
}

// putState queues a whole state, which the queue owns from here on.
func (q *recordQueue) putState(state record) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.appendLocked(state)
	q.populateInitialLocked(q.waiting.len())
}

// deltaOf returns a record in the form that the exported queue API hands out.
func deltaOf(r *record) Delta {
	switch r.typ {
	case ReplacedAll:
		return Delta{Type: ReplacedAll, Object: ReplacedAllInfo{ResourceVersion: r.version, Objects: r.state.(*replacement).objects}}
	case SyncAll:
		return Delta{Type: SyncAll, Object: SyncAllInfo{}}
	case Bookmark:
		return Delta{Type: Bookmark, Object: BookmarkInfo{ResourceVersion: r.version}}
	default:
		return Delta{Type: r.typ, Object: r.object}
	}
}
