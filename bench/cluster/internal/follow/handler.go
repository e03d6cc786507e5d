// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/bench/cluster/internal/blank"
	"github.com/kinformer/cache/bench/cluster/internal/world"
)

// group is what handlers are reported as.
type group string

const (
	prompt group = "prompt" // all but these:
	slow   group = "slow"
	late   group = "late" // to join
)

// slowness is how long the slow handler takes for each notification.
const slowness = 2 * time.Millisecond

// handler is one of an informer.
type handler struct {
	of     world.Resource
	group  group
	phases *phases

	mu struct {
		sync.Mutex
		last      map[uint64]uint64 // the version of each object that is there, by a hash of its UID
		changes   uint64            // notifications of changes, without the initial list
		relisted  uint64            // those of nothing new, after a relist
		faults    []error           // the first ones
		faulty    int
		latencies []*latencies // by phase
		lastLate  int64        // when it was last called too late
	}
}

func newHandler(of world.Resource, g group, p *phases) *handler {
	h := &handler{of: of, group: g, phases: p}
	h.mu.last = map[uint64]uint64{}
	return h
}

// seen is an object as a handler looks at it: it keeps no memory of the object.
type seen struct {
	uid     uint64 // a hash
	version uint64
	due     int64
}

var (
	errNoObject = errors.New("what came is no object of the server")
	errOrder    = errors.New("lost, repeated or out of order")
)

func look(obj any) (seen, error) {
	o, ok := obj.(metav1.Object)
	if !ok {
		return seen{}, fmt.Errorf("%w: %T", errNoObject, obj)
	}
	version, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return seen{}, fmt.Errorf("%w: %w", errNoObject, err)
	}
	due, err := strconv.ParseInt(o.GetAnnotations()[blank.DueAnnotation], 10, 64)
	if err != nil {
		return seen{}, fmt.Errorf("%w: %w", errNoObject, err)
	}
	return seen{world.Hash(string(o.GetUID())), version, due}, nil
}

// OnAdd is told of an object that is new.
func (h *handler) OnAdd(obj any, isInInitialList bool) {
	h.call(func(now int64) error {
		o, err := look(obj)
		if err != nil {
			return err
		}
		if !isInInitialList {
			h.mu.changes++
			h.record(now, o.due)
		}
		return h.step(o.uid, 0, o.version)
	})
}

// OnUpdate is told of a change, or after a relist that there was none.
func (h *handler) OnUpdate(before, after any) {
	h.call(func(now int64) error {
		from, err := look(before)
		to, err2 := look(after)
		switch err = errors.Join(err, err2); {
		case err != nil:
			return err
		case from == to:
			h.mu.relisted++
			return h.expect(from.uid, from.version)
		case from.uid != to.uid || from.version >= to.version:
			return fmt.Errorf("%w: an update from version %d to %d", errOrder, from.version, to.version)
		}
		h.mu.changes++
		h.record(now, to.due)
		return h.step(from.uid, from.version, to.version)
	})
}

// OnDelete is told of an object that is gone: as it was at the end, or as it was last known.
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
		h.mu.changes++
		last := h.mu.last[o.uid]
		delete(h.mu.last, o.uid)
		if !missed {
			h.record(now, o.due)
		}
		if last == 0 || missed && last != o.version || !missed && last >= o.version {
			return fmt.Errorf("%w: deleted at version %d, after %d", errOrder, o.version, last)
		}
		return nil
	})
}

// call runs what a notification does.
func (h *handler) call(do func(now int64) error) {
	if h.group == slow {
		time.Sleep(slowness)
	}
	now := time.Now().UnixNano()
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := do(now); err != nil {
		const told = 3
		if h.mu.faulty++; h.mu.faulty <= told {
			h.mu.faults = append(h.mu.faults, fmt.Errorf("%s: %w", h.of, err))
		}
	}
}

// record notes the latency of a change. That of objects that were there before all is none.
func (h *handler) record(now, due int64) {
	i := h.phases.of(due)
	if due == 0 || i < 0 {
		return
	}
	for len(h.mu.latencies) <= i {
		h.mu.latencies = append(h.mu.latencies, newLatencies())
	}
	h.mu.latencies[i].record(now - due)
	if now-due > Limit*1000 {
		h.mu.lastLate = now
	}
}

// step takes an object from a version, 0 for none, to a later one.
func (h *handler) step(uid, from, to uint64) error {
	err := h.expect(uid, from)
	h.mu.last[uid] = to
	return err
}

// expect returns an error if the handler was last told of another version.
func (h *handler) expect(uid, version uint64) error {
	if last := h.mu.last[uid]; last != version {
		return fmt.Errorf("%w: after version %d comes what follows %d", errOrder, last, version)
	}
	return nil
}

// state condenses what the handler was told: what is there, if it was told all.
func (h *handler) state() (state world.State, changes uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for uid, version := range h.mu.last {
		state.AddHash(uid, version)
	}
	return state, h.mu.changes
}
