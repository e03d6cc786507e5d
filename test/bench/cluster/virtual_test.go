// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/internal/decode"
	"github.com/kinformer/cache/internal/keep"
	"github.com/kinformer/cache/test/bench/internal/blank"
	"github.com/kinformer/cache/test/bench/internal/measure"
	"github.com/kinformer/cache/test/bench/internal/world"
)

var virtualFor = flag.Duration("cluster.virtual", 0,
	"virtual time for which TestVirtualSoak follows 1,000 nodes; 0 means ten nodes and small tables, for eight minutes")

// virtual is a soak test in virtual time: the changes of a world are decoded like those of informers
// that decode directly, without HTTP and without waiting.
type virtual struct {
	nodes int
	churn float64
	lasts time.Duration
	texts int64 // the limit of the table of texts, in bytes
	parts int64 // the limit of the table of parts, in bytes; 0: objects share no parts
	keep  bool  // what blank.Kept names, and no more
	leak  int   // the object of every leak-th change is never released; 0: no leak
}

const (
	virtualSamples = 12 // in the last half
	virtualStep    = 100 * time.Millisecond
	virtualLog     = 256 // the maximum number of changes of a resource in a step
	// noise is the variation of the process's buffers and maps, in MiB.
	noise = 0.2
	// warm is the age of the world when it is listed, so that its logs are full.
	warm = time.Minute
)

// ofTen returns a soak of ten nodes with small tables, which are full before half of its time.
func (v virtual) ofTen() virtual {
	v.nodes, v.churn, v.lasts, v.texts = 10, 100, 8*time.Minute, 64<<10
	v.parts = min(v.parts, 256<<10)
	return v
}

// follower has the decoded objects of a world, by resource and serial number, with their rows if they
// share parts, and the tables that they share.
type follower struct {
	forms   *blank.Set
	plans   [world.Resources]*decode.Plan
	texts   *decode.Intern
	parts   *decode.Parts
	sharing [world.Resources]*decode.Sharing // nil if they share no parts
	objects [world.Resources]map[uint32]decode.Former
	next    [world.Resources]uint64 // the number of the next change
	frame   []byte
}

func (v virtual) newFollower(t *testing.T, forms *blank.Set) *follower {
	f := &follower{forms: forms, texts: decode.NewIntern(v.texts), parts: decode.NewParts(v.parts)}
	for _, r := range world.All() {
		var kept *keep.Fields
		if v.keep {
			kept, _ = keep.New(blank.Kept(r))
		}
		var err error
		f.plans[r], err = decode.PlanOfKept(reflect.TypeOf(blank.Of(r).New()).Elem(), decode.Protobuf, kept)
		require.NoError(t, err)
		f.objects[r] = map[uint32]decode.Former{}
		if v.parts > 0 {
			f.sharing[r] = decode.NewSharing(f.parts)
		}
	}
	return f
}

// tables returns the bytes of the tables, among them those of values that no object has any more. They
// are at most the limits.
func (f *follower) tables(t *testing.T) (bytes int64) {
	texts, parts := f.texts.Status(), f.parts.Status()
	assert.LessOrEqual(t, texts.Bytes, texts.Limit)
	assert.LessOrEqual(t, parts.Bytes, parts.Limit)
	return texts.Bytes + parts.Bytes
}

// take encodes a change as a frame of a watch, decodes the frame, and returns the object.
func (f *follower) take(t *testing.T, r world.Resource, c *world.Change) any {
	const length = 4 // the size of the length before a frame
	f.frame = f.forms.AppendEvent(f.frame[:0], r, c)
	frame, err := decode.Open(f.frame[length:], decode.Protobuf)
	require.NoError(t, err)
	obj := blank.Of(r).New()
	now, options := decode.Former{Object: obj}, decode.Options{Intern: f.texts, Share: f.sharing[r]}
	if options.Share == nil {
		err = f.plans[r].Protobuf(frame.Object, obj, options)
	} else {
		now.Row, err = f.plans[r].Update(frame.Object, obj, f.objects[r][c.Object.Serial], options)
	}
	require.NoError(t, err)
	if c.Kind == world.Deleted {
		delete(f.objects[r], c.Object.Serial)
	} else {
		f.objects[r][c.Object.Serial] = now
	}
	return obj
}

// list takes all objects of a world, sorted by owner, as API servers send them.
func (f *follower) list(t *testing.T, w *world.World) {
	for _, r := range world.All() {
		all := w.Shelf(r).Snapshot()
		slices.SortFunc(all.Objects, func(a, b world.Object) int {
			return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Serial, b.Serial))
		})
		for _, o := range all.Objects {
			f.take(t, r, &world.Change{Object: o})
		}
		f.next[r] = all.Next
	}
}

// follow takes all changes since the last call or list, and calls each with every object.
func (f *follower) follow(t *testing.T, w *world.World, each func(any)) {
	var changes [virtualLog]world.Change
	for _, r := range world.All() {
		n, _, _, err := w.Shelf(r).Read(f.next[r], changes[:])
		require.NoError(t, err)
		for i := range changes[:n] {
			each(f.take(t, r, &changes[i]))
		}
		f.next[r] += uint64(n)
	}
}

// soaked is the result of a virtual soak, in MiB except for changes.
type soaked struct {
	first   float64   // the live heap of objects and tables after the list
	live    []float64 // the same, sampled in the last half
	anew    []float64 // the live heap of the same objects at these times, decoded again into new tables
	tables  []float64 // the bytes of the tables beyond those of the new tables
	changes int       // the number of changes
}

