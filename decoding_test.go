// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/taptest"
)

// wireServer is a server of pods without a network: each list and each watch-list has 20 of them,
// each watch the events that are sent.
type wireServer struct {
	*taptest.Wire
	mu     sync.Mutex
	asked  []string
	events [][]byte // of the next watch
	delay  time.Duration
}

func newWireServer(media string) *wireServer {
	s := &wireServer{Wire: &taptest.Wire{Media: media}}
	s.Answer = s.answer
	return s
}

func (s *wireServer) answer(r *http.Request) (pieces [][]byte, hangs bool) {
	time.Sleep(s.delay)
	s.mu.Lock()
	defer s.mu.Unlock()
	query, pods := r.URL.Query(), v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "50"}}
	for i := range 20 {
		pods.Items = append(pods.Items, *wirePod(i, fmt.Sprint(10+i)))
	}
	switch {
	case query.Get("limit") == "15" && query.Get("continue") == "":
		s.asked = append(s.asked, "list")
		pods.Items, pods.Continue = pods.Items[:15], "more"
		return [][]byte{taptest.Encoded(&pods, s.Media)}, false
	case query.Get("limit") == "15":
		s.asked = append(s.asked, "more")
		pods.Items = pods.Items[15:]
		return [][]byte{taptest.Encoded(&pods, s.Media)}, false
	case query.Get("watch") == "":
		s.asked = append(s.asked, "list")
		return [][]byte{taptest.Encoded(&pods, s.Media)}, false
	case query.Get("sendInitialEvents") == "true":
		s.asked = append(s.asked, "watch-list")
		for i := range pods.Items {
			pieces = append(pieces, taptest.Frame(watch.Added, &pods.Items[i], s.Media))
		}
		mark := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
			ResourceVersion: "50", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
		}}
		pieces = append(pieces, taptest.Frame(watch.Bookmark, mark, s.Media))
	default:
		s.asked = append(s.asked, "watch "+query.Get("resourceVersion"))
	}
	pieces = append(pieces, s.events...)
	s.events = nil
	return pieces, true
}

func wirePod(i int, version string) *v1.Pod {
	name := fmt.Sprintf("p%d", i)
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "space", UID: types.UID("uid " + name), ResourceVersion: version, Labels: map[string]string{"app": "right"},
		Annotations:   map[string]string{"kept": "some text that stays", "dropped": "some text that does not"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "some manager"}},
	}}
}

// client returns a ListerWatcher for the server.
func (s *wireServer) client(t *testing.T, wrap bool) *clientgo.ListWatch {
	return clientOver(t, s, s.Media, wrap)
}

func clientOver(t *testing.T, wire http.RoundTripper, media string, wrap bool) *clientgo.ListWatch {
	c := &rest.Config{Host: "http://127.0.0.1:1", Transport: wire, QPS: -1}
	c.ContentType = media
	if wrap {
		c.Wrap(direct.Transport)
	}
	set, err := kubernetes.NewForConfig(c)
	require.NoError(t, err)
	return direct.NewListWatch(set.CoreV1().RESTClient(), &v1.Pod{}, "pods", "", nil)
}

// heardOf notes what a handler hears of pods and their labels.
type heardOf struct {
	mu    sync.Mutex
	calls []string
}

func (h *heardOf) note(what string, obj any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	pod := obj.(*v1.Pod)
	h.calls = append(h.calls, fmt.Sprintf("%s %s %s %s", what, pod.Name, pod.ResourceVersion, pod.Labels["app"]))
}

func (h *heardOf) handler() cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { h.note("add", obj) },
		UpdateFunc: func(_, obj any) { h.note("update", obj) },
		DeleteFunc: func(obj any) { h.note("delete", obj) },
	}
}

// wrongAbout makes a decoder that is wrong about the pods of these versions.
func wrongAbout(versions ...string) cache.Option {
	return cache.WithDecoders(taptest.SlowDecoders(nil, func(obj runtime.Object) {
		if pod := obj.(*v1.Pod); slices.Contains(versions, pod.ResourceVersion) {
			pod.Labels["app"] = "wrong"
		}
	}))
}

