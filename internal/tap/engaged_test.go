// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/taptest"
	"github.com/kinformer/cache/internal/testkit"
)

// trip is a RoundTripper of the user.
type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// unzips returns a RoundTripper that requests compressed responses, outside of direct.Transport,
// which therefore receives them compressed.
func unzips(rt http.RoundTripper) http.RoundTripper {
	ours := transport(rt)
	return trip(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		r.Header.Set("Accept-Encoding", "gzip")
		resp, err := ours.RoundTrip(r)
		if err != nil || resp.Header.Get("Content-Encoding") == "" {
			return resp, err
		}
		z, err := gzip.NewReader(resp.Body)
		if err != nil {
			return nil, err
		}
		resp.Body = struct {
			io.Reader
			io.Closer
		}{z, resp.Body}
		return resp, nil
	})
}

// bodies returns a wrapper of RoundTrippers that changes the bodies of responses.
func bodies(change func(io.ReadCloser) io.ReadCloser) func(http.RoundTripper) http.RoundTripper {
	return func(rt http.RoundTripper) http.RoundTripper {
		return trip(func(r *http.Request) (*http.Response, error) {
			resp, err := rt.RoundTrip(r)
			if err == nil {
				resp.Body = change(resp.Body)
			}
			return resp, err
		})
	}
}

func noDecoders(reflect.Type, tap.Encoding) tap.Decoder { return nil }

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
		why    string
		wrap   func(http.RoundTripper) http.RoundTripper
		change altered
		option func(*tap.Options)
		kill   string
	}{
		"no transport":  {why: "no transport of package direct has seen the request"},
		"no context":    {why: "no transport of package direct has seen the request", wrap: transport, change: forgets},
		"other options": {why: "the request is not the one that was asked for", wrap: transport, change: elsewhere},
		"option":        {why: "Decoding.Off says so", wrap: transport, option: func(o *tap.Options) { o.Off = true }},
		"kill switch":   {why: "KINFORMER_DIRECT is off in the environment", wrap: transport, kill: "off"},
		"no decoder":    {why: "there is no decoder for the type in protobuf", wrap: transport, option: func(o *tap.Options) { o.Make = noDecoders }},
		"compressed":    {why: `content encoding "gzip"`, wrap: unzips},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(tap.KillSwitch, c.kill)
			server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, []answer{events(false, manyEvents()...)})
			config := server.config()
			if c.wrap != nil {
				config.Wrap(c.wrap)
			}
			c.change.ListerWatcherWithContext = generated(t, config)
			source := tappedOf(c.change, &v1.Pod{}, c.option)
			assert.Len(t, ask(t, source, firstList).Items, 20)
			assert.Equal(t, tap.State{Why: c.why}, source.ledger.State())
			assert.Len(t, follow(t, source, firstWatch, 0).Events, len(manyEvents()))
			if name != "compressed" { // watches are not compressed
				assert.False(t, source.ledger.State().On)
				assert.Zero(t, source.ledger.State().Decoded)
			}
		})
	}
}

// unanswered returns a watch that ends at once for a request without a response, as client-go does
// after its retries.
var unanswered = altered{watch: func(ctx context.Context, _ clientgo.WatcherWithContext, _ metav1.ListOptions) (watch.Interface, error) {
	breaks := trip(func(*http.Request) (*http.Response, error) { return nil, os.ErrDeadlineExceeded })
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1/", nil)
	if err != nil {
		return nil, err
	}
	if _, err = transport(breaks).RoundTrip(req); !errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("answered, or %w", err)
	}
	return watch.NewEmptyWatch(), nil
}}

// TestNoAnswer checks that a request without a response does not change the state.
func TestNoAnswer(t *testing.T) {
	server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, nil)
	lists := unanswered
	lists.ListerWatcherWithContext = generated(t, server.config(transport))
	source := tappedOf(lists, &v1.Pod{}, nil)
	assert.Len(t, ask(t, source, firstList).Items, 20)
	assert.Empty(t, follow(t, source, firstWatch, 0).Events)
	assert.True(t, source.ledger.State().On)
}

