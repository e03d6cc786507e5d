// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/table"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/draw"
)

// stateRig applies full lists to a store, and knows the notifications to expect.
type stateRig struct {
	*storeRig
	reuse  bool
	stored map[string]stagedObject // the objects of the store by key
}

// stagedObject is an object as stored, and its version as received.
type stagedObject struct {
	version string
	stored  any
}

// rigTransforms are the transforms of a stateRig. None of them replaces an object, so that the rig
// recognizes it.
var rigTransforms = map[string]clientgo.TransformFunc{
	"none": nil,
	"blanks versions": func(obj any) (any, error) {
		obj.(*v1.Pod).ResourceVersion = ""
		return obj, nil
	},
	"blanks UIDs": func(obj any) (any, error) {
		obj.(*v1.Pod).UID = ""
		return obj, nil
	},
	"blanks some": func(obj any) (any, error) {
		if pod := obj.(*v1.Pod); pod.Labels["some"] != "" {
			pod.ResourceVersion = ""
		}
		return obj, nil
	},
}

func newStateRig(t *draw.T) *stateRig {
	var options table.Options
	if t.Bool() {
		options.SingleValued = func(table.IndexFunc) func(any) (string, error) {
			return func(obj any) (string, error) { return obj.(*v1.Pod).Name, nil }
		}
	}
	r := &stateRig{
		storeRig: newStoreRig(map[string]table.IndexFunc{"name": byName}, options),
		reuse:    t.Bool(),
		stored:   map[string]stagedObject{},
	}
	transform := rigTransforms[draw.Of(t, "none", "blanks versions", "blanks UIDs", "blanks some")]
	if t.Bool() {
		r.reader.Transform.KeepCached = true
		next := transform
		transform = func(obj any) (any, error) {
			switch {
			case obj.(*v1.Pod).Labels["bad"] != "":
				return nil, testkit.ErrInternal
			case next == nil:
				return obj, nil
			default:
				return next(obj)
			}
		}
	}
	r.reader.Transform.Function = transform
	return r
}

func (r *stateRig) pod(t *draw.T) *v1.Pod {
	pod := testkit.PodAt(draw.Of(t, "a", "b", "c", "d", "e", "f"), fmt.Sprint(draw.Int(t, 0, 3)))
	if draw.Int(t, 0, 3) == 0 {
		pod.Namespace = ""
	}
	pod.UID = "uid-of-" + types.UID(pod.Name)
	pod.Labels = map[string]string{draw.Of(t, "some", "other", "other", "other", "bad"): "yes"}
	return pod
}

// fill fills a stage. It returns the expected content of the store, in which a nil object stands for
// the cached one, and the keys of the objects that are behind.
func (r *stateRig) fill(t *draw.T, into *stage) (want map[string]*stagedObject, behind map[string]struct{}) {
	want, behind = map[string]*stagedObject{}, map[string]struct{}{}
	for range draw.Int(t, 0, 12) {
		pods, kind := []*v1.Pod{r.pod(t)}, draw.Int(t, 0, 11)
		if kind == 0 { // about a block of others
			for i := range table.BlockLen + draw.Int(t, -1, 1) {
				other := testkit.PodAt(fmt.Sprint("other", i), "1")
				other.UID = "uid-of-" + types.UID(other.Name)
				pods = append(pods, other)
			}
		}
		for _, pod := range pods {
			key, err := clientgo.MetaNamespaceKeyFunc(pod)
			require.NoError(t, err)
			delete(behind, key)
			if kind == 1 || kind == 2 {
				delete(want, key)
				require.NoError(t, into.Remove(pod))
				continue
			}
			if !r.reader.Transform.KeepCached || pod.Labels["bad"] == "" {
				want[key] = &stagedObject{version: pod.ResourceVersion, stored: pod}
			} else if behind[key] = struct{}{}; want[key] == nil {
				want[key] = nil
			}
			require.NoError(t, into.Put(pod))
		}
	}
	return want, behind
}

// heard applies the waiting records and returns the notifications, object by object.
func (r *stateRig) heard(initial bool) (heard []event.Change) {
	r.apply(initial, func(changes []event.Change) {
		for i := range changes {
			c := &changes[i]
			if c.Many == nil {
				heard = append(heard, *c)
				continue
			}
			for j := range c.Many.Len() {
				heard = append(heard, c.Single(j))
			}
		}
	})
	return heard
}

// meanwhile applies an event of the watch after a stage was begun.
func (r *stateRig) meanwhile(t *draw.T) {
	pod := r.pod(t)
	delete(pod.Labels, "bad")
	key, _ := clientgo.MetaNamespaceKeyFunc(pod)
	version := pod.ResourceVersion
	require.NoError(t, r.put(clientgo.Updated, pod))
	r.heard(false)
	r.stored[key] = stagedObject{version, pod}
}

