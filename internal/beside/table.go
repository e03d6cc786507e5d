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
	s, isStore := storeOrInformer.(clientgo.Store)
	if !isStore {
		if own := door.Of(storeOrInformer); own != nil {
			return own.Table
		}
		return nil
	}
	for range door.MaxWrappers {
		if own, ok := door.HeldBy[*table.Table](s); ok {
			return own
		}
		inside, typed := insideTyped(s)
		if !typed {
			break
		}
		s = inside
	}
	return nil
}

// insideTyped returns the indexer inside one of client-go's typed indexers, whose type is not
// exported. Wrappers of other packages are not unwrapped, because their content may differ from the
// inner store's.
func insideTyped(s clientgo.Store) (indexer clientgo.Indexer, ok bool) {
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
	indexer, ok = v.FieldByIndex(field.Index).Interface().(clientgo.Indexer)
	return indexer, ok
}
