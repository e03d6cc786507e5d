// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgo "k8s.io/client-go/tools/cache"
)

// TestDescribeType: the default type description, and the kind that unstructured objects must have.
func TestDescribeType(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Kind"}
	for name, tc := range map[string]struct {
		example any
		want    string
		gvk     *schema.GroupVersionKind
	}{
		"none":          {nil, "<unspecified>", nil},
		"Go type":       {&v1.Pod{}, "*v1.Pod", nil},
		"kind":          {untyped("g/v1", "Kind", "", ""), gvk.String(), &gvk},
		"without kind":  {&unstructured.Unstructured{}, "*unstructured.Unstructured", nil},
		"nil pointer":   {(*unstructured.Unstructured)(nil), "*unstructured.Unstructured", nil},
		"no pointer":    {v1.Pod{}, "v1.Pod", nil},
		"anything else": {1, "int", nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReflector(reflectorConfig{listerWatcher: &ListWatch{}, sink: sinkOf(&storeLog{}), expectedType: tc.example})
			assert.Equal(t, tc.want, r.typeDescription)
			assert.Equal(t, tc.gvk, r.expects.gvk)
			assert.Equal(t, tc.want, r.card().TypeDescription())
		})
	}
	r := newReflector(reflectorConfig{listerWatcher: &ListWatch{}, sink: sinkOf(&storeLog{}), typeDescription: "given"})
	assert.Equal(t, "given", r.typeDescription)
}

// TestDefaultName: the caller's file:line, for our reflector and for client-go's.
func TestDefaultName(t *testing.T) {
	const here = `reflector_options_test\.go:\d+$`
	assert.Regexp(t, here, newReflector(reflectorConfig{listerWatcher: &ListWatch{}, sink: sinkOf(&storeLog{})}).name)
	assert.Regexp(t, here, NewReflector(&ListWatch{}, nil, &storeLog{}, 0).Name())
	assert.Regexp(t, here, NewReflectorWithOptions(&ListWatch{}, nil, &storeLog{}, ReflectorOptions{}).Name())
	_, r := NewNamespaceKeyedIndexerAndReflector(&ListWatch{}, nil, 0)
	assert.Regexp(t, here, r.Name())
	assert.Equal(t, "n", NewNamedReflector("n", &ListWatch{}, nil, &storeLog{}, 0).Name())
	assert.Equal(t, "n", newReflector(reflectorConfig{name: "n", listerWatcher: &ListWatch{}, sink: sinkOf(&storeLog{})}).name)
}

// TestDefaultBackoff: the default delays start between 0.8 and 1.6 s, end between 30 and 60 s, and start again after two
// minutes without one.
func TestDefaultBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReflector(reflectorConfig{listerWatcher: &ListWatch{}, sink: sinkOf(&storeLog{})})
		within := func(least, most time.Duration, got time.Duration) {
			t.Helper()
			assert.GreaterOrEqual(t, got, least)
			assert.LessOrEqual(t, got, most)
		}
		within(800*time.Millisecond, 1600*time.Millisecond, r.delay())
		within(1600*time.Millisecond, 3200*time.Millisecond, r.delay())
		for range 50 {
			r.delay()
		}
		within(30*time.Second, 60*time.Second, r.delay())
		time.Sleep(2*time.Minute + time.Second)
		within(800*time.Millisecond, 1600*time.Millisecond, r.delay())
	})
}

// TestCardWithoutVersion: before the first list the card has no version, and it never disturbs the reflector.
func TestCardWithoutVersion(t *testing.T) {
	server := &fakeServer{}
	r := newReflector(reflectorConfig{name: "n", listerWatcher: server, sink: sinkOf(&storeLog{}), shouldResync: func() bool { return true }})
	card := r.card()
	assert.Equal(t, "n", card.Name())
	assert.Empty(t, card.LastSyncResourceVersion())
	assert.True(t, card.ShouldResync())
	for _, version := range []string{"7", "9", ""} {
		r.position.advance(version)
		assert.Same(t, card, r.card())
		assert.Equal(t, version, card.LastSyncResourceVersion())
	}
	assert.Empty(t, server.asked())
}

