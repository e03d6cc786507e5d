// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache/internal/table"
)

// store is a threadSafeMap whose keys come from a function. It implements Indexer and TransactionStore.
type store struct {
	*threadSafeMap
	table       *table.Table // threadSafeMap's, one step nearer
	keyFunc     KeyFunc
	usualKey    bool // keyFunc is MetaNamespaceKeyFunc
	transformer TransformFunc
}

var (
	_ Indexer          = (*store)(nil)
	_ TransactionStore = (*store)(nil)
)

// StoreOption sets one property of a store at its construction. It is not interchangeable with client-go's type of this
// name, whose parameter is unexported there.
type StoreOption = func(*store)

// WithTransformer has every object pass through transformer on its way in (Add, Update, Replace). The key is computed
// before. A call whose object cannot be transformed returns the error and changes nothing; a transformer that returns nil,
// of whatever type, cannot transform.
func WithTransformer(transformer TransformFunc) StoreOption {
	return func(s *store) { s.transformer = transformer }
}

// WithStoreMetrics publishes the store's resourceVersion for the identity, if that is reserved. A nil provider means that
// of the process, see SetInformerMetricsProvider.
func WithStoreMetrics(identifier InformerNameAndResource, metrics InformerMetricsProvider) StoreOption {
	return func(s *store) {
		WithThreadSafeStoreMetrics(identifier, metrics)(s.threadSafeMap)
	}
}

// NewStore returns an empty Store, safe for use by any number of goroutines, that finds objects by keyFunc. Objects are
// shared with the callers: what was put in must not be changed afterwards. With a keyFunc of nil all that asks for an
// object's key fails with a KeyError.
func NewStore(keyFunc KeyFunc, opts ...StoreOption) Store {
	return newStore(keyFunc, nil, opts...)
}

// NewIndexer is NewStore with secondary indices; see NewThreadSafeStore for what happens when an index function fails.
func NewIndexer(keyFunc KeyFunc, indexers Indexers, opts ...StoreOption) Indexer {
	return newStore(keyFunc, indexers, opts...)
}

func newStore(keyFunc KeyFunc, indexers Indexers, opts ...StoreOption) *store {
	if keyFunc == nil {
		keyFunc = func(any) (string, error) { return "", errNoKeyFunc }
	}
	s := &store{threadSafeMap: newThreadSafeMap(indexers), keyFunc: keyFunc, usualKey: isMetaNamespaceKeyFunc(keyFunc)}
	s.table = s.threadSafeMap.Table
	for _, opt := range opts {
		opt(s)
	}
	return s
}

// NewUndeltaStore returns a Store that calls pushFunc with its whole content after every successful change, in the
// goroutine of that change and with no lock held.
func NewUndeltaStore(pushFunc func([]interface{}), keyFunc KeyFunc) *UndeltaStore {
	return &UndeltaStore{Store: NewStore(keyFunc), PushFunc: pushFunc}
}

// errNoKeyFunc is what every object gets instead of a key in a store that was made without a key function.
var errNoKeyFunc = errors.New("the store was made with a nil KeyFunc: give NewStore one, such as MetaNamespaceKeyFunc")

// errNilObject is what a nil object gets instead of a key.
var errNilObject = errors.New("object is nil")

// keyOf computes the key of obj; its error is a KeyError.
func keyOf(keyFunc KeyFunc, obj any) (string, error) {
	if isNil(obj) {
		return "", KeyError{Obj: obj, Err: errNilObject}
	}
	key, err := keyFunc(obj)
	if err != nil {
		return "", KeyError{Obj: obj, Err: err}
	}
	return key, nil
}

// keyOf is keyOf with the store's function; the usual one is written out for what is nearly every object.
func (s *store) keyOf(obj any) (string, error) {
	if s.usualKey {
		if o, ok := obj.(metav1.Object); ok && !isNil(obj) {
			if namespace := o.GetNamespace(); namespace != "" {
				return namespace + "/" + o.GetName(), nil
			}
			return o.GetName(), nil
		}
	}
	return keyOf(s.keyFunc, obj)
}

