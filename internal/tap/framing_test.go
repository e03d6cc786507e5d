// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/taptest"
)

// everyKind runs a test with clients of each kind, HTTP/1.1 and HTTP/2, decoders of package taptest and those of
// package tap.
func everyKind(t *testing.T, test func(t *testing.T, k kind, http2 bool)) {
	everyKindWith(t, test, false, true)
}

// everyOwnKind is everyKind with the decoders of package tap only.
func everyOwnKind(t *testing.T, test func(t *testing.T, k kind, http2 bool)) {
	everyKindWith(t, test, true)
}

func everyKindWith(t *testing.T, test func(t *testing.T, k kind, http2 bool), own ...bool) {
	for _, k := range kinds {
		for _, http2 := range []bool{false, true} {
			for _, k.own = range own {
				t.Run(fmt.Sprintf("%s, http2 %v, own %v", k.name, http2, k.own), func(t *testing.T) { test(t, k, http2) })
			}
		}
	}
}

// bookmark returns a bookmark, with the annotation that ends a watch-list if end is set.
func bookmark(version string, end bool) *v1.Pod {
	mark := &v1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}
	if end {
		mark.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return mark
}

// manyEvents returns more events than both decode, of every type.
func manyEvents() (script []event) {
	for i := range 12 {
		script = append(script, event{watch.Added, pod(fmt.Sprintf("p%d", i), fmt.Sprint(10+i))})
	}
	return append(script,
		event{watch.Bookmark, bookmark("30", true)},
		event{watch.Modified, pod("p3", "31")},
		event{watch.Deleted, pod("p4", "32")},
		event{watch.Bookmark, bookmark("33", false)})
}

// TestWatchesEqual checks that a watch decoded by the tap equals that of client-go.
func TestWatchesEqual(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		script := manyEvents()
		plain, direct, state := plainAndTapped(t, k, http2, nil, []answer{events(false, script...)},
			func(t testing.TB, lw clientgo.ListerWatcherWithContext) outcome { return follow(t, lw, firstWatch, 0) })
		require.Len(t, plain.Events, len(script))
		assert.Equal(t, plain, direct)
		assert.Equal(t, tap.State{On: true, Encoding: k.encoding, Decoded: int64(len(script) - 8), Verified: 8}, state)
	})
}

// TestListsEqual checks that lists, including empty ones, equal those of client-go.
func TestListsEqual(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		remaining := int64(7)
		for n, decoded := range map[int]int64{20: 11, 0: 0} {
			answers := []answer{page(metav1.ListMeta{ResourceVersion: "5", Continue: "next", RemainingItemCount: &remaining}, pods(n, "4")...)}
			plain, direct, state := plainAndTapped(t, k, http2, answers, nil,
				func(t testing.TB, lw clientgo.ListerWatcherWithContext) outcome { return ask(t, lw, firstList) })
			require.Len(t, plain.Items, n)
			assert.Equal(t, "5", direct.Meta.ResourceVersion)
			assert.Equal(t, plain, direct)
			assert.True(t, state.On)
			assert.Equal(t, [2]int64{decoded, int64(n) - decoded}, [2]int64{state.Decoded, state.Verified})
		}
	})
}

// TestErrorsEqual checks that errors of a server, in responses and streams, are the same as without
// a tap.
func TestErrorsEqual(t *testing.T) {
	gone := statusOf(http.StatusGone, metav1.StatusReasonExpired)
	for name, answers := range map[string][]answer{
		"gone":          {status(http.StatusGone, metav1.StatusReasonExpired)},
		"gone in it":    {events(false, append(manyEvents(), event{watch.Error, gone})...)},
		"gone at once":  {events(false, event{watch.Error, gone})},
		"forbidden":     {status(http.StatusForbidden, metav1.StatusReasonForbidden)},
		"too many":      {status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "Retry-After", "0"), events(false, manyEvents()...)},
		"other content": {stream(false, "text/plain", []byte("no"))},
		"an odd event":  {events(false, append(manyEvents(), event{"ODD", pod("p", "40")})...)},
		"another kind":  {events(false, append(manyEvents(), event{watch.Added, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}})...)},
	} {
		t.Run(name, func(t *testing.T) {
			everyKind(t, func(t *testing.T, k kind, http2 bool) {
				plain, direct, _ := plainAndTapped(t, k, http2, nil, answers,
					func(t testing.TB, lw clientgo.ListerWatcherWithContext) outcome { return follow(t, lw, firstWatch, 0) })
				assert.Equal(t, plain, direct)
				assert.NotEqual(t, outcome{}, plain)
			})
		})
	}
}

