// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/debug"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/minor"
	"github.com/kinformer/cache/internal/switched"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/sources"
)

// isClientGos reports whether an informer, a controller or a store is client-go's.
func isClientGos(v any) bool {
	if informer, ok := v.(*switched.Informer); ok {
		v = informer.SharedIndexInformer
	}
	if controller, ok := v.(*switched.Controller); ok {
		v = controller.Controller
	}
	return reflect.TypeOf(v).Elem().PkgPath() == "k8s.io/client-go/tools/cache"
}

func answered(check http.Handler) string {
	answer := httptest.NewRecorder()
	check.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	return answer.Body.String()
}

// TestSwitched checks what the constructors return for each kind of value of the variable.
func TestSwitched(t *testing.T) {
	for value, want := range map[string]struct{ pods, nodes, stores bool }{
		"":           {},
		"off":        {pods: true, nodes: true, stores: true},
		"off:pods":   {pods: true},
		"only:pods":  {nodes: true, stores: true},
		"impossible": {pods: true, nodes: true, stores: true},
	} {
		t.Run(value, func(t *testing.T) {
			t.Setenv("KINFORMER", value)
			server := informers.Quiet()
			for _, of := range []struct {
				want    bool
				example cache.SharedIndexInformer
			}{
				{want.pods, cache.NewSharedIndexInformer(server, &v1.Pod{}, 0, nil)},
				{want.nodes, cache.NewSharedIndexInformer(server, &v1.Node{}, 0, nil)},
				{want.pods, kinformer.New(server, &v1.Pod{}, kinformer.Options{})},
				{want.nodes, kinformer.Constructor(kinformer.Options{})(server, &v1.Node{}, 0, nil)},
			} {
				assert.Equal(t, of.want, isClientGos(of.example))
				assert.Equal(t, of.want, isClientGos(of.example.GetStore()))
			}
			store, controller := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: server, ObjectType: &v1.Pod{}})
			assert.Equal(t, want.pods, isClientGos(store))
			assert.Equal(t, want.pods, isClientGos(controller))
			queue := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true})
			assert.Equal(t, want.pods, isClientGos(cache.New(&cache.Config{ListerWatcher: server, ObjectType: &v1.Pod{}, Queue: queue})))
			assert.Equal(t, want.stores, isClientGos(cache.NewStore(cache.MetaNamespaceKeyFunc)))
			assert.Equal(t, want.stores, isClientGos(cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)))
			assert.Equal(t, want.stores, isClientGos(cache.NewThreadSafeStore(nil, nil)))
			assert.Equal(t, want.stores, isClientGos(cache.NewUndeltaStore(func([]any) {}, cache.MetaNamespaceKeyFunc).Store))
			wrong := cache.Indexers{"wrong": nil}
			assert.False(t, isClientGos(cache.NewSharedIndexInformer(server, &v1.Pod{}, 0, wrong)), "client-go's panics")
			assert.False(t, isClientGos(cache.NewThreadSafeStore(wrong, nil)))
		})
	}
}

