// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/engine"
	"github.com/kinformer/cache/internal/tap/engine/taptest"
	"github.com/kinformer/cache/internal/testkit"
)

// encoded returns a transport of package direct that receives responses with a content encoding.
func encoded(rt http.RoundTripper) http.RoundTripper {
	return transport(taptest.Trip(func(r *http.Request) (*http.Response, error) {
		resp, err := rt.RoundTrip(r)
		if err == nil {
			resp.Header.Set("Content-Encoding", "gzip")
		}
		return resp, err
	}))
}

// readBy is a body that a function reads.
type readBy struct {
	io.ReadCloser
	read func(body io.Reader, p []byte) (int, error)
}

func (b readBy) Read(p []byte) (int, error) { return b.read(b.ReadCloser, p) }

// reading returns a wrapper of RoundTrippers whose bodies a function reads.
func reading(read func(body io.Reader, p []byte) (int, error)) wrapper {
	return func(rt http.RoundTripper) http.RoundTripper {
		return taptest.Trip(func(r *http.Request) (*http.Response, error) {
			resp, err := rt.RoundTrip(r)
			if err == nil {
				resp.Body = readBy{resp.Body, read}
			}
			return resp, err
		})
	}
}

// counting returns a wrapper of RoundTrippers that adds the sizes of bodies to n.
func counting(n *atomic.Int64) wrapper {
	return reading(func(body io.Reader, p []byte) (int, error) {
		got, err := body.Read(p)
		n.Add(int64(got))
		return got, err
	})
}

func noDecoders(o *engine.Options) {
	o.Make = func(reflect.Type, engine.Encoding) engine.Decode { return nil }
}