// eventsOf are updates of p0 and on, at the versions from 60.
func eventsOf(n int, media string) (frames [][]byte) {
	for i := range n {
		frames = append(frames, taptest.Frame(watch.Modified, wirePod(i, fmt.Sprint(60+i)), media))
	}
	return frames
}

// filteredWatches is a ListerWatcher whose watches are filtered, if there is a filter.
type filteredWatches struct {
	*clientgo.ListWatch
	filter watch.FilterFunc
}

func (f filteredWatches) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	w, err := f.ListWatch.WatchWithContext(ctx, options)
	if err != nil || f.filter == nil {
		return w, err
	}
	return watch.Filter(w, f.filter), nil
}

// decodingRun is what an informer, some time after its start, has heard and is.
type decodingRun struct {
	heard  []string
	stored map[string]string // versions and labels by name
	asked  []string
	status cache.Status
}

func runDecoding(t *testing.T, media string, wrap bool, events [][]byte, options ...cache.Option) (got decodingRun) {
	t.Helper()
	return runFiltered(t, nil, media, wrap, events, options...)
}

// runFiltered is runDecoding with a ListerWatcher whose watches are filtered.
func runFiltered(t *testing.T, filter watch.FilterFunc, media string, wrap bool, events [][]byte, options ...cache.Option) (got decodingRun) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server, heard := newWireServer(media), &heardOf{}
		server.events = events
		informer := cache.InformerFunc(options...)(filteredWatches{server.client(t, wrap), filter}, &v1.Pod{}, 0, nil)
		_, err := informer.AddEventHandler(heard.handler())
		require.NoError(t, err)
		stop := running(t, informer)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		got = decodingRun{heard: heard.calls, asked: server.asked, stored: map[string]string{}}
		for _, pod := range cache.TypedAll[*v1.Pod](informer.GetStore()) {
			got.stored[pod.Name] = pod.ResourceVersion + " " + pod.Labels["app"]
		}
		got.status, err = cache.StatusOf(informer)
		require.NoError(t, err)
		stop()
		synctest.Wait()
		assert.Zero(t, server.Open.Load())
	})
	return got
}

var decodingModes = []cache.ListMode{cache.ListModeList, cache.ListModeWatchList}

// TestDecodesDirectly: with the transport an informer hears and has what it does without, by as
// many requests, in each encoding and mode.
func TestDecodesDirectly(t *testing.T) {
	for _, media := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		for _, mode := range decodingModes {
			events := eventsOf(20, media)
			plain := runDecoding(t, media, false, events, cache.WithListMode(mode))
			got := runDecoding(t, media, true, events, cache.WithListMode(mode))
			require.Len(t, got.heard, 40)
			assert.Equal(t, plain.heard, got.heard)
			assert.Equal(t, plain.stored, got.stored)
			assert.Equal(t, plain.asked, got.asked)
			assert.Equal(t, "no transport of package direct has seen the request", plain.status.Decoding.Why)
			d := got.status.Decoding
			assert.True(t, d.On)
			assert.True(t, strings.HasSuffix(media, d.Encoding) && d.Encoding != "", "%q", d.Encoding)
			assert.GreaterOrEqual(t, d.Direct, int64(27)) // of 40, and an end mark
			assert.Empty(t, d.GivenUp)
			assert.Zero(t, d.Differences)
			assert.EqualValues(t, 16<<20, d.Texts.Limit)
			assert.Greater(t, d.Texts.Bytes, d.Texts.Count)
			assert.Zero(t, plain.status.Decoding.Texts)
		}
	}
}

// TestDecodingOff: the option, and the variable, leave everything to the client.
func TestDecodingOff(t *testing.T) {
	got := runDecoding(t, runtime.ContentTypeJSON, true, eventsOf(20, runtime.ContentTypeJSON), cache.WithDecoding(cache.Decoding{Off: true}))
	assert.Len(t, got.heard, 40)
	assert.Equal(t, "WithDecoding says so", got.status.Decoding.Why)
	assert.Zero(t, got.status.Decoding.Direct)
	t.Setenv(tap.KillSwitch, "off")
	got = runDecoding(t, runtime.ContentTypeJSON, true, eventsOf(20, runtime.ContentTypeJSON))
	assert.Len(t, got.heard, 40)
	assert.Equal(t, "KINFORMER_DIRECT is off in the environment", got.status.Decoding.Why)
	assert.Zero(t, got.status.Decoding.Direct)
}