// TestSwitchedOptions checks that an informer of client-go's has the options that it can have, and that the log
// names the others.
func TestSwitchedOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		switched.Forget()
		logged := testkit.CaptureLog(t)
		server := testkit.NewPods()
		pod := testkit.Pod("a", "1")
		pod.ManagedFields, pod.Annotations = []metav1.ManagedFieldsEntry{{Manager: "x"}}, map[string]string{"big": "y"}
		server.Put(pod)
		informer := kinformer.New(server, &v1.Pod{}, kinformer.Options{
			Engine: "client-go", ResyncPeriod: time.Minute, ObjectDescription: "my pods",
			Indexers: cache.Indexers{"name": func(obj any) ([]string, error) { return []string{obj.(*v1.Pod).Name}, nil }},
			Decoding: kinformer.Decoding{Drop: []string{"metadata.managedFields", "metadata.annotations[big]"}, ShareParts: true},
			Queue:    kinformer.Queue{Limit: 7},
			Errors:   kinformer.Errors{Policy: kinformer.StopOnForbidden},
		})
		require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
			p := obj.(*v1.Pod)
			assert.Nil(t, p.ManagedFields, "dropped before the transform")
			assert.Nil(t, p.Annotations)
			p.Labels = map[string]string{"transformed": "yes"}
			return p, nil
		}))
		journal := &testkit.Journal{}
		informers.Handle(t, informer, kinformer.Deliver(journal, kinformer.Delivery{Max: 5, Overflow: kinformer.OverflowBlock}))
		defer informers.Run(t, informer)()
		require.NoError(t, kinformer.WaitForSync(t.Context(), informer))
		synctest.Wait()
		got, err := informer.GetIndexer().ByIndex("name", "a")
		require.NoError(t, err)
		require.Len(t, got, 1)
		assert.Equal(t, map[string]string{"transformed": "yes"}, got[0].(*v1.Pod).Labels)
		assert.Len(t, journal.Take(), 1)
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		assert.Len(t, journal.Take(), 1, "the resync")
		_, err = inspect.StatusOf(informer)
		assert.ErrorIs(t, err, inspect.ErrForeign)
		assert.ErrorIs(t, kinformer.Relist(informer), inspect.ErrForeign)
		assert.Error(t, informer.SetTransform(nil), "it has started")
		lines := strings.Join(logged.Take(), "\n")
		assert.Contains(t, lines, `"without"="Queue.Limit, Decoding.ShareParts, Errors.Policy"`)
		assert.Contains(t, lines, `"without"="the Delivery of a handler"`)
		assert.Contains(t, lines, `"An informer is client-go's" "of"="*v1.Pod" "type"="*v1.Pod" "because"="Options.Engine"`)
	})
}

// TestSwitchedFaults: invalid options are refused as without the variable.
func TestSwitchedFaults(t *testing.T) {
	t.Setenv("KINFORMER", "off")
	for text, options := range map[string]kinformer.Options{
		"Queue.Limit": {Queue: kinformer.Queue{Limit: -1}}, "Indexers": {Indexers: cache.Indexers{"x": nil}},
		`there is no engine "ours"`: {Engine: "ours"},
	} {
		status, err := inspect.StatusOf(kinformer.New(informers.Quiet(), &v1.Pod{}, options))
		require.NoError(t, err)
		assert.ErrorContains(t, status.LastError, text)
	}
	twice := cache.Indexers{"x": cache.MetaNamespaceIndexFunc}
	status, err := inspect.StatusOf(kinformer.Constructor(kinformer.Options{Indexers: twice})(informers.Quiet(), &v1.Pod{}, 0, twice))
	require.NoError(t, err)
	assert.ErrorContains(t, status.LastError, "leave out one of them")
}

// TestSwitchedShard: an informer of client-go's follows a shard, and its last selector counts.
func TestSwitchedShard(t *testing.T) {
	t.Setenv("KINFORMER", "off")
	half := func(start, end string) sharding.Selector {
		return sharding.NewSelector(sharding.ShardRangeRequirement{Key: "object.metadata.uid", Start: start, End: end})
	}
	synctest.Test(t, func(t *testing.T) {
		server := testkit.NewPods()
		for i := range 40 {
			pod := testkit.Pod(fmt.Sprint("p", i), "1")
			pod.UID = types.UID(fmt.Sprint("uid", i))
			server.Put(pod)
		}
		var all []string
		for _, selector := range []sharding.Selector{half("0x0000000000000000", "0x8000000000000000"), half("0x8000000000000000", "0x10000000000000000")} {
			informer := cache.NewSharedIndexInformer(server, &v1.Pod{}, 0, nil)
			of := informer.(interface {
				SetShardSelector(sharding.Selector) error
			})
			require.NoError(t, of.SetShardSelector(half("0x0000000000000000", "0x0000000000000001")))
			require.NoError(t, of.SetShardSelector(selector))
			stop := informers.Run(t, informer)
			require.NoError(t, kinformer.WaitForSync(t.Context(), informer))
			assert.Greater(t, len(informer.GetStore().ListKeys()), 5)
			all = append(all, informer.GetStore().ListKeys()...)
			assert.Error(t, of.SetShardSelector(nil), "it has started")
			stop()
		}
		slices.Sort(all)
		assert.Len(t, slices.Compact(all), 40)
	})
}

