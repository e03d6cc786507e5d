// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import "k8s.io/klog/v2"

// reader makes of what was received what is queued and stored: it reads the key and the version of each object, once, and
// transforms the object. The part of it that is used belongs to one goroutine; keys and transform may be asked by others.
type reader struct {
	keys      keyReader
	transform transformer
	logger    klog.Logger
}

// record makes a record of an object as received.
func (r *reader) record(typ DeltaType, obj any) (record, error) {
	rec := record{typ: typ, object: obj}
	rec.version, _ = objectVersion(obj)
	err := r.complete(&rec)
	return rec, err
}

// complete computes the key of the object as received, then transforms it.
func (r *reader) complete(rec *record) error {
	if !rec.keyed() {
		return nil
	}
	if err := r.readKey(rec); err != nil {
		return err
	}
	return r.transform.pass(rec)
}

func (r *reader) readKey(rec *record) (err error) {
	again := rec.typ == Updated || rec.typ == Deleted
	rec.key, err = r.keys.keyOf(rec.object, again)
	return err
}
