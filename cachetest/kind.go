// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// exampleFromList returns a new object of the type of the items of list, or nil if the type of list
// does not determine it.
func exampleFromList(list runtime.Object) runtime.Object {
	if u, ok := list.(*unstructured.UnstructuredList); ok {
		return exampleFromUnstructuredList(u)
	}
	items, err := meta.GetItemsPtr(list)
	if err != nil {
		return nil
	}
	elem := reflect.TypeOf(items).Elem().Elem()
	if elem.Kind() == reflect.Pointer {
		elem = elem.Elem()
	}
	if elem.Kind() != reflect.Struct {
		return nil
	}
	example, ok := reflect.New(elem).Interface().(runtime.Object)
	if !ok {
		return nil
	}
	return example
}

func exampleFromUnstructuredList(list *unstructured.UnstructuredList) runtime.Object {
	kind, isList := strings.CutSuffix(list.GetKind(), "List")
	if !isList || kind == "" {
		return nil
	}
	example := &unstructured.Unstructured{}
	example.SetAPIVersion(list.GetAPIVersion())
	example.SetKind(kind)
	return example
}

// newList returns an empty list for objects like example, which may be nil.
func newList(example runtime.Object) runtime.Object {
	u, ok := example.(*unstructured.Unstructured)
	if !ok {
		return &metav1.List{}
	}
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(u.GetAPIVersion())
	list.SetKind(u.GetKind() + "List")
	return list
}

// newBookmark returns an object of example's type and kind that has only rv and, if initialEventsEnd,
// the mark of the end of the initial events.
func newBookmark(example runtime.Object, rv uint64, initialEventsEnd bool) runtime.Object {
	obj := reflect.New(reflect.TypeOf(example).Elem()).Interface().(runtime.Object)
	if gvk := example.GetObjectKind().GroupVersionKind(); !gvk.Empty() {
		obj.GetObjectKind().SetGroupVersionKind(gvk)
	}
	m := accessor(obj)
	m.SetResourceVersion(formatRV(rv))
	if initialEventsEnd {
		m.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return obj
}

// accessor returns the metadata of obj. It panics if obj has none: only API objects can be served.
func accessor(obj runtime.Object) metav1.Object {
	m, err := meta.Accessor(obj)
	if err != nil {
		panic(err)
	}
	return m
}

// keyOf returns "namespace/name", or "name" for an object without a namespace.
func keyOf(m metav1.Object) string { return joinKey(m.GetNamespace(), m.GetName()) }

func joinKey(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

func formatRV(rv uint64) string { return strconv.FormatUint(rv, 10) }