// TestRunReflector: our engine on a plain store, until the context ends, whose cause it returns.
func TestRunReflector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := assert.AnError
		ctx, cancel := context.WithCancelCause(t.Context())
		server := &fakeServer{watch: watches(sent(added("a", "1"), endMark("2"), added("b", "3")))}
		store := clientgo.NewStore(MetaNamespaceKeyFunc)
		ended := make(chan error, 1)
		go func() { ended <- RunReflector(ctx, server, &v1.Pod{}, store, ReflectorOptions{}) }()
		synctest.Wait()
		assert.ElementsMatch(t, []string{"ns/a", "ns/b"}, store.ListKeys())
		cancel(cause)
		assert.ErrorIs(t, <-ended, cause)
	})
}

// TestRunReflectorNeedsItsParts: missing parts are an error, not a crash later.
func TestRunReflectorNeedsItsParts(t *testing.T) {
	require.ErrorContains(t, RunReflector(t.Context(), nil, nil, &storeLog{}, ReflectorOptions{}), "ListerWatcher")
	require.ErrorContains(t, RunReflector(t.Context(), (*ListWatch)(nil), nil, &storeLog{}, ReflectorOptions{}), "ListerWatcher")
	require.ErrorContains(t, RunReflector(t.Context(), &ListWatch{}, nil, nil, ReflectorOptions{}), "store")
	require.ErrorContains(t, RunReflector(t.Context(), &ListWatch{}, nil, &storeLog{}, ReflectorOptions{Backoff: &wait.Backoff{}}), "Backoff: Duration")
}

// TestNewNamespaceKeyedIndexerAndReflector: the reflector fills the indexer, by namespace.
func TestNewNamespaceKeyedIndexerAndReflector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{noStream: true, list: listOf(podList("5", podAt("a", "1"))), watch: watches()}
		indexer, r := NewNamespaceKeyedIndexerAndReflector(server, &v1.Pod{}, 0)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.RunWithContext(ctx)
		}()
		synctest.Wait()
		found, err := indexer.ByIndex(NamespaceIndex, "ns")
		require.NoError(t, err)
		assert.Len(t, found, 1)
		cancel()
		<-done
	})
}

// TestNamesOfInformersReflectors: the name tells what is reflected, by the resource where the informer knows it, and where it
// was started. Errors such as that of a very short watch have nothing else.
func TestNamesOfInformersReflectors(t *testing.T) {
	pods := (*InformerName)(nil).WithResource(schema.GroupVersionResource{Version: "v1", Resource: "pods"})
	widgets := (*InformerName)(nil).WithResource(schema.GroupVersionResource{Group: "g.example", Version: "v2", Resource: "widgets"})
	config := func() *Config {
		return &Config{Queue: NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true}), ListerWatcher: &fakeServer{}, ObjectType: &v1.Pod{}}
	}
	for name, tc := range map[string]struct {
		want string
		run  Controller
	}{
		"by resource":        {"pods.v1", informerOf(&fakeServer{}, WithIdentifier(pods, nil), WithObjectDescription("d"))},
		"by resource, group": {"widgets.v2.g.example", informerOf(&fakeServer{}, WithIdentifier(widgets, nil))},
		"by description":     {"d", informerOf(&fakeServer{}, WithObjectDescription("d"))},
		"by type":            {"*v1.Pod", informerOf(&fakeServer{})},
		"controller":         {"*v1.Pod", New(config())},
		"simple informer": {"pods.v1", func() Controller {
			_, c := NewInformerWithOptions(InformerOptions{ListerWatcher: &fakeServer{}, ObjectType: &v1.Pod{}, Identifier: pods})
			return c
		}()},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			var c *controller
			if shared, ok := tc.run.(*sharedIndexInformer); ok {
				shared.RunWithContext(ctx)
				c = shared.life.controller
			} else {
				c = tc.run.(*controller)
				c.RunWithContext(ctx)
			}
			assert.Regexp(t, "^"+regexp.QuoteMeta(tc.want)+` \(.*reflector_options_test\.go:\d+\)$`, c.mu.reflector.name)
		})
	}
}
