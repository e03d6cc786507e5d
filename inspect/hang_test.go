// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/tap/engine/taptest"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
)

// bookmarked returns a server of a pod that sends a bookmark each minute until hush is called.
func bookmarked(t *testing.T) (server *testkit.Pods, hush func()) {
	server = testkit.NewPods(testkit.PodAt("a", ""))
	return server, testkit.InBackground(t, func(ctx context.Context) {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Minute):
				server.Bookmark()
			}
		}
	})
}

// hanging returns a fault that makes a request hang.
func hanging() cachetest.Fault { return cachetest.Fault{Until: make(chan struct{})} }

// hangsOf returns the causes and texts of an informer's problems.
func hangsOf(t *testing.T, informer cache.Controller) (causes, texts []string) {
	status := informers.Inspected(t, informer).Status
	return informers.Causes(status), informers.Texts(status)
}

// caused fails the test unless the problems have these causes.
func caused(t *testing.T, informer cache.Controller, want ...string) {
	t.Helper()
	causes, _ := hangsOf(t, informer)
	assert.Equal(t, want, causes)
}

// TestReadyWhileRequestsHang: a hanging request degrades an informer that has synced, and counts
// for MaxOutage from its last sign of life on.
func TestReadyWhileRequestsHang(t *testing.T) {
	for name, tc := range map[string]struct {
		hang  func(server *testkit.Pods, informer cache.Controller, hush func())
		after time.Duration // at the earliest
		later time.Duration // how much later at most
		text  string
	}{
		"list": {func(server *testkit.Pods, informer cache.Controller, _ func()) {
			server.Script(cachetest.VerbList, hanging())
			_ = kinformer.Relist(informer)
			time.Sleep(2 * time.Second) // the longest backoff
		}, 5 * time.Minute, 0, "a list"},
		"opening": {func(server *testkit.Pods, _ cache.Controller, _ func()) {
			server.Script(cachetest.VerbWatch, hanging())
			server.Cut()
		}, time.Minute, 0, "the opening of a watch"},
		"watch": {func(_ *testkit.Pods, _ cache.Controller, hush func()) { hush() }, 4*time.Minute + 30*time.Second, 6 * time.Minute, "the watch"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, hush := bookmarked(t)
				informer := called("pods", server, kinformer.Options{})
				patient, strict := inspect.Ready(inspect.ReadyOptions{}, informer), inspect.Ready(inspect.ReadyOptions{MaxOutage: time.Minute}, informer)
				defer informers.Run(t, informer)()
				time.Sleep(24*time.Hour + time.Second)
				synctest.Wait()
				caused(t, informer)
				tc.hang(server, informer, hush)
				time.Sleep(tc.after - 3*time.Second)
				assert.NoError(t, strict.Check(nil))
				caused(t, informer)

				time.Sleep(4*time.Second + tc.later)
				causes, texts := hangsOf(t, informer)
				require.Equal(t, []string{"hangs"}, causes)
				assert.Regexp(t, "^"+tc.text+` hangs(, or waits for Retry-After)?, nothing has come for ([15]m0?[0-4]?|1?[0-9]m[0-9]*)\.?\d*s$`, texts[0])
				assert.NoError(t, patient.Check(nil))

				time.Sleep(24 * time.Hour)
				caused(t, informer, "hangs")
				assert.ErrorContains(t, strict.Check(nil), "SharedIndexInformer pods gets old: "+tc.text+" hangs")
				assert.Zero(t, informers.Inspected(t, informer).FailingSince, "it has not failed")
			})
		})
	}
}