// TestSwitchedShown: readiness and the page show the informers that are client-go's, while they run.
func TestSwitchedShown(t *testing.T) {
	t.Setenv("KINFORMER", "off:pods")
	synctest.Test(t, func(t *testing.T) {
		page := func() string {
			answer := httptest.NewRecorder()
			debug.Handler(debug.Options{}).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/?format=text", nil))
			return answer.Body.String()
		}
		ready := inspect.Ready(inspect.ReadyOptions{All: true})
		readiness := func() string { return answered(ready) }
		nodes := &testkit.Server{NoStream: true, OnList: testkit.ListOf(&v1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}}), OnWatch: testkit.Watches()}
		stopNodes := informers.Run(t, cache.NewSharedIndexInformer(nodes, &v1.Node{}, 0, nil))
		pods := cache.NewSharedIndexInformer(informers.Quiet(testkit.PodAt("a", "1")), &v1.Pod{}, 0, nil)
		assert.Empty(t, switched.Running())
		stop := informers.Run(t, pods)
		synctest.Wait()
		assert.Equal(t, "ok\n*v1.Pod is client-go's (KINFORMER=off:pods)\n", readiness())
		typed := cache.NewTypedSharedIndexInformer[*v1.Pod](pods)
		of := inspect.Ready(inspect.ReadyOptions{All: true}, typed, pods)
		assert.NoError(t, of.Check(nil))
		assert.Equal(t, "ok\n*v1.Pod is client-go's (KINFORMER=off:pods)\n*v1.Pod is client-go's (KINFORMER=off:pods)\n", answered(of), "both arguments, and not a third time")
		assert.Regexp(t, `\nclient-go's\nNAME +BECAUSE OF +SYNCED +OBJECTS +VERSION\n\*v1\.Pod +KINFORMER=off:pods +true +1 +5\n`, page())
		stop()
		assert.Equal(t, "ok\n", readiness())
		assert.NotContains(t, page(), "client-go")
		stopNodes()
		store, controller := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: informers.Quiet(testkit.PodAt("a", "1")), ObjectType: &v1.Pod{}})
		defer informers.Run(t, controller)()
		synctest.Wait()
		assert.Len(t, store.List(), 1)
		assert.Equal(t, "ok\n*v1.Pod is client-go's (KINFORMER=off:pods)\n", readiness())
	})
}

// TestSwitchedLife: a second Run changes nothing, a stopped informer is not ready, and a wait for one that ends ends.
func TestSwitchedLife(t *testing.T) {
	t.Setenv("KINFORMER", "off")
	synctest.Test(t, func(t *testing.T) {
		informer := cache.NewSharedIndexInformer(testkit.NewPods(testkit.Pod("a", "1")), &v1.Pod{}, 0, nil)
		all, one := inspect.Ready(inspect.ReadyOptions{All: true}), inspect.Ready(inspect.ReadyOptions{}, informer)
		stop := informers.Run(t, informer)
		synctest.Wait()
		informer.RunWithContext(t.Context())
		assert.NoError(t, all.Check(nil))
		assert.NoError(t, one.Check(nil))
		assert.Len(t, switched.Running(), 1)
		stop()
		assert.Empty(t, switched.Running())
		assert.EqualError(t, one.Check(nil), "1 of 1 informer is not ready; *v1.Pod has stopped")
		informer.RunWithContext(t.Context())
		assert.Empty(t, switched.Running())

		refused := &testkit.Server{NoStream: true, OnList: testkit.ListOf(nil, slices.Repeat([]error{testkit.ErrForbidden}, 100)...)}
		never := cache.NewSharedIndexInformer(refused, &v1.Pod{}, 0, nil)
		stop = informers.Run(t, never)
		waited := make(chan error)
		go func() { waited <- kinformer.WaitForSync(t.Context(), never) }()
		synctest.Wait()
		stop()
		assert.ErrorContains(t, <-waited, "an informer ended before it had synced")
	})
}

