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

	// ExplicitKey is a key that passes for an object: MetaNamespaceKeyFunc returns it as it is.
	ExplicitKey = clientgo.ExplicitKey

	// KeyError is the error of a KeyFunc together with the object that it could not name.
	KeyError = clientgo.KeyError

	// ObjectName is a key taken apart. Its String is the key.
	ObjectName = clientgo.ObjectName
)

// MetaNamespaceKeyFunc is the KeyFunc of everything here that does not take another. The error says
// that obj has no object metadata.
func MetaNamespaceKeyFunc(obj interface{}) (string, error) { return clientgo.MetaNamespaceKeyFunc(obj) }

// DeletionHandlingMetaNamespaceKeyFunc is MetaNamespaceKeyFunc that also takes a
// DeletedFinalStateUnknown, whose key it returns. Made for OnDelete.
func DeletionHandlingMetaNamespaceKeyFunc(obj interface{}) (string, error) {
	return clientgo.DeletionHandlingMetaNamespaceKeyFunc(obj)
}

// SplitMetaNamespaceKey takes a key of MetaNamespaceKeyFunc apart. The error says that it has more
// than two parts.
func SplitMetaNamespaceKey(key string) (namespace, name string, err error) {
	return clientgo.SplitMetaNamespaceKey(key)
}

// NewObjectName returns the ObjectName of these two parts.
func NewObjectName(namespace, name string) ObjectName { return clientgo.NewObjectName(namespace, name) }

// ParseObjectName is SplitMetaNamespaceKey with an ObjectName as its result.
func ParseObjectName(str string) (ObjectName, error) { return clientgo.ParseObjectName(str) }

// ObjectToName is MetaNamespaceKeyFunc with an ObjectName as its result; it takes no ExplicitKey.
func ObjectToName(obj interface{}) (ObjectName, error) { return clientgo.ObjectToName(obj) }

// MetaObjectToName is ObjectToName for objects that are known to have metadata, and so cannot fail.
func MetaObjectToName(obj metav1.Object) ObjectName { return clientgo.MetaObjectToName(obj) }

// DeletionHandlingObjectToName is ObjectToName that also takes a DeletedFinalStateUnknown, whose
// key it parses.
func DeletionHandlingObjectToName(obj interface{}) (ObjectName, error) {
	return clientgo.DeletionHandlingObjectToName(obj)
}

// NamespacedNameAsObjectName returns nn as an ObjectName; ObjectName.AsNamespacedName is the way
// back.
func NamespacedNameAsObjectName(nn types.NamespacedName) ObjectName {
	return clientgo.NamespacedNameAsObjectName(nn)
}

// Stores have objects by key. A store returns the stored objects themselves, which must not be changed.
type (
	// Store holds objects under the keys that it computes from them. Every method may be called
	// concurrently, and each answers from one state. Replace takes over the slice it is given.
	Store = clientgo.Store

	// Indexer is a Store that also finds objects by the values of named indices.
	Indexer = clientgo.Indexer

	// ThreadSafeStore is an Indexer whose caller brings the keys along.
	ThreadSafeStore = clientgo.ThreadSafeStore

	// KeyLister lists the keys of its objects.
	KeyLister = clientgo.KeyLister

	// KeyGetter looks up by key.
	KeyGetter = clientgo.KeyGetter

	// KeyListerGetter lists keys and looks them up; queues know the consumer's objects by it.
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

	// TransactionError says, by position, which writes of a transaction succeeded, and why the
	// others did not.
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
	// TransactionTypeAdd puts an object in.
	TransactionTypeAdd = clientgo.TransactionTypeAdd
	// TransactionTypeUpdate puts an object in the place of an older one.
	TransactionTypeUpdate = clientgo.TransactionTypeUpdate
	// TransactionTypeDelete takes an object out.
	TransactionTypeDelete = clientgo.TransactionTypeDelete
)

// Indices: a name, and a function that gives each object any number of values.
type (
	// IndexFunc computes the values under which an index lists an object. The same object must
	// always give the same values.
	IndexFunc = clientgo.IndexFunc

	// Indexers maps the name of an index to the function that defines it.
	Indexers = clientgo.Indexers
)

// NamespaceIndex is the name under which informers are commonly given MetaNamespaceIndexFunc;
// listers look for it.
const NamespaceIndex = clientgo.NamespaceIndex

// MetaNamespaceIndexFunc indexes objects by their namespace, "" for those without one. The error
// says that obj has no object metadata.
func MetaNamespaceIndexFunc(obj interface{}) ([]string, error) {
	return clientgo.MetaNamespaceIndexFunc(obj)
}

// IndexFuncToKeyFuncAdapter returns a KeyFunc that takes the one value of indexFunc for the key,
// and fails on an object that has none or several. It serves only if no two objects share a value.
func IndexFuncToKeyFuncAdapter(indexFunc IndexFunc) KeyFunc {
	return clientgo.IndexFuncToKeyFuncAdapter(indexFunc)
}

// Queues stand between a reflector and the consumer of its events.
type (
	// Queue is a ReflectorStore whose items Pop removes and returns. Any number of goroutines may add items;
	// one should pop. Pop blocks until there is an item or the queue is closed.
	Queue = clientgo.Queue

	// QueueWithBatch is a Queue that may give out several items with one call.
	QueueWithBatch = clientgo.QueueWithBatch

	// PopProcessFunc receives the popped item. Pop returns its error.
	PopProcessFunc = clientgo.PopProcessFunc

	// FIFO is a Queue of single objects: an object that is put again while it waits keeps its place
	// and is popped once, in its newest state; one that is deleted before is not popped at all. It
	// must be made by NewFIFO.
	FIFO = clientgo.FIFO

	// DeltaFIFOOptions are the options of NewDeltaFIFOWithOptions; the zero value works.
	DeltaFIFOOptions = clientgo.DeltaFIFOOptions

	// RealFIFOOptions are the options of NewRealFIFOWithOptions. KnownObjects is required without
	// AtomicEvents and refused with it; UnlockWhileProcessing and EmitDeltaTypeBookmark require
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

	// BookmarkInfo is the Object of a Bookmark delta: a resource version that was reached without a
	// change.
	BookmarkInfo = clientgo.BookmarkInfo
)

