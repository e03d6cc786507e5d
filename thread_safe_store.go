// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/features"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/provider"
	"github.com/kinformer/cache/internal/store"
	"github.com/kinformer/cache/internal/switched"
	"github.com/kinformer/cache/internal/table"
)

// tableHolder gives the packages beside this one access to the table of a store.
type tableHolder = door.Holder[*table.Table]

// objects has the objects of a store and their indices, in a table whose readers wait for no write.
type objects struct {
	tableHolder
	contents  store.Contents           // for writes
	table     *table.Table             // of contents, for reads
	onFailure func(table.IndexFailure) // nil: reportIndexFailures
}

// threadSafeMap is a store whose callers pass the keys.
type threadSafeMap struct{ objects }

var _ ThreadSafeStoreWithTransaction = (*threadSafeMap)(nil)

// ThreadSafeStoreOption sets one property of a store at its construction. It is not interchangeable
// with client-go's type of this name, whose parameter is unexported there.
type ThreadSafeStoreOption = func(*threadSafeOptions)

// threadSafeOptions are the options of a store whose callers pass the keys.
type threadSafeOptions struct {
	identifier InformerNameAndResource
	metrics    InformerMetricsProvider
}

// WithThreadSafeStoreMetrics publishes the store's resourceVersion for identifier, if identifier is
// reserved. A nil provider means that of the process, see SetInformerMetricsProvider.
func WithThreadSafeStoreMetrics(identifier InformerNameAndResource, given InformerMetricsProvider) ThreadSafeStoreOption {
	return func(o *threadSafeOptions) { o.identifier, o.metrics = identifier, given }
}

// refuseNilOption panics with a text that says which option of a constructor is nil.
func refuseNilOption(isNil bool, constructor string, i, n int) {
	if isNil {
		panic(fmt.Sprintf("%s: option %d of %d is nil: leave it out", constructor, i+1, n))
	}
}

// NewThreadSafeStore returns an empty store with the given indexers, safe for use by any number of
// goroutines. The store copies indexers; indices is ignored. Objects are shared with the callers:
// a stored object must not be changed.
//
// Reads never wait for a write to end. A read sees a Transaction, a Replace or an AddIndexers whole or not at
// all. A goroutine that has seen a state never sees an older one. Writes wait for other writes only.
//
// If an index function fails, panics or is nil, the object is stored and is missing from that index. The
// failures of a write are reported to k8s.io/apimachinery/pkg/util/runtime.ErrorHandlers, once for each
// index, and inspect.IndexStats counts them. Writes run at most one index function at a time. Index runs
// the function in the goroutine of its caller.
func NewThreadSafeStore(indexers Indexers, indices Indices, opts ...ThreadSafeStoreOption) ThreadSafeStore {
	o := threadSafeOptions{}
	for i, opt := range opts {
		refuseNilOption(opt == nil, "NewThreadSafeStore", i, len(opts))
		opt(&o)
	}
	if isSwitched(indexers) {
		return clientgo.NewThreadSafeStore(switched.Copied(indexers), clientgo.Indices{}, clientgo.WithThreadSafeStoreMetrics(o.identifier, o.metrics))
	}
	m := &threadSafeMap{}
	m.init(indexers)
	m.contents.OnVersion = provider.OfStore(o.identifier, o.metrics)
	return m
}

// isSwitched reports whether stores are client-go's. One with a nil index function is not: it would panic.
func isSwitched(indexers Indexers) bool {
	return switched.DecideStore(switched.Subject{}, "") != "" && !switched.HasNil(indexers)
}

func (m *objects) init(indexers Indexers) {
	m.contents.Init(asFuncs(indexers), table.Options{OnIndexFailures: m.indexFailed, SingleValued: singleValued})
	m.table = m.contents.Table
	m.tableHolder = door.NewHolder(m.table)
}

// indexFailed is called by the table for the failures of one write.
func (m *objects) indexFailed(failures []table.IndexFailure) {
	if m.onFailure == nil {
		reportIndexFailures(failures)
		return
	}
	for _, f := range failures {
		m.tell(f)
	}
}

