// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"k8s.io/apimachinery/pkg/util/sets"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
)

// List is a list as queued: three slices of equal length, and the keys of listed objects whose
// cached versions must stay.
type List struct {
	Keys          []string
	Versions      []string
	Objects       []any
	untransformed []string
}

// Names returns the set of the list's keys.
func (r *List) Names() sets.Set[string] { return sets.New(r.Keys...).Insert(r.untransformed...) }

// NewReplacement reads the keys and versions of a list as received and transforms it. The slice
// remains the caller's, the objects do not.
func (q *Queue) NewReplacement(objects []any) (*List, error) {
	r := &List{
		Keys:     make([]string, 0, len(objects)),
		Versions: make([]string, 0, len(objects)),
		Objects:  make([]any, 0, len(objects)),
	}
	for _, obj := range objects {
		rec := event.Record{Type: clientgo.Replaced, Object: obj}
		rec.Version, _ = event.VersionOf(obj)
		if err := q.Reader.ReadKey(&rec); err != nil {
			return nil, err
		}
		kept, err := q.Reader.PassListed(&rec)
		switch {
		case err == nil:
			r.Keys, r.Versions, r.Objects = append(r.Keys, rec.Key), append(r.Versions, rec.Version), append(r.Objects, rec.Object)
		case kept:
			r.untransformed = append(r.untransformed, rec.Key)
		default:
			return nil, err
		}
	}
	q.Reader.Transform.Replaced(r.untransformed)
	return r, nil
}

// ReplaceAll queues a list as one record.
func (q *Queue) ReplaceAll(list []any, version string) error {
	listed, err := q.NewReplacement(list)
	if err != nil {
		return err
	}
	q.PutState(event.Record{Type: clientgo.ReplacedAll, Version: version, State: listed})
	return nil
}

// PutState queues a full list, which then belongs to the queue.
func (q *Queue) PutState(state event.Record) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	q.AppendLocked(state)
	q.PopulateInitialLocked(q.Waiting.Len())
}

// DeltaOf returns a record as a Delta of the exported queue API.
func DeltaOf(r *event.Record) clientgo.Delta {
	switch r.Type {
	case clientgo.ReplacedAll:
		return clientgo.Delta{Type: clientgo.ReplacedAll, Object: clientgo.ReplacedAllInfo{ResourceVersion: r.Version, Objects: r.State.(*List).Objects}}
	case clientgo.SyncAll:
		return clientgo.Delta{Type: clientgo.SyncAll, Object: clientgo.SyncAllInfo{}}
	case clientgo.Bookmark:
		return clientgo.Delta{Type: clientgo.Bookmark, Object: clientgo.BookmarkInfo{ResourceVersion: r.Version}}
	default:
		return clientgo.Delta{Type: r.Type, Object: r.Object}
	}
}
