// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/tap/engine/taptest"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/sources"
)

// brokenServer is a server of pods without a network, some of which no decoder can read.
type brokenServer struct {
	media string

	mu      sync.Mutex
	version int
	pods    map[string]brokenPod
	events  []brokenEvent
	first   int           // events before are forgotten
	changed chan struct{} // closed when the events or the streams have changed
	lists   int
	cut     int // streams that began before are to end
	streams int
}

type brokenPod struct {
	version int
	broken  bool
}

type brokenEvent struct {
	kind watch.EventType
	name string
	brokenPod
}

func newBrokenServer(media string) *brokenServer {
	return &brokenServer{media: media, version: 10, first: 10, pods: map[string]brokenPod{}, changed: make(chan struct{})}
}

func (s *brokenServer) encoded(name string, p brokenPod) []byte {
	pod := informers.WirePod(0, strconv.Itoa(p.version))
	pod.Name, pod.UID = name, types.UID("uid-of-"+name)
	if p.broken {
		return taptest.Broken(pod, s.media)
	}
	return taptest.Encoded(pod, s.media)
}

// put writes a pod. The mutex must be held.
func (s *brokenServer) put(name string, broken bool) brokenEvent {
	kind := watch.Modified
	if _, exists := s.pods[name]; !exists {
		kind = watch.Added
	}
	return s.happens(kind, name, broken)
}

// remove deletes a pod, whose last state cannot be decoded if it is broken. The mutex must be held.
func (s *brokenServer) remove(name string, broken bool) brokenEvent {
	return s.happens(watch.Deleted, name, broken)
}

func (s *brokenServer) happens(kind watch.EventType, name string, broken bool) brokenEvent {
	s.version++
	e := brokenEvent{kind, name, brokenPod{s.version, broken}}
	if s.pods[name] = e.brokenPod; kind == watch.Deleted {
		delete(s.pods, name)
	}
	s.events = append(s.events, e)
	s.wake()
	return e
}

func (s *brokenServer) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// do calls f with the mutex held.
func (s *brokenServer) do(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// interrupt ends all streams. The mutex must be held.
func (s *brokenServer) interrupt() {
	s.cut = s.streams
	s.wake()
}

func (s *brokenServer) RoundTrip(r *http.Request) (*http.Response, error) {
	read, write := io.Pipe()
	query := r.URL.Query()
	if query.Get("watch") == "" {
		go func() { _, _ = write.Write(s.list()); _ = write.Close() }()
	} else {
		from, _ := strconv.Atoi(query.Get("resourceVersion"))
		go func() {
			_ = write.CloseWithError(s.follow(r.Context(), write, from, query.Get("sendInitialEvents") == "true"))
		}()
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {s.media}}, Request: r, Body: read}, nil
}

func (s *brokenServer) list() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	var items [][]byte
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		items = append(items, s.encoded(name, s.pods[name]))
	}
	return taptest.PodList(metav1.ListMeta{ResourceVersion: strconv.Itoa(s.version)}, items, s.media)
}