// TestLoggedBodies checks that client-go decodes while klog logs bodies.
func TestLoggedBodies(t *testing.T) {
	server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, []answer{events(false, manyEvents()...)})
	source := tappedOf(generated(t, server.config(transport)), &v1.Pod{}, nil)
	logger := funcr.New(func(string, string) {}, funcr.Options{Verbosity: 8})
	logging := klog.NewContext(t.Context(), logger)
	got, err := source.ListWithContext(logging, firstList)
	assert.NoError(t, err)
	assert.Len(t, got.(*v1.PodList).Items, 20)
	assert.Equal(t, tap.State{Why: "klog writes bodies"}, source.ledger.State())
	ask(t, source, firstList)
	assert.Equal(t, tap.State{On: true, Encoding: tap.Protobuf, Decoded: 11, Verified: 9}, source.ledger.State())
}

// TestWrappedTwice checks that, of two transports of package direct, one takes the body, whatever
// is between them.
func TestWrappedTwice(t *testing.T) {
	asIs := bodies(func(body io.ReadCloser) io.ReadCloser { return struct{ io.ReadCloser }{body} })
	for _, k := range podClients {
		server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, []answer{events(false, manyEvents()...)})
		source := tappedOf(k.make(t, server.config(transport, asIs, transport)), k.example, nil)
		assert.Len(t, ask(t, source, firstList).Items, 20)
		assert.Len(t, follow(t, source, firstWatch, 0).Events, len(manyEvents()))
		assert.Equal(t, tap.State{On: true, Encoding: k.encoding, Decoded: 11 + 14, Verified: 9 + 2}, source.ledger.State())
	}
}

// TestInsideAndOutside checks that RoundTrippers below direct.Transport see the real bodies, that
// those above see most items removed, and that both see the requests unchanged.
func TestInsideAndOutside(t *testing.T) {
	seen := map[string]int{}
	counts := func(name string) func(http.RoundTripper) http.RoundTripper {
		return bodies(func(body io.ReadCloser) io.ReadCloser { return &counted{body, func(n int) { seen[name] += n }} })
	}
	server := newServer(t, false, []answer{list("5", pods(200, "4")...)}, nil)
	source := tappedOf(generated(t, server.config(counts("inside"), transport, counts("outside"))), &v1.Pod{}, nil)
	assert.Len(t, ask(t, source, firstList).Items, 200)
	assert.Greater(t, seen["inside"], 200*100)
	assert.Less(t, seen["outside"], seen["inside"]/5)
	assert.EqualValues(t, 180, source.ledger.State().Decoded)
}

// counted is a body that counts its bytes. The count is read after the body.
type counted struct {
	io.ReadCloser
	add func(int)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.add(n)
	return n, err
}

// TestStateIsReadBeforeTheBegin checks that the state may be read before the source exists.
func TestStateIsReadBeforeTheBegin(t *testing.T) {
	for _, wanted := range []tap.State{{Shares: true}, {Unshared: "a transform function"}} {
		ledger := &tap.Ledger{}
		var reading sync.WaitGroup
		reading.Go(func() { ledger.State() })
		tap.New(&clientgo.ListWatch{}, &v1.Pod{}, tap.Options{Ledger: ledger, Share: wanted.Shares, Unshared: wanted.Unshared})
		reading.Wait()
		assert.Equal(t, wanted, ledger.State())
	}
}

// slowBody returns one byte at a time, each after a pause.
type slowBody struct{ io.ReadCloser }

func (b slowBody) Read(p []byte) (int, error) {
	time.Sleep(time.Microsecond)
	return b.ReadCloser.Read(p[:min(len(p), 1)])
}

// slowly makes bodies slow, outside of direct.Transport.
var slowly = bodies(func(body io.ReadCloser) io.ReadCloser { return slowBody{body} })

