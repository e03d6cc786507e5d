// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/shard"
	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/engine"
	"github.com/kinformer/cache/internal/tap/engine/taptest"
	"github.com/kinformer/cache/internal/testkit"
)

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
	everyKind(t, func(t *testing.T, k kind) {
		plain, direct, state := plainAndTapped(t, k, served{}, watched)
		require.Len(t, plain.Events, len(manyEvents()))
		assert.Equal(t, plain, direct)
		assert.Equal(t, tap.State{On: true, Encoding: string(k.encoding), Decoded: int64(len(manyEvents()) - 8), Verified: 8}, state)
	})
}

// TestManyFrames checks that of 6,000 events nearly all are decoded directly, in order, whether or not the
// client's transport reads ahead.
func TestManyFrames(t *testing.T) {
	const n = 3000
	var script []event
	for i := range n {
		script = append(script, event{watch.Added, pod(fmt.Sprint("p", i), fmt.Sprint(10+i))})
	}
	script = append(script, event{watch.Bookmark, bookmark(fmt.Sprint(10+n), true)})
	for i := range n {
		script = append(script, event{watch.Modified, pod(fmt.Sprint("p", i), fmt.Sprint(10+n+1+i))})
	}
	for _, k := range append([]kind{kinds[4]}, podClients...) {
		for _, k.ahead = range []bool{false, true} {
			source := k.tapped(t, served{watches: []answer{events(true, script...)}}, usesOwn)
			got := follow(t, source, metav1.ListOptions{SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}, len(script))
			require.Len(t, got.Events, len(script))
			for i, e := range got.Events {
				accessor, err := meta.Accessor(e.Object)
				require.NoError(t, err)
				require.Equal(t, fmt.Sprint(10+i), accessor.GetResourceVersion())
			}
			state := source.ledger.State()
			assert.True(t, state.On, state.Why)
			assert.Greater(t, state.Decoded, int64(5900))
		}
	}
}

// TestListsEqual checks that an empty list and the pages of a list equal those of client-go, with their tokens, and
// that both decode the first item of each page.
func TestListsEqual(t *testing.T) {
	remaining := int64(15)
	first := metav1.ListMeta{ResourceVersion: "5", Continue: "more", RemainingItemCount: &remaining}
	lists := []answer{page(first, pods(0, "4")...), page(first, pods(20, "4")...), list("5", pods(15, "3")...)}
	everyKind(t, func(t *testing.T, k kind) {
		pages := func(t testing.TB, lw clientgo.ListerWatcherWithContext) []outcome {
			return []outcome{listed(t, lw), listed(t, lw), ask(t, lw, metav1.ListOptions{Limit: 500, Continue: "more"})}
		}
		plain, direct, state := plainAndTapped(t, k, served{lists: lists}, pages)
		for i, items := range []int{0, 20, 15} {
			require.Len(t, direct[i].Items, items)
			assert.Equal(t, "5", direct[i].Meta.ResourceVersion)
			assert.Equal(t, i < 2, direct[i].Meta.Continue == "more")
		}
		assert.Equal(t, plain, direct)
		assert.Equal(t, tap.State{On: true, Encoding: string(k.encoding), Decoded: 11 + 12, Verified: 9 + 3}, state)
	})
}

// TestErrorsEqual checks that errors of a server, in responses and streams, are the same as without a tap.
func TestErrorsEqual(t *testing.T) {
	gone := statusOf(http.StatusGone, metav1.StatusReasonExpired)
	for name, answers := range map[string][]answer{
		"gone":          {status(http.StatusGone, metav1.StatusReasonExpired)},
		"gone in it":    {events(false, append(manyEvents(), event{watch.Error, gone})...)},
		"gone, and on":  {events(false, slices.Concat(manyEvents(), []event{{watch.Error, gone}}, manyEvents(), []event{{watch.Error, gone}}, manyEvents())...)},
		"gone at once":  {events(false, event{watch.Error, gone})},
		"forbidden":     {status(http.StatusForbidden, metav1.StatusReasonForbidden)},
		"too many":      {status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "Retry-After", "0"), events(false, manyEvents()...)},
		"other content": {stream(false, "text/plain", []byte("no"))},
		"an odd event":  {events(false, append(manyEvents(), event{"ODD", pod("p", "40")})...)},
		"another kind":  {events(false, append(manyEvents(), event{watch.Added, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}})...)},
	} {
		t.Run(name, func(t *testing.T) {
			everyKind(t, func(t *testing.T, k kind) {
				plain, direct, _ := plainAndTapped(t, k, served{watches: answers}, watched)
				assert.Equal(t, plain, direct)
				assert.NotEqual(t, outcome{}, plain)
			})
		})
	}
}

// mediaType returns the content type of the encoding of a kind.
func (k kind) mediaType() string {
	if k.encoding == engine.Protobuf {
		return protobufType
	}
	return runtime.ContentTypeJSON
}

// frames returns frames of n added pods.
func frames(n int, media string) (all [][]byte) {
	for i := range n {
		all = append(all, taptest.Frame(watch.Added, pod(fmt.Sprintf("p%d", i), "9"), media))
	}
	return all
}