// follow writes the frames of a watch.
func (s *brokenServer) follow(ctx context.Context, to io.Writer, from int, streams bool) error {
	s.mu.Lock()
	s.streams++
	number, frames := s.streams, [][]byte(nil)
	if streams {
		for _, name := range slices.Sorted(maps.Keys(s.pods)) {
			frames = append(frames, taptest.RawFrame(watch.Added, s.encoded(name, s.pods[name]), s.media))
		}
		from = s.version
		frames = append(frames, taptest.Frame(watch.Bookmark, testkit.EndMark(strconv.Itoa(from)).Object, s.media))
	} else if from < s.first {
		frames = append(frames, taptest.Frame(watch.Error, testkit.ErrExpired.ErrStatus.DeepCopy(), s.media))
		number = 0
	}
	for {
		ends := number <= s.cut
		for _, e := range s.events {
			if !ends && e.version > from {
				frames = append(frames, taptest.RawFrame(e.kind, s.encoded(e.name, e.brokenPod), s.media))
				from = e.version
			}
		}
		changed := s.changed
		s.mu.Unlock()
		for _, frame := range frames {
			if _, err := to.Write(frame); err != nil {
				return err
			}
		}
		if frames = nil; ends {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
		s.mu.Lock()
	}
}

// client returns a ListerWatcher of the server, whose client may have the transport of package direct.
func (s *brokenServer) client(t *testing.T, direct bool) *cache.ListWatch {
	return informers.ClientOver(t, s, s.media, direct)
}

// brokenModel says what an informer that skips undecodable objects has.
type brokenModel struct {
	stored map[string]int       // the version of each stored pod
	lacks  map[string]brokenPod // the pods that are there, and cannot be decoded
}

func newBrokenModel() *brokenModel {
	return &brokenModel{map[string]int{}, map[string]brokenPod{}}
}

func (m *brokenModel) apply(e brokenEvent) {
	delete(m.lacks, e.name)
	switch {
	case e.kind == watch.Deleted:
		delete(m.stored, e.name)
	case e.broken:
		m.lacks[e.name] = e.brokenPod
	default:
		m.stored[e.name] = e.version
	}
}

func (m *brokenModel) replace(state map[string]brokenPod) {
	clear(m.lacks)
	maps.DeleteFunc(m.stored, func(name string, _ int) bool { _, is := state[name]; return !is })
	for name, pod := range state {
		if pod.broken {
			m.lacks[name] = pod
		} else {
			m.stored[name] = pod.version
		}
	}
}

// named returns the objects that the status is to name.
func (m *brokenModel) named() (named []inspect.UndecodableObject) {
	for _, name := range slices.Sorted(maps.Keys(m.lacks)) {
		if len(named) < 8 {
			named = append(named, inspect.UndecodableObject{Key: "space/" + name, Version: strconv.Itoa(m.lacks[name].version)})
		}
	}
	return named
}

// skipsBroken runs a test with informers that skip undecodable objects: in both encodings, by lists and by
// watch-lists, with one source and with one of two, with and without a transform function.
func skipsBroken(t *testing.T, test func(t *testing.T, s *brokenServer, informer cache.SharedIndexInformer)) {
	for n := range 16 {
		media := []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf}[n%2]
		mode := []kinformer.ListMode{kinformer.ListModeList, kinformer.ListModeWatchList}[n/2%2]
		several, transforms := n/4%2 == 1, n/8 == 1
		t.Run(fmt.Sprintf("%s %v several %v transforms %v", media, mode, several, transforms), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newBrokenServer(media)
				options := kinformer.Options{
					Requests: kinformer.Requests{Mode: mode}, Errors: kinformer.Errors{SkipUndecodable: true},
					Decoding: kinformer.Decoding{ShareParts: !transforms, Verify: 3},
				}
				informer := kinformer.New(s.client(t, true), &v1.Pod{}, options)
				if several {
					var set *sources.Set
					informer, set = sources.New(&v1.Pod{}, options)
					set.Put("broken", s.client(t, true))
					set.Put("empty", newBrokenServer(media).client(t, true))
				}
				if transforms {
					require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
						pod := obj.(*v1.Pod).DeepCopy()
						pod.Annotations = map[string]string{"of": pod.ResourceVersion}
						return pod, nil
					}))
				}
				test(t, s, informer)
			})
		})
	}
}

// TestSkipUndecodableEqualsModel compares an informer with a model in random histories of pods, of which a
// third cannot be decoded.
func TestSkipUndecodableEqualsModel(t *testing.T) {
	testkit.Reports(t)
	skipsBroken(t, func(t *testing.T, s *brokenServer, informer cache.SharedIndexInformer) {
		seed := rand.Uint64()
		t.Log("seed", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		model, heard := newBrokenModel(), &heardPods{at: map[string]string{}}
		change := func() brokenEvent {
			name := fmt.Sprint("p", random.IntN(12))
			if _, exists := s.pods[name]; exists && random.IntN(3) == 0 {
				return s.remove(name, random.IntN(3) == 0)
			}
			return s.put(name, random.IntN(3) == 0)
		}
		s.do(func() {
			for range 10 {
				change()
			}
		})
		_, err := informer.AddEventHandler(heard)
		require.NoError(t, err)
		defer testkit.InBackground(t, informer.RunWithContext)()
		time.Sleep(time.Minute)
		s.do(func() { model.replace(s.pods) })
		model.check(t, informer, heard)
		for range 60 {
			what := random.IntN(8)
			if what == 0 {
				require.NoError(t, kinformer.Relist(informer))
			}
			s.do(func() {
				switch what {
				case 0:
					model.replace(s.pods)
				case 1:
					s.interrupt()
					change()
					change()
					change()
					s.first = s.version
					model.replace(s.pods)
				case 2:
					s.interrupt()
					model.apply(change())
					model.apply(change())
				default:
					model.apply(change())
				}
			})
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			model.check(t, informer, heard)
		}
		s.do(func() { model.apply(s.put("last", false)) }) // an audit is of the version that the store has reached
		time.Sleep(time.Minute)
		for _, content := range []bool{false, true} {
			report, err := audit.Once(t.Context(), informer, audit.Options{Content: content})
			require.NoError(t, err)
			assert.True(t, report.Equal(), "%v", report)
			assert.Equal(t, len(model.lacks), report.Refused)
		}
	})
}

func (m *brokenModel) check(t *testing.T, informer cache.SharedIndexInformer, heard *heardPods) {
	t.Helper()
	stored := map[string]string{}
	for _, obj := range informer.GetStore().List() {
		stored[obj.(*v1.Pod).Name] = obj.(*v1.Pod).ResourceVersion
	}
	want := map[string]string{}
	for name, version := range m.stored {
		want[name] = strconv.Itoa(version)
	}
	require.Equal(t, want, stored)
	require.Equal(t, want, heard.pods())
	status := informers.Status(t, informer)
	require.True(t, status.Decoding.On, "%v", status)
	require.Equal(t, len(m.lacks), status.Undecodable)
	for i := range status.UndecodableObjects {
		require.NotEmpty(t, status.UndecodableObjects[i].Why)
		status.UndecodableObjects[i].Why = ""
	}
	require.Equal(t, m.named(), status.UndecodableObjects)
	require.Equal(t, len(m.lacks) > 0, slices.Contains(informers.Causes(status), "undecodable"))
}

// heardPods is what a handler knows of pods.
type heardPods struct {
	mu sync.Mutex
	at map[string]string
}

func (h *heardPods) pods() map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.at)
}