// tell calls the hook. If it panics and the program goes on, so does the write.
func (m *objects) tell(f table.IndexFailure) {
	defer utilruntime.HandleCrash()
	m.onFailure(f)
}

// Add stores obj under key, replacing any previous object.
func (m *threadSafeMap) Add(key string, obj interface{}) { m.Update(key, obj) }

// Update stores obj under key, replacing any previous object.
func (m *threadSafeMap) Update(key string, obj interface{}) {
	m.contents.Apply([]table.Op{{Key: key, Object: obj}}, func(held string) string { return versionAfter(held, obj) })
}

// Delete removes the object stored under key, if any. The store's resourceVersion stays.
func (m *threadSafeMap) Delete(key string) { m.DeleteWithObject(key, nil) }

// DeleteWithObject is Delete, with the resourceVersion of the deletion taken from obj.
func (m *threadSafeMap) DeleteWithObject(key string, obj interface{}) {
	m.contents.Apply([]table.Op{{Key: key, Delete: true}}, func(held string) string { return versionAfter(held, obj) })
}

// Transaction applies all transactions in order; no reader sees only some of them. A transaction of
// an unknown type changes nothing. The store's resourceVersion becomes the greatest of the objects'.
func (m *threadSafeMap) Transaction(transactions ...ThreadSafeStoreTransaction) {
	b := takeBatch()
	for i := range transactions {
		b.add(transactions[i].Key, &transactions[i].Transaction)
	}
	m.apply(b)
	b.give()
}

// apply makes the changes of a batch.
func (m *objects) apply(b *batch) {
	m.contents.Apply(b.operations, func(held string) string {
		for _, obj := range b.seen {
			held = versionAfter(held, obj)
		}
		return held
	})
}

// batch is memory for a Transaction. It is reused: fresh memory costs as much as the changes.
type batch struct {
	operations []table.Op
	seen       []any // the objects of all changes, for the store's resourceVersion
	applied    []int // positions of the applied changes, for a TransactionError; never nil
}

// keptBatch is the length up to which the memory of a batch is used again: 100 KiB.
const keptBatch = 1000

var batches = sync.Pool{New: func() any { return &batch{applied: []int{}} }}

func takeBatch() *batch { return batches.Get().(*batch) }

// add adds a change under key. For a change of an unknown type, it adds the object to seen only.
func (b *batch) add(key string, txn *Transaction) {
	b.seen = append(b.seen, txn.Object)
	switch txn.Type {
	case TransactionTypeAdd, TransactionTypeUpdate:
		b.operations = append(b.operations, table.Op{Key: key, Object: txn.Object})
	case TransactionTypeDelete:
		b.operations = append(b.operations, table.Op{Key: key, Delete: true})
	}
}

// give returns the batch to the pool. The caller must not use it any more.
func (b *batch) give() {
	if len(b.operations) > keptBatch || len(b.seen) > keptBatch {
		return
	}
	clear(b.operations)
	clear(b.seen)
	*b = batch{b.operations[:0], b.seen[:0], b.applied[:0]}
	batches.Put(b)
}

// versionAfter returns the store's resourceVersion after obj was seen: unchanged for an object
// without metadata.
func versionAfter(held string, obj any) string {
	if seen, ok := event.VersionOf(obj); ok {
		return event.LaterVersion(held, seen)
	}
	return held
}

// Replace makes items the whole content of the store.
func (m *threadSafeMap) Replace(items map[string]interface{}, resourceVersion string) {
	m.contents.Replace(maps.All(items), len(items), resourceVersion)
}

// Bookmark sets the store's resourceVersion to rv, unless rv is older.
func (m *objects) Bookmark(rv string) {
	m.contents.Apply(nil, func(held string) string { return event.LaterVersion(held, rv) })
}

// Get returns the object stored under key.
func (m *threadSafeMap) Get(key string) (item interface{}, exists bool) { return m.table.Get(key) }

