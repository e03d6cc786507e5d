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
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/testkit"
)

// TestDefaultName: reflectors are named by the caller's file:line, as in client-go.
func TestDefaultName(t *testing.T) {
	const here = `reflector_test\.go:\d+$`
	assert.Regexp(t, here, NewReflector(&ListWatch{}, nil, &testkit.StoreLog{}, 0).Name())
	assert.Regexp(t, here, NewReflectorWithOptions(&ListWatch{}, nil, &testkit.StoreLog{}, ReflectorOptions{}).Name())
	_, r := NewNamespaceKeyedIndexerAndReflector(&ListWatch{}, nil, 0)
	assert.Regexp(t, here, r.Name())
	assert.Equal(t, "n", NewNamedReflector("n", &ListWatch{}, nil, &testkit.StoreLog{}, 0).Name())
}

// TestStandIn: a stand-in has the name and the description of its reflector, without any request.
// Before the first list it has no version.
func TestStandIn(t *testing.T) {
	server := &testkit.Server{}
	o := reflector.Options{
		Name: "n", TypeDescription: "d", ListerWatcher: server, ShouldResync: func() bool { return true }, MaxInternalErrorRetry: time.Hour,
	}
	o.Journal = reflector.NewJournal()
	o.Describe(o.Journal)
	var id standIn
	made := id.at(&o, "")
	assert.Equal(t, "n", made.Name())
	assert.Equal(t, "d", made.TypeDescription())
	assert.Empty(t, made.LastSyncResourceVersion())
	assert.True(t, made.ShouldResync())
	assert.Equal(t, time.Hour, made.MaxInternalErrorRetryDuration)
	for _, version := range []string{"7", "9", ""} {
		assert.Same(t, made, id.at(&o, version))
		assert.Equal(t, version, made.LastSyncResourceVersion())
	}
	assert.Empty(t, server.Requests())
}

// TestHandlerSeesTheStandIn: the reflector that the watch-error handler receives has the name, the type
// and the version of the informer's.
func TestHandlerSeesTheStandIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type seen struct{ name, typ, version string }
		var got []seen
		var handed []*Reflector
		server := &testkit.Server{
			NoStream: true,
			OnList: func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
				if n == 1 {
					return nil, testkit.ErrForbidden
				}
				return testkit.PodList("5"), nil
			},
			OnWatch: testkit.Watches(testkit.Sent(testkit.Added("b", "7"), testkit.Closed), testkit.ErrForbidden),
		}
		defer testkit.InBackground(t, reflector.New(reflector.Options{
			Name: "n", ExpectedType: &v1.Pod{}, ListerWatcher: server, Sink: reflector.Foreign(&testkit.StoreLog{}), PageSize: 3,
			OnError: errorsTo(func(_ context.Context, r *Reflector, _ error) {
				got = append(got, seen{r.Name(), r.TypeDescription(), r.LastSyncResourceVersion()})
				handed = append(handed, r)
			}),
		}).Run)()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, []seen{{"n", "*v1.Pod", ""}, {"n", "*v1.Pod", "7"}}, got)
		assert.Same(t, handed[0], handed[1])
		assert.EqualValues(t, 3, handed[0].WatchListPageSize)
	})
}

// TestErrorsWithoutAHandler: without a watch-error handler client-go's is used, which reports
// unexpected errors.
func TestErrorsWithoutAHandler(t *testing.T) {
	reported := testkit.Reports(t)
	o := reflector.Options{Name: "n", Journal: reflector.NewJournal()}
	tell := errorsTo(nil)
	tell(t.Context(), reflector.Failure{Err: testkit.ErrForbidden, Expected: true, Of: &o})
	assert.Empty(t, reported())
	tell(t.Context(), reflector.Failure{Err: testkit.ErrForbidden, Of: &o})
	require.Len(t, reported(), 1)
	assert.Contains(t, reported()[0], "forbidden")
	assert.Contains(t, reported()[0], "reflector n")
}

// TestNewNamespaceKeyedIndexerAndReflector: the reflector fills the indexer, which has an index by
// namespace.
func TestNewNamespaceKeyedIndexerAndReflector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5", testkit.PodAt("a", "1"))), OnWatch: testkit.Watches()}
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

// TestNamesOfInformersReflectors: the name has the resource if the informer knows it, otherwise the
// type, and the file and line of the start. Errors such as that of a very short watch have no other
// information.
func TestNamesOfInformersReflectors(t *testing.T) {
	pods := (*InformerName)(nil).WithResource(schema.GroupVersionResource{Version: "v1", Resource: "pods"})
	widgets := (*InformerName)(nil).WithResource(schema.GroupVersionResource{Group: "g.example", Version: "v2", Resource: "widgets"})
	config := func() *Config {
		return &Config{Queue: NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true}), ListerWatcher: &testkit.Server{}, ObjectType: &v1.Pod{}}
	}
	informerOf := func(options SharedIndexInformerOptions) Controller {
		return NewSharedIndexInformerWithOptions(&testkit.Server{}, &v1.Pod{}, options).(*sharedIndexInformer)
	}
	for name, tc := range map[string]struct {
		want string
		run  Controller
	}{
		"by resource":        {"pods.v1", informerOf(SharedIndexInformerOptions{Identifier: pods, ObjectDescription: "d"})},
		"by resource, group": {"widgets.v2.g.example", informerOf(SharedIndexInformerOptions{Identifier: widgets})},
		"by description":     {"d", informerOf(SharedIndexInformerOptions{ObjectDescription: "d"})},
		"by type":            {"*v1.Pod", informerOf(SharedIndexInformerOptions{})},
		"controller":         {"*v1.Pod", New(config())},
		"simple informer": {"pods.v1", func() Controller {
			_, c := NewInformerWithOptions(InformerOptions{ListerWatcher: &testkit.Server{}, ObjectType: &v1.Pod{}, Identifier: pods})
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
			assert.Regexp(t, "^"+regexp.QuoteMeta(tc.want)+` \(.*reflector_test\.go:\d+\)$`, c.mu.reflector.Name())
		})
	}
}
