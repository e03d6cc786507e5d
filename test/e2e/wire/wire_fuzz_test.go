// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire_test fuzzes informers with bytes of HTTP bodies, which pass through the real clients and
// decoders.
package wire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
)

// TestMain fails the run if goroutines remain. Reported errors are only logged, by the logger of the
// context: apimachinery's own handlers sleep until a time outside the synctest bubble.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{
		func(ctx context.Context, err error, msg string, keysAndValues ...any) {
			klog.FromContext(ctx).Error(err, msg, keysAndValues...)
		},
	}
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	goleak.VerifyTestMain(m)
}

// wireKind is an encoding of pods and a client that reads it.
type wireKind struct {
	name    string
	mime    string
	example runtime.Object
	lw      func(*testing.T, *rest.Config) cache.ListerWatcher
	partial bool // pods are sent as PartialObjectMetadata
}

var podResource = v1.SchemeGroupVersion.WithResource("pods")

var wireKinds = []wireKind{
	{"typed JSON", runtime.ContentTypeJSON, &v1.Pod{}, typedWire, false},
	{"typed protobuf", runtime.ContentTypeProtobuf, &v1.Pod{}, typedWire, false},
	{"dynamic JSON", runtime.ContentTypeJSON, &unstructured.Unstructured{}, dynamicWire, false},
	{"metadata JSON", runtime.ContentTypeJSON, &metav1.PartialObjectMetadata{}, metadataWire, false},
	{"dynamic JSON, kind named", runtime.ContentTypeJSON, unstructuredPod(), dynamicWire, false},
	{"metadata protobuf", runtime.ContentTypeProtobuf, &metav1.PartialObjectMetadata{}, metadataWire, true},
}

func unstructuredPod() *unstructured.Unstructured {
	example := &unstructured.Unstructured{}
	example.SetGroupVersionKind(v1.SchemeGroupVersion.WithKind("Pod"))
	return example
}

// encode encodes an object or a list for the kind.
func (k wireKind) encode(obj runtime.Object) ([]byte, error) {
	if k.partial {
		obj = partialOf(obj)
	}
	if kinds, _, err := scheme.Scheme.ObjectKinds(obj); err == nil { // metadata has its kind
		obj = obj.DeepCopyObject()
		obj.GetObjectKind().SetGroupVersionKind(kinds[0])
	}
	if k.mime == runtime.ContentTypeJSON {
		return json.Marshal(obj)
	}
	var buf bytes.Buffer
	err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(obj, &buf)
	return buf.Bytes(), err
}

// partialOf returns the metadata of a pod or of a list of pods, and any other object unchanged.
func partialOf(obj runtime.Object) runtime.Object {
	switch obj := obj.(type) {
	case *v1.Pod:
		return &metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"},
			ObjectMeta: obj.ObjectMeta,
		}
	case *v1.PodList:
		list := &metav1.PartialObjectMetadataList{
			TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"},
			ListMeta: obj.ListMeta,
		}
		for i := range obj.Items {
			list.Items = append(list.Items, *partialOf(&obj.Items[i]).(*metav1.PartialObjectMetadata))
		}
		return list
	default:
		return obj
	}
}

func typedWire(t *testing.T, c *rest.Config) cache.ListerWatcher {
	client, err := kubernetes.NewForConfig(c)
	require.NoError(t, err)
	return cache.ToListWatcherWithWatchListSemantics(testkit.ListWatchOf(client.CoreV1().Pods("ns")), client)
}

func dynamicWire(t *testing.T, c *rest.Config) cache.ListerWatcher {
	client, err := dynamic.NewForConfig(c)
	require.NoError(t, err)
	return cache.ToListWatcherWithWatchListSemantics(testkit.ListWatchOf(client.Resource(podResource).Namespace("ns")), client)
}

func metadataWire(t *testing.T, c *rest.Config) cache.ListerWatcher {
	client, err := metadata.NewForConfig(c)
	require.NoError(t, err)
	return cache.ToListWatcherWithWatchListSemantics(testkit.ListWatchOf(client.Resource(podResource).Namespace("ns")), client)
}

// wire answers HTTP requests. The first list and the first watch or watch-list get the given bytes, if
// any. Later requests get valid responses: the pods "a" and "z", and no events.
type wire struct {
	kind         wireKind
	list, frames []byte
	claim        int64          // Content-Length of these responses; 0: none
	code         int            // HTTP status of these responses; 0: 200
	mime         string         // Content-Type of these responses; "": the valid one
	settled      chan struct{}  // closed when a watch of the final state begins
	status       inspect.Status // final status of the informer

	mu struct {
		sync.Mutex
		lists, watches int
		right          bool // whether the final state was sent, after all given bytes
	}
}

