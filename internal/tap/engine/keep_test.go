// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/keep"
	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/engine"
)

// keeps makes a source keep the fields of paths, and whole objects if whole is not "".
func keeps(t testing.TB, whole string, paths ...string) (*keep.Rule, func(*engine.Options)) {
	fields, malformed := keep.New(append([]string{}, paths...))
	require.Empty(t, malformed)
	rule := &keep.Rule{Fields: fields, Paths: paths}
	if whole != "" {
		selector, err := labels.Parse(whole)
		require.NoError(t, err)
		rule.Whole = selector
	}
	return rule, func(o *engine.Options) { o.Keep = rule }
}

// pruned prunes the objects of an outcome that client-go has decoded.
func (o outcome) pruned(by *keep.Rule) outcome {
	for _, item := range o.Items {
		by.Prune(item)
	}
	for _, e := range o.Events {
		if e.Type != watch.Bookmark && e.Type != watch.Error {
			by.Prune(e.Object)
		}
	}
	return o
}

// forming returns a watch of pods some of which begin and cease to be whole with each version.
func forming(r *rand.Rand, n, changes int) (script []event) {
	for i, e := range changing(n, changes) {
		pod := e.obj.(*v1.Pod).DeepCopy()
		if r.IntN(3) == 0 {
			pod.Labels["mine"] = "yes"
		}
		script = append(script, event{e.kind, pod})
		if i == changes {
			script = append(script, event{watch.Bookmark, bookmark("9000", true)})
		}
	}
	return script
}

// TestKept compares lists and watches of which fields are kept with those of client-go, pruned: with clients of each kind,
// with and without whole objects, shared parts and former versions. Bookmarks have all of their metadata.
func TestKept(t *testing.T) {
	everyOwnKind(t, func(t *testing.T, k kind) {
		for i, whole := range []string{"", "mine=yes"} {
			for j, with := range []func(*engine.Options){usesOwn, sharesParts, remembers} {
				r := rand.New(rand.NewPCG(uint64(i), uint64(j)))
				name := fmt.Sprint(whole, j)
				script := forming(r, 5, 100)
				var items []v1.Pod
				for _, e := range script[:30] {
					items = append(items, *e.obj.(*v1.Pod))
				}
				answers := served{lists: []answer{list("5", items...)}, watches: []answer{events(false, script...)}}
				rule, keep := keeps(t, whole, "spec.nodeName", "spec.containers.image", "status.phase", "metadata.annotations[a]")
				plain, direct, state := plainAndTapped(t, k, answers, watched, with, keep)
				require.Len(t, plain.Events, 111)
				assert.Equal(t, plain.pruned(rule), direct, name)
				assert.Zero(t, state.Differences, name)
				assert.True(t, state.On, name)
				plain, direct, state = plainAndTapped(t, k, answers, listed, with, keep)
				require.Len(t, plain.Items, 30)
				assert.Equal(t, plain.pruned(rule), direct, name)
				assert.Zero(t, state.Differences, name)
				assert.True(t, state.On, name)
			}
		}
	})
}

// TestKeptForms: a former version of the other form is not used, and one of the same form is.
func TestKeptForms(t *testing.T) {
	pod := largePods(1, "1")[0]
	pod.Spec.Tolerations = []v1.Toleration{{Key: "never changes"}, {Key: "either"}}
	script := []event{{watch.Added, &pod}}
	for i := range 300 {
		next := pod.DeepCopy()
		next.ResourceVersion = fmt.Sprint(i + 2)
		if i/2%2 == 0 {
			next.Labels["mine"] = "yes"
		}
		script = append(script, event{watch.Modified, next})
	}
	_, keep := keeps(t, "mine=yes", "spec.tolerations")
	source := podClients[0].tapped(t, served{watches: []answer{events(false, script...)}}, remembers, keep)
	list, err := source.ListWithContext(t.Context(), firstList)
	require.NoError(t, err)
	assert.True(t, tap.IsPruned(list), "nobody prunes again")
	var before *v1.Pod
	shared, whole := 0, 0
	for _, got := range objectsOf(watched(t, source)) {
		got := got.(*v1.Pod)
		if len(got.Spec.Containers) > 0 {
			whole++
			assert.Equal(t, "yes", got.Labels["mine"])
		}
		if before != nil && &before.Spec.Tolerations[0] == &got.Spec.Tolerations[0] {
			shared++
		}
		before = got
	}
	assert.Equal(t, 150, whole)
	assert.Greater(t, shared, 100, "versions of one form share what has not changed")
	assert.Zero(t, source.ledger.State().Differences)
}

// TestKeptAfterError: the events that the client decodes after an error have the fields that are kept, too.
func TestKeptAfterError(t *testing.T) {
	everyOwnKind(t, func(t *testing.T, k kind) {
		script := changing(3, 10)
		script = append(script[:8:8], append([]event{{watch.Error, &metav1.Status{Status: metav1.StatusFailure, Code: 500, Reason: "odd"}}}, script[8:]...)...)
		rule, keep := keeps(t, "", "spec.nodeName")
		plain, direct, state := plainAndTapped(t, k, served{watches: []answer{events(false, script...)}}, watched, usesOwn, keep)
		require.Len(t, plain.Events, len(script))
		assert.Equal(t, plain.pruned(rule), direct)
		assert.False(t, state.On)
	})
}
