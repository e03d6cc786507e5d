// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/tap"
)

func remembers(o *tap.Options) { o.Make, o.Share, o.Remember = nil, true, true }

// largePods are pods that are worth remembering.
func largePods(n int, version string) []v1.Pod {
	list := pods(n, version)
	for i := range list {
		list[i].Annotations["large"] = strings.Repeat("x", 1100)
	}
	return list
}

// added are events that bring pods anew, and an end mark, which is as large.
func added(list []v1.Pod) (script []event) {
	for i := range list {
		script = append(script, event{watch.Added, &list[i]})
	}
	end := bookmark("40", true)
	end.Annotations["large"] = strings.Repeat("x", 1100)
	return append(script, event{watch.Bookmark, end})
}

// objectsOf are those of events, but for the end mark.
func objectsOf(got heard) (list []apiruntime.Object) {
	for _, e := range got.Events {
		if e.Type != watch.Bookmark {
			list = append(list, e.Object)
		}
	}
	return list
}

// same counts the objects that are the same ones.
func same(a, b []apiruntime.Object) (n int) {
	for i := range a {
		if a[i] == b[i] {
			n++
		}
	}
	return n
}

// bothWays are the objects of a first list of 20 that go both ways, bothWatched those of a watch.
// Of what comes next, the 24th object goes both ways, and the 40th.
const bothWays, bothWatched = 9, 8

// TestListAgain: the items of a list that comes again are those that are there, but for those that
// have changed, and the first, which always goes both ways. What comes is what client-go brings.
func TestListAgain(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		if !k.own {
			t.Skip("others remember nothing")
		}
		first, second := largePods(20, "4"), largePods(20, "4")
		second[15] = *pod("p15", "30")
		server := func() *server { return newServer(t, http2, []answer{list("5", first...), list("40", second...)}, nil) }
		plain := k.make(t, server().config())
		source := tappedOf(k.make(t, server().config(transport)), k.example, remembers)
		before := ask(t, source, firstList)
		assert.Equal(t, ask(t, plain, firstList), before)
		assert.Zero(t, source.ledger.State().Reused)
		after := ask(t, source, firstList)
		assert.Equal(t, ask(t, plain, firstList), after)
		n := same(before.Items, after.Items)
		assert.Equal(t, 20-bothWays-1, n)
		assert.NotSame(t, before.Items[15], after.Items[15])
		state := source.ledger.State()
		assert.GreaterOrEqual(t, state.Reused, int64(n))
		assert.Less(t, state.Reused, int64(n+bothWays), "what client-go has replaced may still be there")
		assert.EqualValues(t, 40-bothWays-3-state.Reused, state.Decoded)
		runtime.KeepAlive(before)
	})
}

// TestWatchListAgain is TestListAgain for watch-lists. The end mark is decoded each time.
func TestWatchListAgain(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		if !k.own {
			t.Skip("others remember nothing")
		}
		first, second := largePods(20, "4"), largePods(20, "4")
		second[15] = *pod("p15", "30")
		server := func() *server {
			return newServer(t, http2, nil, []answer{events(false, added(first)...), events(false, added(second)...)})
		}
		plain := k.make(t, server().config())
		source := tappedOf(k.make(t, server().config(transport)), k.example, remembers)
		before := follow(t, source, firstWatch, 0)
		assert.Equal(t, follow(t, plain, firstWatch, 0), before)
		after := follow(t, source, firstWatch, 0)
		assert.Equal(t, follow(t, plain, firstWatch, 0), after)
		assert.Equal(t, 20-bothWatched-2, same(objectsOf(before), objectsOf(after)), "the first of the second teaches")
		assert.EqualValues(t, 20-bothWatched-2, source.ledger.State().Reused)
	})
}

// TestListAfterWatch: in protobuf an object has the same bytes in lists and watches.
func TestListAfterWatch(t *testing.T) {
	k, items := kinds[0], largePods(20, "4")
	server := newServer(t, false, []answer{list("40", items...)}, []answer{events(false, added(items)...)})
	source := tappedOf(k.make(t, server.config(transport)), k.example, remembers)
	watched := follow(t, source, firstWatch, 0)
	listed := ask(t, source, firstList)
	assert.Equal(t, 20-bothWatched-2, same(objectsOf(watched), listed.Items))
	again := follow(t, source, firstWatch, 0)
	assert.Equal(t, 20-1-4, same(listed.Items, objectsOf(again)), "the first teaches")
}

