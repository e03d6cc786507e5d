// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/taptest"
)

// accepts notes what requests accept, below of all others.
type accepts struct {
	mu   sync.Mutex
	list []string
}

func (a *accepts) note(rt http.RoundTripper) http.RoundTripper {
	return trip(func(r *http.Request) (*http.Response, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.list = append(a.list, r.Header.Get("Accept"))
		return rt.RoundTrip(r)
	})
}

const (
	plainJSON = "application/json, */*"
	inRaised  = "application/vnd.kubernetes.protobuf,application/json"
)

// raising is a source that prefers protobuf, of a client that has not chosen.
func raising(t testing.TB, s *server, k kind, change func(*rest.Config)) (tapped, *accepts) {
	a := &accepts{}
	config := s.config(a.note, transport)
	if change != nil {
		change(config)
	}
	return tappedOf(k.make(t, config), k.example, func(o *tap.Options) { o.Make, o.PreferProtobuf = nil, true }), a
}

// unchosen is a kind of clients that have chosen no encoding.
func unchosen() kind {
	return kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == "list watch" })]
}

// TestRaised: what a client that asks for JSON hears is the same where protobuf comes, errors
// included.
func TestRaised(t *testing.T) {
	gone := statusOf(http.StatusGone, metav1.StatusReasonExpired)
	for name, tc := range map[string]struct {
		lists, watches []answer
		objects        bool
	}{
		"all":          {[]answer{list("5", pods(20, "4")...)}, []answer{events(false, manyEvents()...)}, true},
		"none":         {[]answer{list("5")}, []answer{events(false)}, false},
		"forbidden":    {[]answer{status(403, metav1.StatusReasonForbidden)}, []answer{status(403, metav1.StatusReasonForbidden)}, false},
		"gone":         {[]answer{status(410, metav1.StatusReasonExpired)}, []answer{status(410, metav1.StatusReasonExpired)}, false},
		"gone in it":   {[]answer{list("5")}, []answer{events(false, append(manyEvents(), event{watch.Error, gone})...)}, true},
		"gone at once": {[]answer{list("5")}, []answer{events(false, event{watch.Error, gone})}, false},
		"too many":     {[]answer{status(429, metav1.StatusReasonTooManyRequests, "Retry-After", "0"), list("5", pods(9, "4")...)}, []answer{events(false)}, true},
		"no status":    {[]answer{stream(false, "text/plain", []byte("no"))}, []answer{events(false, manyEvents()...)}, true},
		"an odd event": {[]answer{list("5")}, []answer{events(false, append(manyEvents(), event{"ODD", pod("p", "40")})...)}, true},
		"cut":          {[]answer{cutList}, []answer{cutWatch}, false},
		"only in JSON": {[]answer{inOnly(runtime.ContentTypeJSON)}, []answer{stream(false, runtime.ContentTypeJSON, taptest.Frame(watch.Added, pod("p", "9"), runtime.ContentTypeJSON))}, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, http2 := range []bool{false, true} {
				plain := unchosen().make(t, newServer(t, http2, tc.lists, tc.watches).config())
				source, accepted := raising(t, newServer(t, http2, tc.lists, tc.watches), unchosen(), nil)
				wanted, got := ask(t, plain, firstList), ask(t, source, firstList)
				assert.Equal(t, wanted, got)
				wantedEvents, gotEvents := follow(t, plain, firstWatch, 0), follow(t, source, firstWatch, 0)
				assert.Equal(t, wantedEvents, gotEvents)
				assert.Equal(t, tc.objects, len(got.Items)+len(gotEvents.Events) > 1)
				state := source.ledger.State()
				assert.Zero(t, state.Differences)
				if state.On {
					assert.Equal(t, name != "only in JSON", state.Encoding == tap.Protobuf)
				}
				for _, accept := range accepted.list {
					assert.Equal(t, inRaised, accept)
				}
			}
		})
	}
}

// inOnly answers with a list in one encoding.
func inOnly(media string) answer {
	return func(w http.ResponseWriter, r *http.Request) {
		reply(w, r, media, taptest.Encoded(podList("5"), media))
	}
}

