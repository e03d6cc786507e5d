// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/features"
)

// threadSafeMap holds the objects and their indices. It implements ThreadSafeStoreWithTransaction.
//
// A write call holds writer from beginning to end: it computes what needs the user's index functions first and only then
// takes state for a short time. So no user function ever runs under a lock that readers take, and a Replace or an
// AddIndexers builds its indices aside while reads go on. Lock order: writer, then state.
type threadSafeMap struct {
	writer sync.Mutex

	// state may be read by whoever holds either of the two locks, and changes only under both.
	state struct {
		sync.RWMutex
		items   map[string]any
		indices map[string]*index
		version string
	}

	versionMetric GaugeMetric
}

var _ ThreadSafeStoreWithTransaction = (*threadSafeMap)(nil)

// ThreadSafeStoreOption sets one property of a store at its construction. It is not interchangeable with client-go's
// type of this name, whose parameter is unexported there.
type ThreadSafeStoreOption = func(*threadSafeMap)

// WithThreadSafeStoreMetrics publishes the store's resourceVersion for the identity, if that is reserved. A nil provider
// means the one that SetInformerMetricsProvider left.
func WithThreadSafeStoreMetrics(identifier InformerNameAndResource, provider InformerMetricsProvider) ThreadSafeStoreOption {
	return func(m *threadSafeMap) {
		m.versionMetric = newVersionMetric(identifier, provider)
	}
}

// NewThreadSafeStore returns an empty store with the given indexers, safe for use by any number of goroutines. The store
// copies indexers; indices is ignored. Objects are shared with the callers: what was put in must not be changed afterwards.
//
// An index function that fails or panics costs nothing but the object's place in that index; the failure is reported to
// k8s.io/apimachinery/pkg/util/runtime.HandleError. (client-go panics, with its lock held.)
func NewThreadSafeStore(indexers Indexers, indices Indices, opts ...ThreadSafeStoreOption) ThreadSafeStore {
	return newThreadSafeMap(indexers, opts...)
}

func newThreadSafeMap(indexers Indexers, opts ...ThreadSafeStoreOption) *threadSafeMap {
	m := &threadSafeMap{versionMetric: noMetric{}}
	m.state.items = map[string]any{}
	m.state.indices = make(map[string]*index, len(indexers))
	for name, valuesOf := range indexers {
		m.state.indices[name] = newIndex(name, valuesOf)
	}
	for _, opt := range opts {
		opt(m)
	}
	return m
}

// operation is one step of a transaction: object nil means delete.
type operation struct {
	key    string
	object any
}

// commit applies the operations in order, seen by readers all at once, and moves the store's resourceVersion on by
// advance. It returns the object that each operation replaced, nil for none.
func (m *threadSafeMap) commit(operations []operation, advance func(held string) string) []any {
	m.writer.Lock()
	defer m.writer.Unlock()
	values := m.indexValues(operations)

	replaced := make([]any, len(operations))
	m.state.Lock()
	defer m.state.Unlock()
	for i, op := range operations {
		replaced[i] = m.state.items[op.key]
		if op.object == nil {
			delete(m.state.items, op.key)
		} else {
			m.state.items[op.key] = op.object
		}
	}
	for name, perOperation := range values {
		for i, op := range operations {
			m.state.indices[name].put(op.key, perOperation[i])
		}
	}
	m.moveVersion(advance(m.state.version))
	return replaced
}

// indexValues computes, per index, the values of each operation's object. The caller holds writer.
func (m *threadSafeMap) indexValues(operations []operation) map[string][][]string {
	all := make(map[string][][]string, len(m.state.indices))
	for name, ix := range m.state.indices {
		perOperation := make([][]string, len(operations))
		for i, op := range operations {
			if op.object != nil {
				perOperation[i] = ix.values(op.key, op.object)
			}
		}
		all[name] = perOperation
	}
	return all
}

// swap makes items the whole content of the store, at once for every reader, and returns the former content, which then
// belongs to the caller. The store owns items from here on.
func (m *threadSafeMap) swap(items map[string]any, version string) map[string]any {
	m.writer.Lock()
	defer m.writer.Unlock()
	fresh := make(map[string]*index, len(m.state.indices))
	for name, ix := range m.state.indices {
		fresh[name] = ix.filled(items)
	}

	m.state.Lock()
	defer m.state.Unlock()
	former := m.state.items
	m.state.items, m.state.indices = items, fresh
	m.moveVersion(version)
	return former
}

// moveVersion sets the store's resourceVersion. The caller holds both locks.
func (m *threadSafeMap) moveVersion(version string) {
	if version != m.state.version {
		m.state.version = version
		publishVersion(m.versionMetric, version)
	}
}

// Add stores obj under key, replacing what is there.
func (m *threadSafeMap) Add(key string, obj interface{}) { m.Update(key, obj) }

// Update stores obj under key, replacing what is there.
func (m *threadSafeMap) Update(key string, obj interface{}) {
	m.commit([]operation{{key, obj}}, func(held string) string { return versionAfter(held, obj) })
}

// Delete removes what is stored under key, if anything. The store's resourceVersion stays.
func (m *threadSafeMap) Delete(key string) { m.DeleteWithObject(key, nil) }

// DeleteWithObject is Delete, with the resourceVersion of the deletion taken from obj.
func (m *threadSafeMap) DeleteWithObject(key string, obj interface{}) {
	m.commit([]operation{{key: key}}, func(held string) string { return versionAfter(held, obj) })
}