func (h *heardPods) OnAdd(obj any, _ bool) { h.OnUpdate(nil, obj) }

func (h *heardPods) OnUpdate(_, obj any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at[obj.(*v1.Pod).Name] = obj.(*v1.Pod).ResourceVersion
}

func (h *heardPods) OnDelete(obj any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if tombstone, is := obj.(clientgo.DeletedFinalStateUnknown); is {
		obj = tombstone.Obj
	}
	delete(h.at, obj.(*v1.Pod).Name)
}

// TestUndecodableIsNamed checks that the error of a list and of a watch with an object that cannot be decoded
// names the object and the field, and that such a list is not requested twice in a row.
func TestUndecodableIsNamed(t *testing.T) {
	testkit.Reports(t)
	why := map[string]string{
		runtime.ContentTypeJSON:     "spec.restartPolicy: number instead of v1.RestartPolicy",
		runtime.ContentTypeProtobuf: "proto: wrong wireType = 0 for field Spec",
	}
	for media, why := range why {
		for _, initially := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s initially %v", media, initially), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newBrokenServer(media)
					s.do(func() {
						s.put("p0", false)
						s.put("p1", initially)
						s.put("p2", false)
					})
					var errs atomic.Int64
					informer := kinformer.New(s.client(t, true), &v1.Pod{}, kinformer.Options{
						Requests: kinformer.Requests{Mode: kinformer.ListModeList},
						Errors: kinformer.Errors{Policy: func(context.Context, kinformer.Failure) kinformer.ErrorDecision {
							errs.Add(1)
							return kinformer.ErrorDecision{}
						}},
					})
					defer testkit.InBackground(t, informer.RunWithContext)()
					if time.Sleep(time.Minute); !initially {
						require.Empty(t, informers.Status(t, informer).Problems)
						s.do(func() { s.put("p1", true) })
						time.Sleep(time.Second)
					}
					status := informers.Status(t, informer)
					require.ErrorContains(t, status.LastError, "space/p1: "+why)
					if initially {
						assert.ErrorContains(t, status.LastError, ": item 1, space/p1: ")
						assert.EqualValues(t, s.lists, errs.Load())
						assert.Empty(t, informer.GetStore().List())
					} else {
						of, err := inspect.Of(informer)
						require.NoError(t, err)
						assert.Contains(t, of.Errors[0].Text, "unable to decode an event from the watch stream: MODIFIED of space/p1: "+why)
						assert.Len(t, informer.GetStore().List(), 3)
					}
					assert.NotContains(t, informers.Causes(status), "decoding-suspended")
					s.do(func() { s.put("p1", false) })
					time.Sleep(5 * time.Minute)
					assert.Len(t, informer.GetStore().List(), 3)
					assert.True(t, informers.Status(t, informer).Decoding.On)
				})
			})
		}
	}
}