// TestCutAnywhere checks that a watch which ends at any byte has the same events and error as without a tap.
func TestCutAnywhere(t *testing.T) {
	for i, k := range slices.Repeat(podClients, 2) {
		k.own, k.ahead = true, i >= len(podClients)
		t.Run(fmt.Sprint(k.name, ", ahead ", k.ahead), func(t *testing.T) {
			whole := bytes.Join(frames(10, k.mediaType()), nil)
			for at := 0; at <= len(whole); at += max(1, len(whole)/60) {
				answers := []answer{stream(false, k.mediaType(), whole[:at/2], whole[at/2:at])}
				plain, direct, _ := plainAndTapped(t, k, served{watches: answers}, watched)
				require.Equal(t, plain, direct, "cut at %d of %d", at, len(whole))
			}
		})
	}
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
	inProtobuf, inJSON := podClients[0], podClients[1]
	binary, lines := bytes.Join(frames(20, protobufType), nil), bytes.Join(frames(20, runtime.ContentTypeJSON), nil)
	f := bytes.Split(bytes.TrimSpace(lines), []byte("\n"))
	for name, c := range map[string]struct {
		k       kind
		pieces  [][]byte
		decoded int64
	}{
		"lines":               {inJSON, [][]byte{lines}, 12},
		"no line ends":        {inJSON, f, 12},
		"no line ends, once":  {inJSON, [][]byte{bytes.Join(f, nil)}, 12},
		"blank lines":         {inJSON, [][]byte{bytes.Join(f, []byte("\n \r\n\n")), []byte("\n")}, 12},
		"pretty":              {inJSON, [][]byte{pretty(f[0]), pretty(f[1])}, 0},
		"pretty later":        {inJSON, [][]byte{lines, pretty(f[1]), lines}, 12},
		"two in a line later": {inJSON, [][]byte{lines, append(bytes.Clone(f[0]), f[1]...), []byte("\n"), lines}, -1},
		"not JSON later":      {inJSON, [][]byte{lines, []byte("[}\n"), lines}, 12},
		"another value":       {inJSON, [][]byte{lines, []byte("null\n"), lines}, 12},
		"text that looks on": {inJSON,
			[][]byte{lines, []byte(`{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"}\"{"}}}`)}, 13},
		"empty frame": {inProtobuf, [][]byte{binary, {0, 0, 0, 0}, binary}, 12},
		"huge frame":  {inProtobuf, [][]byte{binary, {1 << 7, 0, 0, 0}, binary}, 12},
		"garbage":     {inProtobuf, [][]byte{binary, {0, 0, 0, 2, 0xff, 0xff}, binary}, 12},
		"half length": {inProtobuf, [][]byte{binary, {0, 0}, binary}, 12},
	} {
		bothDecoders(t, name, c.k, func(t *testing.T, k kind) {
			answers := []answer{stream(false, k.mediaType(), c.pieces...)}
			plain, direct, state := plainAndTapped(t, k, served{watches: answers}, watched)
			require.Equal(t, plain, direct)
			if c.decoded >= 0 { // otherwise it depends on the bytes that arrive together
				assert.Equal(t, c.decoded, state.Decoded)
			}
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
	answers := []answer{stream(false, runtime.ContentTypeJSON, bytes.Join(frames, nil))}
	source := generatedJSON.tapped(t, served{watches: answers}, usesOwn, func(o *engine.Options) { o.Verify = 1 })
	got := watched(t, source).Events
	require.Len(t, got, len(frames))
	for i, e := range got {
		require.Len(t, e.Object.(*v1.Pod).Name, i)
	}
	assert.EqualValues(t, len(frames), source.ledger.State().Verified)
}

// TestStarvedClient checks that a transport outside of direct.Transport that waits for more than a
// frame gets more after two seconds, and the status the reason.
func TestStarvedClient(t *testing.T) {
	for _, k := range podClients[:1] { // two seconds each
		var all io.Reader
		hoards := reading(func(body io.Reader, p []byte) (int, error) {
			if all == nil {
				whole, err := io.ReadAll(body)
				if err != nil {
					return 0, err
				}
				all = bytes.NewReader(whole)
			}
			return all.Read(p)
		})
		source := k.tapped(t, served{wraps: []wrapper{transport, hoards}})
		assert.Len(t, watched(t, source).Events, len(manyEvents()))
		state := source.ledger.State()
		assert.Zero(t, state.Decoded)
		assert.Contains(t, state.Why, "off for this watch: the client, or a transport outside")
		assert.True(t, state.IsTurnedOff())
	}
}

// TestWatchGoesOn checks that the events after an error event are the client's, and that the status has the
// reason, until the next watch.
func TestWatchGoesOn(t *testing.T) {
	gone := event{watch.Error, statusOf(http.StatusGone, metav1.StatusReasonExpired)}
	for _, k := range podClients {
		for _, k.ahead = range []bool{false, true} {
			script := slices.Concat(manyEvents(), []event{gone}, manyEvents())
			source := k.tapped(t, served{watches: []answer{events(false, script...), events(false, manyEvents()...)}}, usesOwn)
			assert.Len(t, watched(t, source).Events, len(script))
			state := source.ledger.State()
			assert.False(t, state.On)
			assert.Equal(t, "off for this watch: it goes on after an error", state.Why)
			assert.True(t, state.IsTurnedOff())
			decoded := state.Decoded
			assert.Positive(t, decoded)
			assert.Len(t, watched(t, source).Events, len(manyEvents()))
			state = source.ledger.State()
			assert.True(t, state.On)
			assert.Empty(t, state.Why)
			assert.Greater(t, state.Decoded, decoded)
		}
	}
}

// itemSize returns the size of a pod in a list, in bytes, objectSize that of the object of a frame, and frameSize that of
// the frame, without the length before it.
func itemSize(p *v1.Pod, e engine.Encoding) int {
	if e == engine.Protobuf {
		return p.Size()
	}
	item, _ := json.Marshal(p)
	return len(item)
}

func objectSize(p *v1.Pod, e engine.Encoding) int {
	if e == engine.Protobuf {
		return p.Size()
	}
	return len(bytes.TrimSpace([]byte(jsonOf(p))))
}

func frameSize(p *v1.Pod, e engine.Encoding) int {
	if e == engine.Protobuf {
		return len(taptest.Frame(watch.Modified, p, protobufType)) - 4
	}
	return len(taptest.Frame(watch.Modified, p, runtime.ContentTypeJSON))
}

// podOfSize returns a pod for which size, in an encoding, is n.
func podOfSize(n int, e engine.Encoding, size func(*v1.Pod, engine.Encoding) int) *v1.Pod {
	p, pad := pod("large", "34"), 0
	for is := size(p, e); is != n; is = size(p, e) {
		pad += n - is
		p.Annotations["pad"] = strings.Repeat("x", pad)
	}
	return p
}

// TestLargeObjects checks that an object above the limit is left to the client, and that all others, before and
// after it, are decoded directly as before.
func TestLargeObjects(t *testing.T) {
	const limit = 8 << 20
	for _, k := range podClients {
		for above := -1; above <= 1; above++ {
			large := podOfSize(limit+above, k.encoding, itemSize)
			sent := pods(21, "4")
			sent[10] = *large
			s := served{lists: []answer{list("5", sent...)}}
			source := k.tapped(t, s, usesOwn)
			assert.Equal(t, listed(t, k.plain(t, s)), listed(t, source))
			assert.Equal(t, max(above, 0), tooLong(t, source))

			large = podOfSize(limit+above, k.encoding, objectSize)
			s = served{watches: []answer{events(false, slices.Concat(manyEvents(), []event{{watch.Modified, large}}, manyEvents())...)}}
			source = k.tapped(t, s, usesOwn)
			assert.Equal(t, watched(t, k.plain(t, s)), watched(t, source))
			assert.Equal(t, max(above, 0), tooLong(t, source))
		}
	}
}

// tooLong returns the number of objects that were left to the client because of their size. Decoding must be on, and no
// object may have another reason.
func tooLong(t *testing.T, source tapped) int {
	state := source.ledger.State()
	assert.True(t, state.On, state.Why)
	assert.Positive(t, state.Decoded)
	n := int(state.GivenUp["too long"])
	delete(state.GivenUp, "too long")
	assert.Empty(t, state.GivenUp)
	return n
}

// TestLongestFrames checks that frames up to and above the most that client-go reads have the result that they
// have without a tap.
func TestLongestFrames(t *testing.T) {
	testkit.AtNight(t)
	for _, k := range podClients {
		for above := -1; above <= 1; above++ {
			longest := podOfSize(16<<20+above, k.encoding, frameSize)
			s := served{watches: []answer{events(false, slices.Concat(manyEvents(), []event{{watch.Modified, longest}}, manyEvents())...)}}
			plain, ours := watched(t, k.plain(t, s)), watched(t, k.tapped(t, s, usesOwn))
			assert.Equal(t, len(plain.Events), len(ours.Events), above)
			assert.Equal(t, plain, ours, above)
		}
	}
}

// TestOddLists checks that bodies which are not valid lists, but not certainly none, have the same result as without a
// tap.
func TestOddLists(t *testing.T) {
	good := jsonOf(podList("5"))
	for name, body := range map[string]string{
		"cut":           good[:len(good)/2],
		"no JSON":       "{]",
		"empty":         "",
		"null items":    `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":null}`,
		"no items":      `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"}}`,
		"items first":   `{"apiVersion":"v1","items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}],"kind":"PodList","metadata":{"resourceVersion":"5"}}`,
		"items of null": `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[null,{}]}`,
	} {
		for _, k := range kinds[1:3] {
			bothDecoders(t, name+k.name, k, func(t *testing.T, k kind) {
				lists := served{lists: []answer{inJSON(body)}}
				source := k.tapped(t, lists)
				assert.Contains(t, []string{"direct", "suspended:", "off"}, asked(t, source, 1))
				assert.Equal(t, listed(t, k.plain(t, lists)), listed(t, source))
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
		lists := served{lists: []answer{cutOff, goodList}}
		plain := listed(t, k.plain(t, lists))
		require.Contains(t, plain.Err, "unexpected EOF")
		source := k.tapped(t, lists, usesOwn, func(o *engine.Options) { o.Start = 4 }) // the 12th
		assert.Equal(t, plain, ask(t, source, firstList))
		assert.Len(t, ask(t, source, firstList).Items, 20)
		assert.True(t, source.ledger.State().On)
		assert.EqualValues(t, 8+1+1, source.ledger.State().Verified)
	}
}

// named returns a function that reports whether an object has one of the names.
func named(names ...string) func(runtime.Object) bool {
	return func(obj runtime.Object) bool { return slices.Contains(names, obj.(metav1.Object).GetName()) }
}

// TestGivenUp checks that client-go decodes objects that the decoder gives up, in the same position.
func TestGivenUp(t *testing.T) {
	refuses := func(o *engine.Options) { o.Make = taptest.Decoders(named("p0", "p9", "p10", "p15", "p3"), nil) }
	everyKind(t, func(t *testing.T, k kind) {
		plain, source := k.plain(t, served{}), k.tapped(t, served{}, refuses)
		assert.Equal(t, listed(t, plain), listed(t, source))
		assert.EqualValues(t, 20-8-1-3, source.ledger.State().Decoded)
		assert.Equal(t, map[string]int64{"refused": 5}, source.ledger.State().GivenUp)
		assert.Equal(t, watched(t, plain), watched(t, source))
		assert.EqualValues(t, 20-8-1-3+16-5-1, source.ledger.State().Decoded)
		assert.Equal(t, map[string]int64{"refused": 10}, source.ledger.State().GivenUp)
	})
}

// TestMostlyGivenUp checks that client-go decodes a type that the decoder mostly gives up.
func TestMostlyGivenUp(t *testing.T) {
	for _, k := range podClients {
		answers := []answer{stream(false, k.mediaType(), frames(200, k.mediaType())...)}
		all := func(runtime.Object) bool { return true }
		source := k.tapped(t, served{watches: answers}, func(o *engine.Options) { o.Make = taptest.Decoders(all, nil) })
		assert.Len(t, watched(t, source).Events, 200)
		state := source.ledger.State()
		assert.Equal(t, "off for good: most objects cannot be decoded directly", state.Why)
		assert.Equal(t, "gave-up", state.Reason)
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
		plain := k.plain(t, served{})
		source := k.tapped(t, served{}, func(o *engine.Options) { o.Make = taptest.Decoders(panics, nil) })
		assert.Equal(t, watched(t, plain), watched(t, source))
		assert.Equal(t, map[string]int64{"the decoder panicked with a value of type string": 1}, source.ledger.State().GivenUp)
		assert.NotContains(t, source.doubts(t).Error(), "secret")
		assert.Equal(t, listed(t, plain), listed(t, source))
	}
}

// damage makes a decoder return a wrong result for an object.
func damage(name string) func(o *engine.Options) {
	return func(o *engine.Options) {
		o.Verify = 10
		o.Make = taptest.Decoders(nil, func(obj runtime.Object) {
			if named(name)(obj) {
				obj.(metav1.Object).SetLabels(map[string]string{"app": "secret"})
			}
		})
	}
}

// difference returns the path that damage changes. Keys of maps are not part of it.
func difference(k kind) string {
	if k.name == "dynamic" {
		return "a *unstructured.Unstructured, differs at object.Object[...][...][...]"
	}
	return fmt.Sprintf("a %T, differs at object.ObjectMeta.Labels[...]", k.example)
}

// heldWatch is a server whose watches do not end.
var heldWatch = served{watches: []answer{events(true, manyEvents()...)}}

// TestDifferentEvent checks that a watch with a wrongly decoded object ends with a Doubt, which
// contains the path and no value, and that client-go decodes from then on.
func TestDifferentEvent(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind) {
		for name, before := range map[string]int{"p0": 0, "p7": 7, "p9": 9} {
			source := k.tapped(t, heldWatch, damage(name))
			got := watched(t, source).Events
			require.Len(t, got, before+1)
			last := got[before]
			assert.Equal(t, watch.Error, last.Type)
			doubt := last.Object.(*tap.Doubt)
			assert.Equal(t, "off for good: an event of a watch, "+difference(k), doubt.Why)
			state := source.ledger.State()
			assert.Equal(t, tap.State{Why: doubt.Why, Reason: "off-for-good", Decoded: int64(max(0, before-8)), Verified: int64(min(before, 8)), Differences: 1}, state)
			assert.Len(t, follow(t, source, firstWatch, len(manyEvents())).Events, len(manyEvents()))
			assert.Len(t, ask(t, source, firstList).Items, 20)
			assert.Equal(t, state, source.ledger.State())
		}
	})
}

// TestDifferentItem checks that a list with a wrongly decoded item is a Doubt, and that client-go
// decodes from then on. Items between two samples are not compared.
func TestDifferentItem(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind) {
		for _, name := range []string{"p0", "p7", "p9", "p19"} {
			source := k.tapped(t, heldWatch, damage(name))
			assert.EqualError(t, source.doubts(t), "decoding directly is off for good: an item of the list, "+difference(k))
			state := source.ledger.State()
			assert.EqualValues(t, 1, state.Differences)
			assert.Zero(t, state.Decoded)
			assert.Len(t, ask(t, source, firstList).Items, 20)
			assert.Len(t, follow(t, source, firstWatch, len(manyEvents())).Events, len(manyEvents()))
			assert.Equal(t, state, source.ledger.State())
		}
		unnoticed := ask(t, k.tapped(t, served{}, damage("p10")), firstList)
		require.Len(t, unnoticed.Items, 20)
		assert.Equal(t, "secret", unnoticed.Items[10].(metav1.Object).GetLabels()["app"])
	})
}

// TestCompared checks that only the result of Compared is compared.
func TestCompared(t *testing.T) {
	unlabelled := func(o *engine.Options) {
		o.Make = nil
		o.Compared = func(obj runtime.Object) runtime.Object {
			obj = obj.DeepCopyObject()
			obj.(metav1.Object).SetLabels(nil)
			return obj
		}
	}
	for _, k := range kinds {
		for what, change := range map[string]func(metav1.Object){
			"":                 func(obj metav1.Object) { obj.SetLabels(nil) },
			".Name":            func(obj metav1.Object) { obj.SetName("other") },
			".Namespace":       func(obj metav1.Object) { obj.SetNamespace("other") },
			".UID":             func(obj metav1.Object) { obj.SetUID("other") },
			".ResourceVersion": func(obj metav1.Object) { obj.SetResourceVersion("1") },
		} {
			first := edits(func(list runtime.Object) {
				items, err := meta.ExtractList(list)
				require.NoError(t, err)
				change(items[0].(metav1.Object))
			})
			source := k.altering(first, nil).tapped(t, served{}, unlabelled)
			if what == "" {
				assert.Equal(t, "direct", asked(t, source, 1))
				continue
			}
			err := source.doubts(t)
			if k.name != "dynamic" {
				assert.ErrorContains(t, err, "differs at object.ObjectMeta"+what)
			}
			assert.Len(t, ask(t, source, firstList).Items, 20)
		}
	}
}

// inJSON answers with a body.
func inJSON(body string) answer {
	return func(w http.ResponseWriter, r *http.Request) { reply(w, r, runtime.ContentTypeJSON, []byte(body)) }
}

func jsonOf(obj runtime.Object) string { return string(taptest.Encoded(obj, runtime.ContentTypeJSON)) }

var (
	goodList = list("5", pods(20, "4")...)
	gateway  = inJSON(`{"error":"upstream unavailable"}`)
	aCutList = inJSON(jsonOf(podList("5"))[:1000])
	badItem  = inJSON(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":7}}]}`)
	nullItem = inJSON(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a"}},null]}`)
	aStatus  = inJSON(jsonOf(statusOf(500, "InternalError")))
	noNodes  = func(w http.ResponseWriter, r *http.Request) {
		reply(w, r, protobufType, taptest.Encoded(&v1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}}, protobufType))
	}
	nodes = inJSON(jsonOf(&v1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: make([]v1.Node, 2)}))
)

var generatedJSON, dynamicJSON = kinds[1], kinds[4]

// asked lists several times, and returns a word for each list: decoded directly, by the client, a
// doubt that suspends, a doubt for good, or an error.
func asked(t *testing.T, source tapped, times int) string {
	how := make([]string, times)
	for i := range how {
		list, err := source.ListWithContext(t.Context(), firstList)
		how[i] = "failed"
		if _, direct := list.(*tap.Page); direct {
			how[i] = "direct"
		} else if err == nil {
			how[i] = "client"
		} else if doubt, is := err.(*tap.Doubt); is {
			how[i] = strings.Fields(doubt.Why)[0]
			assert.Equal(t, doubt.Why, source.ledger.State().Why)
			assert.Equal(t, map[string]string{"suspended:": "suspended", "off": "off-for-good"}[how[i]], source.ledger.State().Reason)
		}
	}
	return strings.Join(how, " ")
}

// TestDirectAgainAfterOddResponses checks that, after an odd response and a list that the client decodes, lists are decoded directly
// again. Responses that the client does not understand either never turn the tap off. A list that expires between two
// pages does not end a suspension, and the client also decodes the list that the pager requests instead.
func TestDirectAgainAfterOddResponses(t *testing.T) {
	const once, failed = "suspended: client direct direct", "failed direct direct" // failed: certainly no list
	first := inJSON(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5","continue":"more"},` +
		`"items":[{"metadata":{"name":"a"}},null]}`)
	for name, c := range map[string]struct {
		k       kind
		answers []answer
		want    string
	}{
		"a gateway's error":          {dynamicJSON, []answer{gateway, goodList}, failed},
		"a list that is cut":         {generatedJSON, []answer{aCutList, goodList}, once},
		"nothing":                    {generatedJSON, []answer{inJSON(""), goodList}, once},
		"null":                       {generatedJSON, []answer{inJSON("null"), goodList}, failed},
		"one bad item":               {generatedJSON, []answer{badItem, goodList}, failed},
		"a null item":                {generatedJSON, []answer{nullItem, goodList}, once},
		"a null item, unstructured":  {dynamicJSON, []answer{nullItem, goodList}, once},
		"a status":                   {generatedJSON, []answer{aStatus, goodList}, failed},
		"a list of another kind":     {generatedJSON, []answer{nodes, goodList}, failed},
		"a list cut in unstructured": {dynamicJSON, []answer{aCutList, goodList}, once},
		"the client fails too": {generatedJSON, []answer{aCutList, aCutList, badItem, badItem, badItem, badItem, aStatus, aStatus, goodList},
			"suspended: failed failed failed failed failed failed failed direct"},
		"an expired list": {generatedJSON, []answer{first, first, status(410, metav1.StatusReasonExpired), nullItem, goodList},
			"suspended: client failed client direct"},
	} {
		source := c.k.tapped(t, served{lists: c.answers}, usesOwn)
		assert.Equal(t, c.want, asked(t, source, len(strings.Fields(c.want))), name)
		assert.True(t, source.ledger.State().On, name)
		assert.Zero(t, source.ledger.State().Differences, name)
	}
}

// TestNoList checks what is said of answers with status 200 that are no list. The client would make an empty list of
// most of them.
func TestNoList(t *testing.T) {
	for name, c := range map[string]struct {
		k      kind
		answer answer
		want   string // "" if it is a list
	}{
		"a gateway's error":          {generatedJSON, gateway, "the answer is an object without a kind that is known, not a PodList"},
		"dynamic":                    {dynamicJSON, gateway, "the answer is an object without a kind that is known, not a list"},
		"an empty object":            {generatedJSON, inJSON(`{}`), "the answer is an object without a kind that is known, not a PodList"},
		"null":                       {generatedJSON, inJSON(`null`), "the answer is no JSON object, not a PodList"},
		"HTML":                       {generatedJSON, inJSON(`<html>hush</html>`), "the answer is no JSON object, not a PodList"},
		"a Status":                   {generatedJSON, aStatus, "the answer is a Status, not a PodList"},
		"a Status, dynamic":          {dynamicJSON, aStatus, "the answer is a Status, not a list"},
		"a single object":            {generatedJSON, inJSON(jsonOf(&pods(1, "4")[0])), "the answer is a Pod, not a PodList"},
		"a Table":                    {generatedJSON, inJSON(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"5"},"rows":[]}`), "the answer is a Table, not a PodList"},
		"a list of another kind":     {generatedJSON, nodes, "the answer is a NodeList, not a PodList"},
		"no objects of another kind": {generatedJSON, inJSON(`{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[]}`), "the answer is a NodeList, not a PodList"},
		"the same in protobuf":       {kinds[0], noNodes, "the answer is a NodeList, not a PodList"},
		"a list without kind":        {generatedJSON, inJSON(`{"metadata":{"resourceVersion":"5"},"items":null}`), ""},
		"a list of an odd kind":      {dynamicJSON, inJSON(`{"kind":"Widgets","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[]}`), ""},
		"a list without items":       {generatedJSON, inJSON(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"}}`), ""},
	} {
		source := c.k.tapped(t, served{lists: []answer{c.answer}}, usesOwn)
		_, err := source.ListWithContext(t.Context(), firstList)
		if c.want == "" {
			assert.NoError(t, err, name)
			continue
		}
		assert.EqualError(t, err, c.want, name)
	}
}

// TestTablesThatAreConverted checks that the client decodes what it requests as a Table.
func TestTablesThatAreConverted(t *testing.T) {
	asksForTables := func(next http.RoundTripper) http.RoundTripper {
		return taptest.Trip(func(req *http.Request) (*http.Response, error) {
			req = req.Clone(req.Context())
			req.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
			return next.RoundTrip(req)
		})
	}
	converts := func(ctx context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (runtime.Object, error) {
		table, err := plain.ListWithContext(ctx, o)
		if err != nil {
			return nil, err
		}
		rows, _, err := unstructured.NestedSlice(table.(*unstructured.UnstructuredList).Object, "rows")
		list := &unstructured.UnstructuredList{Object: map[string]any{"metadata": map[string]any{"resourceVersion": "5"}}}
		for _, row := range rows {
			list.Items = append(list.Items, unstructured.Unstructured{Object: row.(map[string]any)["object"].(map[string]any)})
		}
		return list, err
	}
	table := inJSON(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"5"},"rows":[{"cells":["a"],"object":` + jsonOf(&pods(1, "4")[0]) + `}]}`)
	source := dynamicJSON.altering(converts, nil).tapped(t, served{lists: []answer{table}, wraps: []wrapper{transport, asksForTables}}, usesOwn)
	assert.Equal(t, "client client", asked(t, source, 2))
	assert.Len(t, listed(t, source).Items, 1)
	assert.Equal(t, "content type of a Table", source.ledger.State().Why)
	assert.Equal(t, "encoding", source.ledger.State().Reason)
}

// TestListFuncMakesAnEmptyList checks that the client lists, in the end for good, if a ListFunc copies those items that it
// wants, of which there are none, to a new list without a version.
func TestListFuncMakesAnEmptyList(t *testing.T) {
	copies := func(ctx context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (runtime.Object, error) {
		if _, err := plain.ListWithContext(ctx, o); err != nil {
			return nil, err
		}
		return &v1.PodList{}, nil
	}
	for _, k := range podClients {
		source := k.altering(copies, nil).tapped(t, served{lists: []answer{list("5", pods(20, "4")...)}}, usesOwn)
		assert.Equal(t, "suspended: client suspended: client suspended: client client", asked(t, source, 7))
		assert.Equal(t, "off for good: the client did not take the list, less items", source.ledger.State().Why)
	}
}

// TestMetadataOfCompleteObjects checks that a list of complete objects, which an older server sends, is left to the client of
// metadata: for such objects it ignores the case of names.
func TestMetadataOfCompleteObjects(t *testing.T) {
	k := kinds[5]
	lists := served{lists: []answer{inJSON(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},` +
		`"items":[{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","Labels":{"x":"y"}}}]}`)}}
	source := k.tapped(t, lists, usesOwn)
	assert.Equal(t, "suspended:", asked(t, source, 1))
	assert.Contains(t, source.ledger.State().Why, "complete objects in a list of metadata")
	got := listed(t, source)
	assert.Equal(t, listed(t, k.plain(t, lists)), got)
	assert.Len(t, got.Items, 1)
}

// TestThirdOddResponseTurnsTheTapOff checks that the third response that only the client understands turns the tap
// off for good. Responses that the client does not understand do not count.
func TestThirdOddResponseTurnsTheTapOff(t *testing.T) {
	answers := []answer{nullItem, nullItem, aCutList, aCutList, nullItem, goodList, goodList, nullItem, goodList}
	source := generatedJSON.tapped(t, served{lists: answers}, usesOwn)
	assert.Equal(t, "suspended: client suspended: failed suspended: client direct suspended:", asked(t, source, 8))
	why := source.ledger.State().Why
	assert.Equal(t, "client client", asked(t, source, 2))
	assert.Equal(t, "suspended: the list cannot be taken apart: not a list as it is known", why)
	assert.Equal(t, "off for good: the list cannot be taken apart: not a list as it is known", source.ledger.State().Why)
	assert.False(t, source.ledger.State().On)
}

// TestSuspendedToTheLastPage checks that a complete list by the client ends a suspension, and a canceled one does not.
func TestSuspendedToTheLastPage(t *testing.T) {
	first := page(metav1.ListMeta{ResourceVersion: "5", Continue: "more"}, pods(20, "4")...)
	source := generatedJSON.tapped(t, served{lists: []answer{first, aCutList, first, goodList}}, usesOwn)
	ctx, cancel := context.WithCancel(t.Context())
	assert.Equal(t, "direct suspended:", asked(t, source, 2))
	cancel()
	_, err := source.ListWithContext(ctx, firstList)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, "client client direct", asked(t, source, 3))
}