// TestCutAnywhere checks that a watch which ends at any byte has the same events and error as
// without a tap.
func TestCutAnywhere(t *testing.T) {
	for _, k := range kinds[:2] {
		k.own = true
		t.Run(k.name, func(t *testing.T) {
			media := runtime.ContentTypeJSON
			if k.encoding == tap.Protobuf {
				media = protobufType
			}
			var whole []byte
			for i := range 10 {
				whole = append(whole, taptest.Frame(watch.Added, pod(fmt.Sprintf("p%d", i), "9"), media)...)
			}
			step := max(1, len(whole)/60)
			for at := 0; at <= len(whole); at += step {
				answers := []answer{stream(false, streamType(media), whole[:at/2], whole[at/2:at])}
				plain, direct, _ := plainAndTapped(t, k, false, nil, answers,
					func(t testing.TB, lw clientgo.ListerWatcherWithContext) outcome { return follow(t, lw, firstWatch, 0) })
				require.Equal(t, plain, direct, "cut at %d of %d", at, len(whole))
			}
		})
	}
}

// jsonFrames returns frames of added pods, without newlines.
func jsonFrames(n int) (frames [][]byte) {
	for i := range n {
		frames = append(frames, bytes.TrimSpace(taptest.Frame(watch.Added, pod(fmt.Sprintf("p%d", i), "9"), runtime.ContentTypeJSON)))
	}
	return frames
}

// pretty returns a frame with many lines.
func pretty(frame []byte) []byte {
	var out bytes.Buffer
	if err := json.Indent(&out, frame, "", "  "); err != nil {
		panic(err)
	}
	return append(out.Bytes(), '\n')
}

// TestOddFraming checks that the events do not depend on how the stream is split, and that as many
// as possible are decoded directly.
func TestOddFraming(t *testing.T) {
	f := jsonFrames(20)
	lines := bytes.Join(f, []byte("\n"))
	for name, c := range map[string]struct {
		pieces  [][]byte
		decoded int64
	}{
		"lines":               {[][]byte{lines, []byte("\n")}, 12},
		"no line ends":        {f, 12},
		"no line ends, once":  {[][]byte{bytes.Join(f, nil)}, 12},
		"blank lines":         {[][]byte{bytes.Join(f, []byte("\n \r\n\n")), []byte("\n")}, 12},
		"pretty":              {[][]byte{pretty(f[0]), pretty(f[1])}, 0},
		"pretty later":        {[][]byte{lines, []byte("\n"), pretty(f[1]), lines}, 12},
		"two in a line later": {[][]byte{lines, []byte("\n"), append(bytes.Clone(f[0]), f[1]...), []byte("\n"), lines}, -1},
		"not JSON later":      {[][]byte{lines, []byte("\n[}\n"), lines}, 12},
		"another value":       {[][]byte{lines, []byte("\nnull\n"), lines}, 12},
		"text that looks on":  {[][]byte{lines, []byte("\n"), []byte(`{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"}\"{"}}}`)}, 13},
	} {
		bothDecoders(t, name, kinds[1], func(t *testing.T, k kind) {
			plain, direct, state := plainAndTapped(t, k, false, nil, []answer{stream(false, runtime.ContentTypeJSON, c.pieces...)},
				func(t testing.TB, lw clientgo.ListerWatcherWithContext) outcome { return follow(t, lw, firstWatch, 0) })
			require.Equal(t, plain, direct)
			if c.decoded >= 0 { // otherwise it depends on the bytes that arrive together
				assert.Equal(t, c.decoded, state.Decoded)
			}
		})
	}
}

// TestOddProtobuf checks the same for frames of protobuf.
func TestOddProtobuf(t *testing.T) {
	var frames []byte
	for i := range 20 {
		frames = append(frames, taptest.Frame(watch.Added, pod(fmt.Sprintf("p%d", i), "9"), protobufType)...)
	}
	huge := binary.BigEndian.AppendUint32(nil, 1<<31)
	for name, last := range map[string][]byte{
		"empty frame": {0, 0, 0, 0},
		"huge frame":  huge,
		"garbage":     {0, 0, 0, 2, 0xff, 0xff},
		"half length": {0, 0},
	} {
		bothDecoders(t, name, kinds[0], func(t *testing.T, k kind) {
			plain, direct, state := plainAndTapped(t, k, false, nil, []answer{stream(false, streamType(protobufType), frames, last, frames)},
				func(t testing.TB, lw clientgo.ListerWatcherWithContext) outcome { return follow(t, lw, firstWatch, 0) })
			require.Equal(t, plain, direct)
			assert.EqualValues(t, 12, state.Decoded)
		})
	}
}

// TestEveryLength checks that both decode frames of any length, one after another, whatever the
// buffers of the client leave unread.
func TestEveryLength(t *testing.T) {
	var frames [][]byte
	for i := range 1200 {
		padded := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("x", i)}}
		frames = append(frames, taptest.Frame(watch.Added, padded, runtime.ContentTypeJSON))
	}
	server := newServer(t, false, nil, []answer{stream(false, runtime.ContentTypeJSON, bytes.Join(frames, nil))})
	source := tappedOf(kinds[1].make(t, server.config(transport)), kinds[1].example, func(o *tap.Options) { o.Make, o.Verify = nil, 1 })
	got := follow(t, source, firstWatch, 0).Events
	require.Len(t, got, len(frames))
	for i, e := range got {
		require.Len(t, e.Object.(*v1.Pod).Name, i)
	}
	assert.EqualValues(t, len(frames), source.ledger.State().Verified)
}