// TestSkipUndecodableIsRefused checks that an informer whose objects are never seen here, or that leaves them
// to the client, says so, and what to do.
func TestSkipUndecodableIsRefused(t *testing.T) {
	testkit.Reports(t)
	for _, mode := range []kinformer.ListMode{kinformer.ListModeList, kinformer.ListModeWatchList} {
		synctest.Test(t, func(t *testing.T) {
			informer := kinformer.New(newBrokenServer(runtime.ContentTypeJSON).client(t, false), &v1.Pod{}, kinformer.Options{
				Requests: kinformer.Requests{Mode: mode}, Errors: kinformer.Errors{SkipUndecodable: true},
			})
			defer testkit.InBackground(t, informer.RunWithContext)()
			time.Sleep(time.Minute)
			assert.False(t, informer.HasSynced())
			assert.ErrorContains(t, informers.Status(t, informer).LastError, "Errors.SkipUndecodable needs direct.Transport")
		})
	}
	unfit := kinformer.New(newBrokenServer(runtime.ContentTypeJSON).client(t, true), &v1.Pod{}, kinformer.Options{
		Decoding: kinformer.Decoding{Off: true}, Errors: kinformer.Errors{SkipUndecodable: true},
	})
	status, err := inspect.StatusOf(unfit)
	require.NoError(t, err)
	assert.ErrorContains(t, status.LastError, "Errors.SkipUndecodable is for objects that the informer decodes")
	synctest.Test(t, func(t *testing.T) {
		t.Setenv("KINFORMER_DIRECT", "off")
		informer := kinformer.New(newBrokenServer(runtime.ContentTypeJSON).client(t, true), &v1.Pod{}, kinformer.Options{
			Errors: kinformer.Errors{SkipUndecodable: true},
		})
		defer testkit.InBackground(t, informer.RunWithContext)()
		time.Sleep(time.Minute)
		assert.True(t, informer.HasSynced())
		assert.Equal(t, []string{"undecodable-off"}, informers.Causes(informers.Status(t, informer)))
	})
}

// TestUndecodableShowsNoValue checks that nothing that the object has is shown, whatever its types' decoders say.
func TestUndecodableShowsNoValue(t *testing.T) {
	testkit.Reports(t)
	for _, spec := range []string{
		`{"ip":"hunter2"}`, `{"codes":{"hunter2 and more":"x"}}`, `{"codes":{"hunter2":"x"}}`, `{"level":"hunter2"}`, `{"when":"hunter2"}`,
		`{"for":"hunter2"}`, `{"data":"hunter2!"}`, `{"number":"hunter2"}`, `{"quoted":"hunter2"}`,
	} {
		for _, skips := range []bool{true, false} {
			t.Run(fmt.Sprint(spec, skips), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &gadgetServer{list: gadgetList("10", gadget("a", "5", `{}`), gadget("b", "6", spec), gadget("c", "7", `{}`))}
					informer := gadgetsOf(t, s, true, byLists(skips))
					defer testkit.InBackground(t, informer.RunWithContext)()
					time.Sleep(time.Minute)
					status := informers.Status(t, informer)
					text := fmt.Sprint(status.LastError, status.UndecodableObjects, status.Problems)
					assert.Contains(t, text, "space/b")
					assert.NotContains(t, text, "hunter2")
				})
			})
		}
	}
}

// TestSkipUndecodableInFirstFrames checks watches whose first frame cannot be decoded, of a type that has another name than
// the kind, in frames of another form than the API server's, and watch-lists.
func TestSkipUndecodableInFirstFrames(t *testing.T) {
	testkit.Reports(t)
	first, bad := gadgetList("10", gadget("a", "5", `{}`)), gadget("a", "11", `{"replicas":"x"}`)
	for name, c := range map[string]struct {
		mode   kinformer.ListMode
		frames []string
		stored string // the version of a
	}{
		"watch":              {kinformer.ListModeList, []string{modified(bad)}, "5"},
		"form with blanks":   {kinformer.ListModeList, []string{`{"type": "MODIFIED", "object": ` + bad + `}`}, "5"},
		"members in reverse": {kinformer.ListModeList, []string{`{"object":` + bad + `,"type":"MODIFIED"}`}, "5"},
		"watch-list": {kinformer.ListModeWatchList, []string{
			`{"type":"ADDED","object":` + bad + `}`,
			`{"type":"BOOKMARK","object":{"apiVersion":"g.io/v1","kind":"Gadget","metadata":{"resourceVersion":"12","annotations":{"k8s.io/initial-events-end":"true"}}}}`,
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &gadgetServer{list: first, frames: func(string) []string { return c.frames }}
				options := byLists(true)
				options.Requests.Mode = c.mode
				informer := gadgetsOf(t, s, true, options)
				defer testkit.InBackground(t, informer.RunWithContext)()
				time.Sleep(5 * time.Minute)
				status := informers.Status(t, informer)
				require.NoError(t, status.LastError)
				assert.Equal(t, []inspect.UndecodableObject{{Key: "space/a", Version: "11", Why: "spec.replicas: string instead of int32"}}, status.UndecodableObjects)
				assert.Equal(t, 1, s.watches)
				obj, exists, _ := informer.GetStore().GetByKey("space/a")
				if assert.Equal(t, c.stored != "", exists); exists {
					assert.Equal(t, c.stored, obj.(*gadgetV1).ResourceVersion)
				}
			})
		})
	}
}