// TestSuspendedForSeveral checks that a doubt counts once, however many lists the client decodes because of it.
func TestSuspendedForSeveral(t *testing.T) {
	var requests, lists sync.WaitGroup
	requests.Add(3)
	together := func(w http.ResponseWriter, r *http.Request) {
		requests.Done()
		requests.Wait()
		goodList(w, r)
	}
	source := generatedJSON.tapped(t, served{lists: []answer{nullItem, together, together, together, goodList}}, usesOwn)
	assert.Equal(t, "suspended:", asked(t, source, 1))
	for range 3 {
		lists.Go(func() { assert.Equal(t, "client", asked(t, source, 1)) })
	}
	lists.Wait()
	assert.Equal(t, "direct", asked(t, source, 1))
}

var gadgets = schema.GroupVersion{Group: "example.com", Version: "v1"}

// gadget has no field for its kind, sprocket always has the same kind, and knob has a kind without
// a version. oddList is a list of one of them.
type (
	gadget struct {
		metav1.ObjectMeta `json:"metadata"`
		Spec              map[string]string `json:"spec"`
	}
	sprocket struct{ gadget }
	knob     struct {
		Kind string `json:"kind"`
		gadget
	}
	oddList[T any] struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata"`
		Items           []T `json:"items"`
	}
)

