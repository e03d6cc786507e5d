// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/fanout"
	"github.com/kinformer/cache/internal/provider"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/store"
	"github.com/kinformer/cache/internal/switched"
	"github.com/kinformer/cache/internal/table"
)

// keyedStore is a store whose keys come from a function. It implements Indexer and
// TransactionStore.
type keyedStore struct {
	objects
	keyFunc     KeyFunc
	usualKey    bool // KeyFunc is MetaNamespaceKeyFunc
	transformer TransformFunc

	owner any // lives as long as the store, for the guard of writes; may be nil
}

var (
	_ Indexer          = (*keyedStore)(nil)
	_ TransactionStore = (*keyedStore)(nil)
)

// Types that give the packages beside this one access to the values that embed them.
type (
	informerHolder = door.Holder[door.Look]
	queueHolder    = door.Holder[*queue.Queue]
	listenerHolder = door.Holder[*fanout.Listener]
)

// queueLife has the methods of queues about closing and about the first Replace.
type queueLife = queue.Life

// StoreOption sets one property of a store at its construction. It is not interchangeable with
// client-go's type of this name, whose parameter is unexported there.
type StoreOption = func(*storeOptions)

// storeOptions are the options of a store whose keys come from a function.
type storeOptions struct {
	transformer TransformFunc
	identifier  InformerNameAndResource
	metrics     InformerMetricsProvider
}

// WithTransformer transforms every object before it is stored (Add, Update, Replace). The key is computed
// before. If transformer fails, or returns a nil of any type, the call returns an error and changes
// nothing.
func WithTransformer(transformer TransformFunc) StoreOption {
	return func(o *storeOptions) { o.transformer = transformer }
}

// WithStoreMetrics publishes the store's resourceVersion for identifier, if identifier is reserved. A nil
// provider means that of the process, see SetInformerMetricsProvider.
func WithStoreMetrics(identifier InformerNameAndResource, metrics InformerMetricsProvider) StoreOption {
	return func(o *storeOptions) { o.identifier, o.metrics = identifier, metrics }
}

// NewStore returns an empty Store, safe for use by any number of goroutines, that finds objects by
// KeyFunc. Objects are shared with the callers: a stored object must not be changed.
// With a nil KeyFunc, every method that needs an object's key returns a KeyError. A nil option
// panics.
//
// With KINFORMER=off in the environment the store is client-go's; see docs/operating.md.
func NewStore(keyFunc KeyFunc, opts ...StoreOption) Store { return NewIndexer(keyFunc, nil, opts...) }

// NewIndexer is NewStore with secondary indices. NewThreadSafeStore documents how failures of index
// functions are handled.
func NewIndexer(keyFunc KeyFunc, indexers Indexers, opts ...StoreOption) Indexer {
	o := storeOptions{}
	for i, opt := range opts {
		refuseNilOption(opt == nil, "NewStore or NewIndexer", i, len(opts))
		opt(&o)
	}
	if keyFunc == nil {
		keyFunc = func(any) (string, error) { return "", errNoKeyFunc }
	}
	if !isSwitched(indexers) {
		return newStore(keyFunc, indexers, o)
	}
	indexers, metrics := switched.Copied(indexers), clientgo.WithStoreMetrics(o.identifier, o.metrics)
	if o.transformer == nil {
		return clientgo.NewIndexer(keyFunc, indexers, metrics)
	}
	return clientgo.NewIndexer(keyFunc, indexers, metrics, clientgo.WithTransformer(o.transformer))
}

func newStore(keyFunc KeyFunc, indexers Indexers, o storeOptions) *keyedStore {
	s := &keyedStore{keyFunc: keyFunc, usualKey: isMetaNamespaceKeyFunc(keyFunc), transformer: o.transformer}
	s.init(indexers)
	s.contents.OnVersion = provider.OfStore(o.identifier, o.metrics)
	return s
}

// NewUndeltaStore returns a Store that calls pushFunc with its whole content after every successful
// change, in the goroutine of the change and with no lock held.
func NewUndeltaStore(pushFunc func([]interface{}), keyFunc KeyFunc) *UndeltaStore {
	return &UndeltaStore{Store: NewStore(keyFunc), PushFunc: pushFunc}
}

// isMetaNamespaceKeyFunc reports whether f is MetaNamespaceKeyFunc, of client-go or of this package, with or
// without deletion handling. The difference does not matter: an object with metadata is no tombstone.
func isMetaNamespaceKeyFunc(f KeyFunc) bool {
	at := reflect.ValueOf(f).Pointer()
	for _, usual := range []KeyFunc{
		MetaNamespaceKeyFunc, DeletionHandlingMetaNamespaceKeyFunc,
		clientgo.MetaNamespaceKeyFunc, clientgo.DeletionHandlingMetaNamespaceKeyFunc,
	} {
		if reflect.ValueOf(usual).Pointer() == at {
			return true
		}
	}
	return false
}

// errNoKeyFunc is the error for every object in a store without a key function.
var errNoKeyFunc = errors.New("the store was made with a nil KeyFunc: give NewStore one, such as MetaNamespaceKeyFunc")