// TestUndecodableRecreated checks that an object of another UID that cannot be decoded does not keep the former one.
func TestUndecodableRecreated(t *testing.T) {
	testkit.Reports(t)
	for _, several := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &gadgetServer{list: gadgetList("10", gadget("a", "5", `{}`), gadget("c", "7", `{}`))}
			lw := typedGadgets(t, gadgetConfig(s, true), "GadgetList", &gadgetV1List{})
			informer := kinformer.New(lw, &gadgetV1{}, byLists(true))
			if several {
				var set *sources.Set
				informer, set = sources.New(&gadgetV1{}, byLists(true))
				set.Put("gadgets", lw)
			}
			defer testkit.InBackground(t, informer.RunWithContext)()
			time.Sleep(time.Minute)
			s.answers(gadgetList("20", strings.Replace(gadget("a", "15", `{"replicas":"x"}`), "uid-a", "uid-new", 1), gadget("c", "7", `{}`)))
			require.NoError(t, kinformer.Relist(informer))
			time.Sleep(time.Minute)
			assert.Equal(t, []string{"space/c"}, informer.GetStore().ListKeys())
			status := informers.Status(t, informer)
			require.Len(t, status.UndecodableObjects, 1)
			assert.Equal(t, "15", status.UndecodableObjects[0].Version)
		})
	}
}

// TestUndecodableOfSeveralSources checks that an object that two sources have counts once.
func TestUndecodableOfSeveralSources(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		s := newBrokenServer(runtime.ContentTypeJSON)
		s.do(func() { s.put("a", true); s.put("b", false); s.put("c", true) })
		informer, set := sources.New(&v1.Pod{}, byLists(true))
		set.Put("one", s.client(t, true))
		set.Put("two", s.client(t, true))
		defer testkit.InBackground(t, informer.RunWithContext)()
		time.Sleep(time.Minute)
		status := informers.Status(t, informer)
		assert.Equal(t, 2, status.Undecodable)
		require.Len(t, status.UndecodableObjects, 2)
		assert.Equal(t, "space/a", status.UndecodableObjects[0].Key)
		assert.Equal(t, "space/c", status.UndecodableObjects[1].Key)
	})
}

// noWatches fails the watches before package direct sees them.
type noWatches struct {
	next http.RoundTripper
	err  error
}

func (n noWatches) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("watch") != "" {
		return nil, n.err
	}
	return n.next.RoundTrip(r)
}

// TestSkipUndecodableWithoutConnection checks that a watch without a connection is not taken for one without a transport.
func TestSkipUndecodableWithoutConnection(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		s := &gadgetServer{list: gadgetList("10", gadget("a", "5", `{}`))}
		informer := gadgetsOf(t, noWatches{direct.Transport(s), io.EOF}, false, byLists(true))
		defer testkit.InBackground(t, informer.RunWithContext)()
		time.Sleep(time.Minute)
		assert.True(t, informer.HasSynced())
		assert.ErrorContains(t, informers.Status(t, informer).LastError, "no connection for a watch")
	})
}

// TestAuditOfUndecodableBySource checks that an audit by another client does not need its transport.
func TestAuditOfUndecodableBySource(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		s := &gadgetServer{list: gadgetList("10", gadget("a", "5", `{}`), gadget("c", "10", `{}`))}
		informer := gadgetsOf(t, s, true, byLists(true))
		defer testkit.InBackground(t, informer.RunWithContext)()
		time.Sleep(time.Minute)
		for _, tapped := range []bool{true, false} {
			report, err := audit.Once(t.Context(), informer, audit.Options{Source: typedGadgets(t, gadgetConfig(s, tapped), "GadgetList", &gadgetV1List{})})
			require.NoError(t, err)
			assert.True(t, report.Equal())
		}
	})
}
