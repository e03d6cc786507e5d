// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/table"
)

// Indices is a parameter type of NewThreadSafeStore, there so that client-go's calls compile. A store keeps its indices
// to itself: what is given is left untouched, and nothing can be read from it.
type Indices map[string]index

// index is what nobody can put into an Indices.
type index struct{}

// IndexFailure tells that an index function returned an error or panicked for an object. The object is stored all the
// same, and is in that index under no value. Without OnIndexFailure it is reported to
// k8s.io/apimachinery/pkg/util/runtime.HandleError, by key, not by content.
type IndexFailure struct {
	Index  string      // the name of the index
	Key    string      // the key of the object
	Object interface{} // the object, shared with the store
	Err    error       // what the function returned, or an error that says it panicked
}

// OnIndexFailure has hook called for each failure of an index function, after the write and with no lock held, in the
// goroutine of the writer. In an informer that delays everything behind it.
func OnIndexFailure(hook func(IndexFailure)) StoreOption {
	return func(s *store) { s.onFailure = hook }
}

// WithIndexPanics has a write panic for an object whose index function fails, as client-go does. The write is complete by
// then, and no lock is held; the object is in the store and not in the index. A hook of OnIndexFailure is called before.
func WithIndexPanics() StoreOption {
	return func(s *store) { s.panics = true }
}

// indexFailed is called by the table for each failure.
func (m *threadSafeMap) indexFailed(f table.IndexFailure) {
	err := fmt.Errorf("unable to calculate an index entry for key %q on index %q: %w", f.Key, f.Index, f.Err)
	switch {
	case m.onFailure != nil:
		m.onFailure(IndexFailure{Index: f.Index, Key: f.Key, Object: f.Object, Err: f.Err})
	case !m.panics:
		utilruntime.HandleError(discreet(err))
	}
	if m.panics {
		panic(err)
	}
}

// IndexFailures returns how often the function of each index of the store has failed since the store was made. ok is false
// for stores of other packages.
func IndexFailures(s Store) (failures map[string]uint64, ok bool) {
	own := storeOf(s)
	if own == nil {
		return nil, false
	}
	return own.Table.IndexFailures(), true
}

// singleValued knows MetaNamespaceIndexFunc, client-go's and ours, in a form that does not allocate.
func singleValued(f table.IndexFunc) func(obj any) (value string, err error) {
	switch reflect.ValueOf(f).Pointer() {
	case reflect.ValueOf(MetaNamespaceIndexFunc).Pointer(), reflect.ValueOf(clientgo.MetaNamespaceIndexFunc).Pointer():
		return namespaceOf
	}
	return nil
}

func namespaceOf(obj any) (string, error) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return "", fmt.Errorf("object has no meta: %w", err)
	}
	return accessor.GetNamespace(), nil
}