// keyOf is KeyOf with the store's function. MetaNamespaceKeyFunc, the usual one, is inlined.
func (s *keyedStore) keyOf(obj any) (string, error) {
	if s.usualKey {
		if o, ok := obj.(metav1.Object); ok && !event.IsNil(obj) {
			if namespace := o.GetNamespace(); namespace != "" {
				return namespace + "/" + o.GetName(), nil
			}
			return o.GetName(), nil
		}
	}
	return event.KeyOf(s.keyFunc, obj)
}

// usualKeyLen is the size of buffers for lookup keys, in bytes. Most keys fit, so that a lookup does not
// allocate.
const usualKeyLen = 128

// appendKey appends the key of obj to dst. It returns nil if the key function is not MetaNamespaceKeyFunc or
// obj has no namespace.
func (s *keyedStore) appendKey(dst []byte, obj any) []byte {
	if !s.usualKey {
		return nil
	}
	o, ok := obj.(metav1.Object)
	if !ok || event.IsNil(obj) {
		return nil
	}
	namespace := o.GetNamespace()
	if namespace == "" {
		return nil
	}
	return append(append(append(dst, namespace...), '/'), o.GetName()...)
}

// admit computes the key and the form in which obj is stored.
func (s *keyedStore) admit(obj any) (key string, stored any, err error) {
	if key, err = s.keyOf(obj); err != nil {
		return "", nil, err
	}
	if s.transformer == nil {
		return key, obj, nil
	}
	if stored, err = event.Transformed(s.transformer, obj); err != nil {
		return "", nil, fmt.Errorf("transforming: %w", err)
	}
	return key, stored, nil
}

// Add stores obj. It returns a KeyError, or the transformer's error.
func (s *keyedStore) Add(obj interface{}) error {
	var room [usualKeyLen]byte
	if key := s.appendKey(room[:0], obj); key != nil && s.transformer == nil {
		s.contents.Put(key, obj, func(held string) string { return versionAfter(held, obj) })
		return nil
	}
	key, stored, err := s.admit(obj)
	if err != nil {
		return err
	}
	s.contents.Apply([]table.Op{{Key: key, Object: stored}}, func(held string) string { return versionAfter(held, stored) })
	return nil
}

// Update stores obj, whether or not its key existed before. Errors as for Add.
func (s *keyedStore) Update(obj interface{}) error { return s.Add(obj) }

// Delete removes the object with the key of obj, if there is one. Error: KeyError.
func (s *keyedStore) Delete(obj interface{}) error {
	var room [usualKeyLen]byte
	if key := s.appendKey(room[:0], obj); key != nil {
		s.contents.Remove(key, func(held string) string { return versionAfter(held, obj) })
		return nil
	}
	key, err := s.keyOf(obj)
	if err != nil {
		return err
	}
	s.contents.Apply([]table.Op{{Key: key, Delete: true}}, func(held string) string { return versionAfter(held, obj) })
	return nil
}

// Get returns the stored object with the key of obj. Error: KeyError.
func (s *keyedStore) Get(obj interface{}) (item interface{}, exists bool, err error) {
	key, err := s.keyOf(obj)
	if err != nil {
		return nil, false, err
	}
	return s.GetByKey(key)
}

// GetByKey returns the object stored under key. The error is always nil.
func (s *keyedStore) GetByKey(key string) (item interface{}, exists bool, err error) {
	item, exists = s.table.Get(key)
	return item, exists, nil
}

// Replace makes list the whole content of the store, for readers in one step. Of objects with the same key
// the last one counts. If an object has no key or cannot be transformed, Replace returns the error and
// changes nothing.
func (s *keyedStore) Replace(list []interface{}, resourceVersion string) error {
	if !s.usualKey || s.transformer != nil {
		keys, stored, err := s.admitAll(list)
		if err != nil {
			return err
		}
		s.contents.Replace(zipped(keys, stored), len(keys), resourceVersion)
		return nil
	}
	fill := func(add func(string, any)) error { return s.addBlocks(list, add) }
	return s.contents.Fill(len(list), resourceVersion, fill)
}

// addBlocks adds objects with the usual key. It calls no function of the user, which could write to the
// store.
func (s *keyedStore) addBlocks(list []any, add func(key string, obj any)) error {
	for block := range slices.Chunk(list, table.BlockLen) {
		store.WarmBlock(block)
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
func (s *keyedStore) admitAll(list []any) (keys []string, stored []any, err error) {
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

// Transaction applies the transactions whose object has a key, for readers in one step, without the
// transformer. It returns nil, or an error with the positions of the applied ones and a KeyError for each
// of the others.
func (s *keyedStore) Transaction(transactions ...Transaction) *TransactionError {
	b := takeBatch()
	var failures []error
	for i := range transactions {
		key, err := s.keyOf(transactions[i].Object)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		b.add(key, &transactions[i])
		b.applied = append(b.applied, i)
	}
	s.apply(b)
	if len(failures) == 0 {
		b.give()
		return nil
	}
	return &TransactionError{SuccessfulIndices: b.applied, TotalTransactions: len(transactions), Errors: failures}
}
