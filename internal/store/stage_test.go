// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/table"
	"github.com/kinformer/cache/internal/testkit"
)

// TestReuseFreesReceivedObjects checks that the objects of a relist that equal cached ones become garbage.
func TestReuseFreesReceivedObjects(t *testing.T) {
	r := newStoreRig(nil, table.Options{})
	const n = 4 * table.BlockLen
	var received []weak.Pointer[v1.Pod]
	for range 2 {
		received = received[:0]
		into := r.stage(n, true)
		for i := range n {
			pod := testkit.PodAt(fmt.Sprint("p", i), "1")
			pod.UID = types.UID("uid-" + pod.Name)
			received = append(received, weak.Make(pod))
			require.NoError(t, into.Put(pod))
		}
		if r.contents.Table.Len() > 0 {
			runtime.GC()
			for i, pod := range received {
				assert.Nil(t, pod.Value(), i)
			}
		}
		require.NoError(t, into.Publish("9"))
		r.apply(false, func([]event.Change) {})
	}
	assert.Equal(t, n, r.contents.Table.Len())
}

// TestDistrustedLists checks a list that is to repair the cache. An object that is not identical to the
// cached one is an update although it has the same version. An identical one is not reported, not
// even as a resync, unless it has no version.
func TestDistrustedLists(t *testing.T) {
	for _, distrusts := range []bool{false, true} {
		r := newStoreRig(nil, table.Options{})
		wrong := testkit.PodAt("wrong", "1")
		wrong.Labels = map[string]string{"app": "wrong"}
		for _, pod := range []*v1.Pod{testkit.PodAt("right", "1"), wrong, testkit.PodAt("none", "")} {
			require.NoError(t, r.put(clientgo.Added, pod))
		}
		r.apply(false, func([]event.Change) {})
		stage := r.stage(0, false)
		stage.next.staging.Distrust = distrusts
		for _, pod := range []*v1.Pod{testkit.PodAt("right", "1"), testkit.PodAt("wrong", "1"), testkit.PodAt("none", "")} {
			require.NoError(t, stage.Put(pod))
		}
		require.NoError(t, stage.Publish("9"))
		news, resyncs := map[string]bool{}, 0
		r.apply(false, func(changes []event.Change) {
			for _, c := range changes {
				if c.Resync {
					resyncs += c.Size()
				} else {
					assert.Equal(t, event.ChangeUpdate, c.Kind)
					assert.Same(t, wrong, c.Old)
					assert.Equal(t, testkit.PodAt("wrong", "1"), c.New)
					news[c.Key] = true
				}
			}
		})
		assert.Equal(t, distrusts, news["ns/wrong"])
		assert.False(t, news["ns/right"])
		assert.Equal(t, map[bool]int{false: 3, true: 1}[distrusts], resyncs)
		stored, _ := r.contents.Table.Get("ns/wrong")
		assert.Equal(t, testkit.PodAt("wrong", "1"), stored)
	}
}