// pausingBody pauses before one of its reads.
type pausingBody struct {
	io.ReadCloser
	before int
}

func (b *pausingBody) Read(p []byte) (int, error) {
	if b.before--; b.before == 0 {
		time.Sleep(time.Second)
	}
	return b.ReadCloser.Read(p)
}

// pausing makes bodies pause before the given read, inside of direct.Transport.
func pausing(before int) func(http.RoundTripper) http.RoundTripper {
	return bodies(func(body io.ReadCloser) io.ReadCloser { return &pausingBody{body, before} })
}

// TestSlowClient checks a client that returns an event before it has read all of its frame, because
// white space follows the value. It must not see the next bytes in the same memory, which belong to
// a frame that was not passed to it.
func TestSlowClient(t *testing.T) {
	const media, both = "application/json", 8 // the number of frames that both decode
	script := manyEvents()
	script[both].obj.(*v1.Pod).Name = strings.Repeat("long", 100)
	var frames [][]byte
	for _, e := range script {
		frames = append(frames, append(bytes.TrimSpace(taptest.Frame(e.kind, e.obj, media)), "          \n"...))
	}
	var heardBy [2]outcome
	var state tap.State
	for i, wraps := range [][]func(http.RoundTripper) http.RoundTripper{{slowly}, {pausing(both + 2), transport, slowly}} {
		synctest.Test(t, func(t *testing.T) {
			c := &rest.Config{Host: "http://127.0.0.1:1", Transport: ending(media, frames), QPS: -1}
			c.ContentType = media
			for _, wrap := range wraps {
				c.Wrap(wrap)
			}
			source := tappedOf(generated(t, c), &v1.Pod{}, func(o *tap.Options) { o.Verify = both + 2 })
			heardBy[i] = follow(t, source, firstWatch, 0)
			state = source.ledger.State()
		})
	}
	require.Len(t, heardBy[0].Events, len(script))
	assert.Equal(t, heardBy[0], heardBy[1])
	assert.Equal(t, tap.State{On: true, Encoding: tap.JSON, Decoded: int64(len(script) - both - 1), Verified: both + 1}, state)
}

// dawdler takes the given time to decode a kilobyte of a list.
type dawdler struct {
	tap.Decoder
	kilobyte time.Duration
}

func (d dawdler) List(body io.Reader, check bool) tap.List {
	return d.Decoder.List(dawdlingReader{body, d.kilobyte}, check)
}

type dawdlingReader struct {
	io.Reader
	kilobyte time.Duration
}

func (r dawdlingReader) Read(p []byte) (int, error) {
	time.Sleep(r.kilobyte)
	return r.Reader.Read(p[:min(len(p), 1000)])
}

// slowList is a list of more than 100 kB, of which 10 kB may wait to be decoded.
type slowList struct {
	source tapped
	size   int64
	sent   atomic.Int64
}