// TestNotRaised: nothing is asked for in another way of which the client has chosen the encoding,
// which has no protobuf, or where that is not wanted.
func TestNotRaised(t *testing.T) {
	for _, k := range kinds {
		source, accepted := raising(t, newServer(t, false, []answer{list("5")}, []answer{events(false)}), k, nil)
		plain := &accepts{}
		without := k.make(t, newServer(t, false, []answer{list("5")}, []answer{events(false)}).config(plain.note))
		for _, lw := range []clientgo.ListerWatcherWithContext{source, without} {
			ask(t, lw, firstList)
			follow(t, lw, firstWatch, 0)
		}
		require.Len(t, plain.list, 2)
		raises := k.example != nil && plain.list[0] == plainJSON && k.name != "dynamic"
		assert.Equal(t, raises, !slices.Equal(plain.list, accepted.list), k.name)
	}
}

// TestChosen: a client has chosen that says what it accepts, also in two headers, and whoever does
// not want it is not raised.
func TestChosen(t *testing.T) {
	one := func(c *rest.Config) { c.AcceptContentTypes = runtime.ContentTypeJSON }
	both := func(c *rest.Config) {
		c.Wrap(func(rt http.RoundTripper) http.RoundTripper {
			return trip(func(r *http.Request) (*http.Response, error) {
				r = r.Clone(r.Context())
				r.Header.Add("Accept", "text/plain")
				return rt.RoundTrip(r)
			})
		})
	}
	for accepted, change := range map[string]func(*rest.Config){runtime.ContentTypeJSON: one, plainJSON: both} {
		source, a := raising(t, newServer(t, false, []answer{list("5")}, []answer{events(false)}), unchosen(), change)
		ask(t, source, firstList)
		follow(t, source, firstWatch, 0)
		assert.Equal(t, []string{accepted, accepted}, a.list)
	}
	a := &accepts{}
	server := newServer(t, false, []answer{list("5")}, []answer{events(false)})
	source := tappedOf(unchosen().make(t, server.config(a.note, transport)), &v1.Pod{}, usesOwn)
	ask(t, source, firstList)
	follow(t, source, firstWatch, 0)
	assert.Equal(t, []string{plainJSON, plainJSON}, a.list)
}

// TestOtherRequestsAreNotRaised: another one of the same call, and one that is made with its
// context when it has returned, ask as their client does.
func TestOtherRequestsAreNotRaised(t *testing.T) {
	k, plain := unchosen(), unchosen().make
	var late func()
	k.make = func(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
		before := func(ctx context.Context, lw clientgo.ListerWithContext, o metav1.ListOptions) (runtime.Object, error) {
			_, err := lw.ListWithContext(ctx, metav1.ListOptions{})
			require.NoError(t, err)
			late = func() {
				_, err := lw.ListWithContext(ctx, o)
				require.NoError(t, err)
			}
			return lw.ListWithContext(ctx, o)
		}
		return altered{plain(t, c), before, nil}
	}
	source, accepted := raising(t, newServer(t, false, []answer{list("5", pods(20, "4")...)}, nil), k, nil)
	assert.Len(t, ask(t, source, firstList).Items, 20)
	late()
	assert.Equal(t, []string{plainJSON, inRaised, plainJSON}, accepted.list)
}

// jsonOnly is a serializer that knows nothing else.
type jsonOnly struct{ runtime.NegotiatedSerializer }

func (s jsonOnly) SupportedMediaTypes() []runtime.SerializerInfo {
	return slices.DeleteFunc(slices.Clone(s.NegotiatedSerializer.SupportedMediaTypes()), func(i runtime.SerializerInfo) bool {
		return i.MediaType != runtime.ContentTypeJSON
	})
}

// jsonClient is a kind of clients that know JSON only.
func jsonClient() kind {
	k := unchosen()
	k.make = func(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
		c.APIPath, c.GroupVersion = "/api", &schema.GroupVersion{Version: "v1"}
		c.NegotiatedSerializer = jsonOnly{scheme.Codecs.WithoutConversion()}
		client, err := rest.RESTClientFor(c)
		require.NoError(t, err)
		return clientgo.NewListWatchFromClient(client, "pods", "space", fields.Everything())
	}
	return k
}