// TestHangEnds: any answer ends a hang. A request that fails after it hung counts as failed since
// its last sign of life.
func TestHangEnds(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		server, hush := bookmarked(t)
		informer := called("pods", server, kinformer.Options{})
		strict := inspect.Ready(inspect.ReadyOptions{MaxOutage: 10 * time.Minute}, informer)
		defer informers.Run(t, informer)()
		time.Sleep(90 * time.Second)
		hush()
		time.Sleep(20 * time.Minute)
		assert.ErrorContains(t, strict.Check(nil), "the watch hangs, nothing has come for 20m30s")
		server.Put(testkit.PodAt("a", ""))
		synctest.Wait()
		caused(t, informer)
		assert.NoError(t, strict.Check(nil))

		silent := time.Now()
		time.Sleep(11 * time.Minute)
		caused(t, informer, "hangs")
		server.Script(cachetest.VerbList, hanging())
		server.Inject(cachetest.ErrorEvent(cachetest.Expired()))
		all := informers.Inspected(t, informer)
		assert.Equal(t, []string{"errors"}, informers.Causes(all.Status))
		assert.Equal(t, silent, all.FailingSince)
	})
}

// drippingWire sends lists byte by byte, with pauses, and watches without events.
type drippingWire struct {
	pause func(byteOf int) time.Duration // the pause before a byte
}

func (d *drippingWire) RoundTrip(r *http.Request) (*http.Response, error) {
	silent := &taptest.Wire{Media: runtime.ContentTypeJSON, Answer: func(*http.Request) ([][]byte, bool) { return nil, true }}
	if r.URL.Query().Get("watch") != "" {
		return silent.RoundTrip(r)
	}
	body := taptest.Encoded(&v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "50"}, Items: []v1.Pod{*informers.WirePod(1, "2")}}, silent.Media)
	read, write := io.Pipe()
	go func() {
		for i := range body {
			select {
			case <-time.After(d.pause(i)):
			case <-r.Context().Done():
				_ = write.CloseWithError(r.Context().Err())
				return
			}
			if _, err := write.Write(body[i : i+1]); err != nil {
				return
			}
		}
		_ = write.Close()
	}()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {silent.Media}}, Request: r, Body: read}, nil
}

// TestBytesOfAList: through package direct a list that sends a byte now and then does not hang,
// however long it takes; one that sends none for a minute hangs until it continues. Without package
// direct a list hangs after five minutes.
func TestBytesOfAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const stops = 300
		wire := &drippingWire{func(byteOf int) time.Duration {
			if byteOf == stops {
				return time.Hour
			}
			return time.Minute - 1
		}}
		informer := func(tapped bool) cache.SharedIndexInformer {
			client := informers.ClientOver(t, wire, runtime.ContentTypeJSON, tapped)
			return kinformer.New(client, &v1.Pod{}, kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList}})
		}
		seen, unseen := informer(true), informer(false)
		defer informers.Run(t, seen)()
		defer informers.Run(t, unseen)()
		for range stops - 1 {
			time.Sleep(time.Minute)
			caused(t, seen)
		}
		_, texts := hangsOf(t, unseen)
		assert.Equal(t, []string{"a list hangs, or waits for Retry-After, nothing has come for 4h59m0s"}, texts)
		time.Sleep(2*time.Minute + time.Second)
		_, texts = hangsOf(t, seen)
		assert.Equal(t, []string{"a list hangs, nothing has come for 1m1s"}, texts)
		time.Sleep(time.Hour)
		caused(t, seen)
		time.Sleep(24 * time.Hour)
		assert.True(t, seen.HasSynced())
		assert.True(t, unseen.HasSynced())
		for _, informer := range []cache.Controller{seen, unseen} {
			caused(t, informer)
		}
	})
}

// TestSilentTransport: a request through package direct hangs after a minute.
func TestSilentTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wire := &taptest.Wire{Media: runtime.ContentTypeJSON, Answer: func(r *http.Request) ([][]byte, bool) {
			<-r.Context().Done()
			return nil, false
		}}
		informer := kinformer.New(informers.ClientOver(t, wire, wire.Media, true), &v1.Pod{}, kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList}})
		defer informers.Run(t, informer)()
		time.Sleep(time.Minute - 1)
		caused(t, informer)
		time.Sleep(time.Nanosecond)
		_, texts := hangsOf(t, informer)
		assert.Equal(t, []string{"a list hangs, nothing has come for 1m0s"}, texts)
	})
}