// newSlowList returns a client with a timeout and its server, which sends only half of its response
// if it hangs.
func newSlowList(t *testing.T, kilobyte, timeout time.Duration, hangs bool) *slowList {
	whole := taptest.Encoded(&v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: pods(500, "4")}, runtime.ContentTypeJSON)
	pieces := bytes.SplitAfter(whole, []byte("}"))
	if hangs {
		pieces = pieces[:len(pieces)/2]
	}
	l := &slowList{size: int64(len(whole))}
	server := &taptest.Wire{Media: runtime.ContentTypeJSON, Answer: func(*http.Request) ([][]byte, bool) { return pieces, hangs }}
	c := &rest.Config{Host: "http://127.0.0.1:1", QPS: -1, Timeout: timeout, Transport: trip(func(r *http.Request) (*http.Response, error) {
		resp, err := server.RoundTrip(r)
		resp.Body = &counted{resp.Body, func(n int) { l.sent.Add(int64(n)) }}
		return resp, err
	})}
	c.ContentType = runtime.ContentTypeJSON
	c.Wrap(transport)
	l.source = tappedOf(generated(t, c), &v1.Pod{}, func(o *tap.Options) {
		right := taptest.Decoders(nil, nil)
		o.Ahead, o.Make = 10_000, func(of reflect.Type, e tap.Encoding) tap.Decoder { return dawdler{right(of, e), kilobyte} }
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

// TestBoundIsLifted checks that the limit is lifted after 20 s, and no sooner, if there is no
// deadline.
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

// TestErrorComesAtOnce checks that waiting bytes are not decoded if the list fails.
func TestErrorComesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newSlowList(t, time.Second/10, 2*time.Second, true)
		began := time.Now()
		_, err := l.source.ListWithContext(t.Context(), firstList)
		assert.Error(t, err)
		assert.LessOrEqual(t, time.Since(began), 2*time.Second+time.Second/10)
		assert.Empty(t, l.source.ledger.State().Why)
		time.Sleep(never)
	})
}

// altered is a ListerWatcher whose results a program changes.
type altered struct {
	clientgo.ListerWatcherWithContext
	list  func(ctx context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (runtime.Object, error)
	watch func(ctx context.Context, plain clientgo.WatcherWithContext, o metav1.ListOptions) (watch.Interface, error)
}

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

// podClients are clients of pods in both encodings.
var podClients = kinds[:2]

// TestFilteredWatch checks that a watch which is not returned as client-go made it gets its body
// back: nothing is lost, no second request is made, and no later watch is tapped.
func TestFilteredWatch(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			answers := []answer{events(false, manyEvents()...)}
			plain := follow(t, altered{k.make(t, newServer(t, false, nil, answers).config()), nil, notP3}, firstWatch, 0)
			server := newServer(t, false, nil, answers)
			source := tappedOf(altered{k.make(t, server.config(transport)), nil, notP3}, k.example, nil)
			assert.Equal(t, plain, follow(t, source, firstWatch, 0))
			assert.Equal(t, plain, follow(t, source, firstWatch, 0))
			assert.Equal(t, tap.State{Why: "the watch is no plain stream, but a *watch.filteredWatch"}, source.ledger.State())
			assert.Equal(t, []string{"watch 5", "watch 5"}, server.asked())
		})
	}
}

// TestFilteredWatchAfterList checks that the caller must list again if a watch is filtered, since
// lists may be filtered too, which is not noticed.
func TestFilteredWatchAfterList(t *testing.T) {
	for _, k := range podClients {
		server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, []answer{events(false, manyEvents()...)})
		source := tappedOf(altered{k.make(t, server.config(transport)), nil, notP3}, k.example, nil)
		require.Len(t, ask(t, source, firstList).Items, 20)
		require.True(t, source.ledger.State().On)
		_, err := source.WatchWithContext(t.Context(), firstWatch)
		isDoubt(t, err)
		require.Len(t, ask(t, source, firstList).Items, 20)
		assert.Len(t, follow(t, source, firstWatch, 0).Events, len(manyEvents())-2)
		assert.False(t, source.ledger.State().On)
	}
}

