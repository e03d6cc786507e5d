// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Keys: the string under which a store keeps an object, "namespace/name", or "name" for an object
// without a namespace.
type (
	// KeyFunc computes an object's key. The same object must always give the same key.
	KeyFunc = clientgo.KeyFunc

	// ExplicitKey is a key in the place of an object: MetaNamespaceKeyFunc returns it unchanged.
	ExplicitKey = clientgo.ExplicitKey

	// KeyError is the error of a KeyFunc, with the object.
	KeyError = clientgo.KeyError

	// ObjectName is a namespace and a name. Its String is the key.
	ObjectName = clientgo.ObjectName
)

// MetaNamespaceKeyFunc is the default KeyFunc. It returns an error if obj has no object metadata.
func MetaNamespaceKeyFunc(obj interface{}) (string, error) { return clientgo.MetaNamespaceKeyFunc(obj) }

// DeletionHandlingMetaNamespaceKeyFunc is MetaNamespaceKeyFunc for the argument of OnDelete: it returns
// the key of a DeletedFinalStateUnknown.
func DeletionHandlingMetaNamespaceKeyFunc(obj interface{}) (string, error) {
	return clientgo.DeletionHandlingMetaNamespaceKeyFunc(obj)
}

// SplitMetaNamespaceKey splits a key of MetaNamespaceKeyFunc. It returns an error for a key of more than
// two parts.
func SplitMetaNamespaceKey(key string) (namespace, name string, err error) {
	return clientgo.SplitMetaNamespaceKey(key)
}

// NewObjectName returns the ObjectName of these two parts.
func NewObjectName(namespace, name string) ObjectName { return clientgo.NewObjectName(namespace, name) }

// ParseObjectName is SplitMetaNamespaceKey with an ObjectName as its result.
func ParseObjectName(str string) (ObjectName, error) { return clientgo.ParseObjectName(str) }

// ObjectToName is MetaNamespaceKeyFunc with an ObjectName as its result; it takes no ExplicitKey.
func ObjectToName(obj interface{}) (ObjectName, error) { return clientgo.ObjectToName(obj) }

// MetaObjectToName is ObjectToName for objects with metadata. It cannot fail.
func MetaObjectToName(obj metav1.Object) ObjectName { return clientgo.MetaObjectToName(obj) }

// DeletionHandlingObjectToName is ObjectToName for the argument of OnDelete: it parses the key of a
// DeletedFinalStateUnknown.
func DeletionHandlingObjectToName(obj interface{}) (ObjectName, error) {
	return clientgo.DeletionHandlingObjectToName(obj)
}

// NamespacedNameAsObjectName returns nn as an ObjectName. ObjectName.AsNamespacedName is its inverse.
func NamespacedNameAsObjectName(nn types.NamespacedName) ObjectName {
	return clientgo.NamespacedNameAsObjectName(nn)
}

// Stores have objects by key. A store returns the stored objects themselves: callers must not modify them.
type (
	// Store holds objects under keys that a function computes. Every method may be called concurrently,
	// and reads one state. Replace owns its argument afterwards.
	Store = clientgo.Store

	// Indexer is a Store that also finds objects by the values of named indices.
	Indexer = clientgo.Indexer

	// ThreadSafeStore is an Indexer whose callers pass the keys.
	ThreadSafeStore = clientgo.ThreadSafeStore

	// KeyLister lists the keys of its objects.
	KeyLister = clientgo.KeyLister

	// KeyGetter returns objects by key.
	KeyGetter = clientgo.KeyGetter

	// KeyListerGetter lists keys and returns objects by key. A queue uses it to look up the objects that
	// its consumer has stored.
	KeyListerGetter = clientgo.KeyListerGetter

	// UndeltaStore is a Store that calls PushFunc with its whole content after every change.
	// Concurrent changes may push the same content twice.
	UndeltaStore = clientgo.UndeltaStore

	// FakeCustomStore is a Store made of functions, for tests; a nil function does nothing.
	FakeCustomStore = clientgo.FakeCustomStore
)

// Transactions: several writes to a store that readers see as one.
type (
	// Transaction is one write, of an object.
	Transaction = clientgo.Transaction

	// TransactionType is the operation of a Transaction.
	TransactionType = clientgo.TransactionType

	// TransactionError has the positions of the writes of a transaction that succeeded, and the errors
	// of the others.
	TransactionError = clientgo.TransactionError

	// TransactionStore is the optional interface of a Store that takes transactions. A nil result
	// means that all writes succeeded.
	TransactionStore = clientgo.TransactionStore

	// ThreadSafeStoreTransaction is one write, of an object under a key.
	ThreadSafeStoreTransaction = clientgo.ThreadSafeStoreTransaction

	// ThreadSafeStoreWithTransaction is a ThreadSafeStore that takes transactions.
	ThreadSafeStoreWithTransaction = clientgo.ThreadSafeStoreWithTransaction
)

