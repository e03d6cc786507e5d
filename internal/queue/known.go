// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
)

// tombstone looks up the object under key, for a deletion that nobody saw. An object that cannot be
// had is nil.
func tombstone(known clientgo.KeyListerGetter, logger klog.Logger, key string) event.Record {
	obj, exists, err := known.GetByKey(key)
	switch {
	case err != nil:
		event.ReportTo(logger, event.Discreet(err), "No last state for a deleted object: lookup failed", "key", key)
		obj = nil
	case !exists:
		logger.Info("No last state for a deleted object: gone from the known objects", "key", key)
		obj = nil
	}
	return DeletionOf(clientgo.DeletedFinalStateUnknown{Key: key, Obj: obj})
}

func isLost(rec event.Record) bool { return rec.Lost() }

func DeletionOf(tombstone clientgo.DeletedFinalStateUnknown) event.Record {
	return event.Record{Type: clientgo.Deleted, Key: tombstone.Key, Object: tombstone}
}

// syncOf looks up a known object for a resync. One that cannot be had is left out, with a line in
// the log.
func syncOf(known clientgo.KeyListerGetter, logger klog.Logger, key string) (rec event.Record, ok bool) {
	obj, exists, err := known.GetByKey(key)
	if err != nil {
		event.ReportTo(logger, event.Discreet(err), "Object left out of a resync: lookup failed", "key", key)
		return event.Record{}, false
	}
	if !exists {
		logger.Info("Object left out of a resync: gone from the known objects", "key", key)
		return event.Record{}, false
	}
	version, _ := event.VersionOf(obj)
	return event.Record{Type: clientgo.Sync, Key: key, Version: version, Object: obj}, true
}
