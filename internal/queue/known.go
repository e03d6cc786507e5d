// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
)

// Tombstone looks up what is known under key, for a deletion that nobody saw. An object that cannot
// be had is nil.
func (q *Queue) Tombstone(key string) event.Record {
	obj, exists, err := q.Known.GetByKey(key)
	switch {
	case err != nil:
		event.ReportTo(q.Reader.Logger, event.Discreet(err), "No last state for a deleted object: lookup failed", "key", key)
		obj = nil
	case !exists:
		q.Reader.Logger.Info("No last state for a deleted object: gone from the known objects", "key", key)
		obj = nil
	}
	return DeletionOf(clientgo.DeletedFinalStateUnknown{Key: key, Obj: obj})
}

func isLost(rec event.Record) bool { return rec.Lost() }

// recoverLocked gives a deletion whose last state was refused the object that is known in its
// place. It reports false if there is none, so that nobody needs to hear of the deletion.
func (q *Queue) recoverLocked(rec *event.Record) (known bool) {
	if newest := q.Waiting.newest(rec.Key); newest != nil {
		rec.Object = clientgo.DeletedFinalStateUnknown{Key: rec.Key, Obj: newest.LastState()}
		return newest.Type != clientgo.Deleted
	}
	if _, exists, err := q.Known.GetByKey(rec.Key); err == nil && !exists {
		return false
	}
	rec.Object = q.Tombstone(rec.Key).Object
	return true
}

func DeletionOf(tombstone clientgo.DeletedFinalStateUnknown) event.Record {
	return event.Record{Type: clientgo.Deleted, Key: tombstone.Key, Object: tombstone}
}

// SyncOf looks up a known object for a resync. One that cannot be had is left out, with a line in
// the log.
func (q *Queue) SyncOf(key string) (rec event.Record, ok bool) {
	obj, exists, err := q.Known.GetByKey(key)
	if err != nil {
		event.ReportTo(q.Reader.Logger, event.Discreet(err), "Object left out of a resync: lookup failed", "key", key)
		return event.Record{}, false
	}
	if !exists {
		q.Reader.Logger.Info("Object left out of a resync: gone from the known objects", "key", key)
		return event.Record{}, false
	}
	version, _ := event.VersionOf(obj)
	return event.Record{Type: clientgo.Sync, Key: key, Version: version, Object: obj}, true
}
