// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap"
)

// drops leaves out what the pods of these tests have.
func drops(t testing.TB, o *tap.Options) {
	require.Empty(t, o.DropOf([]string{"metadata.managedFields", "metadata.annotations[a]"}))
}

// objects are all that were heard of, bookmarks included.
func (h heard) objects() (list []runtime.Object) {
	for _, e := range h.Events {
		list = append(list, e.Object)
	}
	return append(list, h.Items...)
}

// hasDropped reports whether an object has what drops leaves out.
func hasDropped(obj runtime.Object) bool {
	o := obj.(metav1.Object)
	return o.GetAnnotations()["a"] != "" || len(o.GetManagedFields()) > 0
}

// TestDropped: what we decode comes without what is left out, and is compared with what the client
// has decoded, less the same.
func TestDropped(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		lists, watches := []answer{list("5", pods(20, "4")...)}, []answer{events(false, manyEvents()...)}
		plain := k.make(t, newServer(t, http2, lists, watches).config())
		source := tappedOf(k.make(t, newServer(t, http2, lists, watches).config(transport)), k.example, func(o *tap.Options) {
			k.decoders(o)
			drops(t, o)
		})
		var o tap.Options
		drops(t, &o)
		for _, ask := range []func(lw clientgo.ListerWatcherWithContext) heard{
			func(lw clientgo.ListerWatcherWithContext) heard { return ask(t, lw, firstList) },
			func(lw clientgo.ListerWatcherWithContext) heard { return follow(t, lw, firstWatch, 0) },
		} {
			wanted, got := ask(plain), ask(source)
			for i, obj := range wanted.objects() {
				assert.False(t, k.own && hasDropped(got.objects()[i]), i)
				o.Drop.Trim(obj)
				o.Drop.Trim(got.objects()[i])
			}
			assert.Equal(t, wanted, got)
		}
		assert.Equal(t, tap.State{On: true, Encoding: k.encoding, Decoded: 20 - 9 + 16 - 2, Verified: 9 + 2}, source.ledger.State())
	})
}

// TestDroppedHidesNothing: a difference elsewhere is one.
func TestDroppedHidesNothing(t *testing.T) {
	for _, k := range podClients {
		server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, []answer{events(true, manyEvents()...)})
		source := tappedOf(k.make(t, server.config(transport)), k.example, func(o *tap.Options) {
			damage("p7")(o)
			drops(t, o)
		})
		got := follow(t, source, firstWatch, 0).Events
		require.Len(t, got, 8)
		assert.Contains(t, got[7].Object.(*tap.Doubt).Why, "an event of a watch, "+difference(k))
	}
}
