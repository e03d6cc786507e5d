// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"io"
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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/engine"
)

// dropsFields is a serializer whose decoders remove managed fields, as those of a client of client-go 0.38
// with rest.Config.DropManagedFields do.
type dropsFields struct{ runtime.NegotiatedSerializer }

func (s dropsFields) DecoderToVersion(d runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	return dropsDecoded{s.NegotiatedSerializer.DecoderToVersion(d, gv)}
}

type dropsDecoded struct{ runtime.Decoder }

func (d dropsDecoded) Decode(data []byte, kind *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, of, err := d.Decoder.Decode(data, kind, into)
	drop := func(o runtime.Object) error {
		if accessor, err := meta.Accessor(o); err == nil {
			accessor.SetManagedFields(nil)
		}
		return nil
	}
	if err == nil && meta.IsListType(obj) {
		return obj, of, meta.EachListItem(obj, drop)
	}
	return obj, of, drop(obj)
}

// dropping returns a client of pods that removes managed fields, and sends the parameter that says so.
func dropping(media string) maker {
	return func(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
		c.ContentType, c.AcceptContentTypes = media, media+"; drop=metadata.managedFields, */*; drop=metadata.managedFields"
		c.APIPath, c.GroupVersion, c.NegotiatedSerializer = "/api", &v1.SchemeGroupVersion, dropsFields{scheme.Codecs.WithoutConversion()}
		client, err := rest.RESTClientFor(c)
		require.NoError(t, err)
		return clientgo.NewFilteredListWatchFromClient(client, "pods", "space", func(*metav1.ListOptions) {})
	}
}

// TestClientDropsManagedFields checks that lists and watches of a client that removes managed fields are
// decoded directly, to the same objects, with and without shared parts.
func TestClientDropsManagedFields(t *testing.T) {
	for _, k := range podClients {
		k.own = true
		k.make = dropping(k.mediaType())
		for _, share := range []bool{false, true} {
			k.dropsAsTheClient(t, share)
		}
	}
}

func (k kind) dropsAsTheClient(t *testing.T, share bool) {
	changes := func(o *engine.Options) { o.Share, o.Remember, o.Verify = share, share, 3 }
	plain, direct, state := plainAndTapped(t, k, served{}, func(t testing.TB, lw clientgo.ListerWatcherWithContext) [3]outcome {
		return [3]outcome{listed(t, lw), watched(t, lw), listed(t, lw)}
	}, changes)
	assert.Equal(t, plain, direct)
	assert.True(t, state.On, state.Why)
	assert.Zero(t, state.Differences)
	assert.Positive(t, state.Decoded)
	for _, item := range slices.Concat(direct[0].Items, direct[2].Items) {
		assert.Empty(t, item.(*v1.Pod).ManagedFields)
	}
}

// TestClientDropsSharedManagedFields checks that managed fields that the client removes from objects with shared parts
// are no part that a program has modified: of 8,000 versions with the same managed fields, about eight are checked.
func TestClientDropsSharedManagedFields(t *testing.T) {
	k := podClients[0]
	k.make = dropping(k.mediaType())
	pod := largePods(1, "1")[0]
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate}}
	script := []event{{watch.Added, &pod}}
	for i := range 8000 {
		next := pod.DeepCopy()
		next.ResourceVersion = fmt.Sprint(i + 2)
		script = append(script, event{watch.Modified, next})
	}
	source := k.tapped(t, served{lists: []answer{list("1", pod)}, watches: []answer{events(false, script...)}}, remembers)
	require.Len(t, watched(t, source).Events, 8001)
	assert.Positive(t, source.ledger.State().Checked)
	assert.Zero(t, source.ledger.State().WrittenTo)
}

// accepts is a transport that notes what is accepted, and refuses some of it.
type accepts struct {
	http.RoundTripper
	refuses string
	mu      sync.Mutex
	seen    []string
}

func (a *accepts) RoundTrip(req *http.Request) (*http.Response, error) {
	accept := req.Header.Get("Accept")
	a.mu.Lock()
	a.seen = append(a.seen, accept)
	a.mu.Unlock()
	if a.refuses != "" && strings.Contains(accept, a.refuses) {
		return &http.Response{StatusCode: http.StatusNotAcceptable, Request: req, Body: io.NopCloser(strings.NewReader("no")), Header: http.Header{}}, nil
	}
	return a.RoundTripper.RoundTrip(req)
}

// TestAsksToDropManagedFields checks that an informer that drops managed fields asks the server to leave them
// out, in lists and watches, until a server does not accept that.
func TestAsksToDropManagedFields(t *testing.T) {
	const parameter = "; drop=metadata.managedFields"
	for _, drop := range []*tap.Drop{nil, tap.NewDrop(false, "a"), tap.NewDrop(true)} {
		for _, refuses := range []string{"", parameter} {
			everyOwnKind(t, func(t *testing.T, k kind) {
				var sent *accepts
				notes := func(rt http.RoundTripper) http.RoundTripper {
					sent = &accepts{RoundTripper: rt, refuses: refuses}
					return sent
				}
				source := k.tapped(t, served{wraps: []wrapper{notes, transport}}, func(o *engine.Options) { o.Drop = drop })
				asks := drop.ManagedFields()
				got := listed(t, source)
				if asks && refuses != "" {
					assert.NotEmpty(t, got.Err)
					assert.Len(t, sent.seen, 1)
					got, asks = listed(t, source), false
				}
				assert.Len(t, got.Items, 20)
				assert.Len(t, watched(t, source).Events, len(manyEvents()))
				assert.True(t, source.ledger.State().On)
				for _, accept := range sent.seen[len(sent.seen)-2:] {
					types := strings.Split(accept, ",")
					assert.Equal(t, asks, strings.Count(accept, parameter) == len(types), accept)
					assert.Equal(t, asks, strings.Contains(accept, parameter), accept)
				}
			})
		}
	}
}

// TestAsksItsOwnRequestOnly checks that other requests of a call, whose callers may need managed fields, and
// their answers are left alone.
func TestAsksItsOwnRequestOnly(t *testing.T) {
	k := podClients[1]
	var sent *accepts
	notes := func(rt http.RoundTripper) http.RoundTripper {
		sent = &accepts{RoundTripper: rt}
		return sent
	}
	first := func(ctx context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (runtime.Object, error) {
		_, err := plain.ListWithContext(ctx, metav1.ListOptions{Limit: 1})
		assert.NoError(t, err)
		return plain.ListWithContext(ctx, o)
	}
	source := k.altering(first, nil).tapped(t, served{wraps: []wrapper{notes, transport}}, func(o *engine.Options) { o.Drop = tap.NewDrop(true) })
	assert.Len(t, listed(t, source).Items, 20)
	require.Len(t, sent.seen, 2)
	assert.NotContains(t, sent.seen[0], "drop=")
	assert.Contains(t, sent.seen[1], "drop=")
}
