// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package sources_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
)

// app returns the app of a stored pod and its version, or "" if there is none.
func (r *rig) app(key string) string {
	obj, exists, err := r.informer.GetStore().GetByKey(key)
	require.NoError(r, err)
	if !exists {
		return ""
	}
	return obj.(*corev1.Pod).Labels["app"] + "@" + obj.(*corev1.Pod).ResourceVersion
}

// writeLost writes a pod several times. A restore of the state before these writes loses them.
func (r *rig) writeLost(namespace, name string) {
	for range 8 {
		r.write(namespace, name, "lost")
	}
	synctest.Wait()
}

// TestRestored: a server is restored from a backup, a source lists the older state, and another one that has the same
// object cannot. The store has the older state, also after the other source was removed.
func TestRestored(t *testing.T) {
	testkit.Reports(t)
	for name, remove := range map[string]bool{"remains": false, "removed": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, kinformer.Options{}, func(r *rig) {
				version := r.write("ns", "p", "old")
				backup := r.server.ResourceVersion()
				b := r.asks("", "")
				r.set.Put("a", r.asks("", ""))
				r.set.Put("b", b)
				r.run()
				r.writeLost("ns", "p")
				b.forbid(true)
				r.server.Rewind(backup)
				require.NoError(r, kinformer.Relist(r.set.Source("a")))
				settle()
				assert.Equal(r, "old@"+version, r.app("ns/p"))
				_, err := after(r, time.Minute, func(ctx context.Context) error { return kinformer.WaitForVersion(ctx, r.informer, version) })
				require.Error(r, err, "b has no version")
				if remove {
					require.NoError(r, r.set.Remove("b"))
				}
				now := r.write("ns", "p", "new")
				settle()
				assert.Equal(r, "new@"+now, r.app("ns/p"))
				r.server.Delete("ns", "p")
				settle()
				if assert.Equal(r, !remove, r.app("ns/p") != "", "b still has it"); !remove {
					b.forbid(false)
					settle()
					assert.Empty(r, r.app("ns/p"))
				}
				report, err := audit.Once(r.Context(), r.informer, audit.Options{Content: true})
				require.NoError(r, err)
				assert.True(r, report.Equal(), report)
			})
		})
	}
}

// TestRestoredListsOnce: for one restart of the versions, each of the sources of the server that have objects in
// common, directly or through others, lists once.
func TestRestoredListsOnce(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.write("n1", "p", "x")
		r.write("n2", "p", "y")
		backup := r.server.ResourceVersion()
		r.set.Put("n1", r.asks("n1", ""))
		r.set.Put("x", r.asks("", "x"))
		r.set.Put("all", r.asks("", ""))
		r.set.Put("n2", r.asks("n2", ""))
		r.run()
		r.writeLost("n1", "q")
		r.writeLost("n2", "p")
		before := map[string]int64{}
		for name, source := range r.set.All() {
			before[name] = ended(r, source)
		}
		r.server.Rewind(backup)
		require.NoError(r, kinformer.Relist(r.set.Source("n1")))
		settle()
		for name, source := range r.set.All() {
			assert.EqualValues(r, 1, ended(r, source)-before[name], name)
			report, err := audit.Once(r.Context(), source, audit.Options{Content: true})
			require.NoError(r, err)
			assert.True(r, report.Equal(), report)
		}
		assert.Equal(r, []string{"n1/p", "n2/p"}, r.stored())
	})
}

// ended returns the number of lists of a source that have ended.
func ended(r *rig, source inspect.Syncer) int64 {
	inspection, err := inspect.Of(source)
	require.NoError(r, err)
	return inspection.Lists.Ended
}

// TestRestoredMeet: two sources get an object in common only after the server was restored and one of them has listed.
// What the other one has from before does not hide it.
func TestRestoredMeet(t *testing.T) {
	testkit.Reports(t)
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.write("ns", "p", "y")
		r.write("ns", "other", "x")
		backup := r.server.ResourceVersion()
		y := r.asks("", "y")
		r.set.Put("x", r.asks("", "x"))
		r.set.Put("y", y)
		r.run()
		for range 8 {
			r.write("ns", "p", "y")
			r.write("ns", "other", "x")
		}
		synctest.Wait()
		y.forbid(true)
		r.server.Rewind(backup)
		require.NoError(r, kinformer.Relist(r.set.Source("x")))
		settle()
		now := r.write("ns", "p", "x")
		settle()
		assert.Equal(r, "x@"+now, r.app("ns/p"))
	})
}

// TestLateRelist: a relist that was under way while another source received a newer state of an object, and lost the
// object, does not replace that state.
func TestLateRelist(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.write("a", "p", "x")
		slow := r.asks("", "")
		r.set.Put("fast", r.asks("", "x"))
		r.set.Put("slow", slow)
		r.run()
		slow.gate.close()
		slow.listed = func() { // the list is not stored yet
			slow.listed = nil
			r.write("a", "p", "x")
			r.write("a", "p", "y") // fast loses it
			synctest.Wait()
		}
		r.handler.take()
		require.NoError(r, kinformer.Relist(r.set.Source("slow")))
		settle()
		assert.Equal(r, []string{"update a/p"}, r.handler.take())
		slow.gate.open()
		assert.Equal(r, []string{"update a/p"}, r.handler.take())
	})
}
