// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/bench/internal/workload"
)

// method is a method of Indexer, or two that undo each other.
type method struct {
	name, title string
	// indexes are the numbers of indexes with which it is measured. Reads of an
	// index take that by namespace, with up to 1000 members a value, if it is
	// the only one, and else that by owner, with 20 or 30.
	indexes []int
	// whole says that a call is about all objects of a store.
	whole bool
	// other makes another object of a pod, for methods that change the store:
	// a later version, or an object that the store does not hold.
	other func(p *workload.Population, i int) *corev1.Pod
	// phases are done one after the other, each with all targets, and leave the
	// store as it was. Each counts as an operation, unless paired is set: then
	// all together are one.
	phases []phase
	paired bool
}

// phase does something to one target and returns how much it read.
type phase func(t *target) (reads int, err error)

// target is what an operation is about.
type target struct {
	store        clientgo.Indexer
	key          string
	pod, other   any
	index, value string
	// both are the contents of the whole store, as it is and with the others.
	both [2]contents
}

// contents are all objects of a store as Replace takes them, and the updates to
// some of them as Transaction does.
type contents struct {
	list    []any
	updates []clientgo.Transaction
}

// batchSize is how many changes client-go's informers make at once at most.
const batchSize = 1000

// methods are those of Indexer, but for those that do nothing (Resync) or have
// rows of their own (AddIndexers, see stallRows).
func methods() []method {
	always, indexed := []int{0, 1, 3}, []int{1, 3}
	update, replace := []phase{updateToOther, updateBack}, []phase{replaceBy(1), replaceBy(0)}
	transaction := fmt.Sprintf("Transaction of up to %d updates", batchSize)
	return []method{
		{name: "get", title: "GetByKey", indexes: always, phases: []phase{getByKey}},
		{name: "get-object", title: "Get", indexes: always, phases: []phase{getObject}},
		{name: "update-same", title: "Update, index values unchanged", indexes: always,
			other: later, phases: update},
		{name: "update-moved", title: "Update, two of three index values changed", indexes: []int{3},
			other: movedTo, phases: update},
		{name: "add-delete", title: "Add of many more, then Delete of them, for one of each", indexes: always,
			other: another, phases: []phase{addOther, deleteOther}, paired: true},
		{name: "add-delete-one", title: "Add and at once Delete of one more", indexes: always,
			other: another, phases: []phase{addAndDelete}},
		{name: "index", title: "Index", indexes: indexed, phases: []phase{indexOf}},
		{name: "byindex", title: "ByIndex", indexes: indexed, phases: []phase{byIndexOf}},
		{name: "indexkeys", title: "IndexKeys", indexes: indexed, phases: []phase{indexKeys}},
		{name: "index-values", title: "ListIndexFuncValues", indexes: indexed, whole: true, phases: []phase{indexValues}},
		{name: "list", title: "List", indexes: always, whole: true, phases: []phase{listAll}},
		{name: "listkeys", title: "ListKeys", indexes: always, whole: true, phases: []phase{listKeys}},
		{name: "replace", title: "Replace by later versions", indexes: always, whole: true, other: later, phases: replace},
		{name: "transaction", title: transaction, indexes: always, whole: true,
			other: later, phases: []phase{transactionOf(1), transactionOf(0)}},
	}
}

func later(p *workload.Population, i int) *corev1.Pod {
	return workload.Version(p.Pods[i], eventVersion(i))
}

func movedTo(p *workload.Population, i int) *corev1.Pod {
	other := p.Pods[(i*workload.PodsPerDeployment+i)%len(p.Pods)]
	return workload.Moved(p.Pods[i], eventVersion(i), other.Spec.NodeName+"-b", other.OwnerReferences[0].UID+types.UID("-b"))
}

func another(p *workload.Population, i int) *corev1.Pod {
	pod := later(p, i)
	pod.Name += "-more"
	return pod
}

func getByKey(t *target) (int, error) {
	obj, exists, err := t.store.GetByKey(t.key)
	return found(obj, exists), err
}

func getObject(t *target) (int, error) {
	obj, exists, err := t.store.Get(t.pod)
	return found(obj, exists), err
}

func found(obj any, exists bool) int {
	if exists && obj != nil {
		return 1
	}
	return 0
}

func updateToOther(t *target) (int, error) { return 0, t.store.Update(t.other) }
func updateBack(t *target) (int, error)    { return 0, t.store.Update(t.pod) }
func addOther(t *target) (int, error)      { return 0, t.store.Add(t.other) }
func deleteOther(t *target) (int, error)   { return 0, t.store.Delete(t.other) }

func addAndDelete(t *target) (int, error) {
	if err := t.store.Add(t.other); err != nil {
		return 0, err
	}
	return 0, t.store.Delete(t.other)
}

func indexOf(t *target) (int, error) {
	members, err := t.store.Index(t.index, t.pod)
	return len(members), err
}

func byIndexOf(t *target) (int, error) {
	members, err := t.store.ByIndex(t.index, t.value)
	return len(members), err
}

func indexKeys(t *target) (int, error) {
	keys, err := t.store.IndexKeys(t.index, t.value)
	return len(keys), err
}

func indexValues(t *target) (int, error) { return len(t.store.ListIndexFuncValues(t.index)), nil }
func listAll(t *target) (int, error)     { return len(t.store.List()), nil }
func listKeys(t *target) (int, error)    { return len(t.store.ListKeys()), nil }

func replaceBy(which int) phase {
	return func(t *target) (int, error) { return 0, t.store.Replace(t.both[which].list, listVersion(which)) }
}

func transactionOf(which int) phase {
	return func(t *target) (int, error) {
		transactional, ok := t.store.(clientgo.TransactionStore)
		if !ok {
			return 0, fmt.Errorf("%T has no transactions", t.store)
		}
		if err := transactional.Transaction(t.both[which].updates...); err != nil {
			return 0, err
		}
		return 0, nil
	}
}
