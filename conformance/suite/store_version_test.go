// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/tools/cache"
)

func TestStoreVersion(t *testing.T) {
	onEach(t, []storeCase{
		{"follows every write", versionFollowsWrites},
		{"stays when the write tells none", versionStays},
		{"may go backwards", versionGoesBack},
		{"of a thread-safe store", versionThreadSafe},
		{"after a transaction", versionOfTransaction},
		{"is hidden without AtomicFIFO", versionHidden},
		{"is the gauge of the metrics", versionGauge},
	})
}

func TestStoreTransaction(t *testing.T) {
	onEach(t, []storeCase{
		{"applies its writes in order", transactionOrder},
		{"reports bad keys and applies the rest", transactionErrors},
		{"keeps the indices", transactionIndices},
		{"of no writes is nothing", transactionEmpty},
	})
}

func versionFollowsWrites(t *testing.T, impl implementation) {
	store := newStore(impl)
	assert.Empty(t, store.LastStoreSyncResourceVersion())
	require.NoError(t, store.Add(pod("a", "1")))
	assert.Equal(t, "1", store.LastStoreSyncResourceVersion())
	require.NoError(t, store.Update(pod("a", "2")))
	assert.Equal(t, "2", store.LastStoreSyncResourceVersion())
	require.NoError(t, store.Delete(pod("a", "3")))
	assert.Equal(t, "3", store.LastStoreSyncResourceVersion(), "of the deletion")
	require.NoError(t, store.Delete(pod("absent", "4")))
	assert.Equal(t, "4", store.LastStoreSyncResourceVersion(), "of a deletion of nothing")
	store.Bookmark("5")
	assert.Equal(t, "5", store.LastStoreSyncResourceVersion())
	require.NoError(t, store.Replace([]any{pod("a", "99")}, "6"))
	assert.Equal(t, "6", store.LastStoreSyncResourceVersion(), "of the list, not of an object")
	require.NoError(t, store.Replace(nil, ""))
	assert.Empty(t, store.LastStoreSyncResourceVersion(), "a list without one")
}

func versionStays(t *testing.T, impl implementation) {
	store := newStore(impl)
	require.NoError(t, store.Add(pod("a", "1")))
	require.NoError(t, store.Delete(cache.DeletedFinalStateUnknown{Key: "ns/a", Obj: pod("a", "8")}))
	assert.Equal(t, "1", store.LastStoreSyncResourceVersion(), "a tombstone does not know when")
	require.NoError(t, store.Add(cache.ExplicitKey("ns/k")))
	assert.Equal(t, "1", store.LastStoreSyncResourceVersion(), "no metadata, no version")
}

func versionGoesBack(t *testing.T, impl implementation) {
	const reason = "the store's version goes back with a Replace only"
	store := newStore(impl)
	require.NoError(t, store.Add(pod("a", "9")))
	require.NoError(t, store.Update(pod("a", "7")))
	assert.Equal(t, differs(t, impl, reason, "7", "9"), store.LastStoreSyncResourceVersion())
	store.Bookmark("5")
	assert.Equal(t, differs(t, impl, reason, "5", "9"), store.LastStoreSyncResourceVersion())
	require.NoError(t, store.Delete(pod("a", "4")))
	assert.Equal(t, differs(t, impl, reason, "4", "9"), store.LastStoreSyncResourceVersion())
	require.NoError(t, store.Replace(nil, "3"))
	assert.Equal(t, "3", store.LastStoreSyncResourceVersion())
	require.NoError(t, store.Add(pod("a", "opaque")))
	assert.Equal(t, "opaque", store.LastStoreSyncResourceVersion(), "what cannot be compared is taken as it comes")
}

func versionThreadSafe(t *testing.T, impl implementation) {
	store := impl.stores.threadSafe(cache.Indexers{}, storeFeatures{})
	store.Add("a", pod("a", "1"))
	assert.Equal(t, "1", store.LastStoreSyncResourceVersion())
	store.Delete("a")
	assert.Equal(t, "1", store.LastStoreSyncResourceVersion(), "Delete by key knows none")
	store.DeleteWithObject("a", pod("a", "2"))
	assert.Equal(t, "2", store.LastStoreSyncResourceVersion())
	store.Bookmark("3")
	assert.Equal(t, "3", store.LastStoreSyncResourceVersion())
}

func transact(t *testing.T, store cache.Store, txns ...cache.Transaction) error {
	t.Helper()
	ts, ok := store.(cache.TransactionStore)
	require.True(t, ok, "the informers' batches need it")
	if err := ts.Transaction(txns...); err != nil {
		return err
	}
	return nil
}

func addTxn(obj any) cache.Transaction {
	return cache.Transaction{Type: cache.TransactionTypeAdd, Object: obj}
}

func updateTxn(obj any) cache.Transaction {
	return cache.Transaction{Type: cache.TransactionTypeUpdate, Object: obj}
}

func deleteTxn(obj any) cache.Transaction {
	return cache.Transaction{Type: cache.TransactionTypeDelete, Object: obj}
}

