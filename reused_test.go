// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/internal/tap/taptest"
)

// twiceListed is a client of a server that has many pods, and, when its history is lost for the
// first time, has another version of the last of them.
func twiceListed(t testing.TB, media string, lost *atomic.Bool) *kubernetes.Clientset {
	wire := &taptest.Wire{Media: media, Answer: func(r *http.Request) ([][]byte, bool) {
		if r.URL.Query().Get("watch") != "" {
			if !lost.Swap(true) {
				gone := &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired}
				return [][]byte{taptest.Frame(watch.Error, gone, media)}, false
			}
			return nil, true
		}
		list := corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "5000"}}
		for i := range 100 {
			list.Items = append(list.Items, *equalPod(i, fmt.Sprint(1000+i)))
			list.Items[i].UID = "uid"
			list.Items[i].Annotations = map[string]string{"large": strings.Repeat("x", 1000)}
		}
		if lost.Load() {
			list.Items[99].ResourceVersion, list.Items[99].Labels["app"] = "4000", "changed"
		}
		return [][]byte{taptest.Encoded(&list, media)}, false
	}}
	c := &rest.Config{Host: "http://127.0.0.1:1", Transport: wire, QPS: -1}
	c.ContentType = media
	c.Wrap(direct.Transport)
	set, err := kubernetes.NewForConfig(c)
	require.NoError(t, err)
	return set
}

// told counts the updates that a handler is told of, by what they are.
type told struct{ same, equal, changed atomic.Int64 }

func (u *told) OnAdd(any, bool) {}
func (u *told) OnDelete(any)    {}

func (u *told) OnUpdate(before, after any) {
	switch {
	case before == after:
		u.same.Add(1)
	case before.(*corev1.Pod).ResourceVersion == after.(*corev1.Pod).ResourceVersion:
		u.equal.Add(1)
	default:
		u.changed.Add(1)
	}
}

// relistedTwice runs an informer through a lost history.
func relistedTwice(t *testing.T, media string, transform func(any) (any, error), options ...cache.Option) (u *told, s cache.Status) {
	t.Helper()
	u = &told{}
	synctest.Test(t, func(t *testing.T) {
		informer := podInformer(twiceListed(t, media, &atomic.Bool{}), options...)
		if transform != nil {
			require.NoError(t, informer.SetTransform(transform))
		}
		_, err := informer.AddEventHandler(u)
		require.NoError(t, err)
		stop := running(t, informer)
		time.Sleep(time.Minute)
		synctest.Wait()
		changed, _ := cache.TypedGet[*corev1.Pod](informer.GetStore(), "space/p0099")
		assert.Equal(t, "changed", changed.Labels["app"])
		s, err = cache.StatusOf(informer)
		require.NoError(t, err)
		stop()
	})
	assert.EqualValues(t, 1, u.changed.Load())
	assert.EqualValues(t, 99, u.same.Load()+u.equal.Load())
	return u, s
}

// TestRelistReuses: with ShareEqual, objects that a relist brings as they were stay the ones that
// are cached, but for those that the client decodes as well: of the first list the first 8, one in
// 16 and the last, of the second the first, one in 16 and the last.
func TestRelistReuses(t *testing.T) {
	const sampled = 8 + 6 + 1 + 1 + 7 + 1
	for _, media := range sharingMedia {
		u, s := relistedTwice(t, media, nil, sharingOption(false))
		assert.GreaterOrEqual(t, u.same.Load(), int64(99-sampled), media)
		assert.GreaterOrEqual(t, s.Decoding.Reused, int64(99-sampled), media)
	}
}

// TestRelistDecodesAnew: without ShareEqual, and with a transform function, even
// one that promises to copy, all objects of a relist are new: the function may write to their
// topmost struct, which the cached ones' readers must not see.
func TestRelistDecodesAnew(t *testing.T) {
	writes := func(obj any) (any, error) {
		obj.(*corev1.Pod).Status.Message = "transformed"
		return obj, nil
	}
	for _, media := range sharingMedia {
		for _, c := range []struct {
			transform func(any) (any, error)
			options   []cache.Option
		}{
			{nil, nil},
			{writes, []cache.Option{sharingOption(true)}},
		} {
			u, s := relistedTwice(t, media, c.transform, c.options...)
			assert.Zero(t, u.same.Load())
			assert.Zero(t, s.Decoding.Reused)
			assert.Equal(t, c.options != nil, s.Decoding.Shares)
		}
	}
}

// TestRelistReplacesWhatWasWritten: a relist that somebody asks for replaces cached objects, to
// which somebody may have written.
func TestRelistReplacesWhatWasWritten(t *testing.T) {
	for _, media := range sharingMedia {
		synctest.Test(t, func(t *testing.T) {
			lost := &atomic.Bool{}
			lost.Store(true)
			informer := podInformer(twiceListed(t, media, lost), sharingOption(false))
			stop := running(t, informer)
			defer stop()
			time.Sleep(time.Minute)
			synctest.Wait()
			cached := func() *corev1.Pod {
				pod, _ := cache.TypedGet[*corev1.Pod](informer.GetStore(), "space/p0050")
				return pod
			}
			before := cached()
			before.Status.Message = "against the rule"
			require.NoError(t, cache.Relist(informer))
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.NotSame(t, before, cached())
			assert.Empty(t, cached().Status.Message)
		})
	}
}
