// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
)

// reachable returns the names of the methods that a type assertion can reach on a value.
func reachable(value any) (names []string) {
	t := reflect.TypeOf(value)
	for i := range t.NumMethod() {
		names = append(names, t.Method(i).Name)
	}
	return names
}

// ownMethods returns the methods of a type that own.txt, and with it doc.go, lists.
func ownMethods(t *testing.T, typeName string) (names []string) {
	for _, name := range readNameList(t, ownFile).names() {
		if method, ok := strings.CutPrefix(name, "cache."+typeName+"."); ok {
			names = append(names, method)
		}
	}
	return names
}

// TestMethodsBehindInterfaces: what is handed out has the methods of its counterpart in client-go
// and those that doc.go lists, and no engine's, whatever interface a user asserts.
func TestMethodsBehindInterfaces(t *testing.T) {
	key := cache.MetaNamespaceKeyFunc
	ourStore, ourController := cache.NewInformerWithOptions(cache.InformerOptions{})
	_, theirController := clientgo.NewInformerWithOptions(clientgo.InformerOptions{})
	ourInformer, theirInformer := cache.NewSharedIndexInformer(nil, nil, 0, nil), clientgo.NewSharedIndexInformer(nil, nil, 0, nil)
	for name, c := range map[string]struct{ ours, theirs any }{
		"NewStore":                        {cache.NewStore(key), clientgo.NewStore(key)},
		"NewIndexer":                      {cache.NewIndexer(key, nil), clientgo.NewIndexer(key, nil)},
		"NewThreadSafeStore":              {cache.NewThreadSafeStore(nil, nil), clientgo.NewThreadSafeStore(nil, nil)},
		"store of an informer":            {ourStore, clientgo.NewStore(key)},
		"RealFIFO":                        {&cache.RealFIFO{}, &clientgo.RealFIFO{}},
		"DeltaFIFO":                       {&cache.DeltaFIFO{}, &clientgo.DeltaFIFO{}},
		"FIFO":                            {&cache.FIFO{}, &clientgo.FIFO{}},
		"controller":                      {ourController, theirController},
		"controller of a shared informer": {ourInformer.GetController(), theirInformer.GetController()},
		"HasSyncedChecker of an informer": {ourInformer.HasSyncedChecker(), theirInformer.HasSyncedChecker()},
		"GetIndexer of a shared informer": {ourInformer.GetIndexer(), theirInformer.GetIndexer()},
	} {
		want := slices.Concat(reachable(c.theirs), ownMethods(t, name))
		assert.ElementsMatch(t, want, reachable(c.ours), name)
	}
}

// TestMethodsOfOurOwn: what client-go has no counterpart of has the methods of the interface that
// it is handed out as.
func TestMethodsOfOurOwn(t *testing.T) {
	snapshot, err := cache.SnapshotOf(cache.NewStore(cache.MetaNamespaceKeyFunc))
	require.NoError(t, err)
	defer snapshot.Close()
	assert.ElementsMatch(t, methodsOfInterface[cache.Snapshot](), reachable(snapshot))

	_, controller := cache.NewInformerWithOptions(cache.InformerOptions{})
	assert.ElementsMatch(t, methodsOfInterface[cache.DoneChecker](), reachable(controller.HasSyncedChecker()))
}

func methodsOfInterface[T any]() (names []string) {
	t := reflect.TypeFor[T]()
	for i := range t.NumMethod() {
		if method := t.Method(i); method.IsExported() {
			names = append(names, method.Name)
		}
	}
	return names
}