type listChange = func(ctx context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (runtime.Object, error)

// edits returns a change of lists of pods.
func edits(f func(*v1.PodList) runtime.Object) listChange {
	return func(ctx context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (runtime.Object, error) {
		list, err := plain.ListWithContext(ctx, o)
		if err != nil {
			return nil, err
		}
		return f(list.(*v1.PodList)), nil
	}
}

// changes are changes that a ListFunc may make.
var changes = map[string]listChange{
	"edits": edits(func(l *v1.PodList) runtime.Object {
		for i := range l.Items {
			l.Items[i].Labels["edited"] = "yes"
		}
		return l
	}),
	"sets kinds": edits(func(l *v1.PodList) runtime.Object {
		for i := range l.Items {
			l.Items[i].APIVersion, l.Items[i].Kind = "v1", "Pod"
		}
		return l
	}),
	"drops one": edits(func(l *v1.PodList) runtime.Object {
		l.Items = l.Items[:len(l.Items)-1]
		return l
	}),
	"adds one": edits(func(l *v1.PodList) runtime.Object {
		l.Items = append(l.Items, *pod("more", "4"))
		return l
	}),
	"another list": edits(func(l *v1.PodList) runtime.Object {
		return &metav1.List{ListMeta: l.ListMeta}
	}),
	"lists twice": func(ctx context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (runtime.Object, error) {
		a, err := plain.ListWithContext(ctx, o)
		if err != nil {
			return nil, err
		}
		b, err := plain.ListWithContext(ctx, o)
		if err != nil {
			return nil, err
		}
		both := a.(*v1.PodList)
		both.Items = append(both.Items, b.(*v1.PodList).Items...)
		return both, nil
	},
}

// TestLateRequest checks that a request with the context of a call that has returned is not
// touched.
func TestLateRequest(t *testing.T) {
	for _, k := range podClients {
		server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, []answer{events(false, manyEvents()...)})
		plain := k.make(t, server.config(transport))
		var listing, watching context.Context
		source := tappedOf(altered{
			plain,
			func(ctx context.Context, _ clientgo.ListerWithContext, o metav1.ListOptions) (runtime.Object, error) {
				listing = ctx
				return &v1.PodList{}, nil
			},
			func(ctx context.Context, _ clientgo.WatcherWithContext, o metav1.ListOptions) (watch.Interface, error) {
				watching = context.WithoutCancel(ctx)
				return watch.NewEmptyWatch(), nil
			},
		}, k.example, nil)
		_ = ask(t, source, firstList)
		_ = follow(t, source, firstWatch, 0)
		late, err := plain.ListWithContext(listing, firstList)
		require.NoError(t, err)
		assert.Len(t, late.(*v1.PodList).Items, 20)
		w, err := plain.WatchWithContext(watching, firstWatch)
		require.NoError(t, err)
		defer w.Stop()
		for range manyEvents() {
			<-w.ResultChan()
		}
	}
}

// TestReadLater checks that a body read after the call has returned is complete.
func TestReadLater(t *testing.T) {
	server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, nil)
	set := client(t, server.config(transport))
	var body io.ReadCloser
	source := tappedOf(altered{list: func(ctx context.Context, _ clientgo.ListerWithContext, o metav1.ListOptions) (_ runtime.Object, err error) {
		body, err = set.Get().Resource("pods").VersionedParams(&o, metav1.ParameterCodec).Stream(context.WithoutCancel(ctx))
		return &v1.PodList{}, err
	}}, &v1.Pod{}, nil)
	_, err := source.ListWithContext(t.Context(), firstList)
	require.NoError(t, err)
	got, err := io.ReadAll(body)
	require.NoError(t, err)
	require.NoError(t, body.Close())
	assert.Equal(t, taptest.Encoded(podList("5"), runtime.ContentTypeJSON), got)
}

// TestAlteredLists checks that the informer gets the list that a ListFunc returns, whatever it
// changes.
func TestAlteredLists(t *testing.T) {
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			for _, k := range podClients {
				answers := []answer{list("5", pods(20, "4")...)}
				plain := ask(t, altered{k.make(t, newServer(t, false, answers, nil).config()), change, nil}, firstList)
				source := tappedOf(altered{k.make(t, newServer(t, false, answers, nil).config(transport)), change, nil}, k.example, nil)
				_, err := source.ListWithContext(t.Context(), firstList)
				isDoubt(t, err)
				assert.Equal(t, plain, ask(t, source, firstList))
				assert.NotEmpty(t, source.ledger.State().Why)
			}
		})
	}
}