// The kinds of Transaction.
const (
	// TransactionTypeAdd adds an object.
	TransactionTypeAdd = clientgo.TransactionTypeAdd
	// TransactionTypeUpdate replaces an object.
	TransactionTypeUpdate = clientgo.TransactionTypeUpdate
	// TransactionTypeDelete removes an object.
	TransactionTypeDelete = clientgo.TransactionTypeDelete
)

// An index has a name, and a function that returns any number of values for each object.
type (
	// IndexFunc computes the values under which an index lists an object. The same object must
	// always give the same values.
	IndexFunc = clientgo.IndexFunc

	// Indexers maps the name of an index to the function that defines it.
	Indexers = clientgo.Indexers
)

// NamespaceIndex is the usual name of an index with MetaNamespaceIndexFunc. Listers use an index of this
// name.
const NamespaceIndex = clientgo.NamespaceIndex

// MetaNamespaceIndexFunc indexes objects by their namespace, "" for an object without a namespace. It
// returns an error if obj has no object metadata.
func MetaNamespaceIndexFunc(obj interface{}) ([]string, error) {
	return clientgo.MetaNamespaceIndexFunc(obj)
}

// IndexFuncToKeyFuncAdapter returns a KeyFunc whose key is the value of indexFunc. The KeyFunc fails for an
// object with no value or several. No two objects may have the same value.
func IndexFuncToKeyFuncAdapter(indexFunc IndexFunc) KeyFunc {
	return clientgo.IndexFuncToKeyFuncAdapter(indexFunc)
}

// Queues stand between a reflector and the consumer of its events.
type (
	// Queue is a ReflectorStore whose items Pop removes and returns. Any number of goroutines may add items;
	// one should pop. Pop blocks until there is an item or the queue is closed.
	Queue = clientgo.Queue

	// QueueWithBatch is a Queue that may return several items from one call.
	QueueWithBatch = clientgo.QueueWithBatch

	// PopProcessFunc receives the popped item. Pop returns its error.
	PopProcessFunc = clientgo.PopProcessFunc

	// FIFO is a Queue of objects. An object that is added again while it waits keeps its place and is
	// popped once, in its newest state. A deleted object is not popped. A FIFO must be made by NewFIFO.
	FIFO = clientgo.FIFO

	// DeltaFIFOOptions are the options of NewDeltaFIFOWithOptions; the zero value works.
	DeltaFIFOOptions = clientgo.DeltaFIFOOptions

	// RealFIFOOptions are the options of NewRealFIFOWithOptions. KnownObjects is required without
	// AtomicEvents and refused with AtomicEvents; UnlockWhileProcessing and EmitDeltaTypeBookmark require
	// AtomicEvents.
	RealFIFOOptions = clientgo.RealFIFOOptions
)

// NewFIFO returns an empty FIFO that distinguishes objects by keyFunc.
func NewFIFO(keyFunc KeyFunc) *FIFO { return clientgo.NewFIFO(keyFunc) }

// Deltas are the items of the queues.
type (
	// Delta is one change and the object after it; for a deletion, the object before it.
	Delta = clientgo.Delta

	// Deltas are changes of one object, the oldest first and at least one.
	Deltas = clientgo.Deltas

	// DeltaType is the kind of change of a Delta, which determines the type of its Object.
	DeltaType = clientgo.DeltaType

	// ReplacedAllInfo is the Object of a ReplacedAll delta: the whole new content, after the
	// transform.
	ReplacedAllInfo = clientgo.ReplacedAllInfo

	// SyncAllInfo is the Object of a SyncAll delta.
	SyncAllInfo = clientgo.SyncAllInfo

	// BookmarkInfo is the Object of a Bookmark delta: a new resource version without a change.
	BookmarkInfo = clientgo.BookmarkInfo
)

// The kinds of Delta.
const (
	// Added is an object that was added.
	Added = clientgo.Added
	// Updated is an object that was updated.
	Updated = clientgo.Updated
	// Deleted is a deleted object, or a DeletedFinalStateUnknown.
	Deleted = clientgo.Deleted
	// Replaced is an object of a new list, changed or not. A DeltaFIFO without EmitDeltaTypeReplaced
	// emits Sync instead.
	Replaced = clientgo.Replaced
	// ReplacedAll is a whole new list. Queues with AtomicEvents emit it.
	ReplacedAll = clientgo.ReplacedAll
	// Sync is an unchanged object of a resync.
	Sync = clientgo.Sync
	// SyncAll is a resync of all objects. Queues with AtomicEvents emit it.
	SyncAll = clientgo.SyncAll
	// Bookmark is a new resource version without an object.
	Bookmark = clientgo.Bookmark
)