func (g *gadget) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

func (g *gadget) DeepCopyObject() runtime.Object { c := *g; return &c }

func (s *sprocket) GetObjectKind() schema.ObjectKind { return alwaysSprocket{} }

func (s *sprocket) DeepCopyObject() runtime.Object { c := *s; return &c }

func (k *knob) GetObjectKind() schema.ObjectKind { return k }

func (k *knob) GroupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Kind: k.Kind}
}

func (k *knob) SetGroupVersionKind(kind schema.GroupVersionKind) { k.Kind = kind.Kind }

func (k *knob) DeepCopyObject() runtime.Object { c := *k; return &c }

func (l *oddList[T]) DeepCopyObject() runtime.Object { c := *l; return &c }

type alwaysSprocket struct{}

func (alwaysSprocket) GroupVersionKind() schema.GroupVersionKind {
	return gadgets.WithKind("Sprocket")
}

func (alwaysSprocket) SetGroupVersionKind(schema.GroupVersionKind) {}

// odds are examples of these types and of their lists, by kind.
var odds = map[string][2]runtime.Object{
	"Gadget":   {&gadget{}, &oddList[gadget]{}},
	"Sprocket": {&sprocket{}, &oddList[sprocket]{}},
	"Knob":     {&knob{}, &oddList[knob]{}},
}