// require compares the notifications of a list with the expected ones.
func (r *stateRig) require(t *draw.T, want map[string]*stagedObject, heard []event.Change) {
	seen, deletions := map[string]bool{}, true
	for _, c := range heard {
		require.False(t, seen[c.Key], "%s is reported twice", c.Key)
		seen[c.Key] = true
		old, was := r.stored[c.Key]
		now := want[c.Key]
		if c.Kind == event.ChangeDelete {
			require.True(t, deletions, "deletions come first")
			require.Equal(t, clientgo.DeletedFinalStateUnknown{Key: c.Key, Obj: old.stored}, c.Old)
			require.Nil(t, now)
			continue
		}
		deletions = false
		require.NotNil(t, now, c.Key)
		r.requireStored(t, now.stored, c.New)
		require.Equal(t, was, c.Kind == event.ChangeUpdate)
		if was {
			require.Same(t, old.stored, c.Old)
			require.Equal(t, old.version == now.version, c.Resync, "%s %s→%s", c.Key, old.version, now.version)
		}
	}
	for key, now := range want {
		require.Equal(t, now != nil, seen[key], key)
		if old, was := r.stored[key]; now == nil && was {
			want[key] = &old
		} else if now == nil {
			delete(want, key)
		}
	}
	for key := range r.stored {
		require.Equal(t, want[key] == nil, seen[key] && want[key] == nil, "%s is gone", key)
	}
	clear(r.stored)
	for key, now := range want {
		stored, exists := r.contents.Table.Get(key)
		require.True(t, exists)
		r.requireStored(t, now.stored, stored)
		r.stored[key] = stagedObject{now.version, stored}
		require.Equal(t, now.version, r.applier.Received.Version(key, stored))
	}
	require.Equal(t, len(want), r.contents.Table.Len())
	require.Equal(t, altered(r.stored), r.applier.Received)
}

// requireStored compares objects, or only their contents if identical objects are reused.
func (r *stateRig) requireStored(t *draw.T, want, got any) {
	if r.reuse {
		require.Equal(t, want, got)
	} else {
		require.Same(t, want, got)
	}
}

// altered returns the origins of the objects that do not show them.
func altered(objects map[string]stagedObject) Received {
	hidden := Received{}
	for key, o := range objects {
		origin := event.Origin{Version: o.version, UID: "uid-of-" + o.stored.(*v1.Pod).Name}
		if event.OriginOf(o.stored) != origin {
			hidden[key] = origin
		}
	}
	return hidden
}

// TestWholeStates applies any lists one after the other, with writes in between. The store must
// become each list, and handlers must get one notification for each object that differs. With
// KeepCached, an object that cannot be transformed keeps its cached version, unless another state of
// it in the list can be transformed or it was deleted.
func TestWholeStates(t *testing.T) {
	testkit.Reports(t)
	draw.Check(t, func(t *draw.T) {
		r := newStateRig(t)
		for range draw.Int(t, 1, 5) {
			into := r.stage(draw.Int(t, 0, 20), r.reuse)
			want, behind := r.fill(t, into)
			if draw.Int(t, 0, 3) == 0 {
				r.meanwhile(t)
			}
			require.NoError(t, into.Publish("9"))
			require.True(t, maps.Equal(behind, r.reader.Transform.Behind()), "%v are behind", behind)
			r.require(t, want, r.heard(t.Bool()))
		}
	})
}

// TestUnchangedStateIsOneRecord checks that a relist without changes is one bulk record, and that a
// change in the middle splits it into two.
func TestUnchangedStateIsOneRecord(t *testing.T) {
	r := newStoreRig(nil, table.Options{})
	const n = 3*table.BlockLen + 5
	for round, versions := range []struct {
		changed string
		records int
	}{{"", 1}, {"", 1}, {"p0050", 3}, {"p0050", 1}} {
		into := r.stage(n, false)
		for i := range n {
			pod := testkit.PodAt(fmt.Sprintf("p%04d", i), "1")
			if pod.Name == versions.changed {
				pod.ResourceVersion = "2"
			}
			require.NoError(t, into.Put(pod))
		}
		require.NoError(t, into.Publish("9"))
		r.apply(round == 0, func(changes []event.Change) {
			assert.Len(t, changes, versions.records, round)
			calls := 0
			for i := range changes {
				calls += changes[i].Size()
			}
			assert.Equal(t, n, calls)
		})
	}
}
