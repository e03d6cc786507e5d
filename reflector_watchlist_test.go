// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientfeatures "k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/util/consistencydetector"
	testingclock "k8s.io/utils/clock/testing"
)

// streamed runs a reflector in a bubble against the given watch answers until nothing more happens within a minute, and
// returns what the server was asked and what the store got. Lists answer version 50.
func streamed(t *testing.T, change func(*reflectorOptions), answers ...any) (asked, stored []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var handler handled
		server := &fakeServer{list: listOf(podList("50", podAt("listed", "50"))), watch: watches(answers...)}
		store := &storeLog{}
		cfg := reflectorOptions{
			listerWatcher: server, expectedType: &v1.Pod{}, sink: newForeignSink(store), backoff: second(), onError: toldTo(&handler),
		}
		if change != nil {
			change(&cfg)
		}
		defer inBackground(t, newReflector(cfg).run)()
		time.Sleep(time.Minute)
		synctest.Wait()
		asked, stored = server.asked(), store.entries()
		assert.Empty(t, handler.errors(), "the handler hears of no failed watch-list")
	})
	return asked, stored
}

// TestStreamedState: one Replace with the state at the end mark, then the events of the same stream.
func TestStreamedState(t *testing.T) {
	asked, stored := streamed(t, nil, sent(
		added("a", "1"), added("b", "2"), added("c", "3"), added("gone", "4"),
		modified("b", "6"), deleted("a", "7"), deleted("gone", "8"), deleted("unknown", "8"), added("a", "9"), bookmark("9"),
		endMark("10"), modified("c", "11"), added("d", "12"), deleted("b", "13"),
	))
	assert.Equal(t, []string{"stream rv="}, asked)
	assert.Equal(t, []string{"replace 10: b@6 c@3 a@9", "update c@11", "add d@12", "delete b@13"}, stored)
}

// TestStreamOptions: what the request for a watch-list says besides its version.
func TestStreamOptions(t *testing.T) {
	var got metav1.ListOptions
	server := &fakeServer{list: listOf(podList("5")), watch: func(n int, _ context.Context, o metav1.ListOptions) (watch.Interface, error) {
		if n == 1 {
			got = o
		}
		return nil, errForbidden
	}}
	require.Error(t, newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(&storeLog{})}).listAndWatch(t.Context()))
	assert.True(t, *got.SendInitialEvents)
	assert.True(t, got.AllowWatchBookmarks)
	assert.Equal(t, metav1.ResourceVersionMatchNotOlderThan, got.ResourceVersionMatch)
	assert.GreaterOrEqual(t, *got.TimeoutSeconds, int64(300))
	assert.Zero(t, got.Limit)
}

// TestStreamOnlyIfAgreed: the gate as it is during construction and the ListerWatcher both have a say.
func TestStreamOnlyIfAgreed(t *testing.T) {
	for name, tc := range map[string]struct {
		gate bool
		lw   ListerWatcher
		want reflectorPhase
	}{
		"agreed":             {true, &fakeServer{}, streaming},
		"gate off":           {false, &fakeServer{}, listing},
		"denied":             {true, &fakeServer{noStream: true}, listing},
		"says nothing":       {true, &ListWatch{}, streaming},
		"says nothing, off":  {false, &ListWatch{}, listing},
		"wrapped and denied": {true, ToListWatcherWithWatchListSemantics(&ListWatch{}, &fakeServer{noStream: true}), listing},
	} {
		t.Run(name, func(t *testing.T) {
			clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.WatchListClient, tc.gate)
			r := newReflector(reflectorOptions{listerWatcher: tc.lw, sink: newForeignSink(&storeLog{})})
			clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.WatchListClient, !tc.gate)
			assert.Equal(t, tc.want, r.opening)
		})
	}
}

// TestStreamEndMark: only the annotation with the value true is the end mark; until then there is no version and no state.
func TestStreamEndMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		notTrue := endMark("5")
		notTrue.Object.(*v1.Pod).Annotations[metav1.InitialEventsAnnotationKey] = "false"
		w := newScriptedWatch(10)
		server, store := &fakeServer{watch: watches(w)}, &storeLog{}
		r := newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(store)})
		defer inBackground(t, r.run)()
		for _, event := range []watch.Event{added("a", "1"), modified("a", "2"), bookmark("3"), notTrue} {
			w.events <- event
			synctest.Wait()
			assert.Empty(t, store.entries())
			assert.Empty(t, r.version())
		}
		w.events <- endMark("6")
		synctest.Wait()
		assert.Equal(t, []string{"replace 6: a@2"}, store.entries())
		assert.Equal(t, "6", r.version())
	})
}