// final returns the state with which an informer must end.
func (w *wire) final() *v1.PodList {
	return testkit.PodList("900", testkit.PodAt("a", "801"), testkit.PodAt("z", "802"))
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.URL.Query().Get("watch") == "" {
		if w.mu.lists++; w.mu.lists == 1 && w.list != nil {
			return w.given(r, w.list), nil
		}
		w.mu.right = w.frames == nil || w.mu.watches > 0
		return w.encoded(r, http.StatusOK, w.final())
	}
	w.mu.watches++
	switch {
	case w.mu.watches == 1 && w.frames != nil:
		return w.given(r, w.frames), nil
	case !w.mu.right || r.URL.Query().Get("resourceVersion") != "900" || r.URL.Query().Get("sendInitialEvents") == "true":
		return w.encoded(r, http.StatusGone, &testkit.ErrExpired.ErrStatus)
	default:
		select {
		case <-w.settled:
		default:
			close(w.settled)
		}
		return w.answer(r, http.StatusOK, silentBody{r.Context()}), nil
	}
}

// given returns a response with the given bytes.
func (w *wire) given(r *http.Request, body []byte) *http.Response {
	code := http.StatusOK
	if w.code != 0 {
		code = w.code
	}
	response := w.answer(r, code, io.NopCloser(bytes.NewReader(body)))
	if w.mime != "" {
		response.Header.Set("Content-Type", w.mime)
	}
	return response
}

func (w *wire) encoded(r *http.Request, code int, obj runtime.Object) (*http.Response, error) {
	body, err := w.kind.encode(obj)
	return w.answer(r, code, io.NopCloser(bytes.NewReader(body))), err
}

func (w *wire) answer(r *http.Request, code int, body io.ReadCloser) *http.Response {
	length := w.claim
	if length == 0 {
		length = -1
	}
	mime := w.kind.mime
	if r.URL.Query().Get("watch") != "" && code == http.StatusOK && mime == runtime.ContentTypeProtobuf {
		mime += ";stream=watch"
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {mime}}, Body: body, Request: r,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: length,
	}
}

// silentBody blocks reads until its request ends.
type silentBody struct{ ctx context.Context }

func (b silentBody) Read([]byte) (int, error) { <-b.ctx.Done(); return 0, b.ctx.Err() }
func (b silentBody) Close() error             { return nil }

// presence is a handler that reports invalid notifications, whatever the server sends: an Add of an
// existing object, an Update of a missing one, and an object of another type or namespace. A Delete of a
// missing object is valid, as in client-go, since the server may send one.
type presence struct {
	t     *testing.T
	typ   reflect.Type
	known map[string]any
}

func (p presence) OnAdd(obj any, _ bool) {
	key := p.key(obj)
	if _, ok := p.known[key]; ok {
		p.t.Errorf("Add of %q, which is there", key)
	}
	p.known[key] = obj
}

func (p presence) OnUpdate(old, obj any) {
	key := p.key(obj)
	if last, ok := p.known[key]; !ok || last != old {
		p.t.Errorf("Update of %q from %v, last told %v", key, old, last)
	}
	p.known[key] = obj
}

func (p presence) OnDelete(obj any) {
	delete(p.known, p.key(obj))
}

func (p presence) key(obj any) string {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		p.t.Errorf("told of %v: %v", obj, err)
	}
	if tombstone, unknown := obj.(cache.DeletedFinalStateUnknown); unknown {
		obj = tombstone.Obj
	}
	if got := reflect.TypeOf(obj); got != p.typ {
		p.t.Errorf("told of a %v, not a %v", got, p.typ)
	}
	if m, err := meta.Accessor(obj); err != nil || m.GetNamespace() != "ns" && m.GetNamespace() != "" {
		p.t.Errorf("told of %v, which is of no such namespace: %v", obj, err)
	}
	return key
}

// followWire runs an informer against w and reports an error unless it ends in the final state without
// remaining goroutines.
func followWire(t *testing.T, kind wireKind, w *wire) {
	synctest.Test(t, func(t *testing.T) {
		w.kind, w.settled = kind, make(chan struct{})
		config := &rest.Config{Host: "http://wire", QPS: -1, Transport: w, ContentConfig: rest.ContentConfig{
			ContentType: kind.mime, AcceptContentTypes: kind.mime,
		}}
		informer := kinformer.New(kind.lw(t, config), kind.example, kinformer.Options{Requests: kinformer.Requests{ExpectedNamespace: "ns"}, Indexers: cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}})
		handler := presence{t, reflect.TypeOf(kind.example), map[string]any{}}
		_, err := informer.AddEventHandler(handler)
		require.NoError(t, err)
		stop := testkit.InBackground(t, informer.RunWithContext)
		select {
		case <-w.settled:
			synctest.Wait()
		case <-time.After(time.Hour):
			t.Error("no watch of the right state within an hour")
		}
		w.status, err = inspect.StatusOf(informer)
		require.NoError(t, err)
		stop()
		checkFinal(t, informer.GetIndexer(), handler)
	})
}