// TestDifferenceIsCorrected: when a sample shows that decoding directly is wrong, what went wrong
// unnoticed before is put right by what the client decodes, and handlers hear of that, although the
// objects have the versions that they had.
func TestDifferenceIsCorrected(t *testing.T) {
	for _, media := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		for _, mode := range decodingModes {
			// p15 is wrong from the state on; a later event, every tenth of which goes both ways,
			// is noticed.
			options := []cache.Option{cache.WithListMode(mode), wrongAbout("25", "60", "61", "62", "63", "64", "65", "66", "67", "68", "69"),
				cache.WithDecoding(cache.Decoding{Verify: 10})}
			got := runDecoding(t, media, true, eventsOf(12, media), options...)
			assert.Contains(t, got.heard, "add p15 25 wrong")
			assert.Contains(t, got.heard, "update p15 25 right")
			for _, stored := range got.stored {
				assert.NotContains(t, stored, "wrong")
			}
			assert.Len(t, got.stored, 20)
			assert.Equal(t, "25 right", got.stored["p15"])
			assert.Equal(t, map[cache.ListMode][]string{
				cache.ListModeList:      {"list", "watch 50", "list", "watch 50"},
				cache.ListModeWatchList: {"watch-list", "watch-list"},
			}[mode], got.asked)
			d := got.status.Decoding
			assert.False(t, d.On)
			assert.Contains(t, d.Why, "an event of a watch, a *v1.Pod, differs at object.ObjectMeta.Labels[...]")
			assert.EqualValues(t, 1, d.Differences)
		}
	}
}

// TestDifferenceIsNoResync: handlers hear of what is put right even if none of them is due for a
// resync, and once.
func TestDifferenceIsNoResync(t *testing.T) {
	for _, mode := range decodingModes {
		synctest.Test(t, func(t *testing.T) {
			server := newWireServer(runtime.ContentTypeJSON)
			server.delay = 3 * time.Second // there are resyncs before each answer
			server.events = eventsOf(12, server.Media)
			informer := cache.InformerFunc(cache.WithListMode(mode), wrongAbout("25", "60", "61", "62", "63", "64", "65", "66", "67", "68", "69"),
				cache.WithDecoding(cache.Decoding{Verify: 10}))(server.client(t, true), &v1.Pod{}, time.Second, nil)
			never, often := &heardOf{}, &heardOf{}
			_, err := informer.AddEventHandlerWithResyncPeriod(never.handler(), 0)
			require.NoError(t, err)
			_, err = informer.AddEventHandlerWithResyncPeriod(often.handler(), time.Second)
			require.NoError(t, err)
			stop := running(t, informer)
			time.Sleep(30 * time.Second)
			synctest.Wait()
			stop()
			var ofP15 []string
			for _, call := range never.calls {
				if strings.Contains(call, " p15 ") {
					ofP15 = append(ofP15, call)
				}
			}
			assert.Equal(t, []string{"add p15 25 wrong", "update p15 25 right"}, ofP15)
			assert.Greater(t, len(often.calls), 2*len(never.calls), "there were resyncs")
			status, err := cache.StatusOf(informer)
			require.NoError(t, err)
			assert.NoError(t, status.LastError)
			assert.EqualValues(t, 1, status.Decoding.Differences)
		})
	}
}

// TestDifferentListIsNone: a list in which a sample differs reaches nobody; the client's follows at
// once.
func TestDifferentListIsNone(t *testing.T) {
	for _, media := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		for _, mode := range decodingModes {
			options := []cache.Option{cache.WithListMode(mode), wrongAbout("19", "25"), cache.WithDecoding(cache.Decoding{Verify: 10})}
			got := runDecoding(t, media, true, eventsOf(12, media), options...)
			for _, call := range got.heard {
				assert.NotContains(t, call, "wrong")
			}
			assert.Len(t, got.stored, 20)
			assert.EqualValues(t, 1, got.status.Decoding.Differences)
			assert.NoError(t, got.status.LastError)
		}
	}
}