// forgets is a ListerWatcher that drops the context.
var forgets = altered{
	list: func(_ context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (runtime.Object, error) {
		return plain.ListWithContext(context.Background(), o)
	},
	watch: func(_ context.Context, plain clientgo.WatcherWithContext, o metav1.ListOptions) (watch.Interface, error) {
		return plain.WatchWithContext(context.Background(), o)
	},
}

// elsewhere is a ListerWatcher that requests something else.
var elsewhere = altered{
	list: func(ctx context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (runtime.Object, error) {
		o.Limit = 7
		return plain.ListWithContext(ctx, o)
	},
	watch: func(ctx context.Context, plain clientgo.WatcherWithContext, o metav1.ListOptions) (watch.Interface, error) {
		o.ResourceVersion = "77"
		return plain.WatchWithContext(ctx, o)
	},
}

// TestNotEngaged checks that, if direct decoding is not possible, the results are those of
// client-go, and the state contains the reason.
func TestNotEngaged(t *testing.T) {
	for name, c := range map[string]struct {
		why     string
		reason  string
		wraps   []wrapper
		change  altered
		options []func(*engine.Options)
		kill    string
	}{
		"no transport":  {why: "no transport of package direct has seen the request", reason: "no-transport", wraps: []wrapper{}},
		"no context":    {why: "no transport of package direct has seen the request", reason: "no-transport", change: forgets},
		"other options": {why: "the request is not the one that was asked for", reason: "lister-watcher", change: elsewhere},
		"option":        {why: "Decoding.Off says so", reason: "switched-off", options: []func(*engine.Options){func(o *engine.Options) { o.Off = true }}},
		"kill switch":   {why: "KINFORMER_DIRECT is off in the environment", reason: "switched-off", kill: "off"},
		"another word":  {why: "KINFORMER_DIRECT is off in the environment", reason: "switched-off", kill: "False"},
		"no decoder":    {why: "there is no decoder for the type in protobuf", reason: "no-decoder", options: []func(*engine.Options){noDecoders}},
		"compressed":    {why: `content encoding "gzip"`, reason: "encoding", wraps: []wrapper{encoded}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(tap.KillSwitch, c.kill)
			source := kinds[0].altering(c.change.list, c.change.watch).tapped(t, served{wraps: c.wraps}, c.options...)
			assert.Len(t, ask(t, source, firstList).Items, 20)
			assert.Equal(t, tap.State{Why: c.why, Reason: c.reason}, source.ledger.State())
			assert.Len(t, watched(t, source).Events, len(manyEvents()))
			assert.False(t, source.ledger.State().On)
			assert.Zero(t, source.ledger.State().Decoded)
		})
	}
}

// TestNoAnswer checks that a request without a response does not change the state. The watch of such
// a request ends at once, as client-go's does after its retries.
func TestNoAnswer(t *testing.T) {
	unanswered := func(ctx context.Context, _ clientgo.WatcherWithContext, _ metav1.ListOptions) (watch.Interface, error) {
		breaks := taptest.Trip(func(*http.Request) (*http.Response, error) { return nil, os.ErrDeadlineExceeded })
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1/", nil)
		require.NoError(t, err)
		_, err = transport(breaks).RoundTrip(req)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		return watch.NewEmptyWatch(), nil
	}
	source := kinds[0].altering(nil, unanswered).tapped(t, served{})
	assert.Len(t, ask(t, source, firstList).Items, 20)
	assert.Empty(t, watched(t, source).Events)
	assert.True(t, source.ledger.State().On)
}

// TestLoggedBodies checks that client-go decodes while klog logs bodies.
func TestLoggedBodies(t *testing.T) {
	source := kinds[0].tapped(t, served{})
	logging, _ := testkit.Loud(t, 8)
	got, err := source.ListWithContext(logging, firstList)
	assert.NoError(t, err)
	assert.Len(t, got.(*v1.PodList).Items, 20)
	assert.Equal(t, tap.State{Why: "klog writes bodies", Reason: "log-level"}, source.ledger.State())
	assert.Equal(t, "log-level", source.ledger.State().Reason)
	ask(t, source, firstList)
	assert.Equal(t, tap.State{On: true, Encoding: string(engine.Protobuf), Decoded: 11, Verified: 9}, source.ledger.State())
	assert.Empty(t, source.ledger.State().Reason)
}

// TestWrappedTwice checks that, of two transports of package direct, one takes the body, whatever is between them.
func TestWrappedTwice(t *testing.T) {
	asIs := reading(func(body io.Reader, p []byte) (int, error) { return body.Read(p) })
	for _, k := range podClients {
		source := k.tapped(t, served{wraps: []wrapper{transport, asIs, transport}})
		assert.Len(t, ask(t, source, firstList).Items, 20)
		assert.Len(t, watched(t, source).Events, len(manyEvents()))
		assert.Equal(t, tap.State{On: true, Encoding: string(k.encoding), Decoded: 11 + 14, Verified: 9 + 2}, source.ledger.State())
	}
}

// TestSlowClient checks a client that returns an event before it has read all of its frame, because white space follows
// the value. It must not see the next bytes in the same memory, which belong to a frame that was not passed to it.
func TestSlowClient(t *testing.T) {
	const media, both = runtime.ContentTypeJSON, 8 // the number of frames that both decode
	script := manyEvents()
	script[both].obj.(*v1.Pod).Name = strings.Repeat("long", 100)
	var frames [][]byte
	for _, e := range script {
		frames = append(frames, append(bytes.TrimSpace(taptest.Frame(e.kind, e.obj, media)), "          \n"...))
	}
	slowly := reading(func(body io.Reader, p []byte) (int, error) {
		time.Sleep(time.Microsecond)
		return body.Read(p[:min(len(p), 1)])
	})
	reads := 0
	pausing := reading(func(body io.Reader, p []byte) (int, error) {
		if reads++; reads == both+2 {
			time.Sleep(time.Second)
		}
		return body.Read(p)
	})
	var heardBy [2]outcome
	var state tap.State
	for i, wraps := range [][]wrapper{{slowly}, {pausing, transport, slowly}} {
		synctest.Test(t, func(t *testing.T) {
			c := over(wire(media, false, frames...), media, wraps...)
			source := tappedOf(generated(t, c), &v1.Pod{}, func(o *engine.Options) { o.Verify = both + 2 })
			heardBy[i] = watched(t, source)
			state = source.ledger.State()
		})
	}
	require.Len(t, heardBy[0].Events, len(script))
	assert.Equal(t, heardBy[0], heardBy[1])
	assert.Equal(t, tap.State{On: true, Encoding: string(engine.JSON), Decoded: int64(len(script) - both - 1), Verified: both + 1}, state)
}

// dawdlers returns a Maker of decoders that take the given time for a kilobyte.
func dawdlers(kilobyte time.Duration) engine.Maker {
	own := taptest.Decoders(nil, nil)
	return func(of reflect.Type, e engine.Encoding) engine.Decode {
		return func(data []byte, list *metav1.TypeMeta) (runtime.Object, error) {
			time.Sleep(kilobyte * time.Duration(len(data)) / 1000)
			return own(of, e)(data, list)
		}
	}
}

// slowList is a list of more than 100 kB, of which 10 kB may wait to be decoded.
type slowList struct {
	source tapped
	size   int64
	sent   atomic.Int64
}

// newSlowList returns a client with a timeout and its server, which sends only half of its response if it hangs.
func newSlowList(t *testing.T, kilobyte, timeout time.Duration, hangs bool) *slowList {
	whole := taptest.Encoded(&v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: pods(500, "4")}, runtime.ContentTypeJSON)
	pieces := bytes.SplitAfter(whole, []byte("}"))
	if hangs {
		pieces = pieces[:len(pieces)/2]
	}
	l := &slowList{size: int64(len(whole))}
	c := over(wire(runtime.ContentTypeJSON, hangs, pieces...), runtime.ContentTypeJSON, counting(&l.sent), transport)
	c.Timeout = timeout
	l.source = tappedOf(generated(t, c), &v1.Pod{}, func(o *engine.Options) {
		o.Ahead, o.Make = 10_000, dawdlers(kilobyte)
	})
	return l
}