// TestSwitchedRefuses: what this module's informers refuse is no panic in those of client-go's.
func TestSwitchedRefuses(t *testing.T) {
	t.Setenv("KINFORMER", "off")
	switched.Forget()
	logged := testkit.CaptureLog(t)
	informer := cache.NewSharedIndexInformer(informers.Quiet(), &v1.Pod{}, 0, nil)
	for _, handler := range []cache.ResourceEventHandler{nil, kinformer.Deliver(nil, kinformer.Delivery{})} {
		_, err := informer.AddEventHandler(handler)
		assert.ErrorContains(t, err, "event handler is nil")
	}
	_, err := informer.AddEventHandler(kinformer.Deliver(&testkit.Journal{}, kinformer.Delivery{Max: -1}))
	assert.ErrorContains(t, err, "Max")
	assert.ErrorContains(t, informer.AddIndexers(cache.Indexers{"x": nil}), "nil")
	_, err = cache.NewStore(nil).(cache.Indexer).ByIndex("x", "y")
	assert.Error(t, err)
	assert.ErrorContains(t, cache.NewStore(nil).Add(&v1.Pod{}), "nil KeyFunc")
	gadget := &unstructured.Unstructured{}
	gadget.SetAPIVersion("example.com/v1")
	gadget.SetKind("Gadget")
	cache.NewSharedIndexInformer(informers.Quiet(), gadget, 0, nil)
	cache.NewSharedIndexInformer(informers.Quiet(), nil, 0, nil)
	lines := strings.Join(logged.Take(), "\n")
	assert.Contains(t, lines, `"of"="Gadget.example.com"`)
	assert.Contains(t, lines, `"of"="objects of any type"`)
}

// TestSwitchedSources: informers of several sources stay this module's.
func TestSwitchedSources(t *testing.T) {
	t.Setenv("KINFORMER", "off")
	synctest.Test(t, func(t *testing.T) {
		informer, set := sources.New(&v1.Pod{}, kinformer.Options{Engine: "client-go"})
		set.Put("a", informers.Quiet(testkit.PodAt("a", "1")))
		set.Put("b", informers.Quiet(testkit.PodAt("b", "1")))
		defer informers.Run(t, informer)()
		require.NoError(t, kinformer.WaitForSync(t.Context(), informer))
		assert.Len(t, informer.GetStore().ListKeys(), 2)
		_, err := inspect.StatusOf(informer)
		assert.NoError(t, err)
	})
}

// TestSwitchedHandlers: handlers with a Change and typed ones are called, and can be shut down.
func TestSwitchedHandlers(t *testing.T) {
	t.Setenv("KINFORMER", "off")
	synctest.Test(t, func(t *testing.T) {
		server := testkit.NewPods(testkit.Pod("a", "1"))
		informer := cache.NewSharedIndexInformer(server, &v1.Pod{}, 0, nil)
		var changes []kinformer.Change
		change, err := informer.AddEventHandlerWithOptions(kinformer.ChangeFunc(func(c kinformer.Change) { changes = append(changes, c) }), cache.HandlerOptions{})
		require.NoError(t, err)
		_, err = informer.AddEventHandlerWithResyncPeriod(&testkit.Journal{}, time.Hour)
		require.NoError(t, err)
		defer informers.Run(t, informer)()
		require.NoError(t, kinformer.WaitForSync(t.Context(), informer, change))
		require.Len(t, changes, 1)
		assert.Equal(t, kinformer.Change{Type: cache.Added, Key: "ns/a", New: changes[0].New}, changes[0], "without a cause")
		err = cache.ShutDownEventHandler(informer, change)
		assert.Equal(t, minor.Own, err != nil, "the registrations of client-go v0.36 cannot be waited for")
		_, err = inspect.HandlerOf(change)
		assert.ErrorIs(t, err, inspect.ErrForeign)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		other := cache.NewSharedIndexInformer(server, &v1.Pod{}, 0, nil)
		err = kinformer.WaitForSync(ctx, other)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "has not synced")
		assert.False(t, other.(interface{ HasStarted() bool }).HasStarted())
	})
}