// ofGadgets returns a kind of client for one of these types.
func ofGadgets(name string) kind {
	clients := func(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
		scheme := runtime.NewScheme()
		metav1.AddToGroupVersion(scheme, gadgets)
		for kind, of := range odds {
			scheme.AddKnownTypeWithName(gadgets.WithKind(kind), of[0])
			scheme.AddKnownTypeWithName(gadgets.WithKind(kind+"List"), of[1])
		}
		c.APIPath, c.GroupVersion = "/apis", &gadgets
		c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
		client, err := rest.RESTClientFor(c)
		require.NoError(t, err)
		return clientgo.NewListWatchFromClient(client, "gadgets", "space", fields.Everything())
	}
	return kind{name: name, encoding: engine.JSON, example: odds[name][0], own: true, make: clients}
}

// gadgetOf returns a gadget of the given kind and version, in JSON.
func gadgetOf(kind, version, name string) string {
	return fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":{"name":%q,"resourceVersion":"9"},"spec":{"some":"text"}}`, kind, version, name)
}

func gadgetFrame(event watch.EventType, object string) []byte {
	return fmt.Appendf(nil, `{"type":%q,"object":%s}`+"\n", event, object)
}

// TestOddKinds checks that an event of another version or kind ends the watch as without a tap, and that lists, in
// which client-go ignores the kinds of items, are the same. If objects of the type do not retain kind and version, the
// client decodes the watch, and the state contains the reason.
func TestOddKinds(t *testing.T) {
	for kind := range odds {
		items := ""
		var frames [][]byte
		for i := range 20 {
			item := gadgetOf(kind, "example.com/v1", fmt.Sprint("g", i))
			items += item + ","
			frames = append(frames, gadgetFrame(watch.Added, item))
		}
		for _, other := range [][2]string{{kind, "example.com/v2"}, {"Widget", "example.com/v1"}} {
			pieces := append(slices.Clone(frames), gadgetFrame(watch.Modified, gadgetOf(other[0], other[1], "g3")), frames[0])
			watches := []answer{stream(false, runtime.ContentTypeJSON, pieces...)}
			plain, direct, state := plainAndTapped(t, ofGadgets(kind), served{watches: watches}, watched)
			require.Equal(t, watch.Error, plain.Events[20].Type)
			assert.Equal(t, plain, direct)
			assert.Zero(t, state.Decoded)
			assert.Equal(t, "objects of this type carry no kind", state.Why)
			assert.Equal(t, "no-kind", state.Reason)
			assert.Equal(t, map[string]int64{state.Why: 1}, state.GivenUp)
		}
		items += gadgetOf("Widget", "example.com/v2", "other")
		body := fmt.Sprintf(`{"kind":"%sList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"5"},"items":[%s]}`, kind, items)
		plain, direct, state := plainAndTapped(t, ofGadgets(kind), served{lists: []answer{inJSON(body)}}, listed)
		require.Len(t, plain.Items, 21)
		assert.Equal(t, plain, direct)
		assert.True(t, state.On)
	}
}