// admit computes the key and the form in which obj is stored.
func (s *store) admit(obj any) (key string, stored any, err error) {
	if key, err = s.keyOf(obj); err != nil {
		return "", nil, err
	}
	if s.transformer == nil {
		return key, obj, nil
	}
	if stored, err = transformed(s.transformer, obj); err != nil {
		return "", nil, fmt.Errorf("transforming: %w", err)
	}
	return key, stored, nil
}

// Add stores obj. Errors: KeyError, or what the transformer returned.
func (s *store) Add(obj interface{}) error {
	key, stored, err := s.admit(obj)
	if err != nil {
		return err
	}
	s.threadSafeMap.Add(key, stored)
	return nil
}

// Update stores obj, whether or not its key was there before. Errors: KeyError, or what the transformer returned.
func (s *store) Update(obj interface{}) error { return s.Add(obj) }

// Delete removes the object with the key of obj, if there is one. Error: KeyError.
func (s *store) Delete(obj interface{}) error {
	key, err := s.keyOf(obj)
	if err != nil {
		return err
	}
	s.threadSafeMap.DeleteWithObject(key, obj)
	return nil
}

// Get returns the stored object with the key of obj. Error: KeyError.
func (s *store) Get(obj interface{}) (item interface{}, exists bool, err error) {
	key, err := s.keyOf(obj)
	if err != nil {
		return nil, false, err
	}
	return s.GetByKey(key)
}

// GetByKey returns the object stored under key. The error is always nil.
func (s *store) GetByKey(key string) (item interface{}, exists bool, err error) {
	item, exists = s.table.Get(key)
	return item, exists, nil
}

// Replace makes list the whole content of the store, seen by readers all at once. Of objects with the same key the last
// one counts. An object without a key, or that cannot be transformed, fails the call and leaves the store as it was.
func (s *store) Replace(list []interface{}, resourceVersion string) error {
	if !s.usualKey || s.transformer != nil {
		keys, stored, err := s.admitAll(list)
		if err != nil {
			return err
		}
		s.replaceAll(zipped(keys, stored), len(keys), resourceVersion)
		return nil
	}
	err := s.table.Fill(len(list), resourceVersion, func(add func(string, any)) error { return s.addBlocks(list, add) })
	if err == nil {
		s.publishVersion()
	}
	return err
}

// addBlocks adds objects with the usual key. There is no user's function in it that could write to the store.
func (s *store) addBlocks(list []any, add func(key string, obj any)) error {
	for block := range slices.Chunk(list, table.BlockLen) {
		warmBlock(block)
		for _, obj := range block {
			key, err := s.keyOf(obj)
			if err != nil {
				return err
			}
			add(key, obj)
		}
	}
	return nil
}

// admitAll is admit for a list.
func (s *store) admitAll(list []any) (keys []string, stored []any, err error) {
	keys, stored = make([]string, len(list)), make([]any, len(list))
	for i, obj := range list {
		if keys[i], stored[i], err = s.admit(obj); err != nil {
			return nil, nil, err
		}
	}
	return keys, stored, nil
}

// zipped yields keys and objects in pairs.
func zipped(keys []string, objects []any) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for i, key := range keys {
			if !yield(key, objects[i]) {
				return
			}
		}
	}
}

// Transaction applies those of the transactions whose object has a key, seen by readers all at once, without the
// transformer. It returns nil, or which ones were applied and a KeyError for each of the others.
func (s *store) Transaction(transactions ...Transaction) *TransactionError {
	keyed := make([]ThreadSafeStoreTransaction, 0, len(transactions))
	applied := make([]int, 0, len(transactions))
	var failures []error
	for i, txn := range transactions {
		key, err := s.keyOf(txn.Object)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		applied = append(applied, i)
		keyed = append(keyed, ThreadSafeStoreTransaction{Transaction: txn, Key: key})
	}
	s.threadSafeMap.Transaction(keyed...)
	if len(failures) == 0 {
		return nil
	}
	return &TransactionError{SuccessfulIndices: applied, TotalTransactions: len(transactions), Errors: failures}
}