// TestStarvedClient checks that a transport outside of direct.Transport that waits for more than a
// frame gets more, and that the tap does not wait for an event that cannot follow.
func TestStarvedClient(t *testing.T) {
	hoards := bodies(func(body io.ReadCloser) io.ReadCloser { return &hoard{body, nil} })
	for _, k := range podClients {
		server := newServer(t, false, nil, []answer{events(false, manyEvents()...)})
		source := tappedOf(k.make(t, server.config(transport, hoards)), k.example, nil)
		assert.Len(t, follow(t, source, firstWatch, 0).Events, len(manyEvents()))
		assert.Zero(t, source.ledger.State().Decoded)
	}
}

// hoard is a body that returns nothing until it has read everything.
type hoard struct {
	io.ReadCloser
	all io.Reader
}

func (h *hoard) Read(p []byte) (int, error) {
	if h.all == nil {
		all, err := io.ReadAll(h.ReadCloser)
		if err != nil {
			return 0, err
		}
		h.all = bytes.NewReader(all)
	}
	return h.all.Read(p)
}

// TestOddLists checks that bodies which are not valid lists have the same result as without a tap.
func TestOddLists(t *testing.T) {
	good := taptest.Encoded(podList("5"), runtime.ContentTypeJSON)
	for name, body := range map[string][]byte{
		"cut":           good[:len(good)/2],
		"no JSON":       []byte("{]"),
		"empty":         {},
		"a status":      taptest.Encoded(statusOf(500, "InternalError"), runtime.ContentTypeJSON),
		"null items":    []byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":null}`),
		"no items":      []byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"}}`),
		"items first":   []byte(`{"apiVersion":"v1","items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}],"kind":"PodList","metadata":{"resourceVersion":"5"}}`),
		"items of null": []byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[null,{}]}`),
	} {
		for _, k := range kinds[1:3] {
			bothDecoders(t, name+k.name, k, func(t *testing.T, k kind) {
				answers := []answer{func(w http.ResponseWriter, r *http.Request) { reply(w, r, runtime.ContentTypeJSON, body) }}
				plain := ask(t, k.make(t, newServer(t, false, answers, nil).config()), firstList)
				source := tappedOf(k.make(t, newServer(t, false, answers, nil).config(transport)), k.example, k.decoders)
				list, err := source.ListWithContext(t.Context(), firstList)
				if err != nil {
					isDoubt(t, err)
				} else {
					assert.IsType(t, &tap.Page{}, list)
				}
				again := ask(t, source, firstList)
				assert.Equal(t, plain, again)
			})
		}
	}
}

// cutOff sends a list without its last bytes.
func cutOff(w http.ResponseWriter, r *http.Request) {
	body := taptest.Encoded(podList("5"), mediaOf(r))
	w.Header().Set("Content-Type", mediaOf(r))
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	_, _ = w.Write(body[:len(body)-10])
	panic(http.ErrAbortHandler)
}

// TestBrokenList checks that a list whose connection breaks returns that error, that later lists are
// decoded directly, and that the sample of the broken list is repeated in the next one.
func TestBrokenList(t *testing.T) {
	for _, k := range podClients {
		answers := []answer{cutOff, list("5", pods(20, "4")...)}
		plain := ask(t, k.make(t, newServer(t, false, answers, nil).config()), firstList)
		require.Contains(t, plain.Err, "unexpected EOF")
		source := tappedOf(k.make(t, newServer(t, false, answers, nil).config(transport)), k.example, func(o *tap.Options) {
			o.Make, o.Start = nil, 4 // the 12th
		})
		assert.Equal(t, plain, ask(t, source, firstList))
		assert.Len(t, ask(t, source, firstList).Items, 20)
		assert.True(t, source.ledger.State().On)
		assert.EqualValues(t, 8+1+1, source.ledger.State().Verified)
	}
}

// named returns a function that reports whether an object has one of the names.
func named(names ...string) func(runtime.Object) bool {
	return func(obj runtime.Object) bool {
		for _, name := range names {
			if obj.(metav1.Object).GetName() == name {
				return true
			}
		}
		return false
	}
}

// TestGivenUp checks that client-go decodes objects that the decoder gives up, in the same
// position.
func TestGivenUp(t *testing.T) {
	refuses := func(o *tap.Options) { o.Make = taptest.Decoders(named("p0", "p9", "p10", "p15", "p3"), nil) }
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		lists, watches := []answer{list("5", pods(20, "4")...)}, []answer{events(false, manyEvents()...)}
		plain := k.make(t, newServer(t, http2, lists, watches).config())
		source := tappedOf(k.make(t, newServer(t, http2, lists, watches).config(transport)), k.example, refuses)
		assert.Equal(t, ask(t, plain, firstList), ask(t, source, firstList))
		assert.EqualValues(t, 20-8-1-3, source.ledger.State().Decoded)
		assert.Equal(t, map[string]int64{"refused": 5}, source.ledger.State().GivenUp)
		assert.Equal(t, follow(t, plain, firstWatch, 0), follow(t, source, firstWatch, 0))
		assert.EqualValues(t, 20-8-1-3+16-5-1, source.ledger.State().Decoded)
		assert.Equal(t, map[string]int64{"refused": 10}, source.ledger.State().GivenUp)
	})
}

// TestMostlyGivenUp checks that client-go decodes a type that the decoder mostly gives up.
func TestMostlyGivenUp(t *testing.T) {
	var script []event
	for i := range 200 {
		script = append(script, event{watch.Added, pod(fmt.Sprintf("p%d", i), "9")})
	}
	for _, k := range podClients {
		server := newServer(t, false, nil, []answer{events(false, script...)})
		all := func(runtime.Object) bool { return true }
		source := tappedOf(k.make(t, server.config(transport)), k.example, func(o *tap.Options) { o.Make = taptest.Decoders(all, nil) })
		assert.Len(t, follow(t, source, firstWatch, 0).Events, 200)
		state := source.ledger.State()
		assert.Equal(t, "most objects cannot be decoded directly", state.Why)
		assert.EqualValues(t, 65, state.GivenUp["refused"])
	}
}

// TestPanics checks that a panic of a decoder counts as giving up.
func TestPanics(t *testing.T) {
	panics := func(obj runtime.Object) bool {
		if named("p9")(obj) {
			panic("secret")
		}
		return false
	}
	for _, k := range podClients {
		lists, watches := []answer{list("5", pods(20, "4")...)}, []answer{events(false, manyEvents()...)}
		plain := k.make(t, newServer(t, false, lists, watches).config())
		server := newServer(t, false, lists, watches)
		source := tappedOf(k.make(t, server.config(transport)), k.example, func(o *tap.Options) { o.Make = taptest.Decoders(panics, nil) })
		assert.Equal(t, follow(t, plain, firstWatch, 0), follow(t, source, firstWatch, 0))
		assert.Equal(t, map[string]int64{"the decoder panicked with a value of type string": 1}, source.ledger.State().GivenUp)
		_, err := source.ListWithContext(t.Context(), firstList)
		isDoubt(t, err)
		assert.NotContains(t, err.Error(), "secret")
		assert.Equal(t, ask(t, plain, firstList), ask(t, source, firstList))
	}
}

// damage makes a decoder return a wrong result for an object.
func damage(name string) func(o *tap.Options) {
	return func(o *tap.Options) {
		o.Verify = 10
		o.Make = taptest.Decoders(nil, func(obj runtime.Object) {
			if named(name)(obj) {
				obj.(metav1.Object).SetLabels(map[string]string{"app": "secret"})
			}
		})
	}
}

// difference returns the path that damage changes.
func difference(k kind) string {
	if k.name == "dynamic" {
		return "a *unstructured.Unstructured, differs at object.Object[...][...]"
	}
	return fmt.Sprintf("a %T, differs at object.ObjectMeta.Labels", k.example)
}

// TestDifferentEvent checks that a watch with a wrongly decoded object ends with a Doubt, which
// contains the path and no value, and that client-go decodes from then on.
func TestDifferentEvent(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		for name, before := range map[string]int{"p0": 0, "p7": 7, "p9": 9} {
			server := newServer(t, http2, []answer{list("5", pods(20, "4")...)}, []answer{events(true, manyEvents()...)})
			source := tappedOf(k.make(t, server.config(transport)), k.example, damage(name))
			got := follow(t, source, firstWatch, 0).Events
			require.Len(t, got, before+1)
			last := got[before]
			assert.Equal(t, watch.Error, last.Type)
			doubt := last.Object.(*tap.Doubt)
			assert.Contains(t, doubt.Why, "an event of a watch, "+difference(k))
			assert.NotContains(t, doubt.Why, "secret")
			state := source.ledger.State()
			assert.Equal(t, tap.State{Why: doubt.Why, Decoded: int64(max(0, before-8)), Verified: int64(min(before, 8)), Differences: 1}, state)
			assert.Len(t, follow(t, source, firstWatch, len(manyEvents())).Events, len(manyEvents()))
			assert.Len(t, ask(t, source, firstList).Items, 20)
			assert.Equal(t, state, source.ledger.State())
		}
	})
}

// TestDifferentItem checks that a list with a wrongly decoded item is a Doubt, and that client-go
// decodes from then on.
func TestDifferentItem(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		for _, name := range []string{"p0", "p7", "p9", "p19"} {
			server := newServer(t, http2, []answer{list("5", pods(20, "4")...)}, []answer{events(true, manyEvents()...)})
			source := tappedOf(k.make(t, server.config(transport)), k.example, damage(name))
			_, err := source.ListWithContext(t.Context(), firstList)
			isDoubt(t, err)
			assert.Contains(t, err.Error(), "an item of the list, "+difference(k))
			assert.NotContains(t, err.Error(), "secret")
			state := source.ledger.State()
			assert.EqualValues(t, 1, state.Differences)
			assert.Zero(t, state.Decoded)
			assert.Len(t, ask(t, source, firstList).Items, 20)
			assert.Len(t, follow(t, source, firstWatch, len(manyEvents())).Events, len(manyEvents()))
			assert.Equal(t, state, source.ledger.State())
		}
	})
}

// TestUnnoticedDifference checks that objects between two samples are not compared: the tests above
// do not pass by comparing all.
func TestUnnoticedDifference(t *testing.T) {
	k := podClients[0]
	server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, nil)
	source := tappedOf(k.make(t, server.config(transport)), k.example, damage("p10"))
	got := ask(t, source, firstList)
	require.Len(t, got.Items, 20)
	assert.Equal(t, "secret", got.Items[10].(metav1.Object).GetLabels()["app"])
}

// TestPagesAgree checks that both decode the first item of each page, and that each page has its
// token.
func TestPagesAgree(t *testing.T) {
	remaining := int64(15)
	lists := []answer{
		page(metav1.ListMeta{ResourceVersion: "5", Continue: "more", RemainingItemCount: &remaining}, pods(20, "4")...),
		page(metav1.ListMeta{ResourceVersion: "5"}, pods(15, "3")...),
	}
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		both := func(lw clientgo.ListerWatcherWithContext) (first, second outcome) {
			first = ask(t, lw, firstList)
			return first, ask(t, lw, metav1.ListOptions{Limit: 500, Continue: first.Meta.Continue})
		}
		a, b := both(k.make(t, newServer(t, http2, lists, nil).config()))
		source := tappedOf(k.make(t, newServer(t, http2, lists, nil).config(transport)), k.example, nil)
		c, d := both(source)
		assert.Equal(t, a, c)
		assert.Equal(t, b, d)
		require.Len(t, d.Items, 15)
		assert.Equal(t, tap.State{On: true, Encoding: k.encoding, Decoded: 11 + 12, Verified: 9 + 3}, source.ledger.State())
	})
}

// TestSecretKeys checks that keys of maps are not part of a path.
func TestSecretKeys(t *testing.T) {
	k := podClients[0]
	server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, nil)
	source := tappedOf(k.make(t, server.config(transport)), k.example, func(o *tap.Options) {
		o.Make = taptest.Decoders(nil, func(obj runtime.Object) { obj.(metav1.Object).GetLabels()["app"] = "other" })
	})
	_, err := source.ListWithContext(t.Context(), firstList)
	require.Error(t, err)
	assert.True(t, strings.HasSuffix(err.Error(), "object.ObjectMeta.Labels[...]"), "%v", err)
}

// inJSON answers with a body.
func inJSON(body string) answer {
	return func(w http.ResponseWriter, r *http.Request) { reply(w, r, runtime.ContentTypeJSON, []byte(body)) }
}

var (
	goodList = list("5", pods(20, "4")...)
	gateway  = inJSON(`{"error":"upstream unavailable"}`)
	aCutList = inJSON(string(taptest.Encoded(podList("5"), runtime.ContentTypeJSON)[:1000]))
	badItem  = inJSON(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":7}}]}`)
	nullItem = inJSON(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a"}},null]}`)
	aStatus  = inJSON(string(taptest.Encoded(statusOf(500, "InternalError"), runtime.ContentTypeJSON)))
	nodes    = inJSON(string(taptest.Encoded(&v1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: make([]v1.Node, 2)}, runtime.ContentTypeJSON)))
)