// TestAnotherRequestBefore checks that another request in the same call is not touched, and that
// the requested list is still taken.
func TestAnotherRequestBefore(t *testing.T) {
	for _, k := range podClients {
		before := func(ctx context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (runtime.Object, error) {
			first, err := plain.ListWithContext(ctx, metav1.ListOptions{})
			require.NoError(t, err)
			require.Len(t, first.(*v1.PodList).Items, 20)
			return plain.ListWithContext(ctx, o)
		}
		server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, nil)
		source := tappedOf(altered{k.make(t, server.config(transport)), before, nil}, k.example, nil)
		assert.Len(t, ask(t, source, firstList).Items, 20)
		assert.Equal(t, tap.State{On: true, Encoding: k.encoding, Decoded: 11, Verified: 9}, source.ledger.State())
	}
}

// TestOtherObjects checks that an informer of nodes whose client lists pods gets pods, decoded by
// client-go.
func TestOtherObjects(t *testing.T) {
	for _, k := range podClients {
		server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, []answer{events(false, manyEvents()...)})
		source := tappedOf(k.make(t, server.config(transport)), &v1.Node{}, nil)
		_, err := source.ListWithContext(t.Context(), firstList)
		isDoubt(t, err)
		assert.Len(t, ask(t, source, firstList).Items, 20)
		source = tappedOf(k.make(t, server.config(transport)), &v1.Node{}, func(o *tap.Options) {
			o.Make = taptest.Decoders(func(runtime.Object) bool { return true }, nil)
		})
		_, err = source.ListWithContext(t.Context(), firstList) // nothing was decoded directly
		isDoubt(t, err)
		source = tappedOf(k.make(t, server.config(transport)), &v1.Node{}, nil)
		assert.Len(t, follow(t, source, firstWatch, 0).Events, len(manyEvents()))
		assert.EqualValues(t, len(manyEvents()), source.ledger.State().GivenUp["an object is a *v1.Pod"])
	}
}

// TestFailsAfterList checks that a ListFunc which fails on the shortened list causes a Doubt, and
// gets the whole list the next time.
func TestFailsAfterList(t *testing.T) {
	for _, k := range podClients {
		counts := func(ctx context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (runtime.Object, error) {
			list, err := plain.ListWithContext(ctx, o)
			if err == nil && len(list.(*v1.PodList).Items) != 20 {
				return nil, errors.New("not all of them")
			}
			return list, err
		}
		server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, nil)
		source := tappedOf(altered{k.make(t, server.config(transport)), counts, nil}, k.example, nil)
		_, err := source.ListWithContext(t.Context(), firstList)
		isDoubt(t, err)
		assert.Len(t, ask(t, source, firstList).Items, 20)
	}
}

// TestTwoWatches checks that client-go decodes both watches if one call opens two.
func TestTwoWatches(t *testing.T) {
	for _, k := range podClients {
		twice := func(ctx context.Context, plain clientgo.WatcherWithContext, o metav1.ListOptions) (watch.Interface, error) {
			first, err := plain.WatchWithContext(ctx, o)
			require.NoError(t, err)
			first.Stop()
			return plain.WatchWithContext(ctx, o)
		}
		server := newServer(t, false, nil, []answer{events(true), events(false, manyEvents()...)})
		source := tappedOf(altered{k.make(t, server.config(transport)), nil, twice}, k.example, nil)
		assert.Len(t, follow(t, source, firstWatch, 0).Events, len(manyEvents()))
		assert.Equal(t, tap.State{Why: "several watches were asked for in one call"}, source.ledger.State())
	}
}

// hanging returns a server that sends pieces and leaves the body open.
func hanging(media string, pieces [][]byte) *taptest.Wire {
	return &taptest.Wire{Media: media, Answer: func(*http.Request) ([][]byte, bool) { return pieces, true }}
}

// ending returns a server that sends pieces and ends the body.
func ending(media string, pieces [][]byte) *taptest.Wire {
	return &taptest.Wire{Media: media, Answer: func(*http.Request) ([][]byte, bool) { return pieces, false }}
}

