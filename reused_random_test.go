// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"pgregory.net/rapid"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/internal/tap/taptest"
)

// session is what a server says from a whole state on: that, if it is asked for, and the events of
// a watch up to its end.
type session struct {
	state  []corev1.Pod
	events []watch.Event
	lost   bool // the watch ends with an error, and what happens then is in no watch; else it just ends
}

// history draws sessions: pods come, change and go, events come twice, and some changes are missed.
type history struct {
	t       *rapid.T
	version int
	pods    map[string]corev1.Pod
}

func (h *history) sessions() (all []session) {
	h.version, h.pods = 100, map[string]corev1.Pod{}
	for range rapid.IntRange(9, 25).Draw(h.t, "pods") {
		h.happens()
	}
	for range rapid.IntRange(1, 6).Draw(h.t, "sessions") {
		s := session{state: slices.Collect(maps.Values(h.pods)), lost: rapid.IntRange(0, 2).Draw(h.t, "lost") > 0}
		slices.SortFunc(s.state, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
		for range rapid.IntRange(0, 8).Draw(h.t, "events") {
			s.events = append(s.events, h.happens())
			if n := rapid.IntRange(0, len(s.events)*4).Draw(h.t, "again"); n < len(s.events) && s.events[n].Type != watch.Deleted {
				s.events = append(s.events, s.events[len(s.events)-1])
			}
		}
		for range rapid.IntRange(0, 4).Draw(h.t, "missed") {
			if s.lost {
				h.happens()
			}
		}
		all = append(all, s)
	}
	return all
}

// happens is one change.
func (h *history) happens() watch.Event {
	h.version++
	name := fmt.Sprint("p", rapid.IntRange(0, 30).Draw(h.t, "name"))
	before, exists := h.pods[name]
	if exists && rapid.IntRange(0, 3).Draw(h.t, "deleted") == 0 {
		delete(h.pods, name)
		before.ResourceVersion = fmt.Sprint(h.version)
		return watch.Event{Type: watch.Deleted, Object: &before}
	}
	pod := *equalPod(h.version%3, fmt.Sprint(h.version))
	pod.Name, pod.UID = name, "uid"
	pod.Annotations = map[string]string{"large": strings.Repeat("x", rapid.SampledFrom([]int{0, 1000}).Draw(h.t, "size")), "dropped": "value"}
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}}
	h.pods[name] = pod
	if exists {
		return watch.Event{Type: watch.Modified, Object: &pod}
	}
	return watch.Event{Type: watch.Added, Object: &pod}
}

// historian answers as the sessions say.
type historian struct {
	media    string
	metadata bool
	all      []session

	mu sync.Mutex
	at int
}

func (s *historian) answer(r *http.Request) (pieces [][]byte, hangs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == len(s.all) {
		return nil, true
	}
	now := s.all[s.at]
	version := "100"
	for _, pod := range now.state {
		version = max(version, pod.ResourceVersion)
	}
	if r.URL.Query().Get("watch") == "" {
		return [][]byte{s.list(now, version)}, false
	}
	if s.at++; r.URL.Query().Get("sendInitialEvents") == "true" {
		for i := range now.state {
			pieces = append(pieces, s.frame(watch.Added, &now.state[i]))
		}
		end := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version, Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
		pieces = append(pieces, s.frame(watch.Bookmark, end))
	}
	for _, e := range now.events {
		pieces = append(pieces, s.frame(e.Type, e.Object.(*corev1.Pod)))
	}
	if now.lost && s.at < len(s.all) {
		gone := &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired}
		pieces = append(pieces, taptest.Frame(watch.Error, gone, s.media))
	}
	return pieces, s.at == len(s.all)
}

func (s *historian) list(of session, version string) []byte {
	if !s.metadata {
		return taptest.Encoded(&corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: version}, Items: of.state}, s.media)
	}
	list := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: version}}
	for i := range of.state {
		list.Items = append(list.Items, *metadataOf(&of.state[i]))
	}
	return taptest.Encoded(list, s.media)
}

func (s *historian) frame(kind watch.EventType, pod *corev1.Pod) []byte {
	if s.metadata {
		return taptest.Frame(kind, metadataOf(pod), s.media)
	}
	return taptest.Frame(kind, pod, s.media)
}

func metadataOf(p *corev1.Pod) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: p.ObjectMeta}
}

// account is what an informer comes to.
type account struct {
	events []string       // of its first handler
	merged map[string]any // what a slow handler knows in the end, that is told of each object once
	late   []string       // of a handler that comes in the end
	store  map[string]any
	status cache.Status
}

func (a *account) told(events *[]string, how string, objects ...any) {
	line := how
	for _, obj := range objects {
		if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			line, obj = line+" unknown", unknown.Obj
		}
		_ = fmt.Sprint(obj) // all of it
		of, err := meta.Accessor(obj)
		if err != nil {
			panic(err)
		}
		line += fmt.Sprint(" ", of.GetName(), " ", of.GetResourceVersion())
	}
	*events = append(*events, line)
}

func (a *account) handler(events *[]string) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, initial bool) { a.told(events, fmt.Sprint("add ", initial), obj) },
		UpdateFunc: func(before, after any) { a.told(events, "update", before, after) },
		DeleteFunc: func(obj any) { a.told(events, "delete", obj) },
	}
}

// ordered brings the deletions of a relist, which have no order, into one.
func ordered(events []string) []string {
	isDelete := func(line string) bool { return strings.HasPrefix(line, "delete unknown") }
	for i := 0; i < len(events); i++ {
		end := i
		for end < len(events) && isDelete(events[end]) {
			end++
		}
		slices.Sort(events[i:end])
		i = max(i, end-1)
	}
	return events
}

