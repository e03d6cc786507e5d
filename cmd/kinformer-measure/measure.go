// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/cputime"
	"github.com/kinformer/cache/internal/tap"
)

// measure reads the list of a resource and measures what decoding it takes. What keeps it from that
// is in the row.
func (c *cluster) measure(ctx context.Context, r resource) row {
	measured := row{Resource: r.String()}
	body, err := c.list(ctx, r)
	if err != nil {
		measured.Skipped = explained(err).Error()
		return measured
	}
	s, err := newSample(r, body)
	if err == nil {
		measured.describe(r, s, body)
		if s.objects == 0 {
			measured.Skipped = "no objects"
			return measured
		}
		err = s.figures(ctx, &measured)
	}
	if err != nil {
		measured.Skipped = err.Error()
	}
	return measured
}

// describe fills in what was read.
func (m *row) describe(r resource, s *sample, body []byte) {
	m.Objects, m.More, m.Read = s.total, s.more, s.objects
	m.Encoding = "json"
	if mediaTypeOf(body) != "application/json" {
		m.Encoding = "protobuf"
	}
	if !r.hasGoType() {
		m.Encoding = "unstructured"
	}
	if s.objects > 0 {
		m.WireBytes = float64(len(body)) / float64(s.objects)
	}
}

// figures fills in what was measured.
func (s *sample) figures(ctx context.Context, m *row) error {
	defer s.tapped.Begin()() // as an informer that runs, it keeps the table of texts
	if err := s.tryTap(ctx, m); err != nil {
		return err
	}
	lists, watches := [2]work{s.lists(s.plain)}, [2]work{s.watches(s.plain)}
	if m.Direct {
		lists[1], watches[1] = s.lists(s.tapped), s.watches(s.tapped)
	}
	var failed [3]error
	m.Heap, failed[0] = s.heap(ctx, m.Direct)
	m.List, failed[1] = compared(ctx, lists)
	m.Event, failed[2] = compared(ctx, watches)
	m.extrapolate()
	return errors.Join(failed[:]...)
}

// tryTap has a list and a watch decoded directly, and notes whether they were, and what was left to
// client-go.
func (s *sample) tryTap(ctx context.Context, m *row) error {
	var left []string
	for i, do := range []work{s.lists(s.tapped), s.watches(s.tapped)} {
		_, err := do(ctx)
		state := s.ledger.State()
		var doubt *tap.Doubt
		switch {
		case errors.As(err, &doubt):
			m.Notes = append(m.Notes, "please report this: "+doubt.Error())
			return nil
		case err != nil:
			return err
		case !state.On:
			m.Notes = append(m.Notes, "client-go decodes: "+notOn(state))
			return nil
		case i == 0: // events are not as they were sent
			left = gaveUp(state)
		}
	}
	m.Direct, m.Notes = true, append(m.Notes, left...)
	return nil
}

func notOn(state tap.State) string {
	if given := gaveUp(state); state.Why == "" && len(given) > 0 {
		return strings.Join(given, "; ")
	}
	return state.Why
}

// gaveUp says what was left to client-go: reasons are few, and have nothing of the data.
func gaveUp(state tap.State) (notes []string) {
	for _, reason := range slices.Sorted(maps.Keys(state.GivenUp)) {
		all := state.Decoded + state.Verified
		for _, n := range state.GivenUp {
			all += n
		}
		notes = append(notes, fmt.Sprintf("left to client-go, %.1f %% of the objects: %s", 100*float64(state.GivenUp[reason])/float64(all), reason))
	}
	return notes
}

// work is done again and again, and returns of how many objects it was.
type work func(context.Context) (int, error)

func (s *sample) lists(lw clientgo.ListerWatcherWithContext) work {
	return func(ctx context.Context) (int, error) {
		_, err := s.listed(ctx, lw)
		return s.objects, err
	}
}

