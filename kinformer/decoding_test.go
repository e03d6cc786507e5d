// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	"k8s.io/client-go/dynamic"
	clientinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/engine/taptest"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/draw"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/view"
)

// session is the state of a server, sent if it is requested, and the events of one watch.
type session struct {
	version string
	state   []v1.Pod
	events  []watch.Event
	lost    bool // the watch ends with an error and misses later changes; otherwise it just ends
}

// wireServer is a server of pods, or of their metadata, without a network. Each watch or watch-list is
// one session. The last one does not end; its state can be requested again.
type wireServer struct {
	*taptest.Wire
	metadata bool
	delay    time.Duration
	mu       sync.Mutex
	asked    []string
	sessions []session // the first one is the current one
}

func serverOf(media string, metadata bool, sessions []session) *wireServer {
	s := &wireServer{Wire: &taptest.Wire{Media: media}, metadata: metadata, sessions: slices.Clone(sessions)}
	s.Answer = s.answer
	return s
}

// newWireServer returns a server with 20 pods, and one session.
func newWireServer(media string, events []watch.Event) *wireServer {
	only := session{version: "50", events: events}
	for i := range 20 {
		only.state = append(only.state, *informers.WirePod(i, fmt.Sprint(10+i)))
	}
	return serverOf(media, false, []session{only})
}

func (s *wireServer) answer(r *http.Request) (pieces [][]byte, hangs bool) {
	time.Sleep(s.delay)
	s.mu.Lock()
	defer s.mu.Unlock()
	query, now := r.URL.Query(), &s.sessions[0]
	if query.Get("watch") == "" {
		return [][]byte{s.list(now, query)}, false
	}
	if query.Get("sendInitialEvents") == "true" {
		s.asked = append(s.asked, "watch-list")
		for i := range now.state {
			pieces = append(pieces, s.frame(watch.Added, &now.state[i]))
		}
		pieces = append(pieces, s.frame(watch.Bookmark, testkit.EndMark(now.version).Object))
	} else {
		s.asked = append(s.asked, "watch "+query.Get("resourceVersion"))
	}
	for _, e := range now.events {
		pieces = append(pieces, s.frame(e.Type, e.Object))
	}
	now.events = nil
	if len(s.sessions) == 1 {
		return pieces, true
	}
	if now.lost {
		pieces = append(pieces, taptest.Frame(watch.Error, testkit.ErrExpired.ErrStatus.DeepCopy(), s.Media))
	}
	s.sessions = s.sessions[1:]
	return pieces, false
}

func (s *wireServer) list(of *session, query url.Values) []byte {
	asked, state, about := "list", of.state, metav1.ListMeta{ResourceVersion: of.version}
	switch {
	case query.Get("continue") != "":
		asked, state = "more", state[15:]
	case query.Get("limit") == "15":
		state, about.Continue = state[:15], "more"
	}
	s.asked = append(s.asked, asked)
	if !s.metadata {
		return taptest.Encoded(&v1.PodList{ListMeta: about, Items: state}, s.Media)
	}
	list := &metav1.PartialObjectMetadataList{ListMeta: about}
	for i := range state {
		list.Items = append(list.Items, *metadataOf(&state[i]))
	}
	return taptest.Encoded(list, s.Media)
}

func (s *wireServer) frame(kind watch.EventType, pod runtime.Object) []byte {
	if s.metadata {
		return taptest.Frame(kind, metadataOf(pod.(*v1.Pod)), s.Media)
	}
	return taptest.Frame(kind, pod, s.Media)
}

func metadataOf(p *v1.Pod) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: p.ObjectMeta}
}

// client returns a ListerWatcher for the server.
func (s *wireServer) client(t *testing.T, wrap bool) *clientgo.ListWatch {
	return informers.ClientOver(t, s, s.Media, wrap)
}

// newPodRecorder returns a recorder of pods with their versions and labels.
func newPodRecorder() *cachetest.Recorder {
	return &cachetest.Recorder{Describe: func(obj any) string {
		pod := obj.(*v1.Pod)
		return fmt.Sprintf("%s %s %s", pod.Name, pod.ResourceVersion, pod.Labels["app"])
	}}
}

// wrongAbout configures a decoder that decodes the pods of these versions wrongly.
//
// The first 8, the 24th and the 40th of its objects are in the sample.
func wrongAbout(versions ...string) change {
	wrong := taptest.Decoders(nil, func(obj runtime.Object) {
		if pod := obj.(*v1.Pod); slices.Contains(versions, pod.ResourceVersion) {
			pod.Labels["app"] = "wrong"
		}
	})
	return func(_ *clientgo.ListWatch, c *door.Config) {
		c.Requests.Decoding.Engine, c.Requests.Decoding.Start = taptest.Engine(wrong), 40
	}
}

// eventsOf returns updates of the pods p0, p1, ..., with versions from 60.
func eventsOf(n int) (events []watch.Event) {
	for i := range n {
		events = append(events, watch.Event{Type: watch.Modified, Object: informers.WirePod(i, fmt.Sprint(60+i))})
	}
	return events
}