// withoutKind returns a frame of protobuf whose object has the same bytes, without kind and apiVersion.
func withoutKind(t *testing.T, frame []byte) []byte {
	var of metav1.WatchEvent
	require.NoError(t, of.Unmarshal(frame[4:]))
	const mark = "k8s\x00"
	var object runtime.Unknown
	require.NoError(t, object.Unmarshal(bytes.TrimPrefix(of.Object.Raw, []byte(mark))))
	object.TypeMeta = runtime.TypeMeta{}
	raw, err := object.Marshal()
	require.NoError(t, err)
	of.Object.Raw = append([]byte(mark), raw...)
	data, err := of.Marshal()
	require.NoError(t, err)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)
}

// TestKnownBytesWithoutAKind checks that a frame of protobuf without a kind ends the watch as without a tap,
// although the bytes of its object are those of a cached one.
func TestKnownBytesWithoutAKind(t *testing.T) {
	all := frames(20, protobufType)
	for i := range all {
		all[i] = taptest.Frame(watch.Added, longPod(i), protobufType) // long enough to be remembered
	}
	pieces := append(slices.Clone(all), withoutKind(t, all[19]), all[0])
	k := podClients[0]
	k.own = true
	remembers := func(o *engine.Options) { o.Share, o.Remember = true, true }
	plain, direct, state := plainAndTapped(t, k, served{watches: []answer{stream(false, protobufType, pieces...)}}, watched, remembers)
	require.Equal(t, watch.Error, plain.Events[20].Type)
	assert.Equal(t, plain, direct)
	assert.Positive(t, state.Decoded)
}

