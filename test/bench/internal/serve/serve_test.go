// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache/test/bench/internal/blank"
	"github.com/kinformer/cache/test/bench/internal/world"
)

// rig is a server in this process, and a client for its leases.
type rig struct {
	t       *testing.T
	hello   Hello
	leases  *rest.RESTClient
	in      *json.Encoder
	answers *json.Decoder
}

const nodes = 30

func newRig(t *testing.T, c Config) *rig {
	in, commands := io.Pipe()
	answers, out := io.Pipe()
	config, err := json.Marshal(c)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- Serve(context.Background(), config, in, out) }()
	r := &rig{t: t, in: json.NewEncoder(commands), answers: json.NewDecoder(answers)}
	r.answer(&r.hello)
	r.connect(c.MediaType)
	t.Cleanup(func() {
		assert.NoError(t, commands.Close())
		assert.NoError(t, <-ended)
	})
	return r
}

// connect makes the client.
func (r *rig) connect(mediaType string) {
	var err error
	r.leases, err = Client(r.hello.Config(false), world.Leases, mediaType)
	require.NoError(r.t, err)
}

func (r *rig) answer(result any) {
	var a struct {
		Error  string
		Result json.RawMessage
	}
	require.NoError(r.t, r.answers.Decode(&a))
	require.Empty(r.t, a.Error)
	if result != nil {
		require.NoError(r.t, json.Unmarshal(a.Result, result))
	}
}

func (r *rig) do(command string, with, result any) {
	require.NoError(r.t, r.in.Encode(map[string]any{"do": command, "with": with}))
	r.answer(result)
}

func (r *rig) list() (*coordinationv1.LeaseList, error) {
	o, err := r.leases.Get().Resource("leases").MaxRetries(0).Do(r.t.Context()).Get()
	if err != nil {
		return nil, err
	}
	return o.(*coordinationv1.LeaseList), nil
}

func (r *rig) watch(options metav1.ListOptions) watch.Interface {
	options.Watch = true
	w, err := r.leases.Get().Resource("leases").VersionedParams(&options, metav1.ParameterCodec).Watch(r.t.Context())
	require.NoError(r.t, err)
	r.t.Cleanup(w.Stop)
	return w
}

func stateOf(t *testing.T, leases map[string]*coordinationv1.Lease) (state world.State) {
	for uid, lease := range leases {
		var version uint64
		require.NoError(t, json.Unmarshal([]byte(lease.ResourceVersion), &version))
		state.Add(uid, version)
	}
	return state
}

