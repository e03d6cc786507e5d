// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package sources_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/sources"
	"github.com/kinformer/cache/view"
)

// history is a random history of sources that are put, replaced and removed, of writes, of watches that
// are slow or broken, of relists, and of a server that is restored while some sources cannot list.
type history struct {
	*rig
	random  *rand.Rand
	overlap bool
	asked   map[string]*lister // the current sources
	backup  uint64             // a version of the server that may be restored; 0 if there is none
}

// TestModel: after any history the store equals a model with one plain map for each source, and every
// handler received all changes, none twice and none that did not happen.
func TestModel(t *testing.T) {
	testkit.Reports(t)
	for seed := range uint64(24) {
		for _, overlap := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d overlap %v", seed, overlap), func(t *testing.T) {
				inBubble(t, kinformer.Options{}, func(r *rig) {
					h := &history{r, rand.New(rand.NewPCG(seed, 39)), overlap, map[string]*lister{}, 0}
					h.play(400)
				})
			})
		}
	}
}

func (h *history) play(steps int) {
	late := &mirror{}
	for i := range steps {
		switch i {
		case 20:
			h.run()
		case 200:
			_, err := h.informer.AddEventHandler(late)
			require.NoError(h, err)
		}
		h.step()
		if h.random.IntN(3) == 0 {
			synctest.Wait()
		}
		if i%50 == 49 {
			h.compare(h.handler)
		}
	}
	h.compare(h.handler)
	h.compare(late)
	for name := range h.asked {
		require.NoError(h, h.set.Remove(name))
	}
	synctest.Wait()
	require.Empty(h, h.stored())
	require.Empty(h, h.handler.versions(h))
}

func (h *history) step() {
	namespace, name, app := h.pick("n0", "n1", "n2", "n3", "n4"), h.pick("a", "b", "c"), h.pick("x", "y", "z")
	switch h.random.IntN(16) {
	case 0, 1, 2, 3, 4, 5:
		h.write(namespace, name, app)
	case 6, 7:
		if h.server.Get(namespace, name) != nil {
			h.server.Delete(namespace, name)
		}
	case 8, 9:
		h.put(namespace, app)
	case 10:
		h.removeOne()
	case 11:
		for _, name := range slices.Sorted(maps.Keys(h.asked)) {
			if gate := h.asked[name].gate; h.random.IntN(2) == 0 {
				gate.close()
			} else {
				gate.open()
			}
		}
	case 12:
		h.server.Inject(cachetest.ErrorEvent(cachetest.Expired()))
		h.server.Cut()
	case 13:
		if len(h.asked) > 0 {
			_ = kinformer.Relist(h.set.Source(slices.Sorted(maps.Keys(h.asked))[0]))
		}
	case 14:
		if h.backup == 0 || h.random.IntN(3) == 0 {
			h.backup = h.server.ResourceVersion()
		}
	case 15:
		h.restore()
	}
}

// restore restores the backup, and makes the sources list again, except for those that cannot from now on.
// All sources have seen a later version before, so that their lists prove that the versions began again.
func (h *history) restore() {
	if h.backup == 0 || h.stopped == nil {
		return
	}
	h.write("n0", "a", "x")
	h.server.Bookmark()
	for _, l := range h.asked {
		l.gate.open()
	}
	settle()
	names := slices.Sorted(maps.Keys(h.asked))
	for _, name := range names {
		if l := h.asked[name]; h.random.IntN(4) == 0 {
			l.forbid(true)
		}
	}
	h.server.Rewind(h.backup)
	h.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names {
		_ = kinformer.Relist(h.set.Source(name))
		if h.random.IntN(2) == 0 {
			synctest.Wait()
		}
	}
	settle()
}

// heal makes the sources that cannot list list again.
func (h *history) heal() {
	for name, l := range h.asked {
		if l.denied.Load() {
			l.forbid(false)
			_ = kinformer.Relist(h.set.Source(name))
		}
	}
}

// put puts a source of a namespace. If sources may overlap, it may also be of all namespaces, or of an
// app, or replace another.
func (h *history) put(namespace, app string) {
	name, l := namespace, h.asks(namespace, h.pick("", app))
	if h.overlap {
		name, l = h.pick("s0", "s1", "s2", "s3"), h.asks(h.pick("", namespace), h.pick("", app))
	}
	h.asked[name] = l
	h.set.Put(name, l)
}

func (h *history) removeOne() {
	if names := slices.Sorted(maps.Keys(h.asked)); len(names) > 0 {
		name := h.pick(names...)
		delete(h.asked, name)
		require.NoError(h, h.set.Remove(name))
	}
}