// watchOver returns a source whose client uses w instead of a network.
func watchOver(t testing.TB, w *taptest.Wire, change func(*tap.Options)) tapped {
	c := &rest.Config{Host: "http://127.0.0.1:1", Transport: w, QPS: -1}
	if w.Media == "application/json" {
		c.ContentType = w.Media
	}
	c.Wrap(transport)
	return tappedOf(generated(t, c), &v1.Pod{}, change)
}

func watchPieces(media string) (pieces [][]byte) {
	for _, e := range manyEvents() {
		pieces = append(pieces, taptest.Frame(e.kind, e.obj, media))
	}
	return pieces
}

// TestStoppedAnywhere checks that a watch which is stopped, or whose context ends, after any number
// of events leaves no open body and no goroutine.
func TestStoppedAnywhere(t *testing.T) {
	for _, media := range []string{"application/json", protobufType} {
		for after := range len(manyEvents()) + 1 {
			for _, by := range []func(watch.Interface, context.CancelFunc){
				func(w watch.Interface, _ context.CancelFunc) { w.Stop() },
				func(_ watch.Interface, cancel context.CancelFunc) { cancel() },
				func(w watch.Interface, cancel context.CancelFunc) { cancel(); w.Stop(); w.Stop() },
			} {
				synctest.Test(t, func(t *testing.T) {
					server := hanging(media, watchPieces(media))
					source := watchOver(t, server, func(o *tap.Options) { o.Make = taptest.Decoders(named("p9"), nil) })
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
				})
			}
		}
	}
}

// TestAbandonedDoubt checks that Stop closes a watch whose events are no longer received after its
// Doubt.
func TestAbandonedDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hanging(protobufType, watchPieces(protobufType))
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
				server := hanging(media, [][]byte{whole[:at]})
				source := watchOver(t, server, nil)
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

// TestReadBeforeReturned checks that a WatchFunc which waits for an event before it returns gets
// the event.
func TestReadBeforeReturned(t *testing.T) {
	reads := func(ctx context.Context, plain clientgo.WatcherWithContext, o metav1.ListOptions) (watch.Interface, error) {
		w, err := plain.WatchWithContext(ctx, o)
		if err == nil {
			<-w.ResultChan()
		}
		return w, err
	}
	synctest.Test(t, func(t *testing.T) {
		source := watchOver(t, ending(protobufType, watchPieces(protobufType)), nil)
		source = tappedOf(altered{source.Plain(), nil, reads}, &v1.Pod{}, nil)
		assert.Len(t, follow(t, source, firstWatch, 0).Events, len(manyEvents())-1)
		assert.Equal(t, tap.State{Why: "the watch was read before it was returned"}, source.ledger.State())
	})
}

// TestPanickingCall checks that a ListerWatcher that panics after a request leaves a body that can
// be read.
func TestPanickingCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened watch.Interface
		source := watchOver(t, ending(protobufType, watchPieces(protobufType)), nil)
		panics := func(ctx context.Context, plain clientgo.WatcherWithContext, o metav1.ListOptions) (watch.Interface, error) {
			opened, _ = plain.WatchWithContext(ctx, o)
			panic("as the test wants")
		}
		source = tappedOf(altered{source.Plain(), nil, panics}, &v1.Pod{}, nil)
		began := time.Now()
		assert.Panics(t, func() { _, _ = source.WatchWithContext(t.Context(), firstWatch) })
		for range opened.ResultChan() {
		}
		assert.Zero(t, time.Since(began))
	})
}

// lateBody is a body without data, whose pending read ends some time after it is closed.
type lateBody struct {
	begun bool
	late  chan error
}

func (b *lateBody) Read(p []byte) (int, error) {
	p[0] = '!'
	if b.begun {
		return 1, <-b.late
	}
	b.begun = true
	return 1, nil
}

func (b *lateBody) Close() error { return nil }

