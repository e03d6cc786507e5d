// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package world simulates a cluster that changes by a plan: nodes with their leases, pods of
// deployments with replica sets and endpoint slices, and events. The package has no encoding, no
// clock and no network: the caller of [World.Advance] passes the time, and equal seeds make equal
// changes at equal times.
//
//	plan      the schedule: leases are renewed, pods are replaced, ...
//	  │ put, reshape, remove
//	Shelf     the objects of a resource, and a log of their changes in the order of versions
//	  │ Snapshot, Since, Read
//	lists and watches, in other goroutines
//
// An [Object] is a few numbers, from which package blank derives its bytes: a cluster of 10,000
// nodes takes about ten megabytes. A [Still] world is for measurements of one informer, and for a demo.
package world

import (
	"container/heap"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

// The size of a cluster and the mean periods of its changes, as in a busy cluster. Each kind of
// change is a Poisson process, so there are bursts.
const (
	PodsPerNode       = 15
	PodsPerDeployment = 30
	EventsPerNode     = 5

	leasePeriod  = 10 * time.Second // of a node
	statusPeriod = 5 * time.Minute  // of a node
	pressPeriod  = time.Hour        // of a node: between changes of a condition
	flapPeriod   = 200 * time.Second
	churnPeriod  = 1500 * time.Second // for each node, between replacements of single pods
	rollPeriod   = 750 * time.Second  // for each node, between replacements of pods in rollouts
	wave         = 8                  // the number of pods that a rollout replaces at once: a quarter
)

// Config configures a world.
type Config struct {
	Nodes int
	Seed  uint64
	// Churn multiplies the rate of changes of pods and nodes; 0 means 1. A larger number makes a
	// small world go through all kinds of changes soon.
	Churn float64
	// Log is the number of changes that the log of a resource keeps; 0 means 262,144.
	Log int
}

// World is a cluster. One goroutine at a time may change it, by Advance and Epoch; the methods of
// the shelves may be called concurrently.
type World struct {
	shelves  [Resources]*Shelf
	versions atomic.Uint64
	plan     plan
}

// New makes a world at time 0.
func New(c Config) *World {
	if c.Churn <= 0 {
		c.Churn = 1
	}
	if c.Log <= 0 {
		c.Log = logged
	}
	w := newWorld(c.Log)
	w.plan = plan{
		world: w, config: c, random: rand.New(rand.NewPCG(c.Seed, 22)),
		deployments: make([]deployment, max(1, c.Nodes*PodsPerNode/PodsPerDeployment)),
	}
	w.plan.populate()
	w.unseen()
	w.plan.begin()
	return w
}

// newWorld makes a world without objects and without a plan.
func newWorld(log int) *World {
	w := &World{}
	w.versions.Store(FirstVersion)
	for r := range Resources {
		w.shelves[r] = newShelf(r, log, &w.versions)
	}
	return w
}

// unseen empties the logs, so that no watch receives the changes that populated the world.
func (w *World) unseen() {
	for _, s := range w.shelves {
		s.mu.log, s.mu.next, s.mu.compacted = nil, 0, w.versions.Load()
	}
}

// Shelf returns the shelf of a resource.
func (w *World) Shelf(r Resource) *Shelf { return w.shelves[r] }

// Deployments returns the number of deployments.
func (w *World) Deployments() int { return len(w.plan.deployments) }

// Epoch sets time 0, in nanoseconds since 1970. [Object.Due] of later changes is relative to it.
func (w *World) Epoch(nanoseconds int64) { w.plan.epoch = nanoseconds }

// Advance executes all actions that are due until a time, and returns when the next one is due.
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

// plan is the schedule of a world.
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

// deployment has the slots of its objects.
type deployment struct {
	pods     [PodsPerDeployment]int32
	slice    int32
	sets     [2]int32 // of the current revision, and of the one before
	revision uint32
	rolling  bool
}

// action is a step of the plan, due at at. Actions of the same time are executed by order.
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

// after plans do for a time after now.
func (p *plan) after(delay time.Duration, do func()) {
	p.planned++
	heap.Push(&p.queue, action{p.now + delay, p.planned, do})
}

// between returns a random delay of at least least and less than most.
func (p *plan) between(least, most time.Duration) time.Duration {
	return least + time.Duration(p.random.Int64N(int64(most-least)))
}

// often repeats do, with exponentially distributed delays of a mean.
func (p *plan) often(mean time.Duration, do func()) {
	p.after(time.Duration(p.random.ExpFloat64()*float64(mean)), func() {
		do()
		p.often(mean, do)
	})
}

// oftenOfEach repeats do with a mean period for each of so many objects, divided by churn.
func (p *plan) oftenOfEach(period time.Duration, of int, churn float64, do func()) {
	p.often(time.Duration(float64(period)/float64(of)/churn), do)
}

// begin plans the independent changes; these plan their consequences.
func (p *plan) begin() {
	n, churn := p.config.Nodes, p.config.Churn
	p.oftenOfEach(leasePeriod, n, 1, p.inTurn(Leases, p.leases))
	p.oftenOfEach(statusPeriod, n, churn, p.inTurn(Nodes, p.nodes))
	p.oftenOfEach(pressPeriod, n, churn, p.press)
	p.oftenOfEach(flapPeriod, n, churn, p.flap)
	p.oftenOfEach(churnPeriod, n, churn, p.churn)
	p.oftenOfEach(rollPeriod*PodsPerDeployment, n, churn, p.roll)
}

// inTurn returns a function that touches the objects one after the other.
func (p *plan) inTurn(r Resource, slots []int32) func() {
	next := 0
	return func() {
		p.touch(r, slots[next])
		next = (next + 1) % len(slots)
	}
}

// put adds an object and returns its slot.
func (p *plan) put(r Resource, o Object) int32 {
	o.Serial, o.Due = p.serials[r], p.due()
	p.serials[r]++
	p.touched[r] = true
	return p.world.shelves[r].add(o)
}

func (p *plan) due() int64 { return p.epoch + int64(p.now) }

// touch changes only the version of an object.
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

// Still is a world without a plan: it changes only by Touch, Feed and Rewind. The number of an object
// is its position in the first Snapshot.
type Still struct {
	*World
	first [Resources][]Object
}

// NewStill makes a still world of so many pods and leases, or other objects with one shape. Pods are
// ready, perDeployment of them in a deployment.
func NewStill(objects map[Resource]int, perDeployment int) *Still {
	most := slices.Max(slices.Collect(maps.Values(objects)))
	s := &Still{World: newWorld(max(logged, most))}
	s.plan = plan{world: s.World, deployments: make([]deployment, (most+perDeployment-1)/perDeployment)}
	s.plan.after(time.Duration(1<<62), func() {})
	for r := range Resources {
		for i := range objects[r] {
			o := Object{Owner: uint32(i / perDeployment), Node: uint32(i), Revision: 1} // the node is part of a lease's name
			if r == Pods {
				o.Shape, o.Node = Ready, uint32(i/PodsPerNode)
			}
			s.plan.put(r, o)
		}
		s.first[r] = slices.Clone(s.shelves[r].mu.slots)
	}
	s.unseen()
	return s
}

// Touch changes only the version and the times of an object, by its number, and returns the version.
func (s *Still) Touch(of Resource, number int32) (version uint64) {
	s.plan.touch(of, number)
	s.shelves[of].announce()
	return s.shelves[of].at(number).Version
}

// Rewind restores the world that NewStill returned.
func (s *Still) Rewind() {
	for r, shelf := range s.shelves {
		shelf.mu.Lock()
		shelf.mu.slots, shelf.mu.log, shelf.mu.next = slices.Clone(s.first[r]), nil, 0
		s.versions.Store(shelf.mu.compacted)
		shelf.mu.Unlock()
	}
}

// Feed changes each object once: leases are renewed, and pods are no longer ready.
func (s *Still) Feed() {
	s.plan.now += time.Second
	for r, objects := range s.first {
		for slot := range objects {
			s.plan.reshape(Resource(r), int32(slot), func(o *Object) {
				if Resource(r) == Pods {
					o.Shape = Starting
				}
			})
		}
		s.shelves[r].announce()
	}
	s.plan.now = 0
}