// slow knows what it was told last of each object.
func (a *account) slow() cache.ResourceEventHandler {
	a.merged = map[string]any{}
	knows := func(obj any) {
		time.Sleep(100 * time.Millisecond)
		key, _ := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
		a.merged[key] = obj
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: knows, UpdateFunc: func(_, obj any) { knows(obj) }, DeleteFunc: func(obj any) {
		key, _ := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
		delete(a.merged, key)
	}}
}

// run follows a history to its end.
func (a *account) run(t *testing.T, informer cache.SharedIndexInformer) {
	_, err := informer.AddEventHandler(a.handler(&a.events))
	require.NoError(t, err)
	_, err = informer.AddEventHandler(cache.Deliver(a.slow(), cache.Delivery{Overflow: cache.OverflowCoalesce}))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ; ctx.Err() == nil; time.Sleep(time.Minute) {
			_ = fmt.Sprint(informer.GetStore().List()...)
		}
	}()
	stop := running(t, informer)
	time.Sleep(20 * time.Minute)
	synctest.Wait()
	late, err := informer.AddEventHandler(a.handler(&a.late))
	require.NoError(t, err)
	<-late.HasSyncedChecker().Done()
	a.store = map[string]any{}
	for _, key := range informer.GetStore().ListKeys() {
		a.store[key], _, _ = informer.GetStore().GetByKey(key)
	}
	a.status, err = cache.StatusOf(informer)
	require.NoError(t, err)
	cancel()
	stop()
	time.Sleep(time.Minute)
	slices.Sort(a.late)
}

// follower is a kind of informers of pods.
type follower struct {
	name, media string
	metadata    bool
	make        func(t testing.TB, c *rest.Config) (cache.ListerWatcher, runtime.Object)
}

var followers = []follower{
	{"JSON", runtime.ContentTypeJSON, false, typedFollower},
	{"protobuf", runtime.ContentTypeProtobuf, false, typedFollower},
	{"unstructured", runtime.ContentTypeJSON, false, dynamicFollower},
	{"metadata", runtime.ContentTypeProtobuf, true, metadataFollower},
}

func typedFollower(t testing.TB, c *rest.Config) (cache.ListerWatcher, runtime.Object) {
	set, err := kubernetes.NewForConfig(c)
	require.NoError(t, err)
	return direct.NewListWatch(set.CoreV1().RESTClient(), &corev1.Pod{}, "pods", "", nil), &corev1.Pod{}
}

var podResource = corev1.SchemeGroupVersion.WithResource("pods")

func dynamicFollower(t testing.TB, c *rest.Config) (cache.ListerWatcher, runtime.Object) {
	client, err := dynamic.NewForConfig(c)
	require.NoError(t, err)
	pods := client.Resource(podResource)
	return &cache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) },
		WatchFuncWithContext: pods.Watch,
	}, &unstructured.Unstructured{}
}

func metadataFollower(t testing.TB, c *rest.Config) (cache.ListerWatcher, runtime.Object) {
	client, err := metadata.NewForConfig(c)
	require.NoError(t, err)
	pods := client.Resource(podResource)
	return &cache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) },
		WatchFuncWithContext: pods.Watch,
	}, &metav1.PartialObjectMetadata{}
}

// follow runs an informer through a history.
func (f follower) follow(t *testing.T, all []session, options ...cache.Option) (a account) {
	synctest.Test(t, func(t *testing.T) {
		server := &historian{media: f.media, metadata: f.metadata, all: all}
		c := &rest.Config{Host: "http://127.0.0.1:1", Transport: &taptest.Wire{Media: f.media, Answer: server.answer}, QPS: -1}
		c.ContentType = f.media
		c.Wrap(direct.Transport)
		lw, example := f.make(t, c)
		a.run(t, cache.InformerFunc(options...)(lw, example, 0, nil))
	})
	return a
}

// TestReuseIsUnheard: whatever a server says, with ShareEqual handlers of any kind are told the
// same as without, and the store has the same. Somebody reads all objects meanwhile.
func TestReuseIsUnheard(t *testing.T) {
	reused := map[string]int64{}
	rapid.Check(t, func(rt *rapid.T) {
		f := rapid.SampledFrom(followers).Draw(rt, "follower")
		all := (&history{t: rt}).sessions()
		mode := cache.WithListMode(rapid.SampledFrom([]cache.ListMode{cache.ListModeList, cache.ListModeWatchList}).Draw(rt, "mode"))
		decoding := cache.Decoding{Drop: []string{"metadata.managedFields", "metadata.annotations[dropped]"}}
		want := f.follow(t, all, mode, cache.WithDecoding(decoding))
		decoding.Share = cache.ShareEqual
		got := f.follow(t, all, mode, cache.WithDecoding(decoding))
		require.Zero(rt, want.status.Decoding.Reused)
		require.Zero(rt, got.status.Decoding.Differences)
		require.True(rt, got.status.Decoding.On, got.status.Decoding.Why)
		assert.Equal(rt, ordered(want.events), ordered(got.events))
		assert.Equal(rt, want.store, got.store)
		assert.Equal(rt, want.merged, got.merged)
		assert.Equal(rt, want.late, got.late)
		reused[f.name] += got.status.Decoding.Reused
	})
	assert.Len(t, reused, len(followers))
	assert.NotContains(t, slices.Collect(maps.Values(reused)), int64(0))
}