const never = time.Hour

// TestTimeoutIsTheNetworks checks that the timeout of the client covers the response of the server,
// but not the decoding.
func TestTimeoutIsTheNetworks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newSlowList(t, time.Second/10, 5*time.Second, false)
		assert.Equal(t, 500, len(ask(t, l.source, firstList).Items))
		assert.True(t, l.source.ledger.State().On)
		time.Sleep(never)
	})
}

// TestBoundIsLifted checks that the limit is lifted after 20 s, and no sooner, if there is no deadline.
func TestBoundIsLifted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newSlowList(t, time.Second/2, 0, false)
		done := make(chan outcome)
		go func() { done <- ask(t, l.source, firstList) }()
		time.Sleep(20*time.Second - 1)
		synctest.Wait()
		assert.Less(t, l.sent.Load(), l.size/2)
		time.Sleep(2 * time.Nanosecond)
		synctest.Wait()
		assert.Equal(t, l.size, l.sent.Load())
		assert.Equal(t, 500, len((<-done).Items))
		time.Sleep(never)
	})
}

// TestErrorComesAtOnce checks that waiting bytes are not decoded if the list fails, but for those of one read.
func TestErrorComesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newSlowList(t, time.Second/10, 2*time.Second, true)
		began := time.Now()
		_, err := l.source.ListWithContext(t.Context(), firstList)
		assert.Error(t, err)
		assert.LessOrEqual(t, time.Since(began), 2*time.Second+time.Second/2)
		assert.Empty(t, l.source.ledger.State().Why)
		time.Sleep(never)
	})
}

// altered is a ListerWatcher whose results a program changes.
type altered struct {
	clientgo.ListerWatcherWithContext
	list  listChange
	watch watchChange
}

