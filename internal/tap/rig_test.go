// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/taptest"
)

// kind is a kind of clients.
type kind struct {
	name     string
	encoding tap.Encoding
	example  runtime.Object
	own      bool // the decoders are those of the library
	make     func(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext
}

// decoders sets the decoders of a tap.
func (k kind) decoders(o *tap.Options) {
	if k.own {
		o.Make = nil
	}
}

// bothDecoders runs a test with decoders that are right, and with the library's.
func bothDecoders(t *testing.T, name string, k kind, test func(*testing.T, kind)) {
	for _, k.own = range []bool{false, true} {
		t.Run(fmt.Sprintf("%s, own %v", name, k.own), func(t *testing.T) { test(t, k) })
	}
}

var podResource = v1.SchemeGroupVersion.WithResource("pods")

var kinds = []kind{
	{"generated", tap.Protobuf, &v1.Pod{}, false, generated},
	{"generated JSON", tap.JSON, &v1.Pod{}, false, func(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
		c.ContentType = runtime.ContentTypeJSON
		return generated(t, c)
	}},
	{"list watch", tap.JSON, &v1.Pod{}, false, func(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
		return clientgo.NewListWatchFromClient(client(t, c), "pods", "space", fields.Everything())
	}},
	{"direct", tap.Protobuf, &v1.Pod{}, false, func(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
		return direct.NewListWatch(client(t, c), &v1.Pod{}, "pods", "space", nil)
	}},
	{"dynamic", tap.JSON, &unstructured.Unstructured{}, false, func(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
		d, err := dynamic.NewForConfig(c)
		require.NoError(t, err)
		return listWatchOf(d.Resource(podResource).Namespace("space"))
	}},
	{"metadata", tap.Protobuf, &metav1.PartialObjectMetadata{}, false, func(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
		m, err := metadata.NewForConfig(c)
		require.NoError(t, err)
		return listWatchOf(m.Resource(podResource).Namespace("space"))
	}},
}

func client(t testing.TB, c *rest.Config) rest.Interface {
	set, err := kubernetes.NewForConfig(c)
	require.NoError(t, err)
	return set.CoreV1().RESTClient()
}

func generated(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
	set, err := kubernetes.NewForConfig(c)
	require.NoError(t, err)
	return listWatchOf(set.CoreV1().Pods("space"))
}

// listWatchOf makes a ListWatch of the two methods of a client, as informers of factories do.
func listWatchOf[L runtime.Object](c interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}) *clientgo.ListWatch {
	return &clientgo.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return c.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return c.Watch(ctx, o)
		},
	}
}

// tapped is a source whose decoder is slow and right.
type tapped struct {
	*tap.Source
	ledger *tap.Ledger
}

func tappedOf(lw clientgo.ListerWatcherWithContext, example any, change func(*tap.Options)) tapped {
	o := tap.Options{Make: taptest.SlowDecoders(nil, nil), Ledger: &tap.Ledger{}, Start: sampleStart}
	if change != nil {
		change(&o)
	}
	return tapped{tap.New(lw, example, o), o.Ledger}
}

// heard is what a list or a watch has brought.
type heard struct {
	Items   []runtime.Object
	Meta    metav1.ListMeta
	Events  []watch.Event
	Err     string
	Version string
}

// ask lists.
func ask(t testing.TB, lw clientgo.ListerWithContext, o metav1.ListOptions) heard {
	t.Helper()
	list, err := lw.ListWithContext(t.Context(), o)
	if err != nil {
		return heard{Err: err.Error()}
	}
	accessor, err := meta.ListAccessor(list)
	require.NoError(t, err)
	got := heard{Meta: metav1.ListMeta{
		ResourceVersion: accessor.GetResourceVersion(), Continue: accessor.GetContinue(),
		RemainingItemCount: accessor.GetRemainingItemCount(),
	}}
	if p, ok := list.(*tap.Page); ok {
		got.Items = p.Items
		return got
	}
	require.NoError(t, meta.EachListItemWithAlloc(list, func(item runtime.Object) error {
		got.Items = append(got.Items, item)
		return nil
	}))
	return got
}

// follow watches to the end, or until so many events have come, if that is more than 0.
func follow(t testing.TB, lw clientgo.WatcherWithContext, o metav1.ListOptions, enough int) heard {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.AllowWatchBookmarks = true
	w, err := lw.WatchWithContext(ctx, o)
	if err != nil {
		return heard{Err: err.Error()}
	}
	defer w.Stop()
	var got heard
	for e := range w.ResultChan() {
		got.Events = append(got.Events, e)
		if enough > 0 && len(got.Events) == enough {
			break
		}
	}
	return got
}

var (
	firstList  = metav1.ListOptions{ResourceVersion: "0", Limit: 500}
	firstWatch = metav1.ListOptions{ResourceVersion: "5"}
)

// plainAndTapped runs the same against two servers with the same script: by client-go alone, and
// with a tap.
func plainAndTapped(t *testing.T, k kind, http2 bool, lists, watches []answer, do func(t testing.TB, lw clientgo.ListerWatcherWithContext) heard) (plain, direct heard, state tap.State) {
	t.Helper()
	plain = do(t, k.make(t, newServer(t, http2, lists, watches).config()))
	source := tappedOf(k.make(t, newServer(t, http2, lists, watches).config(transport)), k.example, k.decoders)
	direct = do(t, source)
	return plain, direct, source.ledger.State()
}

func transport(rt http.RoundTripper) http.RoundTripper { return direct.Transport(rt) }

// isDoubt asserts that an error is a Doubt.
func isDoubt(t testing.TB, err error) {
	t.Helper()
	var doubt *tap.Doubt
	if assert.True(t, errors.As(err, &doubt), "%v", err) {
		assert.Regexp(t, "^(suspended|off for good): ", doubt.Why)
	}
}