// Errors of the queues. They are client-go's values, so errors.Is works for the errors of both packages.
var (
	// ErrFIFOClosed is returned by Pop of a closed queue.
	ErrFIFOClosed = clientgo.ErrFIFOClosed

	// ErrZeroLengthDeltasObject is wrapped in the KeyError of an empty Deltas.
	ErrZeroLengthDeltasObject = clientgo.ErrZeroLengthDeltasObject
)

// Listers: reading a store by label selector.
type (
	// AppendFunc receives each object that a lister selected.
	AppendFunc = clientgo.AppendFunc

	// GenericLister lists an Indexer's objects as runtime.Object, in all namespaces or in one. Get
	// of an unknown name fails with a NotFound API error.
	GenericLister = clientgo.GenericLister

	// GenericNamespaceLister is a GenericLister for one namespace.
	GenericNamespaceLister = clientgo.GenericNamespaceLister
)

// ListAll calls appendFn, in no particular order, for each object of store that selector accepts.
func ListAll(store Store, selector labels.Selector, appendFn AppendFunc) error {
	return clientgo.ListAll(store, selector, appendFn)
}

// ListAllByNamespace is ListAll for one namespace, or for all if namespace is empty. Without the index
// NamespaceIndex, it reads every object.
func ListAllByNamespace(indexer Indexer, namespace string, selector labels.Selector, appendFn AppendFunc) error {
	return clientgo.ListAllByNamespace(indexer, namespace, selector, appendFn)
}

// NewGenericLister returns a lister over indexer. Its NotFound errors name resource.
func NewGenericLister(indexer Indexer, resource schema.GroupResource) GenericLister {
	return clientgo.NewGenericLister(indexer, resource)
}

// Stores whose entries expire. Reads remove expired entries under a write lock, so these stores are slower
// than others.
type (
	// ExpirationCache is a Store whose entries expire by an ExpirationPolicy.
	ExpirationCache = clientgo.ExpirationCache

	// ExpirationPolicy decides whether an entry has expired.
	ExpirationPolicy = clientgo.ExpirationPolicy

	// TTLPolicy expires entries that are older than TTL. With a TTL of zero or less, no entry expires.
	TTLPolicy = clientgo.TTLPolicy

	// TimestampedEntry is an object and the time at which an ExpirationCache received it.
	TimestampedEntry = clientgo.TimestampedEntry

	// FakeExpirationPolicy expires all entries but those of a set of keys, for tests.
	FakeExpirationPolicy = clientgo.FakeExpirationPolicy
)

// NewExpirationStore returns an ExpirationCache with this policy on the system's clock.
func NewExpirationStore(keyFunc KeyFunc, expirationPolicy ExpirationPolicy) Store {
	return clientgo.NewExpirationStore(keyFunc, expirationPolicy)
}

// NewTTLStore returns an ExpirationCache whose entries expire ttl after they were added.
func NewTTLStore(keyFunc KeyFunc, ttl time.Duration) Store { return clientgo.NewTTLStore(keyFunc, ttl) }

// NewFakeExpirationStore returns an ExpirationCache with the clock of a test. A read that finds an expired
// entry sends its key to deletedKeys, and blocks until the key is received. With a nil channel, expired
// entries stay. Delete sends nothing.
func NewFakeExpirationStore(keyFunc KeyFunc, deletedKeys chan<- string, expirationPolicy ExpirationPolicy, cacheClock clock.Clock) Store {
	return clientgo.NewFakeExpirationStore(keyFunc, deletedKeys, expirationPolicy, cacheClock)
}

// The mutation cache: a store with the writes of a controller that have not arrived in it yet.
type (
	// MutationCache returns the objects passed to Mutation while they are newer than those of the Store.
	// Every method may be called concurrently. Only client-go can implement MutationCache.
	MutationCache = clientgo.MutationCache

	// ResourceVersionComparator compares two states of an object by age.
	ResourceVersionComparator = clientgo.ResourceVersionComparator
)

// NewIntegerResourceVersionMutationCache returns a MutationCache of up to 100 objects, each kept
// for ttl. It compares resource versions as integers. With includeAdds it also returns objects that
// backingCache lacks, though they may have been deleted meanwhile. indexer may be nil, but ByIndex needs
// it.
func NewIntegerResourceVersionMutationCache(logger klog.Logger, backingCache Store, indexer Indexer, ttl time.Duration, includeAdds bool) MutationCache {
	return clientgo.NewIntegerResourceVersionMutationCache(logger, backingCache, indexer, ttl, includeAdds)
}

// The heap: a queue whose least object is popped first.
type (
	// Heap holds one object for each key. Pop returns the least one by the LessFunc, and blocks while the
	// heap is empty and open. Every method may be called concurrently.
	Heap = clientgo.Heap

	// LessFunc reports whether its first object comes before its second.
	LessFunc = clientgo.LessFunc
)

// NewHeap returns an empty Heap.
func NewHeap(keyFn KeyFunc, lessFn LessFunc) *Heap { return clientgo.NewHeap(keyFn, lessFn) }