type (
	listChange  = func(ctx context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (runtime.Object, error)
	watchChange = func(ctx context.Context, plain clientgo.WatcherWithContext, o metav1.ListOptions) (watch.Interface, error)
)

func (a altered) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	if a.list == nil {
		return a.ListerWatcherWithContext.ListWithContext(ctx, o)
	}
	return a.list(ctx, a.ListerWatcherWithContext, o)
}

func (a altered) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	if a.watch == nil {
		return a.ListerWatcherWithContext.WatchWithContext(ctx, o)
	}
	return a.watch(ctx, a.ListerWatcherWithContext, o)
}

// notP3 removes an object from a watch.
func notP3(ctx context.Context, plain clientgo.WatcherWithContext, o metav1.ListOptions) (watch.Interface, error) {
	w, err := plain.WatchWithContext(ctx, o)
	if err != nil {
		return nil, err
	}
	return watch.Filter(w, func(e watch.Event) (watch.Event, bool) {
		pod, ok := e.Object.(metav1.Object) // the object of an error has no metadata
		return e, !ok || pod.GetName() != "p3"
	}), nil
}

// TestChangedWatch checks that a watch which is not returned as client-go made it, or is one of two in a call, gets its
// body back: nothing is lost, no further request is made, and no later watch is tapped.
func TestChangedWatch(t *testing.T) {
	held, events := events(true), events(false, manyEvents()...)
	twice := func(ctx context.Context, plain clientgo.WatcherWithContext, o metav1.ListOptions) (watch.Interface, error) {
		first, err := plain.WatchWithContext(ctx, o)
		require.NoError(t, err)
		first.Stop()
		return plain.WatchWithContext(ctx, o)
	}
	for name, c := range map[string]struct {
		change   watchChange
		why      string
		requests int
		watches  []answer
	}{
		"filtered": {notP3, "the watch is no plain stream, but a *watch.filteredWatch", 2, nil},
		"twice":    {twice, "several watches were asked for in one call", 4, []answer{held, events, held, events}},
	} {
		for _, k := range kinds {
			t.Run(name+", "+k.name, func(t *testing.T) {
				k := k.altering(nil, c.change)
				answers := served{watches: c.watches}
				plain, source := watched(t, k.plain(t, answers)), k.tapped(t, answers)
				assert.Equal(t, plain, watched(t, source))
				assert.Equal(t, plain, watched(t, source))
				assert.Equal(t, tap.State{Why: c.why, Reason: "lister-watcher"}, source.ledger.State())
				assert.Equal(t, slices.Repeat([]string{"watch 5"}, c.requests), source.server.asked())
			})
		}
	}
}

