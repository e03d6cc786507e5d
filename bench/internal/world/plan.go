// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package world is a cluster that changes by a plan: nodes with their leases, pods of deployments
// with replica sets and endpoint slices, and events. It knows no bytes, no clock and no network:
// who calls [World.Advance] says what time it is, and the same seed makes the same changes at the
// same times.
//
//	Plan      what happens when: leases are renewed, pods are replaced, ...
//	  │ put, remove
//	Shelf     the objects of a resource, and a log of their changes in the order of versions
//	  │ Snapshot, Since, Read
//	lists and watches, in other goroutines
//
// An object is some numbers here ([Object]), from which its bytes follow: a cluster of 10,000 nodes
// takes some ten megabytes. A world that stands ([Still]) is for measurements of one informer.
package world

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

// How often things happen: as in a busy cluster. All follow each other at random, as independent
// causes do (a Poisson process), so that there are bursts.
const (
	PodsPerNode       = 15
	PodsPerDeployment = 30
	EventsPerNode     = 5

	leasePeriod  = 10 * time.Second // of a node
	statusPeriod = 5 * time.Minute  // of a node
	pressPeriod  = time.Hour        // of a node: how often a condition changes, and the status at once
	flapPeriod   = 200 * time.Second
	churnPeriod  = 1500 * time.Second // of a pod for each node, replaced alone
	rollPeriod   = 750 * time.Second  // of a pod for each node, replaced in a rollout
	wave         = 8                  // pods at once in a rollout: a quarter
)

// Config says what a world is like.
type Config struct {
	Nodes int
	Seed  uint64
	// Churn multiplies how often pods and nodes change; 0 stands for 1. Small worlds that are to
	// have seen everything soon have more.
	Churn float64
	// Log is how many changes of a resource are remembered; 0 stands for 262,144.
	Log int
}

// World is a cluster. Advance and what else changes it is for one goroutine; the shelves are for
// all.
type World struct {
	shelves  [Resources]*Shelf
	versions atomic.Uint64
	plan     plan
}

// New makes a world as it is at time 0.
func New(c Config) *World {
	if c.Churn <= 0 {
		c.Churn = 1
	}
	if c.Log <= 0 {
		c.Log = logged
	}
	w := &World{}
	w.versions.Store(FirstVersion)
	for r := range Resources {
		w.shelves[r] = newShelf(r, c.Log, &w.versions)
	}
	w.plan = plan{
		world: w, config: c, random: rand.New(rand.NewPCG(c.Seed, 22)),
		deployments: make([]deployment, max(1, c.Nodes*PodsPerNode/PodsPerDeployment)),
	}
	w.plan.populate()
	w.unseen()
	w.plan.begin()
	return w
}

// unseen empties the logs: nobody was there to see how the world began.
func (w *World) unseen() {
	for _, s := range w.shelves {
		s.mu.log, s.mu.next, s.mu.compacted = nil, 0, w.versions.Load()
	}
}

// Shelf has the objects of a resource.
func (w *World) Shelf(r Resource) *Shelf { return w.shelves[r] }

// Deployments is how many there are.
func (w *World) Deployments() int { return len(w.plan.deployments) }

// Epoch sets when, in nanoseconds since 1970, time 0 is. Changes are due by that.
func (w *World) Epoch(nanoseconds int64) { w.plan.epoch = nanoseconds }

// Advance does all that is due until a time and returns when the next is due.
func (w *World) Advance(until time.Duration) (next time.Duration) {
	p := &w.plan
	for p.queue[0].at <= until {
		due := heap.Pop(&p.queue).(action)
		p.now = due.at
		due.do()
	}
	for r, touched := range p.touched {
		if touched {
			w.shelves[r].announce()
		}
	}
	p.touched = [Resources]bool{}
	return p.queue[0].at
}

// plan says what happens when.
type plan struct {
	world   *World
	config  Config
	random  *rand.Rand
	epoch   int64
	now     time.Duration
	queue   actions
	planned uint64
	touched [Resources]bool

	serials     [Resources]uint32
	deployments []deployment
	leases      []int32
	nodes       []int32
	events      []int32 // the oldest first
}

// deployment has the places of its objects.
type deployment struct {
	pods     [PodsPerDeployment]int32
	slice    int32
	sets     [2]int32 // that of the revision, and that before
	revision uint32
	rolling  bool
}

// action is something that happens at a time. order tells those of one time apart.
type action struct {
	at    time.Duration
	order uint64
	do    func()
}

type actions []action

func (a actions) Len() int { return len(a) }
func (a actions) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].order < a[j].order
}
func (a actions) Swap(i, j int)   { a[i], a[j] = a[j], a[i] }
func (a *actions) Push(given any) { *a = append(*a, given.(action)) }
func (a *actions) Pop() any {
	last := len(*a) - 1
	popped := (*a)[last]
	(*a)[last] = action{}
	*a = (*a)[:last]
	return popped
}

// after plans something for later.
func (p *plan) after(delay time.Duration, do func()) {
	p.planned++
	heap.Push(&p.queue, action{p.now + delay, p.planned, do})
}

// between returns a delay.
func (p *plan) between(least, most time.Duration) time.Duration {
	return least + time.Duration(p.random.Int64N(int64(most-least)))
}

// often has something happen again and again, with a mean period.
func (p *plan) often(mean time.Duration, do func()) {
	p.after(time.Duration(p.random.ExpFloat64()*float64(mean)), func() {
		do()
		p.often(mean, do)
	})
}

// often of each of so many, or more often by the churn.
func (p *plan) oftenOfEach(period time.Duration, of int, churn float64, do func()) {
	p.often(time.Duration(float64(period)/float64(of)/churn), do)
}

// begin plans what happens without a cause.
func (p *plan) begin() {
	n, churn := p.config.Nodes, p.config.Churn
	p.oftenOfEach(leasePeriod, n, 1, p.inTurn(Leases, p.leases))
	p.oftenOfEach(statusPeriod, n, churn, p.inTurn(Nodes, p.nodes))
	p.oftenOfEach(pressPeriod, n, churn, p.press)
	p.oftenOfEach(flapPeriod, n, churn, p.flap)
	p.oftenOfEach(churnPeriod, n, churn, p.churn)
	p.oftenOfEach(rollPeriod*PodsPerDeployment, n, churn, p.roll)
}

// inTurn returns what touches objects one after the other.
func (p *plan) inTurn(r Resource, slots []int32) func() {
	next := 0
	return func() {
		p.touch(r, slots[next])
		next = (next + 1) % len(slots)
	}
}

// put adds an object and returns where it is.
func (p *plan) put(r Resource, o Object) int32 {
	o.Serial, o.Due = p.serials[r], p.due()
	p.serials[r]++
	p.touched[r] = true
	return p.world.shelves[r].add(o)
}

func (p *plan) due() int64 { return p.epoch + int64(p.now) }

// touch gives an object another version.
func (p *plan) touch(r Resource, slot int32) { p.reshape(r, slot, func(*Object) {}) }

func (p *plan) reshape(r Resource, slot int32, by func(*Object)) {
	p.touched[r] = true
	p.world.shelves[r].change(slot, p.due(), by)
}

func (p *plan) remove(r Resource, slot int32) {
	p.touched[r] = true
	p.world.shelves[r].remove(slot, p.due())
}

// press changes a condition of a node.
func (p *plan) press() {
	slot := p.nodes[p.random.IntN(len(p.nodes))]
	p.reshape(Nodes, slot, func(o *Object) { o.Shape = Pressed - o.Shape })
}

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
