// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/taptest"
)

// everyKind runs a test with clients of each kind, by HTTP/1.1 and by HTTP/2, with decoders that
// are right and those that are the library's.
func everyKind(t *testing.T, test func(t *testing.T, k kind, http2 bool)) {
	for _, k := range kinds {
		for _, http2 := range []bool{false, true} {
			for _, k.own = range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, http2 %v, own %v", k.name, http2, k.own), func(t *testing.T) { test(t, k, http2) })
			}
		}
	}
}

// bookmark is the end mark of a watch-list, if it is to be.
func bookmark(version string, end bool) *v1.Pod {
	mark := &v1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}
	if end {
		mark.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return mark
}

// manyEvents are more than go both ways, of every type.
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

// TestWatchesEqual: a watch that is followed by us brings what client-go's brings.
func TestWatchesEqual(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		script := manyEvents()
		plain, direct, state := plainAndTapped(t, k, http2, nil, []answer{events(false, script...)},
			func(t testing.TB, lw clientgo.ListerWatcherWithContext) heard { return follow(t, lw, firstWatch, 0) })
		require.Len(t, plain.Events, len(script))
		assert.Equal(t, plain, direct)
		assert.Equal(t, tap.State{On: true, Encoding: k.encoding, Decoded: int64(len(script) - 8), Verified: 8}, state)
	})
}

// TestListsEqual: so does a list.
func TestListsEqual(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		remaining := int64(7)
		answers := []answer{page(metav1.ListMeta{ResourceVersion: "5", Continue: "next", RemainingItemCount: &remaining}, pods(20, "4")...)}
		plain, direct, state := plainAndTapped(t, k, http2, answers, nil,
			func(t testing.TB, lw clientgo.ListerWatcherWithContext) heard { return ask(t, lw, firstList) })
		require.Len(t, plain.Items, 20)
		assert.Equal(t, plain, direct)
		assert.Equal(t, tap.State{On: true, Encoding: k.encoding, Decoded: 11, Verified: 9}, state)
	})
}

// TestEmptyListsEqual: a list without items is one.
func TestEmptyListsEqual(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		plain, direct, state := plainAndTapped(t, k, http2, []answer{list("5")}, nil,
			func(t testing.TB, lw clientgo.ListerWatcherWithContext) heard { return ask(t, lw, firstList) })
		assert.Equal(t, "5", direct.Meta.ResourceVersion)
		assert.Equal(t, plain, direct)
		assert.True(t, state.On)
	})
}

// TestErrorsEqual: the errors of a server are those that they are without us, as are those in
// streams.
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
					func(t testing.TB, lw clientgo.ListerWatcherWithContext) heard { return follow(t, lw, firstWatch, 0) })
				assert.Equal(t, plain, direct)
				assert.NotEqual(t, heard{}, plain)
			})
		})
	}
}

// TestCutAnywhere: a watch that ends at any byte brings what it brings without us, up to its error.
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
					func(t testing.TB, lw clientgo.ListerWatcherWithContext) heard { return follow(t, lw, firstWatch, 0) })
				require.Equal(t, plain, direct, "cut at %d of %d", at, len(whole))
			}
		})
	}
}

// jsonFrames are the frames of added pods, without their line ends.
func jsonFrames(n int) (frames [][]byte) {
	for i := range n {
		frames = append(frames, bytes.TrimSpace(taptest.Frame(watch.Added, pod(fmt.Sprintf("p%d", i), "9"), runtime.ContentTypeJSON)))
	}
	return frames
}

// pretty is a frame over many lines.
func pretty(frame []byte) []byte {
	var out bytes.Buffer
	if err := json.Indent(&out, frame, "", "  "); err != nil {
		panic(err)
	}
	return append(out.Bytes(), '\n')
}

// TestOddFraming: events come out the same however the stream is cut, and as directly as can be.
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
				func(t testing.TB, lw clientgo.ListerWatcherWithContext) heard { return follow(t, lw, firstWatch, 0) })
			require.Equal(t, plain, direct)
			if c.decoded >= 0 { // else it depends on what arrives together
				assert.Equal(t, c.decoded, state.Decoded)
			}
		})
	}
}

// TestOddProtobuf: the same for the frames of protobuf.
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
				func(t testing.TB, lw clientgo.ListerWatcherWithContext) heard { return follow(t, lw, firstWatch, 0) })
			require.Equal(t, plain, direct)
			assert.EqualValues(t, 12, state.Decoded)
		})
	}
}

// TestEveryLength: frames of any length go both ways, one after the other, whatever of them the
// client's buffers leave unread.
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

// TestNoLineEnd: an event is there as soon as it has come, also if no line end follows.
func TestNoLineEnd(t *testing.T) {
	f := jsonFrames(20)
	server := newServer(t, false, nil, []answer{stream(true, runtime.ContentTypeJSON, f...)})
	source := tappedOf(kinds[1].make(t, server.config(transport)), kinds[1].example, nil)
	assert.Len(t, follow(t, source, firstWatch, 20).Events, 20)
	assert.EqualValues(t, 12, source.ledger.State().Decoded)
}

// TestStarvedClient: a transport outside of ours that waits for more than a frame gets it, and
// nobody waits for an answer that cannot come.
func TestStarvedClient(t *testing.T) {
	hoards := func(rt http.RoundTripper) http.RoundTripper {
		ours := transport(rt)
		return trip(func(r *http.Request) (*http.Response, error) {
			resp, err := ours.RoundTrip(r)
			if err == nil {
				resp.Body = &hoard{resp.Body, nil}
			}
			return resp, err
		})
	}
	for _, k := range podClients {
		server := newServer(t, false, nil, []answer{events(false, manyEvents()...)})
		source := tappedOf(k.make(t, server.config(hoards)), k.example, nil)
		assert.Len(t, follow(t, source, firstWatch, 0).Events, len(manyEvents()))
		assert.Zero(t, source.ledger.State().Decoded)
	}
}

// hoard is a body that returns nothing before it has all.
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

// TestOddLists: lists that are none, or are damaged, end as they do without us.
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

// cutOff answers with a list, less its last bytes.
func cutOff(w http.ResponseWriter, r *http.Request) {
	body := taptest.Encoded(podList("5"), mediaOf(r))
	w.Header().Set("Content-Type", mediaOf(r))
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	_, _ = w.Write(body[:len(body)-10])
	panic(http.ErrAbortHandler)
}

// TestBrokenList: a list whose connection breaks fails with that error, and the tap is as good as
// it was.
func TestBrokenList(t *testing.T) {
	for _, k := range podClients {
		answers := []answer{cutOff, list("5", pods(20, "4")...)}
		plain := ask(t, k.make(t, newServer(t, false, answers, nil).config()), firstList)
		require.Contains(t, plain.Err, "unexpected EOF")
		k.own = true
		source := tappedOf(k.make(t, newServer(t, false, answers, nil).config(transport)), k.example, k.decoders)
		assert.Equal(t, plain, ask(t, source, firstList))
		assert.Len(t, ask(t, source, firstList).Items, 20)
		assert.True(t, source.ledger.State().On)
	}
}
