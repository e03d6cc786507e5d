// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache/bench/cluster/internal/blank"
	"github.com/kinformer/cache/bench/cluster/internal/world"
	"github.com/kinformer/cache/bench/internal/wire"
)

// rig is a server in this process, and a client of its leases.
type rig struct {
	t       *testing.T
	leases  *rest.RESTClient
	in      *json.Encoder
	answers *json.Decoder
}

const nodes = 30

func newRig(t *testing.T, c Config) *rig {
	in, commands := io.Pipe()
	answers, out := io.Pipe()
	c.Nodes, c.Seed = nodes, 1
	if c.MediaType == "" {
		c.MediaType = wire.Protobuf
	}
	ended := make(chan error, 1)
	go func() { ended <- Serve(context.Background(), c, in, out) }()
	r := &rig{t: t, in: json.NewEncoder(commands), answers: json.NewDecoder(answers)}
	var hello Hello
	r.answer(&hello)
	assert.Positive(t, hello.FormBytes)
	r.leases = client(t, hello, c.MediaType)
	t.Cleanup(func() {
		assert.NoError(t, commands.Close())
		assert.NoError(t, <-ended)
	})
	return r
}

func client(t *testing.T, hello Hello, mediaType string) *rest.RESTClient {
	made, err := rest.RESTClientFor(&rest.Config{
		Host: hello.URL, QPS: -1, APIPath: "/apis", TLSClientConfig: rest.TLSClientConfig{CAData: hello.CA},
		ContentConfig: rest.ContentConfig{
			ContentType: mediaType, AcceptContentTypes: mediaType,
			GroupVersion: &coordinationv1.SchemeGroupVersion, NegotiatedSerializer: blank.Codecs().WithoutConversion(),
		},
	})
	require.NoError(t, err)
	return made
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

func (r *rig) notes() Notes {
	var all [world.Resources]Notes
	r.do("notes", nil, &all)
	return all[world.Leases]
}

func (r *rig) list(options metav1.ListOptions) (*coordinationv1.LeaseList, error) {
	return decodeList(r.leases.Get().Resource("leases").VersionedParams(&options, metav1.ParameterCodec).MaxRetries(0).Do(r.t.Context()).Get())
}

func decodeList(o runtime.Object, err error) (*coordinationv1.LeaseList, error) {
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

// next returns the next event; none if the watch has ended.
func (r *rig) next(w watch.Interface) (watch.Event, *coordinationv1.Lease) {
	select {
	case e, open := <-w.ResultChan():
		lease, _ := e.Object.(*coordinationv1.Lease)
		if !open {
			lease = nil
		}
		return e, lease
	case <-r.t.Context().Done():
		require.Fail(r.t, "no event")
		return watch.Event{}, nil
	}
}

func TestListsWholeAndInPages(t *testing.T) {
	for _, mediaType := range []string{wire.JSON, wire.Protobuf} {
		r := newRig(t, Config{MediaType: mediaType})
		all, err := r.list(metav1.ListOptions{})
		require.NoError(t, err)
		assert.Len(t, all.Items, nodes)
		all, err = r.list(metav1.ListOptions{ResourceVersion: "0", Limit: 7})
		require.NoError(t, err)
		assert.Len(t, all.Items, nodes, "what is in the cache knows no pages")
		assert.Equal(t, 2, r.notes().Lists)

		r.do("resume", nil, nil)
		names := map[string]bool{}
		options := metav1.ListOptions{Limit: 7}
		var version string
		for page := 0; page == 0 || options.Continue != ""; page++ {
			some, err := r.list(options)
			require.NoError(t, err)
			for i := range some.Items {
				names[some.Items[i].Name] = true
			}
			if page > 0 {
				assert.Equal(t, version, some.ResourceVersion, "all pages are of one state")
			}
			version, options.Continue = some.ResourceVersion, some.Continue
			assert.LessOrEqual(t, len(some.Items), 7)
		}
		assert.Len(t, names, nodes)
		_, err = r.list(metav1.ListOptions{Limit: 7, Continue: "99.7"})
		assert.Error(t, err)
	}
}

// TestListsAsOfAVersion are those of that time, in pages, and no new state for who counts those.
func TestListsAsOfAVersion(t *testing.T) {
	r := newRig(t, Config{})
	before, err := r.list(metav1.ListOptions{})
	require.NoError(t, err)
	w := r.watch(metav1.ListOptions{ResourceVersion: before.ResourceVersion})
	r.do("resume", nil, nil)
	for range 5 {
		r.next(w)
	}
	options := metav1.ListOptions{
		ResourceVersion: before.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact, Limit: 20,
	}
	versions := map[string]string{}
	for page := 0; page == 0 || options.Continue != ""; page++ {
		some, err := r.list(options)
		require.NoError(t, err)
		assert.Equal(t, before.ResourceVersion, some.ResourceVersion)
		for i := range some.Items {
			versions[some.Items[i].Name] = some.Items[i].ResourceVersion
		}
		options.ResourceVersion, options.ResourceVersionMatch, options.Continue = "", "", some.Continue
	}
	require.Len(t, versions, nodes)
	for i := range before.Items {
		assert.Equal(t, before.Items[i].ResourceVersion, versions[before.Items[i].Name])
	}
	assert.Equal(t, 1, r.notes().Lists)
	_, err = r.list(metav1.ListOptions{ResourceVersion: "1", ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	assert.True(t, apierrors.IsGone(err) || apierrors.IsResourceExpired(err), "%v", err)
}

// TestAWatchFollowsAList: each lease changes in the order of versions, and what was listed plus
// what was watched is what the server has.
func TestAWatchFollowsAList(t *testing.T) {
	r := newRig(t, Config{})
	all, err := r.list(metav1.ListOptions{})
	require.NoError(t, err)
	versions := map[string]uint64{}
	for i := range all.Items {
		versions[string(all.Items[i].UID)] = versionOf(t, &all.Items[i])
	}
	w := r.watch(metav1.ListOptions{ResourceVersion: all.ResourceVersion})
	r.do("resume", nil, nil)
	latest := uint64(0)
	for range 5 {
		e, lease := r.next(w)
		assert.Equal(t, watch.Modified, e.Type)
		assert.Greater(t, versionOf(t, lease), latest)
		latest = versionOf(t, lease)
		versions[string(lease.UID)] = latest
	}
	var stood [world.Resources]Notes
	r.do("pause", nil, &stood)
	for seen := uint64(5); seen < stood[world.Leases].Changes; seen++ {
		_, lease := r.next(w)
		versions[string(lease.UID)] = versionOf(t, lease)
	}
	var state world.State
	for uid, version := range versions {
		state.Add(uid, version)
	}
	assert.Equal(t, stood[world.Leases].State, state)
	assert.Equal(t, 1, stood[world.Leases].Open)
	assert.Zero(t, stood[world.Leases].Base)
}

func versionOf(t *testing.T, o metav1.Object) uint64 {
	version, err := meta.NewAccessor().ResourceVersion(o.(runtime.Object))
	require.NoError(t, err)
	var n uint64
	require.NoError(t, json.Unmarshal([]byte(version), &n))
	return n
}

// initial is what a reflector asks for instead of a list.
func initial() metav1.ListOptions {
	return metav1.ListOptions{
		SendInitialEvents: new(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}
}

func TestAWatchListEndsWithABookmarkAndGoesOn(t *testing.T) {
	r := newRig(t, Config{})
	w := r.watch(initial())
	for range nodes {
		e, lease := r.next(w)
		require.Equal(t, watch.Added, e.Type)
		require.NotEmpty(t, lease.UID)
	}
	e, lease := r.next(w)
	assert.Equal(t, watch.Bookmark, e.Type)
	assert.Equal(t, "true", lease.Annotations[metav1.InitialEventsAnnotationKey])
	r.do("resume", nil, nil)
	e, _ = r.next(w)
	assert.Equal(t, watch.Modified, e.Type)
	assert.Equal(t, 1, r.notes().Lists)
}

// TestWatchesEnd at their time, which the speed divides, with bookmarks before.
func TestWatchesEnd(t *testing.T) {
	r := newRig(t, Config{Speed: 600})
	all, err := r.list(metav1.ListOptions{})
	require.NoError(t, err)
	w := r.watch(metav1.ListOptions{ResourceVersion: all.ResourceVersion, TimeoutSeconds: new(int64(600))})
	e, _ := r.next(w)
	assert.Equal(t, watch.Bookmark, e.Type)
	for e.Type != "" {
		e, _ = r.next(w)
	}
	w = r.watch(metav1.ListOptions{ResourceVersion: all.ResourceVersion})
	r.ended(w, "end", nil)
}

// ended has a command end a watch.
func (r *rig) ended(w watch.Interface, command string, with any) {
	for r.notes().Open != 1 {
		require.NoError(r.t, r.t.Context().Err())
	}
	r.do(command, with, nil)
	for e, _ := r.next(w); e.Type != "" && e.Type != watch.Error; {
		e, _ = r.next(w)
	}
}

func TestVersionsAreGone(t *testing.T) {
	r := newRig(t, Config{})
	all, err := r.list(metav1.ListOptions{})
	require.NoError(t, err)
	r.ended(r.watch(metav1.ListOptions{ResourceVersion: all.ResourceVersion}), "gone", "leases")
	e, _ := r.next(r.watch(metav1.ListOptions{ResourceVersion: all.ResourceVersion}))
	assert.Equal(t, watch.Error, e.Type)
	assert.Equal(t, metav1.StatusReasonExpired, e.Object.(*metav1.Status).Reason)
	assert.Equal(t, 1, r.notes().Gone)
	all, err = r.list(metav1.ListOptions{})
	require.NoError(t, err)
	r.do("resume", nil, nil)
	e, _ = r.next(r.watch(metav1.ListOptions{ResourceVersion: all.ResourceVersion}))
	assert.Equal(t, watch.Modified, e.Type)
}

func TestConnectionsAreCutAndRefused(t *testing.T) {
	r := newRig(t, Config{})
	all, err := r.list(metav1.ListOptions{})
	require.NoError(t, err)
	r.ended(r.watch(metav1.ListOptions{ResourceVersion: all.ResourceVersion}), "cut", nil)
	r.ended(r.watch(metav1.ListOptions{ResourceVersion: all.ResourceVersion}), "shut", true)
	_, err = r.list(metav1.ListOptions{})
	assert.Error(t, err)
	r.do("shut", false, nil)
	_, err = r.list(metav1.ListOptions{})
	assert.NoError(t, err)
}

// TestAStallHoldsChangesBack, and nothing is left out after it. What was due meanwhile was sent
// late.
func TestAStallHoldsChangesBack(t *testing.T) {
	r := newRig(t, Config{})
	all, err := r.list(metav1.ListOptions{})
	require.NoError(t, err)
	w := r.watch(metav1.ListOptions{ResourceVersion: all.ResourceVersion})
	r.do("stall", true, nil)
	r.do("resume", nil, nil)
	var lag uint64
	for lag < 3 {
		lag = r.notes().Lag
		require.NoError(t, t.Context().Err())
	}
	select {
	case e := <-w.ResultChan():
		assert.Fail(t, "came through a stall", "%v", e)
	default:
	}
	r.do("pause", nil, nil)
	r.do("stall", false, nil)
	for range r.notes().Changes {
		e, _ := r.next(w)
		assert.Equal(t, watch.Modified, e.Type)
	}
	var late Lateness
	r.do("late", nil, &late)
	assert.Positive(t, late.Max)
	r.do("late", nil, &late)
	assert.Zero(t, late.Max, "since it was last asked")
}

// meddler is who reads what is served, and does something when it gets it.
type meddler struct {
	*httptest.ResponseRecorder
	do func()
}

func (m *meddler) Flush() { m.do() }

// TestAWatchThatBeginsIsEnded like others, if its version is gone by then.
func TestAWatchThatBeginsIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := newServer(Config{Nodes: nodes, Seed: 1, MediaType: wire.Protobuf})
		require.NoError(t, err)
		from := s.world.Shelf(world.Leases).Snapshot().Version
		path, began := fmt.Sprintf("/?watch=true&timeoutSeconds=60&resourceVersion=%d", from), time.Now()
		s.watch(&meddler{httptest.NewRecorder(), func() { s.gone("leases") }}, httptest.NewRequest(http.MethodGet, path, nil), world.Leases)
		assert.Zero(t, time.Since(began))
		assert.Zero(t, s.noted()[world.Leases].Open)
	})
}

// TestNothingIsSentAfterACompaction: neither changes nor bookmarks, by whose versions a client
// could follow on, whether or not it was told to end.
func TestNothingIsSentAfterACompaction(t *testing.T) {
	for _, timeout := range []int{60, 600} { // before and after a bookmark
		synctest.Test(t, func(t *testing.T) {
			s, err := newServer(Config{Nodes: nodes, Seed: 1, MediaType: wire.Protobuf, Speed: 1})
			require.NoError(t, err)
			shelf := s.world.Shelf(world.Leases)
			path := fmt.Sprintf("/?watch=true&timeoutSeconds=%d&resourceVersion=%d", timeout, shelf.Snapshot().Version)
			sent, next := httptest.NewRecorder(), time.Duration(0)
			s.watch(&meddler{sent, func() {
				if next == 0 {
					shelf.Compact()
					next = s.world.Advance(time.Minute)
				}
			}}, httptest.NewRequest(http.MethodGet, path, nil), world.Leases)
			assert.Positive(t, shelf.Next(), "leases have changed")
			assert.Zero(t, sent.Body.Len())
		})
	}
}

// TestTimeStandsInAPause: what is due later comes as much later.
func TestTimeStandsInAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world.New(world.Config{Nodes: 100, Seed: 1})
		d := newDriver(w)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); d.run(ctx) }()
		shelf := w.Shelf(world.Leases)
		time.Sleep(time.Minute)
		assert.Zero(t, shelf.Next(), "it stands at first")
		require.NoError(t, d.do(ctx, d.resume))
		time.Sleep(time.Minute)
		require.NoError(t, d.do(ctx, d.pause))
		stood := shelf.Next()
		assert.InDelta(t, 600, stood, 100)
		time.Sleep(time.Hour)
		assert.Equal(t, stood, shelf.Next())
		require.NoError(t, d.do(ctx, d.resume))
		resumed := time.Now().UnixNano()
		time.Sleep(time.Minute)
		require.NoError(t, d.do(ctx, d.pause))
		changes := make([]world.Change, 1000)
		n, _, _, err := shelf.Read(stood, changes)
		require.NoError(t, err)
		assert.InDelta(t, 600, n, 100)
		for _, c := range changes[:n] {
			assert.Greater(t, c.Object.Due, resumed)
		}
		assert.Zero(t, d.late)
		cancel()
		<-ended
		assert.Error(t, d.do(ctx, d.pause))
	})
}

// TestGateClosesWhatItAccepts while it is shut.
func TestGateClosesWhatItAccepts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := newGate(l)
	accepted := make(chan net.Conn)
	go func() {
		for {
			c, err := g.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	g.setShut(true)
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	_, err = c.Read(make([]byte, 1))
	assert.Error(t, err, "closed")
	g.setShut(false)
	c2, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	served := <-accepted
	g.cut()
	_, err = c2.Read(make([]byte, 1))
	assert.Error(t, err, "cut")
	assert.Error(t, served.Close(), "closed already")
	assert.Empty(t, g.mu.open)
	require.NoError(t, g.Close())
	<-accepted
}