// decodingRun is the result of running an informer for some time.
type decodingRun struct {
	heard  []string
	stored map[string]string // versions and labels by name
	asked  []string
	status inspect.Status
}

// change changes the client and the configuration of an informer.
type change = func(*clientgo.ListWatch, *door.Config)

// runDecoding runs an informer for some time on a server that sends events.
func runDecoding(t *testing.T, media string, wrap bool, events []watch.Event, options kinformer.Options, all ...change) (got decodingRun) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server, heard := newWireServer(media, events), newPodRecorder()
		client := server.client(t, wrap)
		informer := kinformer.New(client, &v1.Pod{}, options)
		for _, do := range all {
			door.Of(informer).Configure(func(c *door.Config) { do(client, c) })
		}
		informers.Handle(t, informer, heard)
		stop := informers.Run(t, informer)
		time.Sleep(10 * time.Second)
		got.status = informers.Status(t, informer)
		got.heard, got.asked, got.stored = heard.Events(), server.asked, map[string]string{}
		for _, pod := range view.TypedAll[*v1.Pod](informer.GetStore()) {
			got.stored[pod.Name] = pod.ResourceVersion + " " + pod.Labels["app"]
		}
		stop()
		synctest.Wait()
		assert.Zero(t, server.Open.Load())
	})
	return got
}

var decodingModes = []kinformer.ListMode{kinformer.ListModeList, kinformer.ListModeWatchList}

// TestDecodesDirectly: with and without the transport, an informer calls its handlers for the same
// changes, stores the same objects and makes as many requests, in each encoding and mode.
func TestDecodesDirectly(t *testing.T) {
	for _, media := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		for _, mode := range decodingModes {
			events := eventsOf(20)
			plain := runDecoding(t, media, false, events, kinformer.Options{Requests: kinformer.Requests{Mode: mode}})
			got := runDecoding(t, media, true, events, kinformer.Options{Requests: kinformer.Requests{Mode: mode}})
			require.Len(t, got.heard, 40)
			assert.Equal(t, plain.heard, got.heard)
			assert.Equal(t, plain.stored, got.stored)
			assert.Equal(t, plain.asked, got.asked)
			assert.Equal(t, "no transport of package direct has seen the request", plain.status.Decoding.Why)
			assert.Equal(t, "no-transport", plain.status.Decoding.Reason)
			d := got.status.Decoding
			assert.True(t, d.On)
			assert.True(t, strings.HasSuffix(media, d.Encoding) && d.Encoding != "", "%q", d.Encoding)
			assert.GreaterOrEqual(t, d.Direct, int64(27)) // of 40, and an end mark
			assert.Empty(t, d.GivenUp)
			assert.Zero(t, d.Verified.Differences)
			assert.EqualValues(t, 256<<10, d.Texts.Limit)
			assert.Greater(t, d.Texts.Bytes, d.Texts.Count)
			assert.Zero(t, plain.status.Decoding.Texts)
		}
	}
}

// TestUnexpectedClientDecodingIsLogged: the log states once why the client decodes, unless the user has chosen it.
func TestUnexpectedClientDecodingIsLogged(t *testing.T) {
	for want, options := range []kinformer.Options{{Decoding: kinformer.Decoding{Off: true}}, {}} {
		logged := testkit.CaptureLog(t)
		direct.Transport(nil)
		runDecoding(t, runtime.ContentTypeJSON, false, eventsOf(20), options)
		assert.Equal(t, want, logged.Count("The client decodes, although the program uses direct.Transport"))
	}
	logged := testkit.CaptureLog(t)
	runDecoding(t, runtime.ContentTypeJSON, true, eventsOf(20), kinformer.Options{})
	assert.Zero(t, logged.Count("The client decodes"))
}

// TestShareWithoutTransport: in a program without a transport of package direct, an informer with ShareParts reports
// that nothing is shared, and why, in its status and in one line of the log. One without ShareParts reports nothing.
func TestShareWithoutTransport(t *testing.T) {
	const why = "no transport of package direct has seen the request"
	inUse := tap.InUse.Swap(false)
	t.Cleanup(func() { tap.InUse.Store(inUse) })
	for lines, shared := range []inspect.Sharing{{}, {Why: why}} {
		for _, mode := range decodingModes {
			logged := testkit.CaptureLog(t)
			got := runDecoding(t, runtime.ContentTypeJSON, false, eventsOf(20), kinformer.Options{
				Requests: kinformer.Requests{Mode: mode}, Decoding: kinformer.Decoding{ShareParts: lines == 1},
			})
			assert.Equal(t, why, got.status.Decoding.Why)
			assert.Equal(t, shared, got.status.Decoding.Shared)
			assert.Equal(t, lines, logged.Count("The client decodes, although ShareParts is set"))
			assert.Equal(t, lines, logged.Count("The client decodes"))
			assert.Empty(t, got.status.Problems)
		}
	}
}