// TestLogOfAHang: a hanging request is logged once, at every verbosity, and so is its end.
func TestLogOfAHang(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		server, hush := bookmarked(t)
		informer := called("test pods", server, kinformer.Options{Decoding: kinformer.Decoding{Off: true}})
		ctx, lines := testkit.Loud(t, 0)
		defer runningIn(ctx, informers.OnServers(&reflector.Servers{}, informer))()
		time.Sleep(90 * time.Second)
		server.Cut() // from now on, each watch may hang
		time.Sleep(24*time.Hour - 2*time.Minute)
		for _, line := range lines.Take() {
			assert.NotContains(t, line, "hangs", "the server ignores the timeout, and sends bookmarks")
		}
		hush()
		time.Sleep(24 * time.Hour)
		said := lines.Take()
		require.Len(t, said, 1)
		for _, part := range []string{"A request hangs, and the cache gets old", `"reason"="the watch"`, `"type"="test pods"`, `"linesOfOthers"=0`} {
			assert.Contains(t, said[0], part)
		}
		server.Bookmark()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		said = lines.Take()
		require.Len(t, said, 1)
		assert.Contains(t, said[0], "Nothing hangs any more")
		assert.Contains(t, said[0], `"state"="goes-on"`)
	})
}

// runningIn runs informer in a context until stop is called. stop waits until Run has returned.
func runningIn(ctx context.Context, informer cache.Controller) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); informer.RunWithContext(ctx) }()
	return func() {
		cancel()
		<-ended
	}
}

// TestLinesOfHangs: informers that hang at the same time log one line per second together, and each
// of them its own lines at V(2).
func TestLinesOfHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, lines := testkit.Loud(t, 2)
		turns := &reflector.Servers{}
		for range 10 {
			server := testkit.NewPods(testkit.PodAt("a", ""))
			server.Script(cachetest.VerbWatch, hanging())
			defer runningIn(ctx, informers.OnServers(turns, called("pods", server, kinformer.Options{})))()
		}
		time.Sleep(time.Minute + 500*time.Millisecond)
		assert.Equal(t, 1, lines.Count("A request hangs, and the cache gets old"))
		time.Sleep(time.Hour)
		said := lines.Take()
		assert.Len(t, testkit.About("A request hangs, and the cache gets old", said), 2)
		assert.Len(t, testkit.About(`"linesOfOthers"=8`, said), 1)
		assert.Len(t, testkit.About(`"level"=2 "msg"="A request hangs" "state"="hangs"`, said), 10)
	})
}

// TestHangingListsKeepNoSlots: a list or watch-list that hangs releases its slot.
func TestHangingListsKeepNoSlots(t *testing.T) {
	for name, tc := range map[string]struct {
		mode  kinformer.ListMode
		after time.Duration
	}{"list": {kinformer.ListModeList, 5 * time.Minute}, "watch-list": {kinformer.ListModeWatchList, time.Minute}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slots := kinformer.NewListSlots(2)
				for range 2 {
					server := testkit.NewPods(testkit.PodAt("a", ""))
					server.Partition()
					defer informers.Run(t, called("hanging", server, kinformer.Options{Requests: kinformer.Requests{Slots: slots, Mode: tc.mode}}))()
				}
				synctest.Wait()
				ctx, lines := testkit.Loud(t, 2)
				third := informers.Of(informers.Quiet(), kinformer.Options{Requests: kinformer.Requests{Slots: slots}})
				defer runningIn(ctx, third)()
				time.Sleep(tc.after - 1)
				status := informers.Status(t, third)
				assert.Equal(t, "waiting for a list slot", status.Phase)
				assert.Equal(t, tc.after-1, status.At.Sub(status.PhaseSince))
				assert.Empty(t, informers.Texts(status))
				assert.ErrorContains(t, inspect.Ready(inspect.ReadyOptions{}, third).Check(nil), "has not synced: waiting for a list slot for ")
				time.Sleep(time.Nanosecond)
				status = informers.Status(t, third)
				assert.Equal(t, inspect.PhaseWatching, status.Phase)
				assert.Equal(t, []string{"started", "waiting", "listing how=list", "synced"}, statesOf(lines.Take()))
			})
		})
	}
}