// The kinds of Delta.
const (
	// Added is an object that was put in.
	Added = clientgo.Added
	// Updated is an object that was put in the place of an older one.
	Updated = clientgo.Updated
	// Deleted is an object that is gone; Object may be a DeletedFinalStateUnknown.
	Deleted = clientgo.Deleted
	// Replaced is an object of a new list, changed or not. A DeltaFIFO gives it out only with
	// EmitDeltaTypeReplaced, and Sync without.
	Replaced = clientgo.Replaced
	// ReplacedAll is a whole new list at once, given out by a queue with AtomicEvents.
	ReplacedAll = clientgo.ReplacedAll
	// Sync is an object that is looked at again without a change.
	Sync = clientgo.Sync
	// SyncAll asks to look at all objects again, given out by a queue with AtomicEvents.
	SyncAll = clientgo.SyncAll
	// Bookmark is a new resource version without an object.
	Bookmark = clientgo.Bookmark
)

// Errors of the queues. They are client-go's own values, so errors.Is finds them whichever package
// they come from.
var (
	// ErrFIFOClosed is returned by Pop of a closed queue.
	ErrFIFOClosed = clientgo.ErrFIFOClosed

	// ErrZeroLengthDeltasObject is wrapped in the KeyError for a Deltas without a Delta, which has
	// no key.
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

// ListAllByNamespace is ListAll for one namespace, or for all if namespace is empty. It uses the
// index NamespaceIndex; without that it looks at every object.
func ListAllByNamespace(indexer Indexer, namespace string, selector labels.Selector, appendFn AppendFunc) error {
	return clientgo.ListAllByNamespace(indexer, namespace, selector, appendFn)
}

// NewGenericLister returns a lister over indexer. Its NotFound errors name resource.
func NewGenericLister(indexer Indexer, resource schema.GroupResource) GenericLister {
	return clientgo.NewGenericLister(indexer, resource)
}

// Stores that forget. Entries expire as they are read, which takes a write lock, so these are
// slower than a plain store.
type (
	// ExpirationCache is a Store whose entries expire by an ExpirationPolicy.
	ExpirationCache = clientgo.ExpirationCache

	// ExpirationPolicy decides whether an entry has expired.
	ExpirationPolicy = clientgo.ExpirationPolicy

	// TTLPolicy expires entries that are older than TTL; a TTL of zero or less keeps them for ever.
	TTLPolicy = clientgo.TTLPolicy

	// TimestampedEntry is an object and the time at which an ExpirationCache received it.
	TimestampedEntry = clientgo.TimestampedEntry

	// FakeExpirationPolicy expires everything but a set of keys, for tests.
	FakeExpirationPolicy = clientgo.FakeExpirationPolicy
)

// NewExpirationStore returns an ExpirationCache with this policy on the system's clock.
func NewExpirationStore(keyFunc KeyFunc, expirationPolicy ExpirationPolicy) Store {
	return clientgo.NewExpirationStore(keyFunc, expirationPolicy)
}

// NewTTLStore returns an ExpirationCache whose entries live for ttl after they were put in.
func NewTTLStore(keyFunc KeyFunc, ttl time.Duration) Store { return clientgo.NewTTLStore(keyFunc, ttl) }

// NewFakeExpirationStore returns an ExpirationCache on a clock of the test's choice. It sends each
// key it deletes to deletedKeys, blocking until it is received; with a nil channel it deletes
// nothing.
func NewFakeExpirationStore(keyFunc KeyFunc, deletedKeys chan<- string, expirationPolicy ExpirationPolicy, cacheClock clock.Clock) Store {
	return clientgo.NewFakeExpirationStore(keyFunc, deletedKeys, expirationPolicy, cacheClock)
}

// The mutation cache: a controller's own writes, laid over a store that has not seen them yet.
type (
	// MutationCache reads a Store as if the writes given to Mutation had arrived, while they are
	// the newer ones. Every method may be called concurrently. Only client-go can implement it.
	MutationCache = clientgo.MutationCache

	// ResourceVersionComparator says which of two states of an object is the newer one.
	ResourceVersionComparator = clientgo.ResourceVersionComparator
)

// NewIntegerResourceVersionMutationCache returns a MutationCache of up to 100 objects, each kept
// for ttl. It compares resource versions as integers. With includeAdds it also shows objects that
// backingCache does not hold, which may have been deleted meanwhile. ByIndex needs indexer, which
// may be nil.
func NewIntegerResourceVersionMutationCache(logger klog.Logger, backingCache Store, indexer Indexer, ttl time.Duration, includeAdds bool) MutationCache {
	return clientgo.NewIntegerResourceVersionMutationCache(logger, backingCache, indexer, ttl, includeAdds)
}

// The heap: a queue that gives out the least object first.
type (
	// Heap holds each object once, by key, and gives out the least by its LessFunc. Pop blocks
	// while the heap is empty and open. Every method may be called concurrently.
	Heap = clientgo.Heap

	// LessFunc reports whether its first object comes before its second.
	LessFunc = clientgo.LessFunc
)

// NewHeap returns an empty Heap with this key and this order.
func NewHeap(keyFn KeyFunc, lessFn LessFunc) *Heap { return clientgo.NewHeap(keyFn, lessFn) }
