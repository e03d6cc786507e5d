// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"reflect"

	clientgo "k8s.io/client-go/tools/cache"
)

// storeOf returns the store of this package that s is or, as a typed indexer, shows. It returns nil if there is none.
func storeOf(s Store) *keyedStore {
	if own, ok := s.(*keyedStore); ok {
		return own
	}
	for range maxWrappers {
		indexer, typed := insideTyped(s)
		if !typed {
			break
		}
		if own, ok := indexer.(*keyedStore); ok {
			return own
		}
		s = indexer
	}
	return nil
}

// insideTyped returns the indexer inside of one of client-go's typed ones, whose type is not exported. Wrappers of other
// packages are not looked into: they may show something else than what is inside.
func insideTyped(s Store) (indexer Indexer, ok bool) {
	v := reflect.ValueOf(s)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct || v.Type().PkgPath() != reflect.TypeFor[clientgo.ListWatch]().PkgPath() {
		return nil, false
	}
	field, ok := v.Type().FieldByName("Indexer")
	if !ok || !field.Anonymous {
		return nil, false
	}
	indexer, ok = v.FieldByIndex(field.Index).Interface().(Indexer)
	return indexer, ok
}

// storeBehind is storeOf for informers, too.
func storeBehind(storeOrInformer any) *keyedStore {
	if s, ok := storeOrInformer.(Store); ok {
		return storeOf(s)
	}
	if own := inspect(storeOrInformer); own != nil {
		return own.store
	}
	return nil
}