var generatedJSON, dynamicJSON = kinds[1], kinds[4]

// answered returns a source with the decoders of package tap whose server gives these answers to
// lists.
func answered(t *testing.T, k kind, answers ...answer) tapped {
	return tappedOf(k.make(t, newServer(t, false, answers, nil).config(transport)), k.example, usesOwn)
}

// asked lists several times, and returns the result of each list: decoded directly, by the client,
// a doubt that suspends, a doubt for good, or an error.
func asked(t *testing.T, source tapped, times int) (how []string) {
	for range times {
		list, err := source.ListWithContext(t.Context(), firstList)
		word := "failed"
		if _, direct := list.(*tap.Page); direct {
			word = "direct"
		} else if err == nil {
			word = "client"
		} else if doubt, is := err.(*tap.Doubt); is {
			_, err := fmt.Sscan(doubt.Why, &word)
			assert.NoError(t, err)
			assert.Equal(t, doubt.Why, source.ledger.State().Why)
		}
		how = append(how, word)
	}
	return how
}

// TestOneOddAnswer checks that, after an odd response and one that the client decodes, lists are
// decoded directly again.
func TestOneOddAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		k   kind
		odd answer
	}{
		"a gateway's error":          {dynamicJSON, gateway},
		"a list that is cut":         {generatedJSON, aCutList},
		"nothing":                    {generatedJSON, inJSON("")},
		"null":                       {generatedJSON, inJSON("null")},
		"one bad item":               {generatedJSON, badItem},
		"a null item":                {generatedJSON, nullItem},
		"a null item, unstructured":  {dynamicJSON, nullItem},
		"a status":                   {generatedJSON, aStatus},
		"a list of another kind":     {generatedJSON, nodes},
		"a list cut in unstructured": {dynamicJSON, aCutList},
	} {
		source := answered(t, c.k, c.odd, goodList)
		assert.Equal(t, []string{"suspended:", "client", "direct", "direct"}, asked(t, source, 4), name)
		assert.True(t, source.ledger.State().On, name)
		assert.Zero(t, source.ledger.State().Differences, name)
	}
}

