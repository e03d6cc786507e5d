// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/tap"
)

// TestTablesFollowTheCached: the tables take what the objects take that informers cache, of a list in pages
// as of a watch, and no more when most of them are gone.
func TestTablesFollowTheCached(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		if !k.own {
			t.Skip("the tables of others are theirs")
		}
		large := func(n int) []v1.Pod { // about 64 KiB each
			list := pods(n, "4")
			for i := range list {
				list[i].Labels = map[string]string{"large": strings.Repeat("x", 64<<10)}
			}
			return list
		}
		many, two := large(48), large(2)
		var gone []event
		for i := range many[2:] {
			gone = append(gone, event{watch.Deleted, &many[2+i]})
		}
		server := newServer(t, http2,
			[]answer{
				page(metav1.ListMeta{ResourceVersion: "5", Continue: "more"}, many[:24]...), page(metav1.ListMeta{ResourceVersion: "5"}, many[24:]...),
				list("6", many...), list("7", two...),
			},
			[]answer{events(false, gone...), events(false, added(many)...), events(false, added(two)...)})
		source := tappedOf(k.make(t, server.config(transport)), k.example, remembers)
		limit := func() int64 { return source.ledger.State().Parts.Limit }
		end := source.Begin()
		defer func() { end() }()
		ask(t, source, firstList)
		assert.EqualValues(t, 2<<20, limit(), "the first page")
		ask(t, source, metav1.ListOptions{Continue: "more"})
		assert.EqualValues(t, 4<<20, limit())
		ask(t, source, firstList)
		assert.EqualValues(t, 4<<20, limit(), "the same again, in the place of those before")
		follow(t, source, metav1.ListOptions{ResourceVersion: "6"}, 0)
		assert.EqualValues(t, 1<<20, limit(), "all but some were deleted")
		follow(t, source, metav1.ListOptions{SendInitialEvents: new(true)}, 0)
		assert.EqualValues(t, 4<<20, limit())
		follow(t, source, metav1.ListOptions{SendInitialEvents: new(true)}, 0)
		assert.EqualValues(t, 1<<20, limit(), "a whole state of few")
		ask(t, source, firstList)
		assert.EqualValues(t, 1<<20, limit())
		end()
		assert.Equal(t, tap.Parts{}, source.ledger.State().Parts)
		end = func() {}
	})
}
