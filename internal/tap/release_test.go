// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
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
	"github.com/kinformer/cache/internal/tap/taptest"
)

// altered is a ListerWatcher whose results somebody changes.
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

// notP3 leaves an object out of a watch.
func notP3(ctx context.Context, plain clientgo.WatcherWithContext, o metav1.ListOptions) (watch.Interface, error) {
	w, err := plain.WatchWithContext(ctx, o)
	if err != nil {
		return nil, err
	}
	return watch.Filter(w, func(e watch.Event) (watch.Event, bool) {
		pod, ok := e.Object.(metav1.Object) // an error is none
		return e, !ok || pod.GetName() != "p3"
	}), nil
}

// podClients are clients of pods in both encodings.
var podClients = kinds[:2]

// TestFilteredWatch: a watch that does not come as client-go makes it gets its body back: nothing
// is lost, no second request is made, and none is tapped again.
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

// TestFilteredWatchAfterList: who filters watches may filter lists, unnoticed: the state is taken
// over again.
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

// edits changes lists of pods.
func edits(f func(*v1.PodList) runtime.Object) listChange {
	return func(ctx context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (runtime.Object, error) {
		list, err := plain.ListWithContext(ctx, o)
		if err != nil {
			return nil, err
		}
		return f(list.(*v1.PodList)), nil
	}
}

// changes are what ListFuncs do to lists.
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

// TestLateRequest: a request that is made with the context of a call that has returned is not
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

// TestReadLater: a body that is read when the call has returned is whole.
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

// TestAlteredLists: whatever a ListFunc does to a list, the informer gets that in the end.
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

// TestAnotherRequestBefore: a request that is not the one that was asked for is not touched, and
// that one is taken all the same.
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

// TestOtherObjects: an informer of nodes whose client lists pods gets pods, by client-go.
func TestOtherObjects(t *testing.T) {
	for _, k := range podClients {
		server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, []answer{events(false, manyEvents()...)})
		source := tappedOf(k.make(t, server.config(transport)), &v1.Node{}, nil)
		_, err := source.ListWithContext(t.Context(), firstList)
		isDoubt(t, err)
		assert.Len(t, ask(t, source, firstList).Items, 20)
		source = tappedOf(k.make(t, server.config(transport)), &v1.Node{}, func(o *tap.Options) {
			o.Make = taptest.SlowDecoders(func(runtime.Object) bool { return true }, nil)
		})
		_, err = source.ListWithContext(t.Context(), firstList) // nothing was decoded by us
		isDoubt(t, err)
		source = tappedOf(k.make(t, server.config(transport)), &v1.Node{}, nil)
		assert.Len(t, follow(t, source, firstWatch, 0).Events, len(manyEvents()))
		assert.EqualValues(t, len(manyEvents()), source.ledger.State().GivenUp["an object is a *v1.Pod"])
	}
}

// TestFailsAfterList: a ListFunc that fails on the list less items fails on the whole list, or not.
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

// TestTwoWatches: if one call opens two watches, client-go decodes both.
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

// hanging answers with pieces, and goes on for ever.
func hanging(media string, pieces [][]byte) *taptest.Wire {
	return &taptest.Wire{Media: media, Answer: func(*http.Request) ([][]byte, bool) { return pieces, true }}
}

// ending answers with pieces.
func ending(media string, pieces [][]byte) *taptest.Wire {
	return &taptest.Wire{Media: media, Answer: func(*http.Request) ([][]byte, bool) { return pieces, false }}
}

// watchOver returns a source whose client has the wire in the place of a network.
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

// TestStoppedAnywhere: a watch that is stopped after any number of events, or whose context ends
// then, leaves no body open and no goroutine.
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
					source := watchOver(t, server, func(o *tap.Options) { o.Make = taptest.SlowDecoders(named("p9"), nil) })
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					w, err := source.WatchWithContext(ctx, firstWatch)
					require.NoError(t, err)
					for range after {
						<-w.ResultChan()
					}
					by(w, cancel)
					synctest.Wait()
					for range w.ResultChan() { // ends
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

// TestAbandonedDoubt: a watch that nobody reads any more after its Doubt is closed by its Stop.
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

// TestListEnded: a list whose context ends while it is read fails like one without us, and leaves
// nothing.
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

// TestReadBeforeReturned: a WatchFunc that waits for an event before it returns gets it.
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

// TestPanickingCall: a ListerWatcher that panics after a request leaves a body that can be read.
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

// TestServerNotHeldUp: a list that fits the read-ahead is read to its end while its first item is
// still being decoded; of a longer one no more is read than that.
func TestServerNotHeldUp(t *testing.T) {
	whole := taptest.Encoded(podList("5"), "application/json")
	pieces := bytes.SplitAfter(whole, []byte("}"))
	for _, limit := range []int64{1, 1 << 20} {
		synctest.Test(t, func(t *testing.T) {
			var sent atomic.Int32
			server := ending("application/json", pieces)
			counting := trip(func(r *http.Request) (*http.Response, error) {
				resp, err := server.RoundTrip(r)
				resp.Body = &counted{resp.Body, func(n int) { sent.Add(int32(n)) }}
				return resp, err
			})
			c := &rest.Config{Host: "http://127.0.0.1:1", Transport: counting, QPS: -1}
			c.ContentType = "application/json"
			c.Wrap(transport)
			decoding := make(chan struct{})
			source := tappedOf(generated(t, c), &v1.Pod{}, func(o *tap.Options) {
				o.Ahead, o.Make = limit, taptest.SlowToBegin(decoding)
			})
			done := make(chan heard)
			go func() { done <- ask(t, source, firstList) }()
			synctest.Wait()
			if limit == 1 {
				assert.Less(t, int(sent.Load()), len(whole)/2)
			} else {
				assert.Len(t, whole, int(sent.Load()))
			}
			close(decoding)
			assert.Len(t, (<-done).Items, 20)
		})
	}
}
