// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/kinformer"
)

// newConfigMap returns a ConfigMap for the examples.
func newConfigMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Data:       map[string]string{"value": value},
	}
}

// runInformer runs an informer until the returned function is called.
func runInformer(informer cache.SharedIndexInformer) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { informer.RunWithContext(ctx) })
	return func() {
		cancel()
		group.Wait()
	}
}

// runSynced is runInformer, but returns when the informer has synced.
func runSynced(informer cache.SharedIndexInformer) (stop func()) {
	stop = runInformer(informer)
	if err := kinformer.WaitForSync(context.Background(), informer); err != nil {
		fmt.Println(err)
	}
	return stop
}

// The error of WaitForSync contains the reason, which errors.As and similar functions find.
func ExampleWaitForSync() {
	server := cachetest.Of()
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no role allows it"))
	server.FailNext(cachetest.VerbList, forbidden)
	informer := kinformer.New(server, &corev1.ConfigMap{}, kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList}})
	failed := make(chan struct{})
	_ = informer.SetWatchErrorHandler(func(*cache.Reflector, error) { close(failed) }) // instead of the log
	defer runInformer(informer)()

	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		<-failed
		cancel(errors.New("the program ends"))
	}()
	err := kinformer.WaitForSync(ctx, informer)
	fmt.Println(apierrors.IsForbidden(err))
	// Output: true
}

// A controller that reads its own write: after the wait, the store has the version that the write
// returned.
func ExampleWaitForVersion() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	server := cachetest.Of()
	informer := cache.NewSharedIndexInformer(server, &corev1.ConfigMap{}, 0, cache.Indexers{})
	defer runInformer(informer)()

	written := server.Create(newConfigMap("a", "mine")).(*corev1.ConfigMap)
	if err := kinformer.WaitForVersion(ctx, informer, written.ResourceVersion); err != nil {
		fmt.Println(err)
	}
	obj, exists, _ := informer.GetStore().GetByKey("default/a")
	fmt.Println(exists, obj.(*corev1.ConfigMap).Data["value"])
	// Output: true mine
}

// A cache that is in doubt: the handler is called for the changes that the watch has missed.
func ExampleRelist() {
	server := cachetest.Of(newConfigMap("a", "1"))
	informer := cache.NewSharedIndexInformer(server, &corev1.ConfigMap{}, 0, cache.Indexers{})
	added := make(chan string, 2)
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) { added <- obj.(*corev1.ConfigMap).Name }})
	if err != nil {
		fmt.Println(err)
	}
	defer runSynced(informer)()
	found := server.Lose()
	server.Create(newConfigMap("b", "1"))
	found()

	if err := kinformer.Relist(informer); err != nil {
		fmt.Println(err)
	}
	fmt.Println(<-added, <-added)
	// Output: a b
}

// A handler that needs only the newest state of each object, not the versions between its calls.
func ExampleDeliver() {
	server := cachetest.Of(newConfigMap("a", "1"))
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
	if _, err := informer.AddEventHandler(kinformer.Deliver(handler, kinformer.Delivery{Name: "newest", Overflow: kinformer.OverflowCoalesce})); err != nil {
		fmt.Println(err)
	}
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, current any) {
		if current.(*corev1.ConfigMap).Data["value"] == "4" {
			close(sent) // the source does not wait for the slow handler
		}
	}})
	defer runInformer(informer)()

	<-busy // the handler is in its first call, during which the object changes three times
	for _, value := range []string{"2", "3", "4"} {
		server.Update(newConfigMap("a", value))
	}
	<-sent
	close(release)
	fmt.Println(<-seen)
	// Output: 1 -> 4
}

// An informer that removes handlers that fall behind, including those that a framework adds.
func ExampleDelivery() {
	removed, release := make(chan error, 1), make(chan struct{})
	newInformer := kinformer.Constructor(kinformer.Options{Delivery: kinformer.Delivery{
		Overflow:     kinformer.OverflowDisconnect,
		Max:          2,
		OnDisconnect: func(err error) { removed <- err },
	}})
	server := cachetest.Of(newConfigMap("a", "1"))
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
	fmt.Println(errors.Is(<-removed, kinformer.ErrDisconnected))
	// Output: true
}

// Informers with options, made by a function with the signature of a constructor.
func ExampleConstructor() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	newInformer := kinformer.Constructor(kinformer.Options{ObjectDescription: "configmaps of the team", Requests: kinformer.Requests{PageSize: 500, Backoff: wait.Backoff{Duration: 100 * time.Millisecond, Cap: 5 * time.Second, Factor: 2}}})
	informer := newInformer(cachetest.Of(newConfigMap("a", "1")), &corev1.ConfigMap{}, 0, cache.Indexers{})
	defer runInformer(informer)()
	fmt.Println(kinformer.WaitForSync(ctx, informer), informer.GetStore().ListKeys())
	// Output: <nil> [default/a]
}