// Transaction applies all transactions in order; no reader sees only some of them. One of a type that is none of the
// three changes nothing. The store's resourceVersion becomes the greatest of those given.
func (m *threadSafeMap) Transaction(transactions ...ThreadSafeStoreTransaction) {
	operations := make([]operation, 0, len(transactions))
	for _, txn := range transactions {
		switch txn.Type {
		case TransactionTypeAdd, TransactionTypeUpdate:
			operations = append(operations, operation{txn.Key, txn.Object})
		case TransactionTypeDelete:
			operations = append(operations, operation{key: txn.Key})
		}
	}
	m.commit(operations, func(held string) string {
		for _, txn := range transactions {
			held = versionAfter(held, txn.Object)
		}
		return held
	})
}

// versionAfter returns the store's resourceVersion after obj was seen: unchanged for an object without metadata.
func versionAfter(held string, obj any) string {
	if seen, ok := objectVersion(obj); ok {
		return laterVersion(held, seen)
	}
	return held
}

// Replace makes items the whole content of the store, which owns the map from here on.
func (m *threadSafeMap) Replace(items map[string]interface{}, resourceVersion string) {
	m.swap(items, resourceVersion)
}

// Bookmark sets the store's resourceVersion, unless it is older than the one held.
func (m *threadSafeMap) Bookmark(rv string) {
	m.commit(nil, func(held string) string { return laterVersion(held, rv) })
}

// Get returns what is stored under key.
func (m *threadSafeMap) Get(key string) (item interface{}, exists bool) {
	m.state.RLock()
	defer m.state.RUnlock()
	item, exists = m.state.items[key]
	return item, exists
}

// List returns the stored objects in no particular order. The slice belongs to the caller.
func (m *threadSafeMap) List() []interface{} {
	m.state.RLock()
	defer m.state.RUnlock()
	return slices.AppendSeq(make([]any, 0, len(m.state.items)), maps.Values(m.state.items))
}

// ListKeys returns the keys in no particular order. The slice belongs to the caller.
func (m *threadSafeMap) ListKeys() []string {
	m.state.RLock()
	defer m.state.RUnlock()
	return slices.AppendSeq(make([]string, 0, len(m.state.items)), maps.Keys(m.state.items))
}

// LastStoreSyncResourceVersion returns the resourceVersion of the store's content, or "" while the gate AtomicFIFO is off.
func (m *threadSafeMap) LastStoreSyncResourceVersion() string {
	if !features.FeatureGates().Enabled(features.AtomicFIFO) {
		return ""
	}
	m.state.RLock()
	defer m.state.RUnlock()
	return m.state.version
}

// Resync does nothing: there is nothing behind the store to catch up with.
func (m *threadSafeMap) Resync() error { return nil }

// Index returns the stored objects that share a value of the index with obj, each once.
func (m *threadSafeMap) Index(indexName string, obj interface{}) ([]interface{}, error) {
	m.state.RLock()
	ix := m.state.indices[indexName]
	m.state.RUnlock()
	if ix == nil {
		return nil, errNoIndex(indexName)
	}
	values, err := callIndexFunc(ix.valuesOf, obj)
	if err != nil {
		return nil, err
	}
	m.state.RLock()
	defer m.state.RUnlock()
	return m.collect(m.state.indices[indexName].keys(values)), nil
}

// ByIndex returns the objects whose values in the index contain indexedValue.
func (m *threadSafeMap) ByIndex(indexName, indexedValue string) ([]interface{}, error) {
	m.state.RLock()
	defer m.state.RUnlock()
	ix := m.state.indices[indexName]
	if ix == nil {
		return nil, errNoIndex(indexName)
	}
	return m.collect(ix.postings[indexedValue]), nil
}

// collect returns the objects stored under keys. The caller holds a lock.
func (m *threadSafeMap) collect(keys sets.Set[string]) []any {
	objects := make([]any, 0, len(keys))
	for key := range keys {
		objects = append(objects, m.state.items[key])
	}
	return objects
}

// IndexKeys returns the keys of what ByIndex returns, sorted.
func (m *threadSafeMap) IndexKeys(indexName, indexedValue string) ([]string, error) {
	m.state.RLock()
	defer m.state.RUnlock()
	ix := m.state.indices[indexName]
	if ix == nil {
		return nil, errNoIndex(indexName)
	}
	return sets.List(ix.postings[indexedValue]), nil
}

// ListIndexFuncValues returns the values that the index has objects for; none for an unknown index.
func (m *threadSafeMap) ListIndexFuncValues(name string) []string {
	m.state.RLock()
	defer m.state.RUnlock()
	ix := m.state.indices[name]
	if ix == nil {
		return []string{}
	}
	return slices.AppendSeq(make([]string, 0, len(ix.postings)), maps.Keys(ix.postings))
}

func errNoIndex(name string) error { return fmt.Errorf("index %q does not exist", name) }

// GetIndexers returns a copy of the store's indexers.
func (m *threadSafeMap) GetIndexers() Indexers {
	m.state.RLock()
	defer m.state.RUnlock()
	indexers := make(Indexers, len(m.state.indices))
	for name, ix := range m.state.indices {
		indexers[name] = ix.valuesOf
	}
	return indexers
}

// AddIndexers adds indices over what is stored and all that follows. All names must be new, else nothing is added.
func (m *threadSafeMap) AddIndexers(newIndexers Indexers) error {
	m.writer.Lock()
	defer m.writer.Unlock()
	var known []string
	for name := range newIndexers {
		if _, exists := m.state.indices[name]; exists {
			known = append(known, name)
		}
	}
	if len(known) > 0 {
		slices.Sort(known)
		return fmt.Errorf("indexer conflict: %v", known)
	}
	all := maps.Clone(m.state.indices)
	for name, valuesOf := range newIndexers {
		all[name] = newIndex(name, valuesOf).filled(m.state.items)
	}

	m.state.Lock()
	defer m.state.Unlock()
	m.state.indices = all
	return nil
}