func (h *history) pick(of ...string) string { return of[h.random.IntN(len(of))] }

// compare compares the store, and the state of a handler, with the maps of the sources: first without
// those that cannot list.
func (h *history) compare(handler *mirror) {
	for _, l := range h.asked {
		l.gate.open()
	}
	if h.stopped == nil {
		return
	}
	h.compareWith(handler)
	h.heal()
	h.compareWith(handler)
}

// compareWith compares what the sources have that can list. Another one, of which no list has proved that
// its versions began again, may hide it.
func (h *history) compareWith(handler *mirror) {
	settle()
	want, hidden, all := map[string]string{}, map[string]bool{}, true
	for name, l := range h.asked {
		switch source := h.set.Source(name); {
		case !l.denied.Load():
			maps.Copy(want, h.has(l))
			h.compareSource(name, h.has(l))
		case statusOf(source).ResourceVersion != "":
			h.hides(source, hidden)
			fallthrough
		default:
			all = false
		}
	}
	about := func(key string) bool { // else only a source that cannot list has it
		_, is := want[key]
		return (all || is) && !hidden[key]
	}
	maps.DeleteFunc(want, func(key, _ string) bool { return hidden[key] })
	stored := map[string]string{}
	for _, obj := range h.informer.GetStore().List() {
		if key, _ := cache.MetaNamespaceKeyFunc(obj); about(key) {
			stored[key] = obj.(*corev1.Pod).ResourceVersion
		}
	}
	require.Equal(h, want, stored)
	heard := handler.versions(h)
	maps.DeleteFunc(heard, func(key, _ string) bool { return !about(key) })
	require.Equal(h, want, heard)
}

// hides adds the keys of the objects of a source.
func (h *history) hides(source *sources.Source, keys map[string]bool) {
	snapshot, err := view.Of(source)
	require.NoError(h, err)
	defer snapshot.Close()
	for key := range snapshot.All() {
		keys[key] = true
	}
}

// compareSource audits a source. A repair removes only what no source vouches for, which is not to be had
// without a restore.
func (h *history) compareSource(name string, has map[string]string) {
	source := h.set.Source(name)
	require.True(h, source.HasSynced(), name)
	require.Equal(h, len(has), lenOf(source), name)
	report, err := audit.Once(h.Context(), source, audit.Options{Content: true, Repair: h.backup != 0})
	require.NoError(h, err, name)
	require.True(h, report.Equal() || report.Repaired, "%s: %v", name, report)
	require.Equal(h, len(has), report.Digest.Objects, name)
}

// TestInterleavings: a replacement, a removal, a relist and the stop may happen in any order, each
// before or after the effects of the previous one. Handlers receive no change that did not happen, and
// no goroutine is left.
func TestInterleavings(t *testing.T) {
	testkit.Reports(t)
	for n := range 4 * 4 * 4 * 4 {
		order := []int{n % 4, n / 4 % 4, n / 16 % 4, n / 64}
		if len(slices.Compact(slices.Sorted(slices.Values(order)))) < len(order) {
			continue // a step twice
		}
		for settled := range 1 << 4 {
			inBubble(t, kinformer.Options{}, func(r *rig) {
				r.Logf("%v, settled %b", order, settled)
				for _, namespace := range []string{"a", "b"} {
					r.write(namespace, "1", "x")
					r.write(namespace, "2", "y")
					r.set.Put(namespace, r.asks("", ""))
				}
				r.run()
				for i, what := range order {
					switch what {
					case 0:
						r.set.Put("a", r.asks("", "x"))
					case 1:
						require.NoError(r, r.set.Remove("b"))
					case 2:
						r.server.Inject(cachetest.ErrorEvent(cachetest.Expired()))
						r.server.Cut()
					case 3:
						r.stop()
					}
					if settled&(1<<i) != 0 {
						settle()
					}
				}
				<-r.stopped
				if order[3] == 3 && settled&4 != 0 {
					require.Equal(r, []string{"a/1", "b/1"}, r.stored())
				}
			})
		}
	}
}

// has returns the server's objects for a source.
func (h *history) has(l *lister) map[string]string {
	has := map[string]string{}
	for key := range h.server.Versions() {
		namespace, name, _ := cache.SplitMetaNamespaceKey(key)
		if pod := h.server.Get(namespace, name).(*corev1.Pod); l.selects(pod) {
			has[key] = pod.ResourceVersion
		}
	}
	return has
}