// TestSlotOfAListThatGoesOn: a list that continues completes without its slot, and releases the
// slot only once.
func TestSlotOfAListThatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := kinformer.NewListSlots(1)
		var all []cache.SharedIndexInformer
		for range 3 {
			server := informers.Quiet()
			server.OnList = func(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
				time.Sleep(8 * time.Minute)
				return testkit.PodList("5"), nil
			}
			informer := informers.Of(server, kinformer.Options{Requests: kinformer.Requests{Slots: slots}})
			all = append(all, informer)
			defer informers.Run(t, informer)()
			synctest.Wait()
		}
		for i, after := range []time.Duration{8 * time.Minute, 5 * time.Minute, 5 * time.Minute} { // at 0:08, 0:13 and 0:18
			time.Sleep(after)
			synctest.Wait()
			for j, informer := range all {
				assert.Equal(t, j <= i, informer.HasSynced(), "%d after %d", j, i)
			}
		}
	})
}

// TestOpeningsOfAWatch: a watch that opens only with its first event, as with some aggregated
// servers, hangs once. After a watch that opened earlier, the next one may hang again.
func TestOpeningsOfAWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, opens := informers.Quiet(), make(chan *testkit.ScriptedWatch)
		server.OnWatch = func(_ int, ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			select {
			case w := <-opens:
				return w, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		informer := informers.Of(server, kinformer.Options{})
		defer informers.Run(t, informer)()
		afterAnHour := func(want ...string) {
			t.Helper()
			time.Sleep(time.Hour)
			caused(t, informer, want...)
		}
		open := func(headersBefore time.Duration) {
			w := testkit.NewScriptedWatch(1)
			if headersBefore == 0 {
				w.Events <- testkit.Modified("a", "6")
			}
			opens <- w
			time.Sleep(headersBefore)
			if headersBefore > 0 {
				w.Events <- testkit.Modified("a", "6")
			}
			synctest.Wait()
			close(w.Events)
		}
		afterAnHour("hangs")
		open(0)
		afterAnHour()
		open(0)
		afterAnHour()
		open(time.Second)
		afterAnHour("hangs")
	})
}

// TestBlockedWatchIsNoHang: a watch that a slow handler blocks does not hang, even while a requested
// relist waits for its slot, nor in the five minutes after the handler has returned, the shortest timeout of a watch.
func TestBlockedWatchIsNoHang(t *testing.T) {
	for _, relists := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			server, hush := bookmarked(t)
			held := make(chan struct{})
			informer := called("pods", server, kinformer.Options{})
			informers.Handle(t, informer, kinformer.Deliver(cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { <-held }},
				kinformer.Delivery{Overflow: kinformer.OverflowBlock, Max: 1}))
			defer informers.Run(t, informer)()
			time.Sleep(90 * time.Second)
			hush()
			for range 3 {
				server.Put(testkit.PodAt("a", ""))
				synctest.Wait()
			}
			time.Sleep(time.Hour)
			caused(t, informer)
			if relists {
				require.NoError(t, kinformer.Relist(informer))
				caused(t, informer)
				close(held)
				return
			}
			close(held)
			time.Sleep(5*time.Minute + 29*time.Second)
			caused(t, informer)
			time.Sleep(5*time.Minute + 2*time.Second)
			caused(t, informer, "hangs")
		})
	}
}
