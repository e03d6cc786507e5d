// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/view"
)

// newConfigMap returns a ConfigMap for the examples.
func newConfigMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Data:       map[string]string{"value": value},
	}
}

// runInformer runs an informer until the function that it returns is called.
func runInformer(informer cache.SharedIndexInformer) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { informer.RunWithContext(ctx) })
	return func() {
		cancel()
		group.Wait()
	}
}

// A handler that only wants the newest state of each object, however many versions it misses while
// it is busy.
func ExampleDeliver() {
	server := cachetest.New(newConfigMap("a", "1"))
	informer := cache.NewSharedIndexInformer(server, &corev1.ConfigMap{}, 0, cache.Indexers{})
	busy, release, sent := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var once sync.Once
	seen := make(chan string, 100)
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) {
			once.Do(func() { close(busy) })
			<-release
		},
		UpdateFunc: func(old, current any) {
			seen <- old.(*corev1.ConfigMap).Data["value"] + " -> " + current.(*corev1.ConfigMap).Data["value"]
		},
	}
	if _, err := informer.AddEventHandler(cache.Deliver(handler, cache.Delivery{Name: "newest", Overflow: cache.OverflowCoalesce})); err != nil {
		fmt.Println(err)
	}
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, current any) {
		if current.(*corev1.ConfigMap).Data["value"] == "4" {
			close(sent) // nobody waits for the slow handler
		}
	}})
	defer runInformer(informer)()

	<-busy // in its first call, and meanwhile the object changes three times
	for _, value := range []string{"2", "3", "4"} {
		server.Update(newConfigMap("a", value))
	}
	<-sent
	close(release)
	fmt.Println(<-seen)
	// Output: 1 -> 4
}

// An informer that removes handlers that fall behind, whoever adds them.
func ExampleWithDelivery() {
	removed, release := make(chan error, 1), make(chan struct{})
	newInformer := cache.InformerFunc(cache.WithDelivery(cache.Delivery{
		Overflow:     cache.OverflowDisconnect,
		Max:          2,
		OnDisconnect: func(err error) { removed <- err },
	}))
	server := cachetest.New(newConfigMap("a", "1"))
	informer := newInformer(server, &corev1.ConfigMap{}, 0, cache.Indexers{})
	handler := cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { <-release }}
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		fmt.Println(err)
	}
	defer runInformer(informer)()
	defer close(release)

	cache.WaitFor(context.Background(), "config maps", registration.HasSyncedChecker())
	for _, value := range []string{"2", "3", "4"} {
		server.Update(newConfigMap("a", value))
	}
	fmt.Println(errors.Is(<-removed, cache.ErrDisconnected))
	// Output: true
}

// Informers with options, wherever a constructor is asked for.
func ExampleInformerFunc() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	newInformer := cache.InformerFunc(
		cache.WithObjectDescription("configmaps of the team"),
		cache.WithPageSize(500),
		cache.WithBackoff(wait.Backoff{Duration: 100 * time.Millisecond, Cap: 5 * time.Second, Factor: 2}),
	)
	informer := newInformer(cachetest.New(newConfigMap("a", "1")), &corev1.ConfigMap{}, 0, cache.Indexers{})
	defer runInformer(informer)()
	fmt.Println(kinformer.WaitForSync(ctx, informer), informer.GetStore().ListKeys())
	// Output: <nil> [default/a]
}

// An informer whose objects have neither managed fields nor what was applied last.
func ExampleWithDecoding() {
	config := newConfigMap("a", "1")
	config.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	config.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}", "example.com/owner": "web"}
	newInformer := cache.InformerFunc(cache.WithDecoding(cache.Decoding{Drop: []string{
		"metadata.managedFields",
		"metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]",
	}}))
	informer := newInformer(cachetest.New(config), &corev1.ConfigMap{}, 0, cache.Indexers{})
	defer runInformer(informer)()
	cache.WaitFor(context.Background(), "config maps", informer.HasSyncedChecker())
	obj, _, err := informer.GetStore().GetByKey("default/a")
	fmt.Println(len(obj.(*corev1.ConfigMap).ManagedFields), obj.(*corev1.ConfigMap).Annotations, err)
	// Output: 0 map[example.com/owner:web] <nil>
}

// byContents indexes the ConfigMaps of the examples by what they say.
func byContents(obj any) ([]string, error) {
	value := obj.(*corev1.ConfigMap).Data["value"]
	if value == "" {
		return nil, errors.New("there is no value")
	}
	return []string{value}, nil
}

// An index function that fails for an object: the object is in the store and not in the index.
func ExampleOnIndexFailure() {
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{"value": byContents},
		cache.OnIndexFailure(func(f cache.IndexFailure) { fmt.Println(f.Index, f.Key, f.Err) }))
	_ = store.Add(newConfigMap("a", ""))

	fmt.Println(store.ListKeys(), store.ListIndexFuncValues("value"))
	// Output:
	// value default/a there is no value
	// [default/a] []
}

// An informer with an index and a handler that puts names into a queue, as in client-go.
func ExampleNewSharedIndexInformer() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	server := cachetest.New(newConfigMap("a", "1"), newConfigMap("b", "2"))
	informer := cache.NewSharedIndexInformer(server, &corev1.ConfigMap{}, 0, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
	})
	names := make(chan cache.ObjectName, 10) // a workqueue, in a controller
	enqueue := func(obj any) {
		if name, err := cache.DeletionHandlingObjectToName(obj); err == nil {
			names <- name
		}
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) }, DeleteFunc: enqueue,
	})
	if err != nil {
		fmt.Println(err)
	}
	defer runInformer(informer)()

	if err := kinformer.WaitForSync(ctx, informer, registration); err != nil {
		fmt.Println(err)
	}
	found, err := informer.GetIndexer().ByIndex(cache.NamespaceIndex, "default")
	fmt.Println(len(found), err, len(names))
	// Output: 2 <nil> 2
}

// A view of an informer with the type of its objects, in handlers and in reads.
func ExampleNewTypedSharedIndexInformer() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	server := cachetest.New(newConfigMap("a", "1"))
	informer := cache.NewTypedSharedIndexInformer[*corev1.ConfigMap](
		cache.NewSharedIndexInformer(server, &corev1.ConfigMap{}, 0, cache.Indexers{}))
	registration, err := informer.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.ConfigMap]{
		AddFunc: func(added *corev1.ConfigMap) { fmt.Println("added", added.Name) },
	})
	if err != nil {
		fmt.Println(err)
	}
	defer runInformer(informer)()

	if err := kinformer.WaitForSync(ctx, registration); err != nil {
		fmt.Println(err)
	}
	if found, ok := view.TypedGet[*corev1.ConfigMap](informer.GetStore(), "default/a"); ok {
		fmt.Println(found.Data["value"])
	}
	// Output:
	// added a
	// 1
}
