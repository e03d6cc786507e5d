// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package owners

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/testkit"
)

// restartRig has sources with one object each, and counts the requests for lists.
type restartRig struct {
	*sharedRig
	lapsed, relisted map[int]int
}

func newRestartRig(t *testing.T, keys ...string) *restartRig {
	r := &restartRig{newSharedRig(t, len(keys)), map[int]int{}, map[int]int{}}
	r.version, r.asked = 90, ""
	for i, key := range keys {
		r.state(r.sources[i], map[string]int{key: 80}, true)
		r.sources[i].Lapsed = func() { r.lapsed[i]++ }
		r.sources[i].Relist = func() { r.relisted[i]++ }
	}
	r.settle()
	return r
}

// settle applies the queued records, of which the model knows nothing.
func (r *restartRig) settle() {
	r.applier.Apply(r.batch, true)
	r.applier.Done()
	r.batch = nil
}

// lists applies a list of one object.
func (r *restartRig) lists(of int, version, key, at string) {
	r.publish(r.stage(r.sources[of].Session), version, testkit.PodAt(key, at))
	r.settle()
}

func (r *restartRig) shows(key, version string) {
	obj, _ := r.contents.Table.Get("ns/" + key)
	assert.Equal(r.t, version, obj.(*v1.Pod).ResourceVersion)
}

// TestRestartIsPassedOn: of a source that was asked to list because of a restart it is known, too, that the versions of
// its server began again, when it gets an object of a third one.
func TestRestartIsPassedOn(t *testing.T) {
	for name, lists := range map[string]bool{"has listed": true, "cannot list": false} {
		t.Run(name, func(t *testing.T) {
			r := newRestartRig(t, "x", "x", "z")
			r.lists(0, "3", "x", "2")
			if lists {
				r.lists(1, "3", "x", "2")
				r.queue(r.sources[1].Session, clientgo.Added, "z", "5")
				r.settle()
				r.shows("z", "5")
			} else {
				r.queue(r.sources[2].Session, clientgo.Added, "x", "99")
				r.settle()
				r.shows("x", "2")
			}
			assert.Equal(t, map[int]int{1: 1, 2: 1}, r.lapsed)
		})
	}
}

// TestListOfTheTimeBefore: a list that was under way when the source was asked to list does not count, unless it is
// of the time after the restart.
func TestListOfTheTimeBefore(t *testing.T) {
	r := newRestartRig(t, "x", "x")
	r.lists(0, "3", "x", "2")
	r.asked = "92"
	r.lists(1, "99", "x", "98")
	r.queue(r.sources[0].Session, clientgo.Updated, "x", "5")
	r.settle()
	r.shows("x", "5")
	assert.Equal(t, map[int]int{1: 1}, r.relisted)
	r.lists(1, "6", "x", "5")
	assert.Equal(t, "6", r.sources[1].Version(), "older than before")
	r.asked = ""
	r.lists(0, "2", "x", "2")
	r.lists(1, "99", "x", "98")
	assert.Equal(t, "99", r.sources[1].Version(), "the most recent state")
	assert.Equal(t, map[int]int{1: 1}, r.relisted)
}

// TestSecondRestart: a source that has not listed since the last restart is asked again, because the list that is under
// way may be of the time between.
func TestSecondRestart(t *testing.T) {
	r := newRestartRig(t, "x", "x")
	r.lists(0, "30", "x", "20")
	r.lists(0, "3", "x", "2")
	assert.Equal(t, map[int]int{1: 1}, r.lapsed)
	assert.Equal(t, map[int]int{1: 1}, r.relisted)
}

// TestLapsedSourceIsReminded: a source that sends events instead of the list for which it was asked is asked again.
func TestLapsedSourceIsReminded(t *testing.T) {
	r := newRestartRig(t, "x", "x")
	r.lists(0, "3", "x", "2")
	r.queue(r.sources[1].Session, clientgo.Bookmark, "", "101")
	r.settle()
	assert.Equal(t, map[int]int{1: 2}, r.lapsed)
	assert.Empty(t, r.sources[1].Version())
}

// TestMeetingOnce: only the first of many objects that a source gets of another one costs a pass over all claims.
func TestMeetingOnce(t *testing.T) {
	r := newRestartRig(t, "x", "y")
	r.lists(0, "3", "x", "2")
	late := r.sources[1].Source
	o := r.applier.Sharing.(*owners)
	o.meet(r.sources[0].Source, late)
	probe := []claim{{late, "7"}, {nil, "9"}}
	o.shared["ns/probe"] = probe
	o.meet(r.sources[0].Source, late)
	r.settle()
	assert.Equal(t, probe, o.shared["ns/probe"])
	assert.Equal(t, map[int]int{1: 1}, r.lapsed)
}