// TestReceivedNoMore checks that a read of a list that ends after its body was closed does not
// change the receiving state, neither to none nor of the next list.
func TestReceivedNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := taptest.Encoded(podList("5"), runtime.ContentTypeJSON)
		server := &taptest.Wire{Media: runtime.ContentTypeJSON, Answer: func(*http.Request) ([][]byte, bool) { return [][]byte{good}, false }}
		late, sent, answers := make(chan error), make(chan struct{}), make(chan struct{})
		lists := 0
		c := &rest.Config{Host: "http://127.0.0.1:1", QPS: -1, Transport: trip(func(r *http.Request) (*http.Response, error) {
			resp, err := server.RoundTrip(r)
			switch lists++; lists {
			case 1, 3:
				_ = resp.Body.Close()
				resp.Body = &lateBody{late: late}
			case 5:
				close(sent)
				<-answers
			}
			return resp, err
		})}
		c.ContentType = runtime.ContentTypeJSON
		c.Wrap(transport)
		source := tappedOf(generated(t, c), &v1.Pod{}, usesOwn)
		receives := func() bool {
			synctest.Wait()
			_, more := source.ledger.Received()
			return more
		}
		assert.Equal(t, []string{"suspended:"}, asked(t, source, 1))
		late <- nil
		assert.False(t, receives())

		assert.Equal(t, []string{"client", "suspended:", "client"}, asked(t, source, 3))
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

// TestHost checks that the ledger has the host of the last request, for a list or a watch, even
// without a response.
func TestHost(t *testing.T) {
	sent := func(ctx context.Context, url string) error {
		tap.From(ctx).Begin(httptest.NewRequest("GET", url, nil))
		return testkit.ErrRefused
	}
	var ledger tap.Ledger
	source := tap.New(&clientgo.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			return nil, sent(ctx, "https://a:6443/api/v1/pods")
		},
		WatchFuncWithContext: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			return nil, sent(ctx, "https://b:6443/api/v1/pods")
		},
	}, &v1.Pod{}, tap.Options{Ledger: &ledger})
	assert.Empty(t, ledger.Host())
	_, err := source.ListWithContext(t.Context(), metav1.ListOptions{})
	assert.ErrorIs(t, err, testkit.ErrRefused)
	assert.Equal(t, "a:6443", ledger.Host())
	_, err = source.WatchWithContext(t.Context(), metav1.ListOptions{})
	assert.ErrorIs(t, err, testkit.ErrRefused)
	assert.Equal(t, "b:6443", ledger.Host())
}

// TestBytes checks that the counts are the bytes of lists and watches sent by the server. Bytes
// decoded by the client are not counted.
func TestBytes(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		var n atomic.Int64
		weighing := bodies(func(body io.ReadCloser) io.ReadCloser {
			return &counted{body, func(read int) { n.Add(int64(read)) }}
		})
		lists := []answer{page(metav1.ListMeta{ResourceVersion: "5"}, pods(20, "4")...)}
		watches := []answer{events(false, manyEvents()...)}
		source := tappedOf(k.make(t, newServer(t, http2, lists, watches).config(weighing, transport)), k.example, k.decoders)
		ask(t, source, firstList)
		ofLists, ofWatches := source.ledger.Bytes()
		assert.Positive(t, ofLists)
		assert.Equal(t, n.Swap(0), ofLists)
		assert.Zero(t, ofWatches)
		follow(t, source, firstWatch, 0)
		again, ofWatches := source.ledger.Bytes()
		assert.Equal(t, ofLists, again)
		assert.Positive(t, ofWatches)
		assert.Equal(t, n.Load(), ofWatches)

		untapped := tappedOf(k.make(t, newServer(t, http2, lists, watches).config()), k.example, k.decoders)
		ask(t, untapped, firstList)
		ofLists, ofWatches = untapped.ledger.Bytes()
		assert.Zero(t, ofLists+ofWatches)
	})
}