// run follows a world, and checks that it has as many objects as the world at the end.
func (v virtual) run(t *testing.T) (seen soaked) {
	w := world.New(world.Config{Nodes: v.nodes, Seed: 1, Churn: v.churn, Log: virtualLog})
	w.Advance(warm)
	forms, err := blank.NewSet(blank.Config{Deployments: w.Deployments(), Seed: 1, MediaType: blank.Protobuf})
	require.NoError(t, err)
	v.newFollower(t, forms).list(t, w) // makes the decoders' plans, which base includes
	base := measure.LiveHeap()
	f := v.newFollower(t, forms)
	f.list(t, w)
	var kept []any
	seen.first = mib(measure.LiveHeap() - base)
	for at := virtualStep; at <= v.lasts; at += virtualStep {
		w.Advance(warm + at)
		f.follow(t, w, func(obj any) {
			if seen.changes++; v.leak > 0 && seen.changes%v.leak == 0 {
				kept = append(kept, obj)
			}
		})
		if at > v.lasts/2 && at%(v.lasts/2/virtualSamples) < virtualStep {
			v.sample(t, &seen, w, f, base)
		}
	}
	for _, r := range world.All() {
		state, _ := w.Shelf(r).State()
		assert.Len(t, f.objects[r], state.Objects, "%s", r)
	}
	runtime.KeepAlive(kept)
	return seen
}

func (v virtual) sample(t *testing.T, seen *soaked, w *world.World, f *follower, base uint64) {
	live := measure.LiveHeap()
	again := v.newFollower(t, f.forms)
	again.list(t, w)
	seen.live = append(seen.live, mib(live-base))
	seen.anew = append(seen.anew, mib(measure.LiveHeap()-live))
	seen.tables = append(seen.tables, float64(f.tables(t)-again.tables(t))/(1<<20))
	runtime.KeepAlive(again)
}

// verdict reports whether the heap has reached a plateau. It judges the excess of the live heap over
// that of the same objects decoded again, so that the growth of a cluster is no leak, and without what
// the tables say that they have more: it takes them hours to fill up to their limits. The excess must not
// rise by more than two standard errors, or a hundredth of the objects and the noise. Its mean must be at
// most a tenth of the objects: some texts exist twice, because the table evicts entries.
func (s soaked) verdict() (plateau bool, text string) {
	beyond, n := make([]float64, len(s.live)), float64(len(s.live))
	var mean, objects, tables float64
	for i := range beyond {
		beyond[i] = s.live[i] - s.anew[i] - s.tables[i]
		mean, objects, tables = mean+beyond[i]/n, objects+s.anew[i]/n, tables+s.tables[i]/n
	}
	slope, uncertain := slopeOf(beyond)
	plateau = slope*n <= max(2*uncertain*n, objects/100+noise) && mean <= objects/10+noise
	return plateau, fmt.Sprintf("%d changes; live heap %.1f MiB at first, %.1f at the end; in the last half it is %.1f beyond the %.1f of the same objects "+
		"decoded again and the %.1f that the tables have more, which rises by %+.2f ± %.2f", s.changes, s.first, s.live[len(s.live)-1], mean, objects, tables, slope*n, uncertain*n)
}

// slopeOf returns the slope of three samples or more by least squares, per sample, and its standard error.
func slopeOf(samples []float64) (slope, uncertain float64) {
	n := float64(len(samples))
	middle := (n - 1) / 2
	var xx, xy, mean, squares float64
	for i, s := range samples {
		x := float64(i) - middle
		xx, xy, mean = xx+x*x, xy+x*s, mean+s/n
	}
	slope = xy / xx
	for i, s := range samples {
		off := s - mean - slope*(float64(i)-middle)
		squares += off * off
	}
	return slope, math.Sqrt(squares / (n - 2) / xx)
}

func mib(bytes uint64) float64 { return float64(bytes) / (1 << 20) }

// virtualSides are the ways to decode directly, with the limits of internal/tap.
var virtualSides = map[string]virtual{
	"shared":     {nodes: 1000, churn: 5, texts: 16 << 20, parts: 64 << 20},
	"texts only": {nodes: 1000, churn: 5, texts: 16 << 20},
	"keep":       {nodes: 1000, churn: 5, texts: 16 << 20, parts: 64 << 20, keep: true},
}

// TestVirtualSoak fails if direct decoding leaks memory. "make soak-virtual" runs it longer.
func TestVirtualSoak(t *testing.T) {
	for name, v := range virtualSides {
		t.Run(name, func(t *testing.T) {
			if v.lasts = *virtualFor; v.lasts == 0 {
				v = v.ofTen()
			}
			plateau, text := v.run(t).verdict()
			t.Logf("%d nodes for %s in virtual time, pods changing %.0f times as often: %s", v.nodes, v.lasts, v.churn, text)
			assert.True(t, plateau, "a leak: %s", text)
		})
	}
}

// TestVirtualSoakFindsALeak checks that a leak of one object in a hundred is found.
func TestVirtualSoakFindsALeak(t *testing.T) {
	for name, v := range virtualSides {
		t.Run(name, func(t *testing.T) {
			v = v.ofTen()
			v.leak = 100
			plateau, text := v.run(t).verdict()
			t.Log(text)
			assert.False(t, plateau)
		})
	}
}
