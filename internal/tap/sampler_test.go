// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/taptest"
)

// sampleStart is where the sample of most tests starts: the 8th, the 24th and the 40th object go
// both ways, because they are of the first many.
const sampleStart = 40

// sorted are pods of two owners, those of the second behind the others.
func sorted(n, first int) []v1.Pod {
	list := pods(n, "4")
	for i := range list[first:] {
		list[first+i].Labels = nil
	}
	return list
}

// TestSampleSeesTheLast: what a ListFunc or a serializer does to the last items only is noticed,
// and the next list is the client's.
func TestSampleSeesTheLast(t *testing.T) {
	filters := edits(func(l *v1.PodList) runtime.Object {
		l.Items = slices.DeleteFunc(l.Items, func(p v1.Pod) bool { return p.Labels == nil })
		return l
	})
	defaults := edits(func(l *v1.PodList) runtime.Object {
		for i := range l.Items {
			if l.Items[i].Labels == nil {
				l.Items[i].Labels = map[string]string{"app": "default"}
			}
		}
		return l
	})
	for name, c := range map[string]struct {
		change listChange
		items  int
		why    string
	}{
		"filters":  {filters, 12, "the list was changed"},
		"defaults": {defaults, 20, "an item of the list, a *v1.Pod, differs at object.ObjectMeta.Labels"},
	} {
		for _, k := range podClients {
			plain := k.make(t, newServer(t, false, []answer{list("5", sorted(20, 12)...)}, nil).config())
			server := newServer(t, false, []answer{list("5", sorted(20, 12)...)}, nil)
			source := tappedOf(altered{k.make(t, server.config(transport)), c.change, nil}, k.example, nil)
			_, err := source.ListWithContext(t.Context(), firstList)
			isDoubt(t, err)
			assert.ErrorContains(t, err, c.why, name)
			got := ask(t, source, firstList)
			assert.Equal(t, ask(t, altered{plain, c.change, nil}, firstList), got, name)
			assert.Equal(t, c.items, len(got.Items), name)
			assert.False(t, source.ledger.State().On, name)
		}
	}
}

// TestSampleSeesTheLastOfPages: the same for each page of a list.
func TestSampleSeesTheLastOfPages(t *testing.T) {
	k := podClients[0]
	pages := []answer{
		page(metav1.ListMeta{ResourceVersion: "5", Continue: "more"}, pods(20, "4")...),
		page(metav1.ListMeta{ResourceVersion: "5"}, pods(12, "4")...),
	}
	source := tappedOf(k.make(t, newServer(t, false, pages, nil).config(transport)), k.example, damage("p11"))
	first := ask(t, source, firstList)
	require.Len(t, first.Items, 20)
	_, err := source.ListWithContext(t.Context(), metav1.ListOptions{Limit: 500, Continue: first.Meta.Continue})
	isDoubt(t, err)
}

// bothWaysOf returns the places of a list of n items that go both ways.
func bothWaysOf(t *testing.T, n int, change func(*tap.Options)) (places []int) {
	k := podClients[0]
	server := newServer(t, false, []answer{list("5", pods(n, "4")...)}, nil)
	source := tappedOf(altered{k.make(t, server.config(transport)), edits(func(l *v1.PodList) runtime.Object {
		for i := range l.Items {
			var place int
			_, err := fmt.Sscanf(l.Items[i].Name, "p%d", &place)
			require.NoError(t, err)
			places = append(places, place)
		}
		return l
	}), nil}, k.example, change)
	require.Len(t, ask(t, source, firstList).Items, n)
	assert.EqualValues(t, len(places), source.ledger.State().Verified)
	return places
}

// TestSampleOfTheFirstList: of the first 1,000 items one in 16 goes both ways, beside the first few
// and the last one; of later ones, one in many.
func TestSampleOfTheFirstList(t *testing.T) {
	places := bothWaysOf(t, 1500, func(o *tap.Options) { o.Start, o.Verify = 3, 100 })
	wanted := []int{0, 1, 2, 3, 4, 5, 6, 7}
	for n := 9; n <= 1500; n++ { // counted from 1
		if n <= 1000 && (n+3)%16 == 0 || (n+3)%100 == 0 || n == 1500 {
			wanted = append(wanted, n-1)
		}
	}
	assert.Equal(t, wanted, places)
}

// TestSampleStartsAnywhere: informers of the same objects do not all compare the same ones.
func TestSampleStartsAnywhere(t *testing.T) {
	seen := map[int]bool{}
	for range 50 { // by chance they are all alike once in 16 to the power of 49
		places := bothWaysOf(t, 25, func(o *tap.Options) { o.Start = 0 })
		seen[places[8]] = true
	}
	assert.Greater(t, len(seen), 1)
}

// TestSampleOfABrokenList: a list that breaks off was not compared, so the next one is the first.
func TestSampleOfABrokenList(t *testing.T) {
	k := podClients[0]
	server := newServer(t, false, []answer{cutOff, list("5", pods(20, "4")...)}, nil)
	source := tappedOf(k.make(t, server.config(transport)), k.example, func(o *tap.Options) {
		o.Make, o.Start = taptest.SlowDecoders(nil, nil), 4 // the 12th
	})
	assert.NotEmpty(t, ask(t, source, firstList).Err)
	assert.Len(t, ask(t, source, firstList).Items, 20)
	assert.EqualValues(t, 8+1+1, source.ledger.State().Verified)
}

// TestSampleOfABrokenPage: a list of which a page breaks off comes again from its first page, and
// so does its sample.
func TestSampleOfABrokenPage(t *testing.T) {
	first := page(metav1.ListMeta{ResourceVersion: "5", Continue: "more"}, pods(20, "4")...)
	pages := []answer{first, cutOff, first, list("5", pods(15, "4")...)}
	source := tappedOf(podClients[0].make(t, newServer(t, false, pages, nil).config(transport)), &v1.Pod{}, nil)
	for _, items := range []int{0, 15} {
		got := ask(t, source, firstList)
		require.Len(t, got.Items, 20)
		assert.Len(t, ask(t, source, metav1.ListOptions{Limit: 500, Continue: got.Meta.Continue}).Items, items)
	}
	assert.EqualValues(t, (8+1)+(8+1)+3, source.ledger.State().Verified)
}
