// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/engine"
	"github.com/kinformer/cache/internal/tap/engine/taptest"
	"github.com/kinformer/cache/internal/testkit"
)

// kind is a kind of client.
type kind struct {
	name     string
	encoding engine.Encoding
	example  runtime.Object
	make     maker
	own      bool // the decoders are those of package tap, not of package taptest
	http2    bool
	ahead    bool // the client's transport reads ahead of the client, as the client of client-go 0.38 does
}

// maker makes clients.
type maker = func(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext

var kinds = []kind{
	{name: "generated", encoding: engine.Protobuf, example: &v1.Pod{}, make: generated},
	{name: "generated JSON", encoding: engine.JSON, example: &v1.Pod{}, make: generatedInJSON},
	{name: "list watch", encoding: engine.JSON, example: &v1.Pod{}, make: listWatch("pods")},
	{name: "direct", encoding: engine.Protobuf, example: &v1.Pod{}, make: directly("pods", &v1.Pod{})},
	{name: "dynamic", encoding: engine.JSON, example: &unstructured.Unstructured{}, make: dynamically("pods")},
	{name: "metadata", encoding: engine.Protobuf, example: &metav1.PartialObjectMetadata{}, make: ofMetadata},
}

// podClients are clients of pods in both encodings.
var podClients = kinds[:2]

// everyKind runs a test with clients of each kind, HTTP/1.1 and HTTP/2, decoders of package taptest and those of
// package tap.
func everyKind(t *testing.T, test func(t *testing.T, k kind)) { everyKindWith(t, test, false, true) }

// everyOwnKind is everyKind with the decoders of package tap only.
func everyOwnKind(t *testing.T, test func(t *testing.T, k kind)) { everyKindWith(t, test, true) }

func everyKindWith(t *testing.T, test func(t *testing.T, k kind), own ...bool) {
	for _, k := range kinds {
		k.own, k.ahead = true, true
		t.Run(k.name+", ahead", func(t *testing.T) { test(t, k) })
		k.ahead = false
		for _, k.http2 = range []bool{false, true} {
			for _, k.own = range own {
				t.Run(fmt.Sprintf("%s, http2 %v, own %v", k.name, k.http2, k.own), func(t *testing.T) { test(t, k) })
			}
		}
	}
}

// bothDecoders runs a test with the decoders of package taptest, and with those of package tap.
func bothDecoders(t *testing.T, name string, k kind, test func(*testing.T, kind)) {
	for _, k.own = range []bool{false, true} {
		t.Run(fmt.Sprintf("%s, own %v", name, k.own), func(t *testing.T) { test(t, k) })
	}
}

func clients(t testing.TB, c *rest.Config) typed.CoreV1Interface {
	set, err := kubernetes.NewForConfig(c)
	require.NoError(t, err)
	return set.CoreV1()
}

func generated(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
	return testkit.ListWatchOf(clients(t, c).Pods("space"))
}

func generatedInJSON(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
	c.ContentType = runtime.ContentTypeJSON
	return generated(t, c)
}

func listWatch(resource string) maker {
	return func(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
		return clientgo.NewListWatchFromClient(clients(t, c).RESTClient(), resource, "space", fields.Everything())
	}
}

func directly(resource string, example runtime.Object) maker {
	return func(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
		return direct.NewListWatch(clients(t, c).RESTClient(), example, resource, "space", nil)
	}
}

func dynamically(resource string) maker {
	return func(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
		d, err := dynamic.NewForConfig(c)
		require.NoError(t, err)
		return testkit.ListWatchOf(d.Resource(v1.SchemeGroupVersion.WithResource(resource)).Namespace("space"))
	}
}

func ofMetadata(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
	m, err := metadata.NewForConfig(c)
	require.NoError(t, err)
	return testkit.ListWatchOf(m.Resource(v1.SchemeGroupVersion.WithResource("pods")).Namespace("space"))
}

// tapped is a source with the decoders of package taptest, unless an option says otherwise.
type tapped struct {
	*tap.Source
	ledger *tap.Ledger
	server *server // nil if it has none of this type
}

func tappedOf(lw clientgo.ListerWatcherWithContext, example any, changes ...func(*engine.Options)) tapped {
	o := engine.Options{Make: taptest.Decoders(nil, nil), Options: tap.Options{Ledger: &tap.Ledger{}, Start: sampleStart}}
	for _, change := range changes {
		change(&o)
	}
	o.Engine = func(lists clientgo.ListerWatcherWithContext, example any, _ tap.Options) tap.Engine {
		return engine.New(lists, example, o)
	}
	return tapped{Source: tap.New(lw, example, o.Options), ledger: o.Ledger}
}

// served is the script of a server, and the transports of its client. The zero value is a server with goodList and
// manyEvents, whose client has the transport of package direct.
type served struct {
	lists, watches []answer  // the nth request gets the nth answer; the last one is repeated
	wraps          []wrapper // of a client with a tap, from the inside to the outside
}

// wrapper wraps the transport of a client.
type wrapper = func(http.RoundTripper) http.RoundTripper

// plain returns a client of a new server.
func (k kind) plain(t testing.TB, s served) clientgo.ListerWatcherWithContext {
	return k.make(t, newServer(t, k.http2, s).config())
}

// tapped returns a source whose client has a new server.
func (k kind) tapped(t testing.TB, s served, changes ...func(*engine.Options)) tapped {
	if s.wraps == nil {
		s.wraps = []wrapper{transport}
	}
	if k.ahead {
		s.wraps = append(slices.Clip(s.wraps), readsAhead)
	}
	if k.own {
		changes = append([]func(*engine.Options){usesOwn}, changes...)
	}
	server := newServer(t, k.http2, s)
	source := tappedOf(k.make(t, server.config(s.wraps...)), k.example, changes...)
	source.server = server
	return source
}

// altering returns the kind with clients whose lists and watches are changed. Either change may be nil.
func (k kind) altering(list listChange, watch watchChange) kind {
	plain := k.make
	k.make = func(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
		return altered{plain(t, c), list, watch}
	}
	return k
}

// usesOwn makes a source use the decoders of package engine.
func usesOwn(o *engine.Options) { o.Make = nil }

// doubts lists, asserts that the result is a Doubt, and returns it.
func (s tapped) doubts(t testing.TB) error {
	t.Helper()
	_, err := s.ListWithContext(t.Context(), firstList)
	isDoubt(t, err)
	return err
}

func isDoubt(t testing.TB, err error) {
	t.Helper()
	var doubt *tap.Doubt
	if assert.True(t, errors.As(err, &doubt), "%v", err) {
		assert.Regexp(t, "^(suspended|off for good): ", doubt.Why)
	}
}

// outcome is the result of a list or a watch.
type outcome struct {
	Items  []runtime.Object
	Meta   metav1.ListMeta
	Events []watch.Event
	Err    string
}

// ask lists.
func ask(t testing.TB, lw clientgo.ListerWithContext, o metav1.ListOptions) outcome {
	t.Helper()
	list, err := lw.ListWithContext(t.Context(), o)
	if err != nil {
		return outcome{Err: err.Error()}
	}
	accessor, err := meta.ListAccessor(list)
	require.NoError(t, err)
	got := outcome{Meta: metav1.ListMeta{
		ResourceVersion: accessor.GetResourceVersion(), Continue: accessor.GetContinue(),
		RemainingItemCount: accessor.GetRemainingItemCount(),
	}}
	require.NoError(t, meta.EachListItemWithAlloc(list, func(item runtime.Object) error {
		got.Items = append(got.Items, item)
		return nil
	}))
	return got
}

// follow watches to the end, or, if enough is positive, until that many events were received.
func follow(t testing.TB, lw clientgo.WatcherWithContext, o metav1.ListOptions, enough int) outcome {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.AllowWatchBookmarks = true
	w, err := lw.WatchWithContext(ctx, o)
	if err != nil {
		return outcome{Err: err.Error()}
	}
	defer w.Stop()
	var got outcome
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

// listed lists, and watched watches to the end.
func listed(t testing.TB, lw clientgo.ListerWatcherWithContext) outcome { return ask(t, lw, firstList) }

func watched(t testing.TB, lw clientgo.ListerWatcherWithContext) outcome {
	return follow(t, lw, firstWatch, 0)
}

// plainAndTapped returns the results of do with client-go alone and with a tap, of two servers with the same script,
// and the state of the tap.
func plainAndTapped[T any](t *testing.T, k kind, s served, do func(testing.TB, clientgo.ListerWatcherWithContext) T,
	changes ...func(*engine.Options)) (plain, direct T, state tap.State) {
	t.Helper()
	source := k.tapped(t, s, changes...)
	plain, direct = do(t, k.plain(t, s)), do(t, source)
	return plain, direct, source.ledger.State()
}

func transport(rt http.RoundTripper) http.RoundTripper { return direct.Transport(rt) }

// readsAhead is a transport with a goroutine that reads each body as soon as it can.
func readsAhead(rt http.RoundTripper) http.RoundTripper {
	return taptest.Trip(func(req *http.Request) (*http.Response, error) {
		resp, err := rt.RoundTrip(req)
		if err == nil {
			resp.Body = newAheadBody(resp.Body)
		}
		return resp, err
	})
}

// aheadBody is a body of which up to 64 reads wait.
type aheadBody struct {
	io.ReadCloser
	reads  chan []byte
	rest   []byte
	err    error // after reads
	closed chan struct{}
	once   sync.Once
}

func newAheadBody(body io.ReadCloser) *aheadBody {
	b := &aheadBody{ReadCloser: body, reads: make(chan []byte, 64), closed: make(chan struct{})}
	go func() {
		defer close(b.reads)
		for b.err == nil {
			p := make([]byte, 4096)
			var n int
			n, b.err = body.Read(p)
			select {
			case b.reads <- p[:n]:
			case <-b.closed:
				b.err = http.ErrBodyReadAfterClose
			}
		}
	}()
	return b
}

func (b *aheadBody) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		var open bool
		if b.rest, open = <-b.reads; !open {
			return 0, b.err
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *aheadBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.ReadCloser.Close()
}

const protobufType = runtime.ContentTypeProtobuf

// pod returns a pod with values in many fields.
func pod(name, version string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "space", UID: types.UID("uid-" + name), ResourceVersion: version,
			Labels: map[string]string{"app": name, "é": "\u2028"}, Annotations: map[string]string{"a": `"\` + "\n"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}},
		},
		Spec: v1.PodSpec{NodeName: "node", Containers: []v1.Container{{Name: "c", Image: "image:" + version}}},
	}
}

// pods returns n pods named p0, p1, and so on.
func pods(n int, version string) []v1.Pod {
	list := make([]v1.Pod, n)
	for i := range list {
		list[i] = *pod(fmt.Sprintf("p%d", i), version)
	}
	return list
}

// answer writes the response of a server.
type answer func(w http.ResponseWriter, r *http.Request)

// server answers requests from a script.
type server struct {
	*httptest.Server
	t testing.TB

	mu sync.Mutex
	served
	requests []string // "list" or "watch", and the resource version
}

// newServer starts a server with HTTP/2 or HTTP/1.1. It is closed at the end of the test, after its connections.
func newServer(t testing.TB, http2 bool, script served) *server {
	s := &server{t: t, served: script}
	if s.lists == nil {
		s.lists = []answer{goodList}
	}
	if s.watches == nil {
		s.watches = []answer{events(false, manyEvents()...)}
	}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	if http2 {
		s.EnableHTTP2 = true
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	kind, script := "list", &s.lists
	if r.URL.Query().Get("watch") != "" {
		kind, script = "watch", &s.watches
	}
	s.requests = append(s.requests, kind+" "+r.URL.Query().Get("resourceVersion"))
	next := (*script)[0]
	if len(*script) > 1 {
		*script = (*script)[1:]
	}
	s.mu.Unlock()
	next(w, r)
}

// asked returns the requests so far.
func (s *server) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.requests...)
}

// config returns a config for clients of the server. Their connections are closed at the end of the test.
func (s *server) config(wraps ...wrapper) *rest.Config {
	transport := s.Client().Transport.(*http.Transport).Clone()
	s.t.Cleanup(transport.CloseIdleConnections)
	c := &rest.Config{Host: s.URL, Transport: transport, QPS: -1}
	for _, wrap := range wraps {
		c.Wrap(wrap)
	}
	return c
}

// mediaOf returns the content type that a request accepts.
func mediaOf(r *http.Request) string {
	if strings.Contains(r.Header.Get("Accept"), protobufType) {
		return protobufType
	}
	return runtime.ContentTypeJSON
}

// list answers with pods, or with their metadata if the request accepts that.
func list(version string, items ...v1.Pod) answer {
	return page(metav1.ListMeta{ResourceVersion: version}, items...)
}

func page(meta metav1.ListMeta, items ...v1.Pod) answer {
	return func(w http.ResponseWriter, r *http.Request) {
		var list runtime.Object = &v1.PodList{ListMeta: meta, Items: items}
		if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList") {
			metadata := &metav1.PartialObjectMetadataList{ListMeta: meta}
			for i := range items {
				metadata.Items = append(metadata.Items, *metadataOf(&items[i]))
			}
			list = metadata
		}
		reply(w, r, mediaOf(r), taptest.Encoded(list, mediaOf(r)))
	}
}

func metadataOf(p *v1.Pod) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: p.ObjectMeta,
	}
}

// reply writes a body, compressed if the request accepts that.
func reply(w http.ResponseWriter, r *http.Request, media string, body []byte) {
	w.Header().Set("Content-Type", media)
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		_, _ = w.Write(body)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	_, _ = z.Write(body)
	_ = z.Close()
}

// event is an entry of the script of a watch.
type event struct {
	kind watch.EventType
	obj  runtime.Object
}

// events answers a watch with events. It then ends the watch, unless held is set.
func events(held bool, script ...event) answer {
	return func(w http.ResponseWriter, r *http.Request) {
		media := mediaOf(r)
		var bodies [][]byte
		for _, e := range script {
			obj := e.obj
			if p, isPod := obj.(*v1.Pod); isPod && strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
				obj = metadataOf(p)
			}
			bodies = append(bodies, taptest.Frame(e.kind, obj, media))
		}
		stream(held, media, bodies...)(w, r)
	}
}

// stream answers a watch with bytes, flushed piece by piece.
func stream(held bool, media string, pieces ...[]byte) answer {
	if media == protobufType {
		media += ";stream=watch"
	}
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", media)
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		for _, piece := range pieces {
			_, _ = w.Write(piece)
			w.(http.Flusher).Flush()
		}
		if held {
			<-r.Context().Done()
		}
	}
}

// status answers with an error of the API.
func status(code int32, reason metav1.StatusReason, header ...string) answer {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.Header().Set("Content-Type", mediaOf(r))
		w.WriteHeader(int(code))
		_, _ = w.Write(taptest.Encoded(statusOf(code, reason), mediaOf(r)))
	}
}

func statusOf(code int32, reason metav1.StatusReason) *metav1.Status {
	return &metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: "as the script says"}
}

// podList returns a list of 20 pods.
func podList(version string) *v1.PodList {
	return &v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: version}, Items: pods(20, "4")}
}

func TestMain(m *testing.M) { testkit.RunTests(m) }
