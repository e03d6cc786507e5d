// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"context"
	"net/http"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/taptest"
	"github.com/kinformer/cache/internal/testkit"
)

// turns is each of the answers in turn, again and again.
func turns(answers ...answer) []answer {
	var n atomic.Int64
	return []answer{func(w http.ResponseWriter, r *http.Request) {
		answers[int(n.Add(1)-1)%len(answers)](w, r)
	}}
}

// cutList is the list of 20 pods, of which half of the bytes come.
func cutList(w http.ResponseWriter, r *http.Request) {
	body := taptest.Encoded(podList("5"), mediaOf(r))
	w.Header().Set("Content-Type", mediaOf(r))
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body[:len(body)/2])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// cutWatch ends in the middle of its second event.
func cutWatch(w http.ResponseWriter, r *http.Request) {
	frame := taptest.Frame(watch.Modified, pod("p1", "9"), mediaOf(r))
	stream(false, streamType(mediaOf(r)), frame, frame[:len(frame)/2])(w, r)
}

// failing returns a source that shares parts, whose lists and watches fail in many ways, and now
// and then do not.
func failing(t testing.TB, k kind) tapped {
	gone := statusOf(http.StatusGone, metav1.StatusReasonExpired)
	server := newServer(t, false,
		turns(list("5", pods(20, "4")...), status(500, metav1.StatusReasonInternalError), cutList, status(410, metav1.StatusReasonExpired)),
		turns(events(false, manyEvents()...), cutWatch, events(false, event{watch.Error, gone}), events(true, manyEvents()...)))
	return tappedOf(k.make(t, server.config(transport)), k.example, sharesParts)
}

func sharesParts(o *tap.Options) { o.Make, o.Share = nil, true }

// goWrong has a source list and watch several times, and lose its last watch.
func (s tapped) goWrong(t testing.TB) {
	failed, listed, seen := 0, 0, 0
	for range 8 {
		got := ask(t, s, firstList)
		if listed += len(got.Items); got.Err != "" {
			failed++
		}
	}
	for range 8 {
		seen += len(follow(t, s, firstWatch, len(manyEvents())).Events)
	}
	assert.NotZero(t, failed)
	assert.NotZero(t, listed)
	assert.NotZero(t, seen)
}

// breakDown begins and ends two sources that come to a bad end: of one somebody alters the lists,
// the other one's ListerWatcher panics.
func breakDown(t testing.TB) (all []tapped) {
	panics := func(ctx context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (apiruntime.Object, error) {
		_, _ = plain.ListWithContext(ctx, o)
		panic("no list today")
	}
	for _, change := range []listChange{changes["edits"], panics} {
		server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, nil)
		source := tappedOf(altered{generated(t, server.config(transport)), change, nil}, &v1.Pod{}, sharesParts)
		func() {
			defer func() { _ = recover() }()
			defer source.Begin()()
			_, err := source.ListWithContext(t.Context(), firstList)
			isDoubt(t, err)
		}()
		all = append(all, source)
	}
	return all
}

// lifeOf returns what tells whether something is there, and is told when it is no more.
func lifeOf[T any](t testing.TB, thing *T) (there func() bool, freed <-chan struct{}) {
	require.NotNil(t, thing)
	p, done := weak.Make(thing), make(chan struct{})
	runtime.AddCleanup(thing, func(done chan struct{}) { close(done) }, done)
	return func() bool { return p.Value() != nil }, done
}

// awaitFreed collects garbage until something is.
func awaitFreed(t testing.TB, freed <-chan struct{}, what string) {
	for late := time.After(testkit.Patience); ; {
		runtime.GC()
		select {
		case <-freed:
			return
		case <-late:
			require.Fail(t, "still there", what)
		case <-time.After(time.Millisecond):
		}
	}
}

// TestTablesAreGarbage: both tables are freed when the last informer that uses them has ended,
// although all informers are still there, whatever has failed, and as often as they begin anew; and
// no sooner.
func TestTablesAreGarbage(t *testing.T) {
	noTable(t)
	first, second := failing(t, kinds[0]), failing(t, kinds[1])
	var kept []tapped
	for range 3 {
		endFirst, endSecond := first.Begin(), second.Begin()
		first.goWrong(t)
		second.goWrong(t)
		kept = append(kept, breakDown(t)...)
		textsThere, textsFreed := lifeOf(t, tap.SharedTexts())
		partsThere, partsFreed := lifeOf(t, tap.SharedParts())
		assert.NotZero(t, first.ledger.State().Parts.Count)
		endFirst()
		for range 3 {
			runtime.GC()
		}
		assert.True(t, textsThere())
		assert.True(t, partsThere())
		assert.NotZero(t, second.ledger.State().Parts.Count, "the same tables")
		second.goWrong(t)
		endSecond()
		awaitFreed(t, textsFreed, "the texts")
		awaitFreed(t, partsFreed, "the parts")
		assert.False(t, textsThere())
		assert.False(t, partsThere())
	}
	runtime.KeepAlive(first)
	runtime.KeepAlive(second)
	runtime.KeepAlive(kept)
}
