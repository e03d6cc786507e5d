// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"errors"
	"reflect"

	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Reader makes of what was received what is queued and stored: it reads the key and the version of each object, once, and
// transforms the object. The part of it that is used belongs to one goroutine; keys and transform may be asked by others.
type Reader struct {
	Keys      Keys
	Transform Transformer
	Logger    klog.Logger
}

// Record makes a record of an object as received.
func (r *Reader) Record(typ clientgo.DeltaType, obj any) (Record, error) {
	rec := Record{Type: typ, Object: obj}
	rec.Version, _ = VersionOf(obj)
	err := r.Complete(&rec)
	return rec, err
}

// Complete computes the key of the object as received, then transforms it.
func (r *Reader) Complete(rec *Record) error {
	if !rec.Keyed() {
		return nil
	}
	if err := r.ReadKey(rec); err != nil {
		return err
	}
	return r.Transform.Pass(rec)
}

func (r *Reader) ReadKey(rec *Record) (err error) {
	again := rec.Type == clientgo.Updated || rec.Type == clientgo.Deleted
	rec.Key, err = r.Keys.KeyOf(rec.Object, again)
	return err
}

// IsNil tells whether v is nil or an interface around a nil pointer, which would pass for an object.
func IsNil(v any) bool {
	if v == nil {
		return true
	}
	value := reflect.ValueOf(v)
	return value.Kind() == reflect.Pointer && value.IsNil()
}

// ErrNilObject is what a nil object gets instead of a key.
var ErrNilObject = errors.New("object is nil")

// KeyOf computes the key of obj; its error is a KeyError.
func KeyOf(keyFunc clientgo.KeyFunc, obj any) (string, error) {
	if IsNil(obj) {
		return "", clientgo.KeyError{Obj: obj, Err: ErrNilObject}
	}
	key, err := keyFunc(obj)
	if err != nil {
		return "", clientgo.KeyError{Obj: obj, Err: err}
	}
	return key, nil
}