// TestDifferenceIsCorrected: when a sample differs, objects that were decoded wrongly before are
// replaced by those that the client decodes, and handlers are called for them, although the versions
// are the same.
func TestDifferenceIsCorrected(t *testing.T) {
	for _, media := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		for _, mode := range decodingModes {
			// p15 is wrong in the list and goes unnoticed. A later event is in the sample (one of ten).
			options := kinformer.Options{Requests: kinformer.Requests{Mode: mode}, Decoding: kinformer.Decoding{Verify: 10}}
			got := runDecoding(t, media, true, eventsOf(12), options, wrongAbout("25", "60", "61", "62", "63", "64", "65", "66", "67", "68", "69"))
			assert.Contains(t, got.heard, "add p15 25 wrong initial")
			assert.Contains(t, got.heard, "update p15 25 wrong -> p15 25 right")
			assert.NotContains(t, fmt.Sprint(got.stored), "wrong")
			assert.Len(t, got.stored, 20)
			assert.Equal(t, "25 right", got.stored["p15"])
			assert.Equal(t, map[kinformer.ListMode][]string{
				kinformer.ListModeList:      {"list", "watch 50", "list", "watch 50"},
				kinformer.ListModeWatchList: {"watch-list", "watch-list"},
			}[mode], got.asked)
			d := got.status.Decoding
			assert.False(t, d.On)
			assert.Contains(t, d.Why, "an event of a watch, a *v1.Pod, differs at object.ObjectMeta.Labels[...]")
			assert.EqualValues(t, 1, d.Verified.Differences)
		}
	}
}

// TestDifferenceIsNoResync: handlers are called for the corrections once, whether or not they have a
// resync period.
func TestDifferenceIsNoResync(t *testing.T) {
	for _, mode := range decodingModes {
		synctest.Test(t, func(t *testing.T) {
			server := newWireServer(runtime.ContentTypeJSON, eventsOf(12))
			server.delay = 3 * time.Second // there are resyncs before each answer
			informer := kinformer.New(server.client(t, true), &v1.Pod{}, kinformer.Options{ResyncPeriod: time.Second, Requests: kinformer.Requests{Mode: mode}, Decoding: kinformer.Decoding{Verify: 10}})
			wrong := wrongAbout("25", "60", "61", "62", "63", "64", "65", "66", "67", "68", "69")
			door.Of(informer).Configure(func(c *door.Config) { wrong(nil, c) })
			never, often := newPodRecorder(), newPodRecorder()
			_, err := informer.AddEventHandlerWithResyncPeriod(never, 0)
			require.NoError(t, err)
			_, err = informer.AddEventHandlerWithResyncPeriod(often, time.Second)
			require.NoError(t, err)
			stop := informers.Run(t, informer)
			time.Sleep(30 * time.Second)
			synctest.Wait()
			stop()
			assert.Equal(t, []string{"add p15 25 wrong initial", "update p15 25 wrong -> p15 25 right"}, testkit.About(" p15 ", never.Events()))
			assert.Greater(t, len(often.Events()), 2*len(never.Events()), "there were resyncs")
			status := informers.Status(t, informer)
			assert.NoError(t, status.LastError)
			assert.EqualValues(t, 1, status.Decoding.Verified.Differences)
		})
	}
}

// TestDifferentListIsNone: a list in which a sample differs is discarded; the client decodes another
// one at once.
func TestDifferentListIsNone(t *testing.T) {
	for _, media := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		for _, mode := range decodingModes {
			options := kinformer.Options{Requests: kinformer.Requests{Mode: mode}, Decoding: kinformer.Decoding{Verify: 10}}
			got := runDecoding(t, media, true, eventsOf(12), options, wrongAbout("19", "25"))
			assert.Empty(t, testkit.About("wrong", got.heard))
			assert.Len(t, got.stored, 20)
			assert.EqualValues(t, 1, got.status.Decoding.Verified.Differences)
			assert.NoError(t, got.status.LastError)
		}
	}
}

