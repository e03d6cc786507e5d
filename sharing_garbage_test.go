// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"net/http"
	gc "runtime"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
	"weak"

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
	"github.com/kinformer/cache/internal/testkit"
)

// generations is how many states a fickle server has.
const generations = 4

// fickle is a server that refuses every second request. Each list has all pods anew, and all
// watches but the last one end with an error for which the informer has to list again.
type fickle struct {
	*taptest.Wire
	mu       sync.Mutex
	requests int
	lists    int
}

func newFickle(media string) *fickle {
	f := &fickle{Wire: &taptest.Wire{Media: media}}
	f.Answer = f.answer
	return f
}

func (f *fickle) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	f.requests++
	refused := f.requests%2 == 0
	f.mu.Unlock()
	if refused {
		return nil, syscall.ECONNREFUSED
	}
	return f.Wire.RoundTrip(r)
}

func (f *fickle) answer(r *http.Request) (pieces [][]byte, hangs bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.URL.Query().Get("watch") != "" {
		expired := &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired}
		if f.lists < generations {
			return [][]byte{taptest.Frame(watch.Error, expired, f.Media)}, false
		}
		return nil, true
	}
	f.lists++
	list := corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: fmt.Sprint(f.lists * 1000)}}
	for i := range 100 {
		list.Items = append(list.Items, *podOfGeneration(i, f.lists))
	}
	return [][]byte{taptest.Encoded(&list, f.Media)}, false
}

// podOfGeneration is like the others of its generation.
func podOfGeneration(i, generation int) *corev1.Pod {
	pod := equalPod(i, fmt.Sprint(generation*1000))
	pod.Labels["app"] = fmt.Sprint("some longer text of generation ", generation)
	pod.Spec.Volumes[0].HostPath.Path = fmt.Sprint("/some/path/", generation)
	return pod
}

func (f *fickle) informer(t *testing.T) cache.SharedIndexInformer {
	config := &rest.Config{Host: "http://127.0.0.1:1", Transport: f, QPS: -1}
	config.ContentType = f.Media
	config.Wrap(direct.Transport)
	set, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return podInformer(set, sharingOption(false), cache.WithBackoff(*testkit.Second()))
}

// remains are parts and texts of objects that were replaced.
type remains struct {
	mu    sync.Mutex
	lists []weak.Pointer[corev1.Volume]
	texts []weak.Pointer[byte]
}

func (r *remains) replaced(old, _ any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pod := old.(*corev1.Pod)
	r.lists = append(r.lists, weak.Make(&pod.Spec.Volumes[0]))
	r.texts = append(r.texts, weak.Make(unsafe.StringData(pod.Labels["app"])))
}

// left counts those that are not garbage.
func (r *remains) left() (lists, texts int) {
	gc.GC()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.lists {
		if r.lists[i].Value() != nil {
			lists++
		}
		if r.texts[i].Value() != nil {
			texts++
		}
	}
	return lists, texts
}

// TestTablesEndWithInformers: what is shared outlives the objects that have it, as long as any
// informer runs that shares, and no longer, although the informers are still there: also after
// errors, and lists for which the reflector begins anew.
func TestTablesEndWithInformers(t *testing.T) {
	for _, media := range sharingMedia {
		var informers []cache.SharedIndexInformer
		old := &remains{}
		synctest.Test(t, func(t *testing.T) {
			var stops []func()
			for range 2 {
				informer := newFickle(media).informer(t)
				_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: old.replaced})
				require.NoError(t, err)
				informers, stops = append(informers, informer), append(stops, running(t, informer))
			}
			for i, stop := range stops {
				time.Sleep(time.Hour)
				synctest.Wait()
				lists, texts := old.left()
				assert.NotZero(t, lists, "somebody shares")
				assert.NotZero(t, texts)
				status, err := cache.StatusOf(informers[i])
				require.NoError(t, err)
				assert.GreaterOrEqual(t, status.Lists, int64(generations))
				assert.ErrorIs(t, status.LastError, syscall.ECONNREFUSED)
				stop()
			}
		})
		assert.Len(t, old.lists, 2*100*(generations-1))
		lists, texts := old.left()
		for range 1000 {
			if lists, texts = old.left(); lists == 0 && texts == 0 {
				break
			}
		}
		assert.Zero(t, lists)
		assert.Zero(t, texts)
		for _, informer := range informers {
			assert.Len(t, informer.GetStore().List(), 100)
		}
	}
}