// TestOddServer checks that responses which the client does not understand either never turn the
// tap off.
func TestOddServer(t *testing.T) {
	source := answered(t, generatedJSON, aCutList, aCutList, badItem, badItem, badItem, badItem, aStatus, aStatus, goodList)
	assert.Equal(t, []string{
		"suspended:", "failed", "suspended:", "failed", "suspended:", "failed", "suspended:", "failed", "direct",
	}, asked(t, source, 9))
}

// TestThirdOddAnswer checks that the third response that only the client understands turns the tap
// off for good. Responses that the client does not understand do not count.
func TestThirdOddAnswer(t *testing.T) {
	source := answered(t, generatedJSON, nullItem, nullItem, badItem, badItem, nullItem, goodList, goodList, badItem, goodList)
	assert.Equal(t, []string{
		"suspended:", "client", "suspended:", "failed", "suspended:", "client", "direct", "suspended:",
	}, asked(t, source, 8))
	why := source.ledger.State().Why
	assert.Equal(t, []string{"client", "client"}, asked(t, source, 2))
	assert.Equal(t, "suspended: the client did not take the list, less items", why)
	assert.Equal(t, "off for good: the client did not take the list, less items", source.ledger.State().Why)
	assert.False(t, source.ledger.State().On)
}

// TestSuspendedToTheLastPage checks that a complete list by the client ends a suspension, and a
// canceled one does not.
func TestSuspendedToTheLastPage(t *testing.T) {
	first := page(metav1.ListMeta{ResourceVersion: "5", Continue: "more"}, pods(20, "4")...)
	source := answered(t, generatedJSON, first, badItem, first, goodList, goodList)
	ctx, cancel := context.WithCancel(t.Context())
	assert.Equal(t, []string{"direct", "suspended:"}, asked(t, source, 2))
	cancel()
	_, err := source.ListWithContext(ctx, firstList)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, []string{"client", "client", "direct"}, asked(t, source, 3))
}