// TestAWatchListIsFollowed checks that the initial events and the changes after them add up to the
// server's state, also in a new watch-list after each fault, and that a watch from a version before
// the last fault gets the error Expired.
func TestAWatchListIsFollowed(t *testing.T) {
	for _, c := range []Config{
		{MediaType: blank.JSON, Nodes: nodes, Speed: 600}, {MediaType: blank.Protobuf, Nodes: nodes, Speed: 600, TLS: true},
	} {
		r := newRig(t, c)
		initial := metav1.ListOptions{
			SendInitialEvents: new(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		}
		there, latest := map[string]*coordinationv1.Lease{}, ""
		for turn, command := range []string{"shut", "gone"} {
			w := r.watch(initial)
			r.do("resume", nil, nil)
			var stood [world.Resources]Notes
			for e := range w.ResultChan() {
				lease, ok := e.Object.(*coordinationv1.Lease)
				require.True(t, ok, "%v", e)
				if latest = lease.ResourceVersion; e.Type == watch.Bookmark {
					r.do("pause", nil, &stood)
				} else {
					there[string(lease.UID)] = lease
				}
				if stateOf(t, there) == stood[world.Leases].State {
					break // all changes before the pause have arrived
				}
			}
			assert.Equal(t, stood[world.Leases].State, stateOf(t, there))
			assert.Equal(t, turn+1, stood[world.Leases].Lists)
			r.do(command, map[string]any{"shut": true, "gone": ""}[command], nil)
			for range w.ResultChan() {
				continue // until the watch has ended
			}
			r.do("shut", false, nil)
		}
		e := <-r.watch(metav1.ListOptions{ResourceVersion: latest}).ResultChan()
		require.Equal(t, watch.Error, e.Type)
		assert.Equal(t, metav1.StatusReasonExpired, e.Object.(*metav1.Status).Reason)
		r.do("shut", true, nil)
		_, err := r.list()
		assert.Error(t, err)
		r.do("shut", false, nil)
		all, err := r.list()
		require.NoError(t, err)
		assert.Len(t, all.Items, nodes)
	}
}

// TestAFeedIsTheSameAgain checks that a client receives the same objects after a rewind.
func TestAFeedIsTheSameAgain(t *testing.T) {
	r := newRig(t, Config{MediaType: blank.Protobuf, Still: true, Of: world.Leases, Objects: 100})
	var first []any
	for range 2 {
		r.do("rewind", nil, nil)
		all, err := r.list()
		require.NoError(t, err)
		assert.Len(t, all.Items, 100)
		w := r.watch(metav1.ListOptions{ResourceVersion: all.ResourceVersion})
		r.do("feed", nil, nil)
		var seen []any
		for range 100 {
			seen = append(seen, (<-w.ResultChan()).Object)
		}
		w.Stop()
		if first == nil {
			first = seen
		}
		assert.Equal(t, first, seen)
	}
}

// TestAnIdleWorld checks that clients of both encodings get the same leases and the changes on command,
// and that a watch of one name gets no other lease.
func TestAnIdleWorld(t *testing.T) {
	began := time.Now()
	r := newRig(t, Config{Idle: true, TLS: true, Objects: 40, Nodes: 3})
	for _, mediaType := range []string{blank.JSON, blank.Protobuf} {
		r.connect(mediaType)
		all, err := r.list()
		require.NoError(t, err)
		require.Len(t, all.Items, 3)
		for i, lease := range all.Items {
			assert.Equal(t, blank.LeaseNamespace+"/"+blank.LeaseName(uint32(i)), lease.Namespace+"/"+lease.Name)
		}
		only := r.watch(metav1.ListOptions{
			SendInitialEvents: new(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
			FieldSelector: "metadata.name=" + blank.LeaseName(2),
		}).ResultChan()
		assert.Equal(t, blank.LeaseName(2), (<-only).Object.(*coordinationv1.Lease).Name)
		assert.Equal(t, watch.Bookmark, (<-only).Type)
		var other, version string
		r.do("touch", Touched{world.Leases, 1}, &other)
		r.do("touch", Touched{world.Leases, 2}, &version)
		assert.Less(t, other, version)
		changed := (<-only).Object.(*coordinationv1.Lease)
		assert.Equal(t, blank.LeaseName(2), changed.Name)
		assert.Equal(t, version, changed.ResourceVersion)
		assert.WithinRange(t, changed.Spec.RenewTime.Time, began.Add(-time.Second), time.Now().Add(time.Second))
	}
}

// meddler is a response that calls do at each flush.
type meddler struct {
	*httptest.ResponseRecorder
	do func()
}

func (m *meddler) Flush() { m.do() }

// TestNothingIsSentAfterACompaction checks that a watch sends neither changes nor bookmarks after a
// compaction, even before end is called: a client could continue from their versions.
func TestNothingIsSentAfterACompaction(t *testing.T) {
	for _, timeout := range []int{60, 600} { // before and after a bookmark
		synctest.Test(t, func(t *testing.T) {
			s, err := newServer(Config{Nodes: nodes, Seed: 1, MediaType: blank.Protobuf})
			require.NoError(t, err)
			shelf := s.world.Shelf(world.Leases)
			path := fmt.Sprintf("/?watch=true&timeoutSeconds=%d&resourceVersion=%d", timeout, shelf.Snapshot().Version)
			sent, next := httptest.NewRecorder(), time.Duration(0)
			w := &watcher{server: s, forms: s.forms[blank.Protobuf], of: world.Leases, w: &meddler{sent, func() {
				if next == 0 {
					shelf.Compact()
					next = s.world.Advance(time.Minute)
				}
			}}}
			assert.Error(t, w.watch(httptest.NewRequest(http.MethodGet, path, nil)))
			assert.Positive(t, shelf.Next(), "leases have changed")
			assert.Zero(t, sent.Body.Len())
			assert.Zero(t, s.noted()[world.Leases].Open)
		})
	}
}

// TestTimeStandsInAPause checks that a pause delays all later changes by its length.
func TestTimeStandsInAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(world.New(world.Config{Nodes: 100, Seed: 1}))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); d.run(ctx) }()
		shelf := d.world.Shelf(world.Leases)
		for range 2 {
			stood := shelf.Next()
			time.Sleep(time.Hour)
			assert.Equal(t, stood, shelf.Next())
			d.resume()
			time.Sleep(time.Minute)
			d.pause()
			assert.InDelta(t, 600, shelf.Next()-stood, 100)
			var last int64
			for _, lease := range shelf.Snapshot().Objects {
				last = max(last, lease.Due)
			}
			assert.InDelta(t, time.Now().UnixNano(), last, float64(2*time.Second), "the last change is not late")
		}
		cancel()
		<-ended
	})
}