// TestLowered: a client that knows no protobuf is asked for once more, once in its life, be it by
// a list or by a watch.
func TestLowered(t *testing.T) {
	lists, watches := []answer{list("5", pods(20, "4")...)}, []answer{events(false, manyEvents()...)}
	for _, first := range []string{"list", "watch"} {
		source, accepted := raising(t, newServer(t, false, lists, watches), jsonClient(), nil)
		for range 2 {
			if first == "list" {
				assert.Len(t, ask(t, source, firstList).Items, 20)
			}
			assert.Len(t, follow(t, source, firstWatch, 0).Events, len(manyEvents()))
			assert.Len(t, ask(t, source, firstList).Items, 20)
		}
		assert.Equal(t, inRaised, accepted.list[0])
		assert.Equal(t, slices.Repeat([]string{plainJSON}, len(accepted.list)-1), accepted.list[1:])
		assert.Equal(t, tap.JSON, source.ledger.State().Encoding)
	}
}

// TestLoweredUntaken: that is so, too, where nothing of the answer was taken.
func TestLoweredUntaken(t *testing.T) {
	odd := func(w http.ResponseWriter, r *http.Request) {
		if mediaOf(r) == protobufType {
			w.Header().Set("Content-Encoding", "identity")
		}
		w.Header().Set("Content-Type", mediaOf(r))
		_, _ = w.Write(taptest.Encoded(podList("5"), mediaOf(r)))
	}
	source, accepted := raising(t, newServer(t, false, []answer{odd}, nil), jsonClient(), nil)
	assert.Len(t, ask(t, source, firstList).Items, 20)
	assert.Equal(t, []string{inRaised, plainJSON}, accepted.list)
}

// TestErrorsOfLowered: such a client understands errors, without another request.
func TestErrorsOfLowered(t *testing.T) {
	gone := []answer{status(410, metav1.StatusReasonExpired)}
	source, accepted := raising(t, newServer(t, false, gone, gone), jsonClient(), nil)
	_, err := source.ListWithContext(t.Context(), firstList)
	assert.True(t, apierrors.IsResourceExpired(err), "%v", err)
	_, err = source.WatchWithContext(t.Context(), firstWatch)
	assert.True(t, apierrors.IsResourceExpired(err), "%v", err)
	assert.Equal(t, []string{inRaised, inRaised}, accepted.list)
}

// TestRawIsLowered: who reads bodies himself never gets protobuf as a watch, nor another list than
// of JSON.
func TestRawIsLowered(t *testing.T) {
	k := unchosen()
	k.make = func(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
		return rawClient(client(t, c))
	}
	lists, watches := []answer{list("5", pods(20, "4")...)}, []answer{events(false, manyEvents()...)}
	source, accepted := raising(t, newServer(t, false, lists, watches), k, nil)
	assert.Len(t, ask(t, source, firstList).Items, 20)
	assert.Equal(t, []string{inRaised, plainJSON}, accepted.list)

	source, accepted = raising(t, newServer(t, false, lists, watches), k, nil)
	got := follow(t, source, firstWatch, 0)
	require.Len(t, got.Events, len(manyEvents()))
	assert.Equal(t, watch.Added, got.Events[0].Type)
	assert.Equal(t, []string{inRaised, plainJSON}, accepted.list)
}

// rawClient decodes lists itself, and filters watches.
func rawClient(c rest.Interface) *clientgo.ListWatch {
	plain := clientgo.NewListWatchFromClient(c, "pods", "space", fields.Everything())
	return &clientgo.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			data, err := c.Get().Namespace("space").Resource("pods").VersionedParams(&o, metav1.ParameterCodec).DoRaw(ctx)
			if err != nil {
				return nil, err
			}
			list := &v1.PodList{}
			if data[0] != '{' {
				return nil, errors.New("no JSON")
			}
			return list, runtime.DecodeInto(scheme.Codecs.UniversalDeserializer(), data, list)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := plain.WatchWithContext(ctx, o)
			if err != nil {
				return nil, err
			}
			return watch.Filter(w, func(e watch.Event) (watch.Event, bool) { return e, e.Type != watch.Error }), nil
		},
	}
}