// listed returns all objects, however they come.
func (s *sample) listed(ctx context.Context, lw clientgo.ListerWatcherWithContext) (any, error) {
	list, err := lw.ListWithContext(ctx, metav1.ListOptions{})
	var doubt *tap.Doubt
	switch page, direct := list.(*tap.Page); {
	case errors.As(err, &doubt):
		return nil, doubt
	case err != nil:
		return nil, fmt.Errorf("client-go cannot list, with an error of type %T", err)
	case direct:
		return page.Items, nil
	}
	objects, err := meta.ExtractListWithAlloc(list)
	if err == nil && len(objects) != s.objects {
		err = fmt.Errorf("%d of %d objects were listed", len(objects), s.objects)
	}
	return objects, err
}

func (s *sample) watches(lw clientgo.ListerWatcherWithContext) work {
	return func(ctx context.Context) (int, error) {
		w, err := lw.WatchWithContext(ctx, metav1.ListOptions{ResourceVersion: "1"})
		if err != nil {
			return 0, fmt.Errorf("client-go cannot watch, with an error of type %T", err)
		}
		defer w.Stop()
		came := 0
		for event := range w.ResultChan() {
			if doubt, ok := event.Object.(*tap.Doubt); ok {
				return 0, doubt
			}
			if event.Type != watch.Modified {
				return 0, errors.New("client-go cannot decode its events")
			}
			came++
		}
		if came != s.events && ctx.Err() == nil {
			return 0, fmt.Errorf("%d of %d events came", came, s.events)
		}
		return s.events, ctx.Err()
	}
}

// effort is what a figure is made of. Tests, which need no good figures, make less.
var effort = struct {
	cpu        time.Duration // is counted in steps of a millisecond or more
	events     int           // of a watch at most: enough for a steady state
	eventBytes int           // of them at most, but for a few
}{40 * time.Millisecond, 1000, 8 << 20}

// rounds are how often both sides take turns; the median counts.
const rounds = 3

// compared returns the CPU time for an object, of client-go's and of ours, in microseconds. Without
// ours that is client-go's, too.
func compared(ctx context.Context, sides [2]work) (pair, error) {
	var all [2][]float64
	for round := range rounds {
		for turn := range sides {
			side := (turn + round) % 2
			if sides[side] == nil {
				continue
			}
			each, err := timed(ctx, sides[side])
			if err != nil {
				return pair{}, err
			}
			all[side] = append(all[side], each)
		}
	}
	if all[1] == nil {
		all[1] = all[0]
	}
	return pair{median(all[0]), median(all[1])}, nil
}

func timed(ctx context.Context, do work) (float64, error) {
	runtime.GC()
	before, err := cputime.Used()
	if err != nil {
		return 0, err
	}
	for done := 0; ; {
		n, err := do(ctx)
		if err != nil {
			return 0, err
		}
		done += n
		now, err := cputime.Used()
		if err != nil {
			return 0, err
		}
		if spent := now - before; spent >= effort.cpu {
			return float64(spent) / float64(time.Microsecond) / float64(done), nil
		}
	}
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// fewObjects say nothing about the heap, which has other uses.
const fewObjects = 20

// heap returns what objects take in memory.
func (s *sample) heap(ctx context.Context, direct bool) (pair, error) {
	if s.objects < fewObjects {
		return pair{}, nil
	}
	var both [2]float64
	for side, lw := range []clientgo.ListerWatcherWithContext{s.plain, s.tapped} {
		if side == 1 && !direct {
			both[1] = both[0]
			break
		}
		before := liveHeap()
		objects, err := s.listed(ctx, lw)
		if err != nil {
			return pair{}, err
		}
		both[side] = float64(int64(liveHeap()-before)) / float64(s.objects)
		runtime.KeepAlive(objects)
	}
	return pair{both[0], both[1]}, nil
}

// liveHeap collects garbage and returns what is left.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC() // a second time for what pools kept
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