// List returns the stored objects in no particular order. The slice belongs to the caller and is
// never nil.
func (m *objects) List() []interface{} { return m.table.List() }

// ListKeys returns the keys of the stored objects in no particular order, in a slice of the
// caller's own.
func (m *objects) ListKeys() []string { return m.table.ListKeys() }

// LastStoreSyncResourceVersion returns the resourceVersion of the store's content, or "" while the
// gate AtomicFIFO is off.
func (m *objects) LastStoreSyncResourceVersion() string {
	if !features.FeatureGates().Enabled(features.AtomicFIFO) {
		return ""
	}
	return m.table.RV()
}

// Resync does nothing: a store has no source.
func (m *objects) Resync() error { return nil }

// Index returns the stored objects that share a value of the index with obj, each once. It runs the
// index function in this goroutine, beside those of a writer, and returns its error or panic as an error.
func (m *objects) Index(indexName string, obj interface{}) (objects []interface{}, err error) {
	defer func() {
		if p := recover(); p != nil {
			objects, err = nil, fmt.Errorf("index %q: function panicked: %v", indexName, p)
		}
	}()
	objects, err = m.table.Index(indexName, obj)
	return objects, err
}

// ByIndex returns the objects whose values in the index contain indexedValue.
func (m *objects) ByIndex(indexName, indexedValue string) ([]interface{}, error) {
	return m.table.ByIndex(indexName, indexedValue)
}

// IndexKeys returns the keys of the objects that ByIndex returns, sorted.
func (m *objects) IndexKeys(indexName, indexedValue string) ([]string, error) {
	keys, err := m.table.IndexKeys(indexName, indexedValue)
	if keys == nil && err == nil {
		keys = []string{}
	}
	return keys, err
}

// ListIndexFuncValues returns the values with objects in the index; none for an unknown index.
func (m *objects) ListIndexFuncValues(name string) []string {
	values, err := m.table.IndexValues(name)
	if err != nil {
		return []string{}
	}
	return values
}

// GetIndexers returns a copy of the store's indexers.
func (m *objects) GetIndexers() Indexers {
	functions := m.table.Indexers()
	indexers := make(Indexers, len(functions))
	for name, valuesOf := range functions {
		indexers[name] = valuesOf
	}
	return indexers
}

// AddIndexers adds indices over the stored objects and all later ones. It returns an error and adds none if a
// name exists or a function is nil. Reads continue meanwhile, without the new indices until they are
// complete.
func (m *objects) AddIndexers(newIndexers Indexers) error {
	var bad door.Faults
	checkIndexers(newIndexers, &bad)
	if err := bad.As(errNilIndexFunc); err != nil {
		return err
	}
	err := m.contents.AddIndexers(asFuncs(newIndexers))
	if errors.Is(err, table.ErrIndexExists) {
		return fmt.Errorf("indexer conflict: %v", m.taken(newIndexers)) // client-go's words
	}
	return err
}

// taken returns the names of indexers that the store has already. Indexes are never removed.
func (m *objects) taken(indexers Indexers) sets.Set[string] {
	return sets.KeySet(indexers).Intersection(sets.KeySet(m.table.Indexers()))
}

// errNilIndexFunc is the error of a nil index function.
var errNilIndexFunc = errors.New("index function is nil")

// checkIndexers adds each nil index function to bad.
func checkIndexers(indexers Indexers, bad *door.Faults) {
	for _, name := range slices.Sorted(maps.Keys(indexers)) {
		if indexers[name] == nil {
			bad.Add("Indexers[%q] is nil: give it a function", name)
		}
	}
}

// asFuncs converts indexers. A nil function becomes one that always fails.
func asFuncs(indexers Indexers) map[string]table.IndexFunc {
	functions := make(map[string]table.IndexFunc, len(indexers))
	for name, valuesOf := range indexers {
		if valuesOf == nil {
			valuesOf = func(any) ([]string, error) { return nil, errNilIndexFunc }
		}
		functions[name] = valuesOf
	}
	return functions
}