// edits returns a change of lists.
func edits[L runtime.Object](change func(L)) listChange {
	return func(ctx context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (runtime.Object, error) {
		list, err := plain.ListWithContext(ctx, o)
		if err == nil {
			change(list.(L))
		}
		return list, err
	}
}

// changes are changes that a ListFunc may make.
var changes = map[string]listChange{
	"edits": edits(func(l *v1.PodList) {
		for i := range l.Items {
			l.Items[i].Labels["edited"] = "yes"
		}
	}),
	"sets kinds": edits(func(l *v1.PodList) {
		for i := range l.Items {
			l.Items[i].APIVersion, l.Items[i].Kind = "v1", "Pod"
		}
	}),
	"drops one": edits(func(l *v1.PodList) { l.Items = l.Items[:len(l.Items)-1] }),
	"adds one":  edits(func(l *v1.PodList) { l.Items = append(l.Items, *pod("more", "4")) }),
	"filters": edits(func(l *v1.PodList) {
		l.Items = slices.DeleteFunc(l.Items, func(p v1.Pod) bool { return p.Labels["app"] == "" })
	}),
	"defaults": edits(func(l *v1.PodList) {
		for i := range l.Items {
			l.Items[i].Labels["app"] = cmp.Or(l.Items[i].Labels["app"], "default")
		}
	}),
	"another list": func(ctx context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (runtime.Object, error) {
		list, err := plain.ListWithContext(ctx, o)
		if err != nil {
			return nil, err
		}
		return &metav1.List{ListMeta: list.(*v1.PodList).ListMeta}, nil
	},
	"fails": func(ctx context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (runtime.Object, error) {
		list, err := plain.ListWithContext(ctx, o)
		if err == nil && len(list.(*v1.PodList).Items) != 20 {
			return nil, errors.New("not all of them")
		}
		return list, err
	},
	"lists twice": func(ctx context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (runtime.Object, error) {
		a, err := plain.ListWithContext(ctx, o)
		if err != nil {
			return nil, err
		}
		return edits(func(b *v1.PodList) { b.Items = append(a.(*v1.PodList).Items, b.Items...) })(ctx, plain, o)
	},
}

// TestLateRequest checks that a request with the context of a call that has returned is not touched.
func TestLateRequest(t *testing.T) {
	for _, k := range podClients {
		var listing, watching context.Context
		source := k.altering(
			func(ctx context.Context, _ clientgo.ListerWithContext, _ metav1.ListOptions) (runtime.Object, error) {
				listing = ctx
				return &v1.PodList{}, nil
			},
			func(ctx context.Context, _ clientgo.WatcherWithContext, _ metav1.ListOptions) (watch.Interface, error) {
				watching = context.WithoutCancel(ctx)
				return watch.NewEmptyWatch(), nil
			},
		).tapped(t, served{})
		_ = ask(t, source, firstList)
		_ = watched(t, source)
		plain := source.Plain().(altered).ListerWatcherWithContext
		late, err := plain.ListWithContext(listing, firstList)
		require.NoError(t, err)
		assert.Len(t, late.(*v1.PodList).Items, 20)
		w, err := plain.WatchWithContext(watching, firstWatch)
		require.NoError(t, err)
		defer w.Stop()
		for _, want := range manyEvents() {
			e, open := <-w.ResultChan()
			require.True(t, open)
			assert.Equal(t, want.kind, e.Type)
		}
	}
}

// TestBodyReadAfterTheCall checks that a body read after the call has returned is complete.
func TestBodyReadAfterTheCall(t *testing.T) {
	set := clients(t, newServer(t, false, served{}).config(transport)).RESTClient()
	var body io.ReadCloser
	source := tappedOf(altered{list: func(ctx context.Context, _ clientgo.ListerWithContext, o metav1.ListOptions) (_ runtime.Object, err error) {
		body, err = set.Get().Resource("pods").VersionedParams(&o, metav1.ParameterCodec).Stream(context.WithoutCancel(ctx))
		return &v1.PodList{}, err
	}}, &v1.Pod{})
	_, err := source.ListWithContext(t.Context(), firstList)
	require.NoError(t, err)
	got, err := io.ReadAll(body)
	require.NoError(t, err)
	require.NoError(t, body.Close())
	assert.Equal(t, jsonOf(podList("5")), string(got))
}

// TestAlteredLists checks that the informer gets the list that a ListFunc returns, whatever it changes, also if it
// changes only the last items or fails because most items are missing, and that the client decodes the next list.
func TestAlteredLists(t *testing.T) {
	items := pods(20, "4")
	for i := range items[12:] {
		delete(items[12+i].Labels, "app") // lists are sorted, so pods of another owner come last
	}
	lists := served{lists: []answer{list("5", items...)}}
	whys := map[string]string{
		"filters":  "the list was changed",
		"defaults": "an item of the list, a *v1.Pod, differs at object.ObjectMeta.Labels",
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			for _, k := range podClients {
				k := k.altering(change, nil)
				source := k.tapped(t, lists)
				assert.ErrorContains(t, source.doubts(t), whys[name])
				assert.Equal(t, listed(t, k.plain(t, lists)), listed(t, source))
				assert.NotEmpty(t, source.ledger.State().Why)
				assert.NotEqual(t, "other", source.ledger.State().Reason)
				assert.False(t, source.ledger.State().On)
			}
		})
	}
}

// TestOtherRequestInTheSameCall checks that another request in the same call is not touched, and that
// the requested list is still taken.
func TestOtherRequestInTheSameCall(t *testing.T) {
	before := func(ctx context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (runtime.Object, error) {
		first, err := plain.ListWithContext(ctx, metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, first.(*v1.PodList).Items, 20)
		return plain.ListWithContext(ctx, o)
	}
	for _, k := range podClients {
		source := k.altering(before, nil).tapped(t, served{})
		assert.Len(t, ask(t, source, firstList).Items, 20)
		assert.Equal(t, tap.State{On: true, Encoding: string(k.encoding), Decoded: 11, Verified: 9}, source.ledger.State())
	}
}

// TestOtherObjects checks that an informer of nodes whose client lists pods gets pods, decoded by client-go.
func TestOtherObjects(t *testing.T) {
	refuses := func(o *engine.Options) { o.Make = taptest.Decoders(func(runtime.Object) bool { return true }, nil) }
	for _, k := range podClients {
		k.example = &v1.Node{}
		source := k.tapped(t, served{})
		source.doubts(t)
		assert.Len(t, ask(t, source, firstList).Items, 20)
		k.tapped(t, served{}, refuses).doubts(t) // nothing was decoded directly
		source = k.tapped(t, served{})
		assert.Len(t, watched(t, source).Events, len(manyEvents()))
		assert.EqualValues(t, len(manyEvents()), source.ledger.State().GivenUp["an object is a *v1.Pod"])
	}
}

// wire returns a server that sends pieces, and then leaves the body open if it hangs.
func wire(media string, hangs bool, pieces ...[]byte) *taptest.Wire {
	return &taptest.Wire{Media: media, Answer: func(*http.Request) ([][]byte, bool) { return pieces, hangs }}
}

// over returns a config of clients that use rt in place of a network.
func over(rt http.RoundTripper, media string, wraps ...wrapper) *rest.Config {
	c := &rest.Config{Host: "http://127.0.0.1:1", Transport: rt, QPS: -1}
	if media == runtime.ContentTypeJSON {
		c.ContentType = media
	}
	for _, wrap := range wraps {
		c.Wrap(wrap)
	}
	return c
}

// watchOver returns a source whose client uses w in place of a network.
func watchOver(t testing.TB, w *taptest.Wire, changes ...func(*engine.Options)) tapped {
	return tappedOf(generated(t, over(w, w.Media, transport)), &v1.Pod{}, changes...)
}

func watchPieces(media string) (pieces [][]byte) {
	for _, e := range manyEvents() {
		pieces = append(pieces, taptest.Frame(e.kind, e.obj, media))
	}
	return pieces
}

// TestStoppedAnywhere checks that a watch which is stopped, or whose context ends, after any number
// of events leaves no open body and no goroutine, however many events both decode, and whether or not
// the client's transport reads ahead.
func TestStoppedAnywhere(t *testing.T) {
	for _, wraps := range [][]wrapper{{transport}, {transport, readsAhead}} {
		for _, verify := range []int64{0, 1, 3} {
			for _, media := range []string{"application/json", protobufType} {
				for after := range len(manyEvents()) + 1 {
					for _, by := range stops {
						synctest.Test(t, func(t *testing.T) { stoppedAfter(t, wraps, verify, media, after, by) })
					}
				}
			}
		}
	}
}

// stops are ways to stop a watch.
var stops = []func(watch.Interface, context.CancelFunc){
	func(w watch.Interface, _ context.CancelFunc) { w.Stop() },
	func(_ watch.Interface, cancel context.CancelFunc) { cancel() },
	func(w watch.Interface, cancel context.CancelFunc) { cancel(); w.Stop(); w.Stop() },
}

func stoppedAfter(t *testing.T, wraps []wrapper, verify int64, media string, after int, by func(watch.Interface, context.CancelFunc)) {
	server := wire(media, true, watchPieces(media)...)
	source := tappedOf(generated(t, over(server, media, wraps...)), &v1.Pod{}, func(o *engine.Options) {
		o.Make, o.Verify = taptest.Decoders(named("p9"), nil), verify
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w, err := source.WatchWithContext(ctx, firstWatch)
	require.NoError(t, err)
	for range after {
		<-w.ResultChan()
	}
	by(w, cancel)
	synctest.Wait()
	for range w.ResultChan() { // until the channel is closed
	}
	w.Stop()
	synctest.Wait()
	assert.Zero(t, server.Open.Load())
	assert.EqualValues(t, 1, server.Served.Load())
}

// TestStopAfterDoubt checks that Stop closes a watch whose events are no longer received after its Doubt.
func TestStopAfterDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := wire(protobufType, true, watchPieces(protobufType)...)
		source := watchOver(t, server, damage("p2"))
		w, err := source.WatchWithContext(t.Context(), firstWatch)
		require.NoError(t, err)
		synctest.Wait()
		w.Stop()
		synctest.Wait()
		assert.Zero(t, server.Open.Load())
	})
}

// TestListEnded checks that a list whose context ends while it is read fails as with client-go, and
// leaves nothing behind.
func TestListEnded(t *testing.T) {
	for _, media := range []string{"application/json", protobufType} {
		whole := taptest.Encoded(podList("5"), media)
		for _, at := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
			synctest.Test(t, func(t *testing.T) {
				server := wire(media, true, whole[:at])
				source := watchOver(t, server)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, err := source.ListWithContext(ctx, firstList)
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				synctest.Wait()
				assert.Zero(t, server.Open.Load())
				assert.Empty(t, source.ledger.State().Why)
			})
		}
	}
}

// TestWatchFuncThatReadsAnEvent checks that a WatchFunc which waits for an event before it returns gets the event.
func TestWatchFuncThatReadsAnEvent(t *testing.T) {
	reads := func(ctx context.Context, plain clientgo.WatcherWithContext, o metav1.ListOptions) (watch.Interface, error) {
		w, err := plain.WatchWithContext(ctx, o)
		if err == nil {
			<-w.ResultChan()
		}
		return w, err
	}
	synctest.Test(t, func(t *testing.T) {
		source := watchOver(t, wire(protobufType, false, watchPieces(protobufType)...))
		source = tappedOf(altered{source.Plain(), nil, reads}, &v1.Pod{})
		assert.Len(t, watched(t, source).Events, len(manyEvents())-1)
		assert.Equal(t, tap.State{Why: "the watch was read before it was returned", Reason: "lister-watcher"}, source.ledger.State())
	})
}

// TestPanickingCall checks that a ListerWatcher that panics after a request leaves a body that can be read.
func TestPanickingCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened watch.Interface
		source := watchOver(t, wire(protobufType, false, watchPieces(protobufType)...))
		panics := func(ctx context.Context, plain clientgo.WatcherWithContext, o metav1.ListOptions) (watch.Interface, error) {
			opened, _ = plain.WatchWithContext(ctx, o)
			panic("as the test wants")
		}
		source = tappedOf(altered{source.Plain(), nil, panics}, &v1.Pod{})
		began := time.Now()
		assert.Panics(t, func() { _, _ = source.WatchWithContext(t.Context(), firstWatch) })
		events := 0
		for range opened.ResultChan() {
			events++
		}
		assert.Equal(t, len(manyEvents()), events)
		assert.Zero(t, time.Since(began))
	})
}