// An informer whose objects have neither managed fields nor the last-applied annotation.
func ExampleDecoding() {
	config := newConfigMap("a", "1")
	config.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	config.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}", "example.com/owner": "web"}
	newInformer := kinformer.Constructor(kinformer.Options{Decoding: kinformer.Decoding{Drop: []string{
		"metadata.managedFields",
		"metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]",
	}}})
	informer := newInformer(cachetest.Of(config), &corev1.ConfigMap{}, 0, cache.Indexers{})
	defer runInformer(informer)()
	cache.WaitFor(context.Background(), "config maps", informer.HasSyncedChecker())
	obj, _, err := informer.GetStore().GetByKey("default/a")
	fmt.Println(len(obj.(*corev1.ConfigMap).ManagedFields), obj.(*corev1.ConfigMap).Annotations, err)
	// Output: 0 map[example.com/owner:web] <nil>
}

// byContents indexes the ConfigMaps of the examples by their content.
func byContents(obj any) ([]string, error) {
	value := obj.(*corev1.ConfigMap).Data["value"]
	if value == "" {
		return nil, errors.New("there is no value")
	}
	return []string{value}, nil
}

// An index function that fails for an object: the object is in the store and not in the index.
func ExampleIndexFailure() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	informer := kinformer.New(cachetest.Of(newConfigMap("a", "")), &corev1.ConfigMap{}, kinformer.Options{
		Indexers:       cache.Indexers{"value": byContents},
		OnIndexFailure: func(f kinformer.IndexFailure) { fmt.Println(f.Index, f.Key, f.Err) },
	})
	defer runInformer(informer)()
	err := kinformer.WaitForSync(ctx, informer)
	fmt.Println(err, informer.GetStore().ListKeys(), informer.GetIndexer().ListIndexFuncValues("value"))
	// Output:
	// value default/a there is no value
	// <nil> [default/a] []
}

// A program that should fail at start, instead of waiting for a permission.
func ExampleErrors() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	server := cachetest.Of()
	server.FailNext(cachetest.VerbList, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no role allows it")))
	newInformer := kinformer.Constructor(kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList}, Errors: kinformer.Errors{Policy: kinformer.StopOnForbidden}})
	informer := newInformer(server, &corev1.ConfigMap{}, 0, cache.Indexers{})
	defer runInformer(informer)()
	err := kinformer.WaitForSync(ctx, informer)
	status, _ := inspect.StatusOf(informer)
	fmt.Println(apierrors.IsForbidden(err), status.Phase)
	// Output: true stopped
}

// A limit for the changes that wait between the watch and the store.
func ExampleQueue() {
	newInformer := kinformer.Constructor(kinformer.Options{Queue: kinformer.Queue{Limit: 1000}})
	informer := newInformer(cachetest.Of(newConfigMap("a", "1")), &corev1.ConfigMap{}, 0, cache.Indexers{})
	defer runSynced(informer)()
	stats, err := inspect.QueueOf(informer)
	fmt.Println(stats.Depth, stats.Limit, stats.Pauses, err)
	// Output: 0 1000 0 <nil>
}

// A ListerWatcher that should request one namespace but requests all.
func ExampleRequests() {
	elsewhere := newConfigMap("b", "1")
	elsewhere.Namespace = "kube-system"
	newInformer := kinformer.Constructor(kinformer.Options{Requests: kinformer.Requests{ExpectedNamespace: "default"}})
	informer := newInformer(cachetest.Of(newConfigMap("a", "1"), elsewhere), &corev1.ConfigMap{}, 0, cache.Indexers{})
	defer runSynced(informer)()
	status, err := inspect.StatusOf(informer)
	fmt.Println(informer.GetStore().ListKeys(), status.Dropped, err)
	// Output: [default/a] 1 <nil>
}

// A transform function that fails for one object, which should not prevent the others from being
// listed.
func ExampleQueue_keepCached() {
	newInformer := kinformer.Constructor(kinformer.Options{Queue: kinformer.Queue{KeepCached: true}, Requests: kinformer.Requests{Mode: kinformer.ListModeList}})
	informer := newInformer(cachetest.Of(newConfigMap("a", "1"), newConfigMap("b", "")), &corev1.ConfigMap{}, 0, cache.Indexers{})
	err := informer.SetTransform(func(obj any) (any, error) {
		if obj.(*corev1.ConfigMap).Data["value"] == "" {
			return nil, errors.New("there is no value")
		}
		return obj, nil
	})
	if err != nil {
		fmt.Println(err)
	}
	defer runSynced(informer)()
	stats, _ := inspect.QueueOf(informer)
	fmt.Println(informer.GetStore().ListKeys(), stats.Untransformed, stats.LastTransformError)
	// Output: [default/a] 1 there is no value
}

// A handler that only enqueues keys.
func ExampleChangeFunc() {
	server := cachetest.Of(newConfigMap("a", "1"))
	informer := kinformer.New(server, &corev1.ConfigMap{}, kinformer.Options{})
	changes := make(chan kinformer.Change)
	_, err := informer.AddEventHandler(kinformer.ChangeFunc(func(c kinformer.Change) { changes <- c }))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer runSynced(informer)()
	first := <-changes
	fmt.Println(first.Type, first.Key, first.Cause)
	server.Delete("default", "a")
	second := <-changes
	fmt.Println(second.Type, second.Key, second.Cause)
	// Output:
	// Added default/a Initial
	// Deleted default/a Watch
}