// TestSuspendedOverExpiry checks that a list which expires between two pages does not end a
// suspension, and that the client also decodes the list that the pager requests instead.
func TestSuspendedOverExpiry(t *testing.T) {
	first := inJSON(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5","continue":"more"},"items":[{"metadata":{"name":"a"}},null]}`)
	source := answered(t, generatedJSON, first, first, status(410, metav1.StatusReasonExpired), nullItem, goodList)
	assert.Equal(t, []string{"suspended:", "client", "failed", "client", "direct"}, asked(t, source, 5))
}

// TestSuspendedForSeveral checks that a doubt counts once, however many lists the client decodes
// because of it.
func TestSuspendedForSeveral(t *testing.T) {
	var requests, lists sync.WaitGroup
	requests.Add(3)
	together := func(w http.ResponseWriter, r *http.Request) {
		requests.Done()
		requests.Wait()
		goodList(w, r)
	}
	source := answered(t, generatedJSON, nullItem, together, together, together, goodList)
	assert.Equal(t, []string{"suspended:"}, asked(t, source, 1))
	for range 3 {
		lists.Go(func() { assert.Equal(t, []string{"client"}, asked(t, source, 1)) })
	}
	lists.Wait()
	assert.Equal(t, []string{"direct"}, asked(t, source, 1))
}

var gadgets = schema.GroupVersion{Group: "example.com", Version: "v1"}

// gadget has no field for its kind, sprocket always has the same kind, and knob has a kind without
// a version.
type (
	gadget struct {
		metav1.ObjectMeta `json:"metadata"`
		Spec              map[string]string `json:"spec"`
	}
	gadgetList struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata"`
		Items           []gadget `json:"items"`
	}
	sprocket     struct{ gadget }
	sprocketList struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata"`
		Items           []sprocket `json:"items"`
	}
	knob struct {
		Kind string `json:"kind"`
		gadget
	}
	knobList struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata"`
		Items           []knob `json:"items"`
	}
)

func (g *gadget) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

func (g *gadget) DeepCopyObject() runtime.Object { c := *g; return &c }