func longPod(i int) *v1.Pod {
	p := pod(fmt.Sprint("p", i), "9")
	p.Annotations["long"] = strings.Repeat("x", 4000)
	return p
}

// sampleStart is where the sample of most tests starts: both decode the 8th, the 24th and the 40th
// object, which are among the first many.
const sampleStart = 40

// bothWaysOf returns the indexes of the items of a list of n items that both decode.
func bothWaysOf(t *testing.T, n int, change func(*engine.Options)) (places []int) {
	k := podClients[0].altering(edits(func(l *v1.PodList) {
		for i := range l.Items {
			var place int
			_, err := fmt.Sscanf(l.Items[i].Name, "p%d", &place)
			require.NoError(t, err)
			places = append(places, place)
		}
	}), nil)
	source := k.tapped(t, served{lists: []answer{list("5", pods(n, "4")...)}}, change)
	require.Len(t, ask(t, source, firstList).Items, n)
	assert.EqualValues(t, len(places), source.ledger.State().Verified)
	return places
}

// TestSampleOfTheFirstList checks that both decode one in 16 of the first 1,000 items, besides the
// first few and the last one, and one in many later.
func TestSampleOfTheFirstList(t *testing.T) {
	places := bothWaysOf(t, 1500, func(o *engine.Options) { o.Start, o.Verify = 3, 100 })
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
		places := bothWaysOf(t, 25, func(o *engine.Options) { o.Start = 0 })
		seen[places[8]] = true
	}
	assert.Greater(t, len(seen), 1)
}