// TestStreamFallsBackForOneRound: an error leads to LIST at once, and the next round streams again.
func TestStreamFallsBackForOneRound(t *testing.T) {
	for name, answer := range map[string]any{
		"cannot be opened": errForbidden,
		"opens to nothing": (*scriptedWatch)(nil),
		"error event":      sent(added("lost", "1"), failedWith(errInternal)),
		"very short":       sent(closed),
	} {
		t.Run(name, func(t *testing.T) {
			asked, stored := streamed(t, nil, answer, sent(failedWith(errExpired)), sent(added("a", "60"), endMark("61")))
			assert.Equal(t, []string{"stream rv=", "list rv=0 limit=500", "watch rv=50", "stream rv=50"}, asked)
			assert.Equal(t, []string{"replace 50: listed@50", "replace 61: a@60"}, stored)
		})
	}
}

// TestStreamRetries: which failures lead to another stream, always with nothing left of the one before.
func TestStreamRetries(t *testing.T) {
	whole := sent(added("a", "8"), endMark("9"))
	broken := sent(added("lost", "1"), closed)
	for name, tc := range map[string]struct {
		answers []any
		asked   []string
		stored  string
	}{
		"429":           {[]any{errTooManyRequests, whole}, []string{"stream rv=", "stream rv="}, "replace 9: a@8"},
		"429 as event":  {[]any{sent(added("lost", "1"), failedWith(errTooManyRequests)), whole}, []string{"stream rv=", "stream rv="}, "replace 9: a@8"},
		"no connection": {[]any{errRefused, errRefused, whole}, []string{"stream rv=", "stream rv=", "stream rv="}, "replace 9: a@8"},
		"closed once":   {[]any{broken, whole}, []string{"stream rv=", "stream rv="}, "replace 9: a@8"},
		"closed twice":  {[]any{broken, broken, whole}, []string{"stream rv=", "stream rv=", "stream rv="}, "replace 9: a@8"},
		"closed three times": {[]any{broken, broken, broken},
			[]string{"stream rv=", "stream rv=", "stream rv=", "list rv=0 limit=500", "watch rv=50"}, "replace 50: listed@50"},
		"newest refused too": {[]any{errExpired}, []string{"stream rv=", "list rv= limit=500", "watch rv=50"}, "replace 50: listed@50"},
	} {
		t.Run(name, func(t *testing.T) {
			asked, stored := streamed(t, nil, tc.answers...)
			assert.Equal(t, tc.asked, asked)
			assert.Equal(t, []string{tc.stored}, stored)
		})
	}
}

// TestStreamAfterRefusal: a later stream asks for the last version, and at once for the newest when that is refused.
func TestStreamAfterRefusal(t *testing.T) {
	asked, stored := streamed(t, nil,
		sent(endMark("9"), failedWith(errExpired)), errExpired, sent(added("a", "20"), endMark("21")))
	assert.Equal(t, []string{"stream rv=", "stream rv=9", "stream rv="}, asked)
	assert.Equal(t, []string{"replace 9:", "replace 21: a@20"}, stored)

	asked, _ = streamed(t, nil, sent(endMark("9"), failedWith(errExpired)), errExpired,
		sent(endMark("21"), failedWith(errExpired)), sent(endMark("22")))
	assert.Equal(t, []string{"stream rv=", "stream rv=9", "stream rv=", "stream rv=21"}, asked, "a success clears the refusal")
}

// TestStreamHandedOver: after the end mark the stream is a watch like any other one: its Added events move the position,
// and it counts as very short if nothing came since.
func TestStreamHandedOver(t *testing.T) {
	asked, _ := streamed(t, nil, sent(added("a", "1"), endMark("9"), added("b", "10"), closed))
	assert.Equal(t, []string{"stream rv=", "watch rv=10"}, asked)

	asked, _ = streamed(t, nil, sent(added("a", "1"), endMark("9"), closed), sent(endMark("9")))
	assert.Equal(t, []string{"stream rv=", "stream rv=9"}, asked, "another round")
}

