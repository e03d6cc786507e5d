// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/test/bench/internal/blank"
	"github.com/kinformer/cache/test/bench/internal/world"
)

// group is a group of handlers with one latency in the report.
type group string

const (
	prompt group = "prompt" // all except these:
	slow   group = "slow"
	late   group = "late" // joins in the steady phase
)

// slowness is the time that the slow handler takes for each notification.
const slowness = 2 * time.Millisecond

// handler is an event handler that measures the latency of each call, from the time when the change
// was due at the server, and checks the order: the versions of an object only rise, and each update
// begins at the version of the last one.
type handler struct {
	of     world.Resource
	group  group
	phases *phases

	mu        sync.Mutex
	last      map[uint64]uint64 // the version of each existing object, by the hash of its UID
	changes   uint64            // the number of changes, without the initial list
	faults    []string          // the first faults
	faulty    int
	latencies map[string]*latencies // by phase
	lastLate  int64                 // the time of the last call over the limit
}

func newHandler(of world.Resource, g group, p *phases) *handler {
	return &handler{of: of, group: g, phases: p, last: map[uint64]uint64{}, latencies: map[string]*latencies{}}
}

// seen has the checked properties of an object, without references to it.
type seen struct {
	uid     uint64 // a hash
	version uint64
	due     int64
}

var errOrder = errors.New("lost, repeated or out of order")

func look(obj any) (seen, error) {
	o, ok := obj.(metav1.Object)
	if !ok {
		return seen{}, fmt.Errorf("%T is not an object of the server", obj)
	}
	version, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	due, err2 := strconv.ParseInt(o.GetAnnotations()[blank.DueAnnotation], 10, 64)
	return seen{world.Hash(string(o.GetUID())), version, due}, errors.Join(err, err2)
}

// OnAdd checks an added object.
func (h *handler) OnAdd(obj any, isInInitialList bool) {
	h.call(func(now int64) error {
		o, err := look(obj)
		if err != nil {
			return err
		}
		if !isInInitialList {
			h.record(now, o.due)
		}
		return h.step(o.uid, 0, o.version)
	})
}

// OnUpdate checks an update, or a resync of an unchanged object after a relist.
func (h *handler) OnUpdate(before, after any) {
	h.call(func(now int64) error {
		from, err := look(before)
		to, err2 := look(after)
		switch err = errors.Join(err, err2); {
		case err != nil:
			return err
		case from == to:
			return h.step(from.uid, from.version, from.version)
		case from.uid != to.uid || from.version >= to.version:
			return fmt.Errorf("%w: an update from version %d to %d", errOrder, from.version, to.version)
		}
		h.record(now, to.due)
		return h.step(from.uid, from.version, to.version)
	})
}

// OnDelete checks a deletion, with the object's last state or, if the deletion was missed, a
// DeletedFinalStateUnknown.
func (h *handler) OnDelete(obj any) {
	h.call(func(now int64) error {
		unknown, missed := obj.(clientgo.DeletedFinalStateUnknown)
		if missed {
			obj = unknown.Obj
		}
		o, err := look(obj)
		if err != nil {
			return err
		}
		if missed {
			h.changes++
		} else {
			h.record(now, o.due)
		}
		last := h.last[o.uid]
		delete(h.last, o.uid)
		if last == 0 || missed && last != o.version || !missed && last >= o.version {
			return fmt.Errorf("%w: deleted at version %d, after %d", errOrder, o.version, last)
		}
		return nil
	})
}

// call runs do with the current time and h.mu held, and records its error as a fault. The slow
// handler sleeps first.
func (h *handler) call(do func(now int64) error) {
	if h.group == slow {
		time.Sleep(slowness)
	}
	now := time.Now().UnixNano()
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := do(now); err != nil {
		const told = 3
		if h.faulty++; h.faulty <= told {
			h.faults = append(h.faults, fmt.Sprintf("%s: %v", h.of, err))
		}
	}
}

// record counts a change and records its latency, unless the change was due before all phases.
func (h *handler) record(now, due int64) {
	h.changes++
	phase := h.phases.of(due)
	if phase == "" {
		return
	}
	l := h.latencies[phase]
	if l == nil {
		l = newLatencies()
		h.latencies[phase] = l
	}
	if l.record(now - due) {
		h.lastLate = now
	}
}

// step records that an object changed from a version, 0 if it was added, to another. It returns
// errOrder if from is not the last version.
func (h *handler) step(uid, from, to uint64) error {
	last := h.last[uid]
	h.last[uid] = to
	if last != from {
		return fmt.Errorf("%w: after version %d, a change from version %d", errOrder, last, from)
	}
	return nil
}

// state returns the digest of the objects that the handler has been notified of, and the number of
// changes.
func (h *handler) state() (state world.State, changes uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for uid, version := range h.last {
		state.AddHash(uid, version)
	}
	return state, h.changes
}

// phases are the periods that are reported separately. A change belongs to the phase in which it
// was due.
type phases struct {
	mu  sync.RWMutex
	all []phase
}

type phase struct {
	name  string
	start int64 // nanoseconds since 1970
}

func (p *phases) begin(name string, start int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, phase{name, start})
}

// of returns the phase of a time, "" for none.
func (p *phases) of(due int64) string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for i := len(p.all) - 1; i >= 0 && due > 0; i-- {
		if due >= p.all[i].start {
			return p.all[i].name
		}
	}
	return ""
}

const (
	// limit is the latency that at most one event in a thousand should exceed, in microseconds.
	limit = 100_000
	// mostLatency is the maximum latency that is recorded, in microseconds; a run is shorter.
	mostLatency = 1e10
)

// latency is a summary of latencies, in microseconds.
type latency struct {
	Events, P50, P99, P999, Max int64
	// Over is the number of latencies over the limit.
	Over int64
}

// under returns the share of events within the limit.
func (l latency) under() float64 { return 1 - float64(l.Over)/float64(max(1, l.Events)) }

// latencies are the latencies of one handler in one phase.
type latencies struct {
	all  *hdrhistogram.Histogram
	over int64
}

func newLatencies() *latencies { return &latencies{all: hdrhistogram.New(1, mostLatency, 2)} }

// record records a latency and reports whether it is over the limit.
func (l *latencies) record(nanoseconds int64) (over bool) {
	micros := nanoseconds / 1000
	if over = micros > limit; over {
		l.over++
	}
	_ = l.all.RecordValue(min(max(micros, 0), mostLatency)) // in range
	return over
}

func (l *latencies) merge(other *latencies) {
	if other != nil {
		l.all.Merge(other.all)
		l.over += other.over
	}
}

func (l *latencies) summary() latency {
	return latency{
		l.all.TotalCount(), l.all.ValueAtQuantile(50), l.all.ValueAtQuantile(99), l.all.ValueAtQuantile(99.9), l.all.Max(), l.over,
	}
}