func checkFinal(t *testing.T, indexer cache.Indexer, handler presence) {
	require.ElementsMatch(t, []string{"ns/a", "ns/z"}, indexer.ListKeys())
	byNamespace, err := indexer.ByIndex(cache.NamespaceIndex, "ns")
	require.NoError(t, err)
	require.Len(t, byNamespace, 2)
	require.Len(t, handler.known, 2)
	for _, obj := range indexer.List() {
		m, err := meta.Accessor(obj)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"a": "801", "z": "802"}[m.GetName()], m.GetResourceVersion())
		require.Same(t, obj, handler.known["ns/"+m.GetName()], "what the handler was told last")
	}
}

// FuzzWatchFrames sends arbitrary bytes as the first watch or watch-list to each kind of client.
func FuzzWatchFrames(f *testing.F) {
	for i, kind := range wireKinds {
		b := testkit.Added("b", "901")
		f.Add(uint8(i), true, framesOf(f, kind, b, testkit.Modified("a", "902"), testkit.Deleted("z", "903"), testkit.Bookmark("904")))
		f.Add(uint8(i), false, framesOf(f, kind, b, b, testkit.Modified("c", ""), testkit.Deleted("d", "x")))
		f.Add(uint8(i), false, framesOf(f, kind, b, testkit.EndMark("18446744073709551616"), testkit.Deleted("b", "-1")))
		f.Add(uint8(i), true, framesOf(f, kind, testkit.FailedWith(testkit.ErrExpired), testkit.Added("", "905")))
	}
	f.Add(uint8(1), true, []byte{0xff, 0xff, 0xff, 0xff, 'k', '8', 's', 0})
	f.Add(uint8(1), true, []byte{0, 0, 0, 0, 0, 0, 0, 5, 'k', '8', 's', 0, 0xff})
	f.Add(uint8(0), true, []byte(`{"type":"ADDED","object":{"kind":"Status","apiVersion":"v1"}}`))
	f.Add(uint8(2), true, []byte(`{"type":"ADDED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1"}}{"type":"","object":null}`))
	f.Fuzz(func(t *testing.T, kind uint8, listFirst bool, frames []byte) {
		w := &wire{frames: append([]byte{}, frames...)}
		if listFirst { // the server refuses the watch-list; the frames are for the watch after the list
			w.mu.watches = -1
		}
		followWire(t, wireKinds[int(kind)%len(wireKinds)], w)
	})
}

// FuzzListBody sends arbitrary bytes as the response to the first list.
func FuzzListBody(f *testing.F) {
	for i, kind := range wireKinds {
		w := wire{}
		twice := testkit.PodList("", testkit.PodAt("a", ""), testkit.PodAt("a", "7"), testkit.PodAt("", "8"))
		for _, list := range []*v1.PodList{w.final(), testkit.PodList("x"), twice} {
			body, err := kind.encode(list)
			require.NoError(f, err)
			f.Add(uint8(i), body)
		}
	}
	f.Add(uint8(0), []byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"x","resourceVersion":"1"},"items":[null]}`))
	f.Add(uint8(2), []byte(`{"kind":"PodList","apiVersion":"v1","items":[{"kind":"Secret","metadata":{"namespace":"other","name":"s"}}]}`))
	f.Add(uint8(2), []byte(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`))
	f.Add(uint8(0), []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":500}`))
	f.Fuzz(func(t *testing.T, kind uint8, body []byte) {
		followWire(t, wireKinds[int(kind)%len(wireKinds)], &wire{list: append([]byte{}, body...)})
	})
}

// framesOf encodes events as a server does.
func framesOf(f *testing.F, kind wireKind, events ...watch.Event) []byte {
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), kind.mime)
	var buf bytes.Buffer
	w := info.StreamSerializer.NewFrameWriter(&buf)
	for _, event := range events {
		body, err := kind.encode(event.Object)
		require.NoError(f, err)
		frame := &metav1.WatchEvent{Type: string(event.Type), Object: runtime.RawExtension{Raw: body}}
		require.NoError(f, info.StreamSerializer.Encode(frame, w))
	}
	return buf.Bytes()
}