// lateBody returns a body without data, whose pending read ends some time after it is closed.
func lateBody(late <-chan error) io.ReadCloser {
	begun := false
	return readBy{http.NoBody, func(_ io.Reader, p []byte) (int, error) {
		if begun {
			p[0] = '!'
			return 1, <-late
		}
		begun = true
		p[0], p[1] = '{', '!'
		return 2, nil
	}}
}

// TestLateReadDoesNotChangeReceivingState checks that a read of a list that ends after its body was closed does not
// change the receiving state, neither to none nor of the next list.
func TestLateReadDoesNotChangeReceivingState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := wire(runtime.ContentTypeJSON, false, []byte(jsonOf(podList("5"))))
		late, sent, answers := make(chan error), make(chan struct{}), make(chan struct{})
		lists := 0
		rt := taptest.Trip(func(r *http.Request) (*http.Response, error) {
			resp, err := server.RoundTrip(r)
			switch lists++; lists {
			case 1, 3:
				_ = resp.Body.Close()
				resp.Body = lateBody(late)
			case 5:
				close(sent)
				<-answers
			}
			return resp, err
		})
		source := tappedOf(generated(t, over(rt, runtime.ContentTypeJSON, transport)), &v1.Pod{}, usesOwn)
		receives := func() bool {
			synctest.Wait()
			_, more := source.ledger.Received()
			return more
		}
		assert.Equal(t, "suspended:", asked(t, source, 1))
		late <- nil
		assert.False(t, receives())

		assert.Equal(t, "client suspended: client", asked(t, source, 3))
		done := make(chan outcome)
		go func() { done <- ask(t, source, firstList) }()
		<-sent
		late <- io.EOF
		assert.True(t, receives())
		close(answers)
		assert.Len(t, (<-done).Items, 20)
		assert.False(t, receives())
	})
}