// TestStreamStrikesPerRound: each round has its three attempts.
func TestStreamStrikesPerRound(t *testing.T) {
	broken := sent(added("lost", "1"), closed)
	asked, _ := streamed(t, nil, broken, broken, errForbidden, sent(failedWith(errExpired)), broken, broken, sent(endMark("60")))
	assert.Equal(t, []string{"stream rv=", "stream rv=", "stream rv=", "list rv=0 limit=500", "watch rv=50",
		"stream rv=50", "stream rv=50", "stream rv=50"}, asked)
}

// TestStreamBackoff: a busy server is left alone for the delay of the backoff, on the reflector's clock.
func TestStreamBackoff(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	server, store := &fakeServer{watch: watches(errRefused, sent(endMark("9")))}, &storeLog{}
	r := newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(store), clock: clock, backoff: second()})
	defer inBackground(t, r.run)()
	require.Eventually(t, clock.HasWaiters, patience, time.Millisecond)
	assert.Equal(t, []string{"stream rv="}, server.asked())
	clock.Step(time.Second)
	require.Eventually(t, func() bool { return r.version() == "9" }, patience, time.Millisecond)
}

// TestStreamSilence: two minutes without any event end the stream, and LIST takes over; events keep it alive.
func TestStreamSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScriptedWatch(1)
		server := &fakeServer{list: listOf(podList("50")), watch: watches(w)}
		defer inBackground(t, newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(&storeLog{})}).run)()
		for n := range 5 {
			w.events <- added(fmt.Sprint("p", n), "1")
			time.Sleep(streamSilenceLimit - 2*streamSilenceStep)
		}
		assert.Len(t, server.asked(), 1)
		time.Sleep(3 * streamSilenceStep) // the step that saw the last event does not count
		synctest.Wait()
		assert.Equal(t, []string{"stream rv=", "list rv=0 limit=500", "watch rv=50"}, server.asked())
		assert.Len(t, w.stopped, 1)
	})
}

// TestStreamStops: each stream that failed was stopped, once, before the next request.
func TestStreamStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := newScriptedWatch(1), newScriptedWatch(1)
		first.events <- failedWith(errInternal)
		server := &fakeServer{watch: watches(first, second), list: func(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
			assert.Len(t, first.stopped, 1)
			return podList("50"), nil
		}}
		stop := inBackground(t, newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(&storeLog{})}).run)
		synctest.Wait()
		stop()
		assert.Len(t, first.stopped, 1)
		assert.Len(t, second.stopped, 1)
	})
}

// TestStreamStoreRefuses: a Replace that fails leads to LIST.
func TestStreamStoreRefuses(t *testing.T) {
	store := &storeLog{fail: func(entry string) error {
		if entry == "replace 9:" {
			return errors.New("no")
		}
		return nil
	}}
	asked, _ := streamed(t, func(c *reflectorOptions) { c.sink = newForeignSink(store) }, sent(endMark("9")))
	assert.Equal(t, []string{"stream rv=", "list rv=0 limit=500", "watch rv=50"}, asked)
}

// TestStreamComparedWithList: client-go's consistency detector runs when asked for, and panics on a difference.
func TestStreamComparedWithList(t *testing.T) {
	defer consistencydetector.SetDataConsistencyDetectionForWatchListEnabledForTest(true)()
	for name, listed := range map[string]string{"equal": "1", "different": "2"} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			var asked metav1.ListOptions
			server := &fakeServer{
				list: func(_ int, _ context.Context, o metav1.ListOptions) (runtime.Object, error) {
					asked = o
					return podList("9", podAt("a", listed)), nil
				},
				watch: watches(sent(added("a", "1"), endMark("9"))),
			}
			store := &storeLog{fail: func(string) error { cancel(); return nil }}
			round := func() {
				assert.NoError(t, newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(store)}).listAndWatch(ctx))
			}
			if listed == "1" {
				round()
				assert.Equal(t, []string{"replace 9: a@1"}, store.entries())
			} else {
				assert.Panics(t, round)
			}
			assert.Equal(t, metav1.ListOptions{ResourceVersion: "9", ResourceVersionMatch: metav1.ResourceVersionMatchExact}, asked)
			cancel()
		})
	}
}