// TestSampleOfABrokenPage checks that, if a page fails, the sample is repeated from the first page.
func TestSampleOfABrokenPage(t *testing.T) {
	first := page(metav1.ListMeta{ResourceVersion: "5", Continue: "more"}, pods(20, "4")...)
	pages := []answer{first, cutOff, first, list("5", pods(15, "4")...)}
	source := podClients[0].tapped(t, served{lists: pages})
	for _, items := range []int{0, 15} {
		got := ask(t, source, firstList)
		require.Len(t, got.Items, 20)
		assert.Len(t, ask(t, source, metav1.ListOptions{Limit: 500, Continue: got.Meta.Continue}).Items, items)
	}
	assert.EqualValues(t, (8+1)+(8+1)+3, source.ledger.State().Verified)
}

// TestPart checks that objects of other shards are not decoded, except those that both decode, and
// that the remaining objects equal those of client-go in the shard.
func TestPart(t *testing.T) {
	for _, field := range []shard.Field{shard.UID, shard.Namespace} {
		t.Run(string(field), func(t *testing.T) { testPart(t, field) })
	}
}

func testPart(t *testing.T, field shard.Field) {
	everyOwnKind(t, func(t *testing.T, k kind) {
		all := pods(40, "4")
		for i := range all {
			all[i].UID = types.UID(fmt.Sprintf("%x", sha256.Sum256([]byte(all[i].Name))))
			all[i].Namespace = fmt.Sprintf("%x", sha256.Sum256([]byte(all[i].Name+"space")))
		}
		plain := k.plain(t, serving(all))
		items, script := ask(t, plain, firstList).Items, watched(t, plain).Events
		var listed, decoded int64
		for i := range 2 {
			const zero, half, end = "0x0000000000000000", "0x8000000000000000", "0x10000000000000000"
			part, err := shard.Select(sharding.NewSelector(sharding.ShardRangeRequirement{
				Key: string(field), Start: []string{zero, half}[i], End: []string{half, end}[i],
			}))
			require.NoError(t, err)
			source := k.tapped(t, serving(all), func(o *engine.Options) { o.Part = part })
			got := ask(t, source, firstList).Items
			assert.Equal(t, of(part, items), of(part, got))
			assert.Equal(t, got, of(part, got), "in lists nothing else comes")
			listed += int64(len(got))
			outcome := watched(t, source).Events
			assert.Equal(t, eventsOf(part, script), eventsOf(part, outcome))
			assert.Less(t, len(outcome), len(script)-10)
			state := source.ledger.State()
			decoded += state.Decoded + state.Verified
			assert.Empty(t, state.GivenUp)
		}
		assert.EqualValues(t, 40, listed)
		assert.Less(t, decoded, int64(2*80-50))
	})
}

// of returns the objects in a shard.
func of(part *shard.Range, objects []runtime.Object) (own []runtime.Object) {
	for _, obj := range objects {
		if accessor, err := meta.Accessor(obj); err == nil && part.Has(accessor) {
			own = append(own, obj)
		}
	}
	return own
}

// eventsOf returns the events about objects in a shard, and the bookmarks.
func eventsOf(part *shard.Range, all []watch.Event) (own []watch.Event) {
	for _, e := range all {
		if e.Type == watch.Bookmark || len(of(part, []runtime.Object{e.Object})) > 0 {
			own = append(own, e)
		}
	}
	return own
}

// TestPartEmpty checks that a list with objects of other shards only, and an empty list, result in
// an empty list without a doubt.
func TestPartEmpty(t *testing.T) {
	part, err := shard.RangeOf(0, math.MaxInt)
	require.NoError(t, err)
	everyOwnKind(t, func(t *testing.T, k kind) {
		lists := []answer{list("5", pods(3, "4")...), list("6")}
		source := k.tapped(t, served{lists: lists}, func(o *engine.Options) { o.Part = part })
		for _, version := range []string{"5", "6"} {
			got := ask(t, source, firstList)
			assert.Empty(t, got.Err)
			assert.Equal(t, version, got.Meta.ResourceVersion)
			assert.Empty(t, got.Items)
		}
		assert.True(t, source.ledger.State().On)
	})
}