// TestHost checks that the ledger has the host of the last request, for a list or a watch, even without a response.
func TestHost(t *testing.T) {
	var host string
	refused := func(ctx context.Context) error {
		engine.From(ctx).Begin(httptest.NewRequest("GET", "https://"+host+"/api/v1/pods", nil))
		return testkit.ErrRefused
	}
	source := tappedOf(&clientgo.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) { return nil, refused(ctx) },
		WatchFuncWithContext: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) { return nil, refused(ctx) },
	}, &v1.Pod{})
	assert.Empty(t, source.ledger.Host())
	host = "a:6443"
	assert.Equal(t, testkit.ErrRefused.Error(), listed(t, source).Err)
	assert.Equal(t, host, source.ledger.Host())
	host = "b:6443"
	assert.Equal(t, testkit.ErrRefused.Error(), watched(t, source).Err)
	assert.Equal(t, host, source.ledger.Host())
}

// TestBytes checks that the counts are the bytes of lists and watches sent by the server, which RoundTrippers below
// direct.Transport see. Those above see lists without most items. Bytes decoded by the client are not counted.
func TestBytes(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind) {
		var inside, outside atomic.Int64
		lists := []answer{list("5", pods(200, "4")...)}
		source := k.tapped(t, served{lists: lists, wraps: []wrapper{counting(&inside), transport, counting(&outside)}})
		assert.Len(t, ask(t, source, firstList).Items, 200)
		assert.EqualValues(t, 180, source.ledger.State().Decoded)
		ofLists, ofWatches := source.ledger.Bytes()
		assert.Greater(t, ofLists, int64(200*50))
		assert.Equal(t, inside.Load(), ofLists)
		assert.Less(t, outside.Load(), ofLists/5)
		assert.Zero(t, ofWatches)
		watched(t, source)
		again, ofWatches := source.ledger.Bytes()
		assert.Equal(t, ofLists, again)
		assert.Positive(t, ofWatches)
		assert.Equal(t, inside.Load(), ofLists+ofWatches)

		untapped := k.tapped(t, served{wraps: []wrapper{}})
		ask(t, untapped, firstList)
		ofLists, ofWatches = untapped.ledger.Bytes()
		assert.Zero(t, ofLists+ofWatches)
	})
}
