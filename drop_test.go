// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/internal/tap/taptest"
)

var dropping = []string{"metadata.managedFields", "metadata.annotations[dropped]"}

// seenObjects are all that handlers and a transform function got.
type seenObjects struct {
	sync.Mutex
	list []any
}

func (s *seenObjects) see(obj any) {
	s.Lock()
	defer s.Unlock()
	s.list = append(s.list, obj)
}

func (s *seenObjects) transform(obj any) (any, error) {
	s.see(obj)
	return obj, nil
}

func (s *seenObjects) handler() cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{AddFunc: s.see, UpdateFunc: func(_, obj any) { s.see(obj) }, DeleteFunc: s.see}
}

// TestDroppedWhoeverDecodes: in whichever way objects come, none that a transform, a handler or the
// store has has what is dropped; all have the rest.
func TestDroppedWhoeverDecodes(t *testing.T) {
	for _, media := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		for _, mode := range decodingModes {
			for name, d := range map[string]cache.Decoding{
				"by us": {}, "shared": {Share: cache.ShareEqual, TransformCopies: true}, "by both": {Verify: 1}, "off": {Off: true}, "no transport": {},
			} {
				t.Run(fmt.Sprint(media, " ", mode, " ", name), func(t *testing.T) {
					d.Drop = dropping
					dropped(t, media, name != "no transport", cache.WithListMode(mode), cache.WithDecoding(d))
				})
			}
		}
	}
}

func dropped(t *testing.T, media string, wrap bool, options ...cache.Option) {
	synctest.Test(t, func(t *testing.T) {
		server, seen := newWireServer(media), &seenObjects{}
		server.events = append(eventsOf(20, media), taptest.Frame(watch.Deleted, wirePod(3, "90"), media))
		informer := cache.InformerFunc(options...)(server.client(t, wrap), &v1.Pod{}, 0, nil)
		require.NoError(t, informer.SetTransform(seen.transform))
		_, err := informer.AddEventHandler(seen.handler())
		require.NoError(t, err)
		stop := running(t, informer)
		time.Sleep(10 * time.Second)
		stop()
		assert.Len(t, seen.list, 2*(20+20+1))
		assert.Len(t, informer.GetStore().List(), 19)
		for _, obj := range append(seen.list, informer.GetStore().List()...) {
			isDropped(t, obj)
		}
		status, err := cache.StatusOf(informer)
		require.NoError(t, err)
		assert.Zero(t, status.Decoding.Differences)
	})
}

func isDropped(t testing.TB, obj any) {
	t.Helper()
	o := obj.(metav1.Object)
	assert.Empty(t, o.GetManagedFields())
	assert.Equal(t, map[string]string{"kept": "some text that stays"}, o.GetAnnotations())
	assert.True(t, strings.HasPrefix(o.GetName(), "p"))
}

// TestDroppedOfFakes: what no server has sent is trimmed as well, of every type.
func TestDroppedOfFakes(t *testing.T) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wirePod(1, ""))
	require.NoError(t, err)
	content["kind"], content["apiVersion"] = "Pod", "v1"
	for _, example := range []runtime.Object{
		wirePod(1, ""), &unstructured.Unstructured{Object: content}, &metav1.PartialObjectMetadata{ObjectMeta: wirePod(1, "").ObjectMeta},
	} {
		synctest.Test(t, func(t *testing.T) {
			server, seen := cachetest.New(example.DeepCopyObject()), &seenObjects{}
			informer := cache.InformerFunc(cache.WithDecoding(cache.Decoding{Drop: dropping}))(server, example, 0, nil)
			_, err := informer.AddEventHandler(seen.handler())
			require.NoError(t, err)
			stop := running(t, informer)
			synctest.Wait()
			another := example.DeepCopyObject()
			another.(metav1.Object).SetName("p2")
			server.Create(another)
			server.Delete("space", "p1")
			synctest.Wait()
			stop()
			require.Len(t, seen.list, 3)
			for _, obj := range seen.list {
				isDropped(t, obj)
			}
		})
	}
}
