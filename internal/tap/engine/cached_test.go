// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/tap"
)

// heavyPods returns pods of about 64 KiB.
func heavyPods(n int) []v1.Pod { return podsOf(n, "4", 64<<10) }

// TestTablesFollowTheCached checks that the limits of the tables follow the size of the objects that informers cache,
// from lists in pages and from watches, and decrease when most objects are deleted.
func TestTablesFollowTheCached(t *testing.T) {
	for _, k := range podClients {
		many, two := heavyPods(48), heavyPods(2)
		var gone []event
		for i := range many[24:] {
			gone = append(gone, event{watch.Deleted, &many[24+i]})
		}
		source := k.tapped(t, served{
			lists: []answer{
				page(metav1.ListMeta{ResourceVersion: "5", Continue: "more"}, many[:24]...), list("5", many[24:]...),
				page(metav1.ListMeta{ResourceVersion: "6", Continue: "more"}, many[:8]...), list("6", many[8:]...),
				list("7", two...),
			},
			watches: []answer{events(false, gone...), events(false, gone[:12]...), events(false, added(many)...), events(false, added(two)...)},
		}, remembers)
		limit := func() int64 { return source.ledger.State().Parts.Limit }
		end := source.Begin()
		ask(t, source, firstList)
		assert.EqualValues(t, 2<<20, limit(), "the first page")
		ask(t, source, metav1.ListOptions{Continue: "more"})
		assert.EqualValues(t, 4<<20, limit())
		ask(t, source, firstList)
		assert.EqualValues(t, 4<<20, limit(), "the first page of the same again: those before count")
		ask(t, source, metav1.ListOptions{Continue: "more"})
		assert.EqualValues(t, 4<<20, limit(), "in the place of those before")
		follow(t, source, metav1.ListOptions{ResourceVersion: "6"}, 0)
		assert.EqualValues(t, 4<<20, limit(), "half are gone")
		follow(t, source, metav1.ListOptions{ResourceVersion: "6"}, 0)
		assert.EqualValues(t, 1<<20, limit(), "and half of the others")
		follow(t, source, metav1.ListOptions{SendInitialEvents: new(true)}, 0)
		assert.EqualValues(t, 4<<20, limit())
		follow(t, source, metav1.ListOptions{SendInitialEvents: new(true)}, 0)
		assert.EqualValues(t, 1<<20, limit(), "a whole state of few")
		ask(t, source, firstList)
		assert.EqualValues(t, 1<<20, limit())
		end()
		assert.Equal(t, tap.Parts{}, source.ledger.State().Parts)
	}
}

// TestBookmarkAfterAnOddList checks that a bookmark of a watch does not end a list that was begun
// and then left to the client.
func TestBookmarkAfterAnOddList(t *testing.T) {
	for _, k := range podClients {
		many := heavyPods(48)
		source := k.tapped(t, served{
			lists:   []answer{list("5", many...), gateway, list("6", many...)},
			watches: []answer{events(false, event{watch.Modified, &many[0]}, event{watch.Bookmark, bookmark("7", false)})},
		}, remembers)
		end := source.Begin()
		for range 3 { // direct, odd, the client's
			ask(t, source, firstList)
		}
		follow(t, source, metav1.ListOptions{ResourceVersion: "6"}, 0)
		assert.EqualValues(t, 4<<20, source.ledger.State().Parts.Limit)
		end()
	}
}

// TestTablesFollowTheKept checks that fields that are not kept do not count, in lists, also in one of which every object
// is a former one, and in watches. They do if some objects are kept whole.
func TestTablesFollowTheKept(t *testing.T) {
	for _, k := range podClients {
		for _, c := range []struct {
			path, whole string
			limit       int64
		}{
			{"metadata.annotations", "", 4 << 20}, {"metadata.annotations[absent]", "", 1 << 20},
			{"spec.nodeName", "", 1 << 20}, {"spec.nodeName", "mine=yes", 4 << 20},
		} {
			many := heavyPods(48)
			all := list("5", many...)
			_, keep := keeps(t, c.whole, c.path)
			source := k.tapped(t, served{lists: []answer{all, all}, watches: []answer{events(false, added(many)...)}}, remembers, keep)
			limit := func() int64 { return source.ledger.State().Parts.Limit }
			end := source.Begin()
			former := ask(t, source, firstList)
			assert.Equal(t, c.limit, limit(), "%v: a list", c)
			same := ask(t, source, firstList)
			assert.Equal(t, c.limit, limit(), "%v: the same list again", c)
			assert.Same(t, former.Items[20], same.Items[20])
			end()
			end = source.Begin()
			follow(t, source, metav1.ListOptions{SendInitialEvents: new(true)}, 0)
			assert.Equal(t, c.limit, limit(), "%v: a watch", c)
			end()
		}
	}
}
