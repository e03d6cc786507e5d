// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"slices"
	"time"
)

// Still is a world of one resource in which nothing happens by itself.
type Still struct {
	*World
	of    Resource
	first []Object
}

// NewStill makes a still world of n objects. Pods run and are ready, so many a deployment.
func NewStill(of Resource, n, perDeployment int) *Still {
	s := &Still{World: &World{}, of: of}
	s.versions.Store(FirstVersion)
	for r := range Resources {
		s.shelves[r] = newShelf(r, n, &s.versions)
	}
	s.plan = plan{world: s.World, deployments: make([]deployment, (n+perDeployment-1)/perDeployment)}
	s.plan.after(time.Duration(1<<62), func() {})
	for i := range n {
		o := Object{Owner: uint32(i / perDeployment), Node: uint32(i / PodsPerNode), Revision: 1}
		if of == Pods {
			o.Shape = Ready
		} else {
			o.Node = uint32(i) // which names it
		}
		s.plan.put(of, o)
	}
	s.first = slices.Clone(s.shelves[of].mu.slots)
	s.unseen()
	return s
}

// Rewind makes the world what it was at first.
func (s *Still) Rewind() {
	shelf := s.shelves[s.of]
	shelf.mu.Lock()
	defer shelf.mu.Unlock()
	shelf.mu.slots, shelf.mu.log, shelf.mu.next = slices.Clone(s.first), nil, 0
	s.versions.Store(shelf.mu.compacted)
}

// Feed changes each object once: leases are renewed, and pods are no longer ready.
func (s *Still) Feed() {
	s.plan.now += time.Second
	for slot := range s.first {
		s.plan.reshape(s.of, int32(slot), func(o *Object) {
			if s.of == Pods {
				o.Shape = Starting
			}
		})
	}
	s.plan.now = 0
	s.shelves[s.of].announce()
}