func versionOfTransaction(t *testing.T, impl implementation) {
	store := newStore(impl)
	require.NoError(t, transact(t, store, addTxn(pod("a", "3")), addTxn(pod("b", "9")), addTxn(pod("c", "4"))))
	assert.Equal(t, differs(t, impl, "a transaction leaves the store at its greatest version, not at its last object's", "4", "9"),
		store.LastStoreSyncResourceVersion())

	store = newStore(impl)
	tombstone := cache.DeletedFinalStateUnknown{Key: "ns/a"}
	require.NoError(t, transact(t, store, addTxn(pod("b", "5")), deleteTxn(tombstone)))
	assert.Equal(t, differs(t, impl, "a tombstone at the end of a transaction does not hide the others' versions", "", "5"),
		store.LastStoreSyncResourceVersion())
}

func versionHidden(t *testing.T, impl implementation) {
	store := newStore(impl)
	require.NoError(t, store.Add(pod("a", "1")))
	featurestesting.SetFeatureDuringTest(t, features.AtomicFIFO, false)
	assert.Empty(t, store.LastStoreSyncResourceVersion(), "asked at every call, not at construction")
}

func versionGauge(t *testing.T, impl implementation) {
	metrics := newMetrics()
	id := reservedName(t, "store")
	store := impl.stores.store(keyOrRefuse, storeFeatures{identifier: id, provider: metrics})
	require.NoError(t, store.Add(pod("a", "12")))
	assert.Equal(t, 12.0, metrics.version.last())
	require.NoError(t, store.Delete(pod("a", "13")))
	assert.Equal(t, 13.0, metrics.version.last())
	store.Bookmark("123456789012345678")
	assert.Equal(t, 456789012345678.0, metrics.version.last(), "the last 15 digits, which a float64 holds")
	require.NoError(t, store.Update(pod("a", "abc")))
	assert.Equal(t, 456789012345678.0, metrics.version.last(), "what is no number is left out")
	require.NoError(t, store.Replace(nil, "14"))
	assert.Equal(t, 14.0, metrics.version.last())
	assert.Equal(t, 0, metrics.made("queued")+metrics.made("latency"), "a store has only this one")

	unnamed := newMetrics()
	impl.stores.threadSafe(cache.Indexers{}, storeFeatures{provider: unnamed}).Add("a", pod("a", "1"))
	assert.Equal(t, 0, unnamed.made("version"), "without a reserved name there are no metrics")
}

func transactionOrder(t *testing.T, impl implementation) {
	store := newStore(impl)
	require.NoError(t, store.Add(pod("old", "1")))
	require.NoError(t, transact(t, store,
		addTxn(pod("a", "2")), updateTxn(pod("a", "3")), deleteTxn(pod("a", "4")), addTxn(pod("a", "5")),
		updateTxn(pod("new", "6")), deleteTxn(pod("old", "7")), deleteTxn(pod("absent", "8")),
	))
	assert.Equal(t, []string{"a@5", "new@6"}, sorted(store.List()))
	assert.Equal(t, "8", store.LastStoreSyncResourceVersion())
}

func transactionErrors(t *testing.T, impl implementation) {
	store := newStore(impl)
	err := transact(t, store, addTxn(pod("a", "1")), addTxn("junk"), addTxn(pod("b", "2")), deleteTxn("rubbish"))
	var txnErr *cache.TransactionError
	require.ErrorAs(t, err, &txnErr)
	assert.Equal(t, []int{0, 2}, txnErr.SuccessfulIndices)
	assert.Equal(t, 4, txnErr.TotalTransactions)
	require.Len(t, txnErr.Errors, 2)
	for i, obj := range []string{"junk", "rubbish"} {
		var keyErr cache.KeyError
		require.ErrorAs(t, txnErr.Errors[i], &keyErr)
		assert.Equal(t, obj, keyErr.Obj)
		assert.ErrorIs(t, txnErr.Errors[i], errUnkeyable)
	}
	assert.Equal(t, []string{"a@1", "b@2"}, sorted(store.List()))
}

func transactionIndices(t *testing.T, impl implementation) {
	indexer := impl.stores.indexer(keyOrRefuse, cache.Indexers{"app": byLabel("app")}, storeFeatures{})
	require.NoError(t, indexer.Add(labelled("a", "1", "app", "x")))
	require.NoError(t, transact(t, indexer,
		updateTxn(labelled("a", "2", "app", "y")), addTxn(labelled("b", "3", "app", "y")), deleteTxn(pod("absent", "4")),
	))
	keys, err := indexer.IndexKeys("app", "y")
	require.NoError(t, err)
	assert.Equal(t, []string{"ns/a", "ns/b"}, keys)
	assert.Equal(t, []string{"y"}, indexer.ListIndexFuncValues("app"))
}

func transactionEmpty(t *testing.T, impl implementation) {
	store := newStore(impl)
	store.Bookmark("5")
	require.NoError(t, transact(t, store))
	assert.Equal(t, "5", store.LastStoreSyncResourceVersion())
	require.NoError(t, transact(t, store, cache.Transaction{Type: "Other", Object: pod("a", "6")}), "unknown types do nothing")
	assert.Empty(t, store.List())
}