// TestOddListsSuspend: after a list that is none the client decodes one, and the informer goes on
// to decode directly; after the third it no longer does. The status says so, and in a word, Causes.
func TestOddListsSuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, lists := newWireServer(runtime.ContentTypeJSON), 0
		server.Answer = func(r *http.Request) ([][]byte, bool) {
			if r.URL.Query().Get("watch") == "" {
				if lists++; lists%2 == 1 {
					return [][]byte{[]byte("null")}, false
				}
			}
			return server.answer(r)
		}
		informer := cache.InformerFunc(cache.WithListMode(cache.ListModeList))(server.client(t, true), &v1.Pod{}, 0, nil)
		state := func() (cache.DecodingStatus, []string) {
			time.Sleep(time.Minute)
			synctest.Wait()
			got, err := inspect.Of(informer)
			require.NoError(t, err)
			require.Equal(t, 20, got.Status.Objects)
			require.Len(t, got.Status.Degraded, len(got.Status.Causes))
			return got.Status.Decoding, got.Status.Causes
		}
		stop := running(t, informer)
		for n := range 3 {
			if n > 0 {
				server.events = eventsOf(3, server.Media)
				require.NoError(t, cache.Relist(informer))
			}
			d, causes := state()
			why := "the list cannot be taken apart: not a list as it is known"
			switch n {
			case 0:
				assert.Equal(t, "suspended: "+why, d.Why)
				assert.Equal(t, []string{"decoding-suspended"}, causes)
			case 1:
				assert.True(t, d.On, d.Why)
				assert.Empty(t, causes)
			case 2:
				assert.Equal(t, "off for good: "+why, d.Why)
				assert.Equal(t, []string{"decoding-off"}, causes)
			}
		}
		assert.Equal(t, 6, lists)
		stop()
	})
}

// TestFilteredWatchBeginsAnew: who filters watches may have filtered the list, too, which nobody
// has noticed: it is taken anew, by the client. A watch-list needs no second one.
func TestFilteredWatchBeginsAnew(t *testing.T) {
	for _, media := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		for mode, asked := range map[cache.ListMode][]string{
			cache.ListModeList:      {"list", "watch 50", "list", "watch 50"},
			cache.ListModeWatchList: {"watch-list"},
		} {
			// An error that comes after the Stop would keep watch.Filter's goroutine.
			noErrors := func(e watch.Event) (watch.Event, bool) { return e, e.Type != watch.Error }
			got := runFiltered(t, noErrors, media, true, eventsOf(12, media), cache.WithListMode(mode))
			assert.Equal(t, asked, got.asked)
			assert.Len(t, got.stored, 20)
			assert.Equal(t, "the watch is no plain stream, but a *watch.filteredWatch", got.status.Decoding.Why)
			assert.NoError(t, got.status.LastError)
		}
	}
}

// TestPagesBeginAnew: if a later page shows that decoding is wrong, the first one counts as wrong,
// too.
func TestPagesBeginAnew(t *testing.T) {
	for _, media := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		options := []cache.Option{cache.WithListMode(cache.ListModeList), cache.WithPageSize(15), wrongAbout("20", "25")} // the 11th, and the 1st of the second page
		got := runDecoding(t, media, true, eventsOf(1, media), options...)
		assert.Equal(t, []string{"list", "more", "list", "more", "watch 50"}, got.asked)
		for _, call := range got.heard {
			assert.NotContains(t, call, "wrong")
		}
		assert.Len(t, got.stored, 20)
		assert.EqualValues(t, 1, got.status.Decoding.Differences)

		got = runDecoding(t, media, true, eventsOf(1, media), cache.WithListMode(cache.ListModeList), cache.WithPageSize(15), wrongAbout())
		assert.Equal(t, []string{"list", "more", "watch 50"}, got.asked)
		assert.Len(t, got.stored, 20)
		assert.EqualValues(t, 20-8-3, got.status.Decoding.Direct) // not the last of the first page, nor the ends of the second
	}
}