// TestDeletedIsDecoded: the last state of an object that is deleted is none that comes again, even
// if it is written as a cached one.
func TestDeletedIsDecoded(t *testing.T) {
	for _, k := range kinds {
		items := largePods(12, "4")
		script := append(added(items), event{watch.Deleted, &items[11]}, event{watch.Modified, &items[10]})
		server := newServer(t, false, nil, []answer{events(false, script...)})
		got := objectsOf(follow(t, tappedOf(k.make(t, server.config(transport)), k.example, remembers), firstWatch, 0))
		require.Len(t, got, 14)
		assert.NotSame(t, got[11], got[12], k.name)
		assert.Same(t, got[10], got[13], k.name)
	}
}

// TestChecksDecode: while all parts are checked nothing is reused. What was decoded then is what
// is reused later.
func TestChecksDecode(t *testing.T) {
	for _, k := range kinds {
		items := largePods(20, "4")
		server := newServer(t, false, []answer{list("5", items...)}, []answer{events(false, added(items)...)})
		source := tappedOf(k.make(t, server.config(transport)), k.example, remembers)
		lists := func() []apiruntime.Object { return ask(t, source, firstList).Items }
		watches := func() []apiruntime.Object { return objectsOf(follow(t, source, firstWatch, 0)) }
		for _, way := range []func() []apiruntime.Object{lists, watches} {
			before := way()
			source.Check(true)
			during := way()
			source.Check(false)
			after := way()
			assert.Zero(t, same(before, during), k.name)
			assert.Equal(t, during, after)
			assert.GreaterOrEqual(t, same(during, after), 20-bothWays-1, k.name)
		}
	}
}

// TestRemembersWhatIsLarge: small objects are decoded anew, and without Share or Remember all are.
func TestRemembersWhatIsLarge(t *testing.T) {
	for name, c := range map[string]struct {
		items  []v1.Pod
		change func(*tap.Options)
	}{
		"small":            {pods(20, "4"), remembers},
		"no parts shared":  {largePods(20, "4"), func(o *tap.Options) { o.Make, o.Remember = nil, true }},
		"not to be reused": {largePods(20, "4"), sharesParts},
	} {
		k := kinds[0]
		server := newServer(t, false, []answer{list("5", c.items...)}, nil)
		source := tappedOf(k.make(t, server.config(transport)), k.example, c.change)
		before := ask(t, source, firstList)
		after := ask(t, source, firstList)
		assert.Zero(t, same(before.Items, after.Items), name)
		assert.Zero(t, source.ledger.State().Reused, name)
	}
}

// TestRemembersUntilTheEnd: an informer that has ended remembers nothing.
func TestRemembersUntilTheEnd(t *testing.T) {
	k := kinds[0]
	server := newServer(t, false, []answer{list("5", largePods(20, "4")...)}, nil)
	source := tappedOf(k.make(t, server.config(transport)), k.example, remembers)
	end := source.Begin()
	before := ask(t, source, firstList)
	end()
	assert.Zero(t, same(before.Items, ask(t, source, firstList).Items))
}

// TestRemembersNobodysObjects: objects that nobody has are garbage, though they were remembered.
func TestRemembersNobodysObjects(t *testing.T) {
	k := kinds[0]
	server := newServer(t, false, []answer{list("5", largePods(20, "4")...)}, nil)
	source := tappedOf(k.make(t, server.config(transport)), k.example, remembers)
	ask(t, source, firstList)
	runtime.GC()
	runtime.GC()
	ask(t, source, firstList)
	assert.Zero(t, source.ledger.State().Reused)
}

// TestRemembersUnderFIPS: where the process may use no other cryptography than FIPS 140 allows,
// objects are found all the same: nothing is encrypted by their hash.
func TestRemembersUnderFIPS(t *testing.T) {
	if os.Getenv("KINFORMER_TEST_FIPS") == "" {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRemembersUnderFIPS$")
		child.Env = append(os.Environ(), "KINFORMER_TEST_FIPS=1", "GODEBUG=fips140=only")
		out, err := child.CombinedOutput()
		require.NoError(t, err, string(out))
		return
	}
	k, items := kinds[0], largePods(20, "4")
	server := newServer(t, false, []answer{list("5", items...)}, nil)
	source := tappedOf(k.make(t, server.config(transport)), k.example, remembers)
	before := ask(t, source, firstList)
	assert.Equal(t, 20-bothWays, same(before.Items, ask(t, source, metav1.ListOptions{ResourceVersion: "0", Limit: 500}).Items), fmt.Sprint(len(items)))
}