func (l *gadgetList) DeepCopyObject() runtime.Object { c := *l; return &c }

func (s *sprocket) GetObjectKind() schema.ObjectKind { return alwaysSprocket{} }

func (s *sprocket) DeepCopyObject() runtime.Object { c := *s; return &c }

func (l *sprocketList) DeepCopyObject() runtime.Object { c := *l; return &c }

func (k *knob) GetObjectKind() schema.ObjectKind { return k }

func (k *knob) GroupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Kind: k.Kind}
}

func (k *knob) SetGroupVersionKind(kind schema.GroupVersionKind) { k.Kind = kind.Kind }

func (k *knob) DeepCopyObject() runtime.Object { c := *k; return &c }

func (l *knobList) DeepCopyObject() runtime.Object { c := *l; return &c }

// odds are examples of these types.
var odds = map[string]runtime.Object{"Gadget": &gadget{}, "Sprocket": &sprocket{}, "Knob": &knob{}}

type alwaysSprocket struct{}

func (alwaysSprocket) GroupVersionKind() schema.GroupVersionKind {
	return gadgets.WithKind("Sprocket")
}

func (alwaysSprocket) SetGroupVersionKind(schema.GroupVersionKind) {}

// ofGadgets returns a kind of client for one of these types.
func ofGadgets(name string, example runtime.Object) kind {
	return kind{name, "json", example, true, func(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
		scheme := runtime.NewScheme()
		metav1.AddToGroupVersion(scheme, gadgets)
		scheme.AddKnownTypeWithName(gadgets.WithKind("Gadget"), &gadget{})
		scheme.AddKnownTypeWithName(gadgets.WithKind("GadgetList"), &gadgetList{})
		scheme.AddKnownTypeWithName(gadgets.WithKind("Sprocket"), &sprocket{})
		scheme.AddKnownTypeWithName(gadgets.WithKind("SprocketList"), &sprocketList{})
		scheme.AddKnownTypeWithName(gadgets.WithKind("Knob"), &knob{})
		scheme.AddKnownTypeWithName(gadgets.WithKind("KnobList"), &knobList{})
		c.APIPath, c.GroupVersion = "/apis", &gadgets
		c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
		client, err := rest.RESTClientFor(c)
		require.NoError(t, err)
		return clientgo.NewListWatchFromClient(client, "gadgets", "space", fields.Everything())
	}}
}

// gadgetOf returns a gadget of the given kind and version, in JSON.
func gadgetOf(kind, version, name string) string {
	return fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":{"name":%q,"resourceVersion":"9"},"spec":{"some":"text"}}`, kind, version, name)
}

func gadgetFrame(event watch.EventType, object string) []byte {
	return fmt.Appendf(nil, `{"type":%q,"object":%s}`+"\n", event, object)
}

// TestKindOfEvents checks that an event of another version or kind ends the watch as without a tap.
// If objects of the type do not retain kind and version, the client decodes the watch, and the
// state contains the reason.
func TestKindOfEvents(t *testing.T) {
	for kind, example := range odds {
		for _, other := range [][2]string{{kind, "example.com/v2"}, {"Widget", "example.com/v1"}} {
			var frames [][]byte
			for i := range 20 {
				frames = append(frames, gadgetFrame(watch.Added, gadgetOf(kind, "example.com/v1", fmt.Sprint("g", i))))
			}
			frames = append(frames, gadgetFrame(watch.Modified, gadgetOf(other[0], other[1], "g3")), frames[0])
			watches := []answer{stream(false, runtime.ContentTypeJSON, frames...)}
			plain, direct, state := plainAndTapped(t, ofGadgets(kind, example), false, nil, watches,
				func(t testing.TB, lw clientgo.ListerWatcherWithContext) outcome { return follow(t, lw, firstWatch, 0) })
			require.Equal(t, watch.Error, plain.Events[20].Type)
			assert.Equal(t, plain, direct)
			assert.Zero(t, state.Decoded)
			assert.Equal(t, "objects of the type do not tell their kind", state.Why)
			assert.Equal(t, map[string]int64{state.Why: 1}, state.GivenUp)
		}
	}
}

// TestKindOfItems checks that lists of such types are the same as without a tap. client-go ignores
// the kinds of items.
func TestKindOfItems(t *testing.T) {
	for kind, example := range odds {
		items := ""
		for i := range 20 {
			items += gadgetOf(kind, "example.com/v1", fmt.Sprint("g", i)) + ","
		}
		items += gadgetOf("Widget", "example.com/v2", "other")
		body := fmt.Appendf(nil, `{"kind":"%sList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"5"},"items":[%s]}`, kind, items)
		lists := []answer{func(w http.ResponseWriter, r *http.Request) { reply(w, r, runtime.ContentTypeJSON, body) }}
		plain, direct, state := plainAndTapped(t, ofGadgets(kind, example), false, lists, nil,
			func(t testing.TB, lw clientgo.ListerWatcherWithContext) outcome { return ask(t, lw, firstList) })
		require.Len(t, plain.Items, 21)
		assert.Equal(t, plain, direct)
		assert.True(t, state.On)
	}
}

