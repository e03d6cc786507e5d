// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap"
)

// identities has the tap read nothing else, as it comes.
func identities(o *tap.Options) { o.Make, o.Identities, o.Ahead = nil, true, -1 }

// identityOf returns what tells an object in a state from all others.
func identityOf(obj runtime.Object) string {
	of, _ := meta.Accessor(obj)
	return fmt.Sprint(of.GetNamespace(), of.GetName(), of.GetUID(), of.GetResourceVersion(), obj.GetObjectKind().GroupVersionKind())
}

// TestIdentities: a list has the identities of its objects, and of most of them nothing else.
func TestIdentities(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		remaining := int64(7)
		lists := []answer{page(metav1.ListMeta{ResourceVersion: "5", Continue: "next", RemainingItemCount: &remaining}, pods(20, "4")...)}
		plain := ask(t, k.make(t, newServer(t, http2, lists, nil).config()), firstList)
		source := tappedOf(k.make(t, newServer(t, http2, lists, nil).config(transport)), k.example, identities)
		got := ask(t, source, firstList)
		assert.Equal(t, plain.Meta, got.Meta)
		require.Len(t, got.Items, 20)
		for i, obj := range got.Items {
			assert.IsType(t, k.example, obj)
			assert.Equal(t, identityOf(plain.Items[i]), identityOf(obj))
			assert.NotEmpty(t, plain.Items[i].(metav1.Object).GetLabels())
			assert.Empty(t, obj.(metav1.Object).GetLabels())
		}
		assert.Equal(t, tap.State{On: true, Encoding: k.encoding, Decoded: 11, Verified: 9}, source.ledger.State())
	})
}

// alteredItem has a client that changes the first item of each list.
func alteredItem(change func(metav1.Object)) func(context.Context, clientgo.ListerWithContext, metav1.ListOptions) (runtime.Object, error) {
	return func(ctx context.Context, plain clientgo.ListerWithContext, o metav1.ListOptions) (runtime.Object, error) {
		list, err := plain.ListWithContext(ctx, o)
		if err != nil {
			return nil, err
		}
		first := true
		return list, meta.EachListItem(list, func(item runtime.Object) error {
			if first {
				change(item.(metav1.Object))
			}
			first = false
			return nil
		})
	}
}

// TestIdentitiesCompared: what the client has made of an item is compared with its identity, and
// with nothing else.
func TestIdentitiesCompared(t *testing.T) {
	for _, k := range kinds {
		for what, change := range map[string]func(metav1.Object){
			"":                 func(obj metav1.Object) { obj.SetLabels(nil) },
			".Name":            func(obj metav1.Object) { obj.SetName("other") },
			".Namespace":       func(obj metav1.Object) { obj.SetNamespace("other") },
			".UID":             func(obj metav1.Object) { obj.SetUID("other") },
			".ResourceVersion": func(obj metav1.Object) { obj.SetResourceVersion("1") },
		} {
			server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, nil)
			lw := altered{k.make(t, server.config(transport)), alteredItem(change), nil}
			source := tappedOf(lw, k.example, identities)
			_, err := source.ListWithContext(t.Context(), firstList)
			if what == "" {
				assert.NoError(t, err)
				continue
			}
			isDoubt(t, err)
			if k.name != "dynamic" {
				assert.ErrorContains(t, err, "differs at object.ObjectMeta"+what)
			}
			assert.Len(t, ask(t, source, firstList).Items, 20)
		}
	}
}

// TestBrokenIdentities: a list that ends too early, or is none, ends as it does without us.
func TestBrokenIdentities(t *testing.T) {
	for _, k := range kinds {
		answers := []answer{cutOff, list("5", pods(20, "4")...)}
		plain := ask(t, k.make(t, newServer(t, false, answers, nil).config()), firstList)
		require.Contains(t, plain.Err, "unexpected EOF")
		source := tappedOf(k.make(t, newServer(t, false, answers, nil).config(transport)), k.example, identities)
		assert.Equal(t, plain, ask(t, source, firstList))
		assert.Len(t, ask(t, source, firstList).Items, 20)
		assert.True(t, source.ledger.State().On)
	}
}
