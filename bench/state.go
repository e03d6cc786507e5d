// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/tools/cache"
)

// The three indexes of a full store, and how many pods one value has.
const (
	byNamespace = clientgo.NamespaceIndex // 1000
	byNode      = "node"                  // 50
	byOwner     = "owner"                 // 30 or 20
)

var errNotAPod = errors.New("not a pod")

func indexNode(obj any) ([]string, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("%w: %T", errNotAPod, obj)
	}
	return []string{pod.Spec.NodeName}, nil
}

func indexOwner(obj any) ([]string, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("%w: %T", errNotAPod, obj)
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return []string{string(owner.UID)}, nil
	}
	return nil, nil
}

// indexers returns the first n of the three indexes.
func indexers(n int) clientgo.Indexers {
	all := []struct {
		name string
		f    clientgo.IndexFunc
	}{{byNamespace, clientgo.MetaNamespaceIndexFunc}, {byNode, indexNode}, {byOwner, indexOwner}}
	chosen := clientgo.Indexers{}
	for _, index := range all[:n] {
		chosen[index.name] = index.f
	}
	return chosen
}

// add condenses objects with their versions, regardless of order.
func (c *check) add(objects []any) error {
	for _, obj := range objects {
		object, err := meta.Accessor(obj)
		if err != nil {
			return fmt.Errorf("store holds %T: %w", obj, err)
		}
		c.Objects++
		c.State += digest(object.GetNamespace(), object.GetName(), string(object.GetUID()), object.GetResourceVersion())
	}
	return nil
}

// stateOf condenses what a store holds: the objects with their versions, and
// the members of each value of each index, both regardless of order.
func stateOf(store clientgo.Indexer) (check, error) {
	var c check
	if err := c.add(store.List()); err != nil {
		return c, err
	}
	for index := range store.GetIndexers() {
		for _, value := range store.ListIndexFuncValues(index) {
			keys, err := store.IndexKeys(index, value)
			if err != nil {
				return c, fmt.Errorf("index %s: %w", index, err)
			}
			for _, key := range keys {
				c.Index += digest(index, value, key)
			}
		}
	}
	return c, nil
}

// digest hashes words, with their borders.
func digest(words ...string) uint64 {
	h := fnv.New64a()
	for _, word := range words {
		h.Write([]byte(word)) // a hash.Hash never fails
		h.Write([]byte{0})
	}
	return h.Sum64()
}