// sampleStart is where the sample of most tests starts: both decode the 8th, the 24th and the 40th
// object, which are among the first many.
const sampleStart = 40

// sorted returns pods of two owners, sorted by owner.
func sorted(n, first int) []v1.Pod {
	list := pods(n, "4")
	for i := range list[first:] {
		list[first+i].Labels = nil
	}
	return list
}

// TestSampleSeesTheLast checks that a change of only the last items by a ListFunc or serializer is
// found, and that the client decodes the next list.
func TestSampleSeesTheLast(t *testing.T) {
	filters := edits(func(l *v1.PodList) runtime.Object {
		l.Items = slices.DeleteFunc(l.Items, func(p v1.Pod) bool { return p.Labels == nil })
		return l
	})
	defaults := edits(func(l *v1.PodList) runtime.Object {
		for i := range l.Items {
			if l.Items[i].Labels == nil {
				l.Items[i].Labels = map[string]string{"app": "default"}
			}
		}
		return l
	})
	for name, c := range map[string]struct {
		change listChange
		items  int
		why    string
	}{
		"filters":  {filters, 12, "the list was changed"},
		"defaults": {defaults, 20, "an item of the list, a *v1.Pod, differs at object.ObjectMeta.Labels"},
	} {
		for _, k := range podClients {
			plain := k.make(t, newServer(t, false, []answer{list("5", sorted(20, 12)...)}, nil).config())
			server := newServer(t, false, []answer{list("5", sorted(20, 12)...)}, nil)
			source := tappedOf(altered{k.make(t, server.config(transport)), c.change, nil}, k.example, nil)
			_, err := source.ListWithContext(t.Context(), firstList)
			isDoubt(t, err)
			assert.ErrorContains(t, err, c.why, name)
			got := ask(t, source, firstList)
			assert.Equal(t, ask(t, altered{plain, c.change, nil}, firstList), got, name)
			assert.Equal(t, c.items, len(got.Items), name)
			assert.False(t, source.ledger.State().On, name)
		}
	}
}

// bothWaysOf returns the indexes of the items of a list of n items that both decode.
func bothWaysOf(t *testing.T, n int, change func(*tap.Options)) (places []int) {
	k := podClients[0]
	server := newServer(t, false, []answer{list("5", pods(n, "4")...)}, nil)
	source := tappedOf(altered{k.make(t, server.config(transport)), edits(func(l *v1.PodList) runtime.Object {
		for i := range l.Items {
			var place int
			_, err := fmt.Sscanf(l.Items[i].Name, "p%d", &place)
			require.NoError(t, err)
			places = append(places, place)
		}
		return l
	}), nil}, k.example, change)
	require.Len(t, ask(t, source, firstList).Items, n)
	assert.EqualValues(t, len(places), source.ledger.State().Verified)
	return places
}

// TestSampleOfTheFirstList checks that both decode one in 16 of the first 1,000 items, besides the
// first few and the last one, and one in many later.
func TestSampleOfTheFirstList(t *testing.T) {
	places := bothWaysOf(t, 1500, func(o *tap.Options) { o.Start, o.Verify = 3, 100 })
	wanted := []int{0, 1, 2, 3, 4, 5, 6, 7}
	for n := 9; n <= 1500; n++ { // counted from 1
		if n <= 1000 && (n+3)%16 == 0 || (n+3)%100 == 0 || n == 1500 {
			wanted = append(wanted, n-1)
		}
	}
	assert.Equal(t, wanted, places)
}

// TestSampleStartsAnywhere checks that informers of the same objects compare different ones.
func TestSampleStartsAnywhere(t *testing.T) {
	seen := map[int]bool{}
	for range 50 { // the probability that all are the same is 16^-49
		places := bothWaysOf(t, 25, func(o *tap.Options) { o.Start = 0 })
		seen[places[8]] = true
	}
	assert.Greater(t, len(seen), 1)
}

// TestSampleOfABrokenPage checks that, if a page fails, the sample is repeated from the first page.
func TestSampleOfABrokenPage(t *testing.T) {
	first := page(metav1.ListMeta{ResourceVersion: "5", Continue: "more"}, pods(20, "4")...)
	pages := []answer{first, cutOff, first, list("5", pods(15, "4")...)}
	source := tappedOf(podClients[0].make(t, newServer(t, false, pages, nil).config(transport)), &v1.Pod{}, nil)
	for _, items := range []int{0, 15} {
		got := ask(t, source, firstList)
		require.Len(t, got.Items, 20)
		assert.Len(t, ask(t, source, metav1.ListOptions{Limit: 500, Continue: got.Meta.Continue}).Items, items)
	}
	assert.EqualValues(t, (8+1)+(8+1)+3, source.ledger.State().Verified)
}
