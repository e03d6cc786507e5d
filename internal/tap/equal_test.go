// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"fmt"
	"net/http"
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