// TestOddListsSuspend: after a response that cannot be taken apart the client decodes one list, and then the
// informer decodes directly again; after the third such response it does not. The status states this,
// and Causes as a single word.
func TestOddListsSuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, lists := newWireServer(runtime.ContentTypeJSON, nil), 0
		server.Answer = func(r *http.Request) ([][]byte, bool) {
			if r.URL.Query().Get("watch") == "" {
				if lists++; lists%2 == 1 {
					return [][]byte{[]byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"40"},"items":[null]}`)}, false
				}
			}
			return server.answer(r)
		}
		informer := kinformer.New(server.client(t, true), &v1.Pod{}, kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList}})
		defer informers.Run(t, informer)()
		const why = "the list cannot be taken apart: not a list as it is known"
		for n, want := range []struct{ why, causes string }{
			{"suspended: " + why, "[decoding-suspended]"}, {"", "[]"}, {"off for good: " + why, "[decoding-off]"},
		} {
			if n > 0 {
				server.sessions[0].events = eventsOf(3)
				require.NoError(t, kinformer.Relist(informer))
			}
			time.Sleep(time.Minute)
			got := informers.Inspected(t, informer).Status
			require.Equal(t, 20, got.Objects)
			assert.Equal(t, want.why, got.Decoding.Why)
			assert.Equal(t, want.why == "", got.Decoding.On)
			assert.Equal(t, want.causes, fmt.Sprint(informers.Causes(got)))
			assert.Len(t, informers.Texts(got), len(informers.Causes(got)))
		}
		assert.Equal(t, 6, lists)
	})
}

// TestFilteredWatchBeginsAnew: if watches are filtered, the list may have been filtered as well without
// the informer's knowledge, so the client lists again. A watch-list is not repeated.
func TestFilteredWatchBeginsAnew(t *testing.T) {
	for _, media := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		for mode, asked := range map[kinformer.ListMode][]string{
			kinformer.ListModeList:      {"list", "watch 50", "list", "watch 50"},
			kinformer.ListModeWatchList: {"watch-list"},
		} {
			options := kinformer.Options{Requests: kinformer.Requests{Mode: mode}}
			got := runDecoding(t, media, true, eventsOf(12), options, func(client *clientgo.ListWatch, _ *door.Config) {
				unfiltered := client.WatchFuncWithContext
				client.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
					w, err := unfiltered(ctx, o)
					if err != nil {
						return w, err
					}
					// An error after the Stop would block the goroutine of watch.Filter.
					return watch.Filter(w, func(e watch.Event) (watch.Event, bool) { return e, e.Type != watch.Error }), nil
				}
			})
			assert.Equal(t, asked, got.asked)
			assert.Len(t, got.stored, 20)
			assert.Equal(t, "the watch is no plain stream, but a *watch.filteredWatch", got.status.Decoding.Why)
			assert.NoError(t, got.status.LastError)
		}
	}
}

// TestPagesBeginAnew: if a later page was decoded wrongly, the pages before are discarded as well.
func TestPagesBeginAnew(t *testing.T) {
	for _, media := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		options := kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList, PageSize: 15}}
		got := runDecoding(t, media, true, eventsOf(1), options, wrongAbout("20", "25")) // the 11th, and the 1st of the second page
		assert.Equal(t, []string{"list", "more", "list", "more", "watch 50"}, got.asked)
		assert.Empty(t, testkit.About("wrong", got.heard))
		assert.Len(t, got.stored, 20)
		assert.EqualValues(t, 1, got.status.Decoding.Verified.Differences)

		got = runDecoding(t, media, true, eventsOf(1), options, wrongAbout())
		assert.Equal(t, []string{"list", "more", "watch 50"}, got.asked)
		assert.Len(t, got.stored, 20)
		assert.EqualValues(t, 20-8-3, got.status.Decoding.Direct) // neither the last of the first page, nor the first and last of the second
	}
}

var dropping = []string{"metadata.managedFields", "metadata.annotations[dropped]"}

// TestDroppedWhoeverDecodes: regardless of the decoder, dropped fields reach neither a transform
// function, nor a handler, nor the store; all other fields do.
func TestDroppedWhoeverDecodes(t *testing.T) {
	for _, media := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		for _, mode := range decodingModes {
			for name, d := range map[string]kinformer.Decoding{
				"by us": {}, "shared": {ShareParts: true, TransformCopies: true}, "by both": {Verify: 1}, "off": {Off: true}, "no transport": {},
			} {
				t.Run(fmt.Sprint(media, " ", mode, " ", name), func(t *testing.T) {
					d.Drop = dropping
					dropped(t, media, name != "no transport", kinformer.Options{Requests: kinformer.Requests{Mode: mode}, Decoding: d})
				})
			}
		}
	}
}

func dropped(t *testing.T, media string, wrap bool, options kinformer.Options) {
	synctest.Test(t, func(t *testing.T) {
		server := newWireServer(media, append(eventsOf(20), watch.Event{Type: watch.Deleted, Object: informers.WirePod(3, "90")}))
		informer := kinformer.New(server.client(t, wrap), &v1.Pod{}, options)
		var transformed atomic.Int64
		require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
			transformed.Add(1)
			isDropped(t, obj)
			return obj, nil
		}))
		heard := droppedRecorder(t)
		informers.Handle(t, informer, heard)
		stop := informers.Run(t, informer)
		time.Sleep(10 * time.Second)
		stop()
		assert.EqualValues(t, 20+20+1, transformed.Load())
		assert.Len(t, heard.Events(), 20+20+1)
		assert.Len(t, informer.GetStore().List(), 19)
		for _, obj := range informer.GetStore().List() {
			isDropped(t, obj)
		}
		status := informers.Status(t, informer)
		assert.Zero(t, status.Decoding.Verified.Differences)
	})
}

func isDropped(t testing.TB, obj any) {
	t.Helper()
	o := obj.(metav1.Object)
	assert.Empty(t, o.GetManagedFields())
	assert.Equal(t, map[string]string{"kept": "some text that stays"}, o.GetAnnotations())
	assert.True(t, strings.HasPrefix(o.GetName(), "p"))
}

// droppedRecorder returns a handler that checks its objects.
func droppedRecorder(t testing.TB) *cachetest.Recorder {
	return &cachetest.Recorder{Describe: func(obj any) string {
		isDropped(t, obj)
		return ""
	}}
}

// TestDroppedOfFakes: objects of every type from a fake server are trimmed as well.
func TestDroppedOfFakes(t *testing.T) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(informers.WirePod(1, ""))
	require.NoError(t, err)
	content["kind"], content["apiVersion"] = "Pod", "v1"
	for _, example := range []runtime.Object{
		informers.WirePod(1, ""), &unstructured.Unstructured{Object: content}, &metav1.PartialObjectMetadata{ObjectMeta: informers.WirePod(1, "").ObjectMeta},
	} {
		synctest.Test(t, func(t *testing.T) {
			server, heard := cachetest.Of(example.DeepCopyObject()), droppedRecorder(t)
			informer := kinformer.New(server, example, kinformer.Options{Decoding: kinformer.Decoding{Drop: dropping}})
			informers.Handle(t, informer, heard)
			defer informers.Run(t, informer)()
			synctest.Wait()
			another := example.DeepCopyObject()
			another.(metav1.Object).SetName("p2")
			server.Create(another)
			server.Delete("space", "p1")
			synctest.Wait()
			require.Len(t, heard.Events(), 3)
		})
	}
}

// mutating is a transform function that writes to several parts of a pod.
func mutating(obj any) (any, error) {
	pod := obj.(*v1.Pod)
	delete(pod.Labels, "remove")
	pod.Labels["seen"] += "x"
	container := &pod.Spec.Containers[0]
	container.Image += "x"
	container.Command[0], container.Command = "x"+container.Command[0], container.Command[:3]
	pod.Spec.Volumes[0].HostPath.Path += "x"
	return pod, nil
}

// copying is mutating, but copies the parts before it writes to them.
func copying(obj any) (any, error) {
	pod := *obj.(*v1.Pod)
	pod.Labels = maps.Clone(pod.Labels)
	spec := pod.Spec.DeepCopy()
	pod.Spec.Containers, pod.Spec.Volumes = spec.Containers, spec.Volumes
	return mutating(&pod)
}

// readAll returns the name and version of an object. It reads all fields, for the race detector.
func readAll(obj any) string {
	_ = fmt.Sprint(obj)
	return obj.(metav1.Object).GetName() + " " + obj.(metav1.Object).GetResourceVersion()
}

// sharedRun is the result of running an informer of equal pods.
type sharedRun struct {
	pods   []*v1.Pod
	status inspect.Status
}

// runSharing runs an informer while goroutines read all its objects.
func runSharing(t *testing.T, media string, informerOf func(*kubernetes.Clientset) cache.SharedIndexInformer) (got sharedRun) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		informer := informerOf(informers.EqualPodsOver(t, media, func() (events [][]byte) {
			for i := range informers.EqualPods {
				events = append(events, taptest.Frame(watch.Modified, informers.EqualPod(i, fmt.Sprint(6000+i)), media))
			}
			return events
		}))
		for range 2 {
			informers.Handle(t, informer, &cachetest.Recorder{Describe: readAll})
		}
		stop := informers.Run(t, informer)
		time.Sleep(10 * time.Second)
		got.status = informers.Status(t, informer)
		for _, pod := range view.TypedAll[*v1.Pod](informer.GetStore()) {
			got.pods = append(got.pods, pod)
		}
		stop()
		ended := informers.Status(t, informer)
		require.Zero(t, ended.Decoding.Shared.Parts, "the tables end with the last informer")
		require.Zero(t, ended.Decoding.Texts)
	})
	require.Len(t, got.pods, informers.EqualPods)
	for _, pod := range got.pods {
		require.Len(t, pod.ResourceVersion, 4)
		require.Equal(t, "6", pod.ResourceVersion[:1], "the watch has come")
	}
	return got
}

// sharedVolumes counts the pods that have the same list of volumes as another one.
func (r sharedRun) sharedVolumes() int {
	lists := map[*v1.Volume]int{}
	for _, pod := range r.pods {
		lists[&pod.Spec.Volumes[0]]++
	}
	return len(r.pods) - len(lists)
}

// transformedOnce asserts that the transform function was applied to each pod exactly once.
func (r sharedRun) transformedOnce(t *testing.T) {
	t.Helper()
	for _, pod := range r.pods {
		wanted := informers.EqualPod(0, pod.ResourceVersion)
		wanted.Name = pod.Name
		_, err := mutating(wanted)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(wanted.Labels, wanted.Spec.Containers[0].Image, wanted.Spec.Containers[0].Command, wanted.Spec.Volumes[0].HostPath.Path),
			fmt.Sprint(pod.Labels, pod.Spec.Containers[0].Image, pod.Spec.Containers[0].Command, pod.Spec.Volumes[0].HostPath.Path))
	}
}

const notShared = "the transform function may change what it is given: see kinformer.Decoding.TransformCopies and Drop"

// sharing returns the options of sharing informers that list.
func sharing(copies bool) kinformer.Options {
	return kinformer.Options{
		Requests: kinformer.Requests{Mode: kinformer.ListModeList}, Decoding: kinformer.Decoding{ShareParts: true, TransformCopies: copies},
	}
}

func podInformer(set *kubernetes.Clientset, options kinformer.Options) cache.SharedIndexInformer {
	return kinformer.New(direct.NewListWatch(set.CoreV1().RESTClient(), &v1.Pod{}, "pods", "", nil), &v1.Pod{}, options)
}

var sharingMedia = []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf}

// TestSharesEqualParts: without a transform function, or with TrimManagedFields, equal pods share
// their parts, have the right content, and can be read concurrently. A transform that is set too late
// has no effect, and nil removes one.
func TestSharesEqualParts(t *testing.T) {
	for _, media := range sharingMedia {
		for _, transform := range []cache.TransformFunc{nil, kinformer.TrimManagedFields} {
			got := runSharing(t, media, func(set *kubernetes.Clientset) cache.SharedIndexInformer {
				informer := podInformer(set, sharing(false))
				require.NoError(t, informer.SetTransform(mutating))
				require.NoError(t, informer.SetTransform(transform))
				informers.Handle(t, informer, cache.ResourceEventHandlerFuncs{AddFunc: func(any) {
					assert.ErrorContains(t, informer.SetTransform(mutating), "already started")
				}})
				return informer
			})
			assert.True(t, got.status.Decoding.Shared.On)
			assert.Empty(t, got.status.Decoding.Shared.Why)
			assert.Greater(t, got.sharedVolumes(), informers.EqualPods*9/10)
			assert.Greater(t, got.status.Decoding.Shared.Parts.Hits, int64(informers.EqualPods))
			for _, pod := range got.pods {
				wanted := informers.EqualPod(0, pod.ResourceVersion)
				require.Equal(t, wanted.Spec.Volumes, pod.Spec.Volumes)
				require.Equal(t, wanted.Labels, pod.Labels)
			}
		}
	}
}

// TestTransformThatWrites: with a transform function that modifies its argument nothing is shared, and
// the status and one line of the log state why, however the transform was set. With one that copies
// before it writes, and TransformCopies, the other parts are shared.
func TestTransformThatWrites(t *testing.T) {
	for name, tc := range map[string]struct {
		copies     bool
		informerOf func(*kubernetes.Clientset) cache.SharedIndexInformer
	}{
		"set": {false, func(set *kubernetes.Clientset) cache.SharedIndexInformer {
			informer := podInformer(set, sharing(false))
			require.NoError(t, informer.SetTransform(copying))
			require.NoError(t, informer.SetTransform(mutating))
			return informer
		}},
		"a factory of ours": {false, func(set *kubernetes.Clientset) cache.SharedIndexInformer {
			f := factory.Wrap(clientinformers.NewSharedInformerFactory(set, 0), factory.WithTransform(mutating),
				factory.WithInformerOptions(sharing(false)))
			return f.Core().V1().Pods().Informer()
		}},
		"a factory that is wrapped": {false, func(set *kubernetes.Clientset) cache.SharedIndexInformer {
			f := factory.Wrap(clientinformers.NewSharedInformerFactoryWithOptions(set, 0, clientinformers.WithTransform(mutating)),
				factory.WithInformerOptions(sharing(false)))
			return f.Core().V1().Pods().Informer()
		}},
		"copying": {true, func(set *kubernetes.Clientset) cache.SharedIndexInformer {
			informer := podInformer(set, sharing(true))
			require.NoError(t, informer.SetTransform(copying))
			return informer
		}},
	} {
		for _, media := range sharingMedia {
			t.Run(name+", "+media, func(t *testing.T) {
				logged := testkit.CaptureLog(t)
				got := runSharing(t, media, tc.informerOf)
				got.transformedOnce(t)
				shared := got.status.Decoding.Shared
				assert.True(t, got.status.Decoding.On)
				assert.Equal(t, tc.copies, shared.On)
				assert.Equal(t, map[bool]int{false: 1}[tc.copies], logged.Count("do not share equal parts"))
				assert.Equal(t, map[bool]string{false: notShared}[tc.copies], shared.Why)
				assert.Equal(t, tc.copies, shared.Parts.Hits > 0)
				assert.Zero(t, got.sharedVolumes(), "they are written to, or copied")
				tolerations := map[*v1.Toleration]bool{}
				for _, pod := range got.pods {
					tolerations[&pod.Spec.Tolerations[0]] = true
				}
				assert.Equal(t, tc.copies, len(tolerations) < informers.EqualPods/10)
			})
		}
	}
}

// TestWriterIsFound: a write to cached objects that share parts is detected while events arrive, and
// reported once, with the path of the field and without its value. It does not count as an error of the
// decoder.
func TestWriterIsFound(t *testing.T) {
	reports := testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		media, release := runtime.ContentTypeProtobuf, make(chan struct{})
		informer := podInformer(informers.EqualPodsOver(t, media, func() (events [][]byte) {
			<-release
			for i := range 5 * informers.EqualPods {
				events = append(events, taptest.Frame(watch.Modified, informers.EqualPod(i%informers.EqualPods, fmt.Sprint(6000+i)), media))
			}
			return events
		}), sharing(false))
		stop := informers.Run(t, informer)
		defer stop()
		time.Sleep(time.Second)
		synctest.Wait()
		pod, _ := view.TypedGet[*v1.Pod](informer.GetStore(), "space/p0500")
		pod.Labels["app"] = "hunter2"
		pod.Spec.Containers[0].Image = "hunter2"
		pod.Spec.Tolerations[0].Key = "hunter2"
		pod.Spec.Volumes[0].HostPath.Path = "hunter2"
		close(release)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		status := informers.Status(t, informer)
		d := status.Decoding
		assert.True(t, d.On, "%s", d.Why)
		assert.Zero(t, d.Verified.Differences, "the decoder is right")
		assert.GreaterOrEqual(t, d.Shared.Checked, int64(1))
		require.GreaterOrEqual(t, d.Shared.Mutations, int64(1))
		assert.LessOrEqual(t, d.Shared.Mutations, int64(4), "each once")
		assert.Regexp(t, `^(ObjectMeta.labels, a map\[string\]string, at \[...\]|PodSpec.\w+, a \[\]v1.\w+, at \[0\])`, d.Shared.Mutation)
		assert.Equal(t, []string{"a caller has modified cached objects: " + d.Shared.Mutation}, informers.Texts(status))
		require.Len(t, reports(), 1)
		assert.Contains(t, reports()[0], d.Shared.Mutation)
		assert.NotContains(t, reports()[0], "hunter2")
	})
}

// history draws sessions: pods are added, changed and deleted, events are repeated, and some changes
// are missed.
type history struct {
	t       *draw.T
	version int
	pods    map[string]v1.Pod
}

func (h *history) sessions() (all []session) {
	h.version, h.pods = 100, map[string]v1.Pod{}
	for range draw.Int(h.t, 9, 25) {
		h.happens()
	}
	for range draw.Int(h.t, 1, 6) {
		s := session{version: fmt.Sprint(h.version), state: slices.Collect(maps.Values(h.pods))}
		s.lost = draw.Int(h.t, 0, 2) > 0
		slices.SortFunc(s.state, func(a, b v1.Pod) int { return strings.Compare(a.Name, b.Name) })
		for range draw.Int(h.t, 0, 8) {
			s.events = append(s.events, h.happens())
			if n := draw.Int(h.t, 0, len(s.events)*4); n < len(s.events) && s.events[n].Type != watch.Deleted {
				s.events = append(s.events, s.events[len(s.events)-1])
			}
		}
		for range draw.Int(h.t, 0, 4) {
			if s.lost {
				h.happens()
			}
		}
		all = append(all, s)
	}
	return all
}

// happens draws one change and returns its event.
func (h *history) happens() watch.Event {
	h.version++
	name := fmt.Sprint("p", draw.Int(h.t, 0, 30))
	before, exists := h.pods[name]
	if exists && draw.Int(h.t, 0, 3) == 0 {
		delete(h.pods, name)
		before.ResourceVersion = fmt.Sprint(h.version)
		return watch.Event{Type: watch.Deleted, Object: &before}
	}
	pod := *informers.EqualPod(h.version%3, fmt.Sprint(h.version))
	pod.Name, pod.UID = name, "uid"
	pod.Annotations = map[string]string{"large": strings.Repeat("x", draw.Of(h.t, 0, 1000)), "dropped": "value"}
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}}
	h.pods[name] = pod
	if exists {
		return watch.Event{Type: watch.Modified, Object: &pod}
	}
	return watch.Event{Type: watch.Added, Object: &pod}
}

// account is the result of running an informer.
type account struct {
	events []string       // of its first handler
	merged map[string]any // the final state of a slow, coalescing handler
	late   []string       // of a handler that is added at the end
	store  map[string]any
	status inspect.Status
}

// ordered sorts consecutive deletions of a relist, whose order is undefined.
func ordered(events []string) []string {
	isDelete := func(line string) bool { return strings.HasSuffix(line, " unknown") }
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

// slow returns a slow handler that keeps the last state of each object in merged.
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
	first, late := &cachetest.Recorder{Describe: readAll}, &cachetest.Recorder{Describe: readAll}
	informers.Handle(t, informer, first)
	informers.Handle(t, informer, kinformer.Deliver(a.slow(), kinformer.Delivery{Overflow: kinformer.OverflowCoalesce}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ; ctx.Err() == nil; time.Sleep(time.Minute) {
			_ = fmt.Sprint(informer.GetStore().List()...)
		}
	}()
	stop := informers.Run(t, informer)
	time.Sleep(20 * time.Minute)
	synctest.Wait()
	registration, err := informer.AddEventHandler(late)
	require.NoError(t, err)
	<-registration.HasSyncedChecker().Done()
	a.store = map[string]any{}
	for _, key := range informer.GetStore().ListKeys() {
		a.store[key], _, _ = informer.GetStore().GetByKey(key)
	}
	a.status = informers.Status(t, informer)
	cancel()
	stop()
	time.Sleep(time.Minute)
	a.events, a.late = first.Events(), late.Events()
	slices.Sort(a.late)
}

// follower is a kind of informer of pods.
type follower struct {
	name, media string
	metadata    bool
}

var followers = []follower{
	{"JSON", runtime.ContentTypeJSON, false}, {"protobuf", runtime.ContentTypeProtobuf, false},
	{"unstructured", runtime.ContentTypeJSON, false}, {"metadata", runtime.ContentTypeProtobuf, true},
}

// client returns a ListerWatcher of the kind, and an example.
func (f follower) client(t *testing.T, c *rest.Config) (cache.ListerWatcher, runtime.Object) {
	pods := v1.SchemeGroupVersion.WithResource("pods")
	switch f.name {
	case "unstructured":
		client, err := dynamic.NewForConfig(c)
		require.NoError(t, err)
		return testkit.ListWatchOf(client.Resource(pods)), &unstructured.Unstructured{}
	case "metadata":
		client, err := metadata.NewForConfig(c)
		require.NoError(t, err)
		return testkit.ListWatchOf(client.Resource(pods)), &metav1.PartialObjectMetadata{}
	}
	set, err := kubernetes.NewForConfig(c)
	require.NoError(t, err)
	return direct.NewListWatch(set.CoreV1().RESTClient(), &v1.Pod{}, "pods", "", nil), &v1.Pod{}
}

// follow runs an informer through a history.
func (f follower) follow(t *testing.T, all []session, options kinformer.Options, transform ...cache.TransformFunc) (a account) {
	synctest.Test(t, func(t *testing.T) {
		c := &rest.Config{Host: "http://127.0.0.1:1", Transport: serverOf(f.media, f.metadata, all), QPS: -1}
		c.ContentType = f.media
		c.Wrap(direct.Transport)
		lw, example := f.client(t, c)
		informer := kinformer.New(lw, example, options)
		for _, transform := range transform {
			require.NoError(t, informer.SetTransform(transform))
		}
		a.run(t, informer)
	})
	return a
}

// TestReuseDoesNotChangeNotifications: for any history of the server, handlers of any kind are called for the same
// changes, and the store has the same objects, with and without ShareParts, while a goroutine reads all
// objects. Without ShareParts, and with a transform function, even one that promises to copy, all
// objects of a relist are new.
func TestReuseDoesNotChangeNotifications(t *testing.T) {
	var reused int64 // in about two runs of three
	for _, f := range followers {
		t.Run(f.name, func(t *testing.T) {
			draw.Times(t, testkit.Runs(8, 25), func(t *draw.T) { reused += f.comparesReuse(t) })
		})
	}
	assert.Positive(t, reused)
}

// comparesReuse follows a history with and without ShareParts, and returns how many objects were reused.
func (f follower) comparesReuse(t *draw.T) int64 {
	all := (&history{t: t}).sessions()
	options := kinformer.Options{Requests: kinformer.Requests{Mode: draw.Of(t, kinformer.ListModeList, kinformer.ListModeWatchList)}}
	options.Decoding.Drop = []string{"metadata.managedFields", "metadata.annotations[dropped]"}
	want := f.follow(t.T, all, options)
	options.Decoding.ShareParts = true
	got := f.follow(t.T, all, options)
	options.Decoding.TransformCopies = true
	transformed := f.follow(t.T, all, options, func(obj any) (any, error) {
		obj.(metav1.Object).SetLabels(map[string]string{"transformed": "yes"})
		return obj, nil
	})
	assert.Zero(t, transformed.status.Decoding.Reused, "the transform may write to the topmost struct, which readers of the cached ones must not see")
	assert.Equal(t, slices.Sorted(maps.Keys(want.store)), slices.Sorted(maps.Keys(transformed.store)))
	for _, obj := range transformed.store {
		assert.Equal(t, map[string]string{"transformed": "yes"}, obj.(metav1.Object).GetLabels())
	}
	require.Zero(t, want.status.Decoding.Reused)
	require.Zero(t, got.status.Decoding.Verified.Differences)
	require.True(t, got.status.Decoding.On, got.status.Decoding.Why)
	assert.Equal(t, ordered(want.events), ordered(got.events))
	assert.Equal(t, want.store, got.store)
	assert.Equal(t, want.merged, got.merged)
	assert.Equal(t, want.late, got.late)
	return got.status.Decoding.Reused
}
