// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package beside

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/minor"
	"github.com/kinformer/cache/internal/table"
)

// TableOf returns the table of a store of this module, or of an informer's store, with or without
// wrappers, or nil.
func TableOf(storeOrInformer any) *table.Table {
	of := storeOrInformer
	for range door.MaxWrappers {
		if own, ok := door.HeldBy[*table.Table](of); ok {
			return own
		}
		s, isStore := of.(clientgo.Store)
		if !isStore {
			break
		}
		inside, wraps := insideOf(s)
		if !wraps {
			return nil
		}
		of = inside
	}
	if own := door.Of(of); own != nil {
		return own.Table
	}
	return nil
}

// insideOf returns the store inside an UndeltaStore, or inside one of client-go's typed indexers, whose type
// is not exported. Wrappers of other packages are not unwrapped, because their content may differ from the
// inner store's.
func insideOf(s clientgo.Store) (inside clientgo.Store, ok bool) {
	if undelta, is := s.(*clientgo.UndeltaStore); is && undelta != nil {
		return undelta.Store, undelta.Store != nil
	}
	v := reflect.ValueOf(s)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct || v.Type().PkgPath() != reflect.TypeFor[minor.DeletedObject[*metav1.ObjectMeta]]().PkgPath() {
		return nil, false
	}
	field, ok := v.Type().FieldByName("Indexer")
	if !ok || !field.Anonymous {
		return nil, false
	}
	inside, ok = v.FieldByIndex(field.Index).Interface().(clientgo.Indexer)
	return inside, ok
}
