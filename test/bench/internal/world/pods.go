// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import "time"

// populate makes the initial objects. All pods are ready.
func (p *plan) populate() {
	n := p.config.Nodes
	for i := range n {
		of := Object{Owner: uint32(i), Node: uint32(i)}
		p.nodes = append(p.nodes, p.put(Nodes, of))
		p.leases = append(p.leases, p.put(Leases, of))
	}
	for d := range p.deployments {
		p.deploy(uint32(d))
	}
	for i := range n * EventsPerNode {
		p.events = append(p.events, p.put(Events, Object{Node: uint32(i % n), Shape: Shape(i) % EventShapes}))
	}
}

func (p *plan) deploy(number uint32) {
	d := &p.deployments[number]
	d.revision = 1
	d.sets[1] = p.put(ReplicaSets, Object{Owner: number, Shape: Empty})
	d.sets[0] = p.put(ReplicaSets, Object{Owner: number, Revision: 1})
	for i := range d.pods {
		d.pods[i] = p.put(Pods, Object{Owner: number, Node: p.node(), Revision: 1, Shape: Ready})
	}
	d.slice = p.put(Slices, Object{Owner: number})
}

func (p *plan) node() uint32 { return uint32(p.random.IntN(p.config.Nodes)) }

// pod identifies a pod, which may be gone by the time of a later step.
type pod struct {
	slot       int32
	serial     uint32
	deployment uint32
}

func (p *plan) podAt(deployment uint32, slot int32) pod {
	return pod{slot, p.world.shelves[Pods].at(slot).Serial, deployment}
}

// is reports whether the pod exists and has one of the shapes.
func (p *plan) is(of pod, shapes ...Shape) bool {
	o := p.world.shelves[Pods].at(of.slot)
	for _, s := range shapes {
		if o.Version > 0 && o.Serial == of.serial && o.Shape == s {
			return true
		}
	}
	return false
}

// step changes a pod from a shape to the next one, and reports whether it did. A pod that is no
// longer in the shape from, because it was ended, is not changed.
func (p *plan) step(of pod, from, to Shape) bool {
	if !p.is(of, from) {
		return false
	}
	p.reshape(Pods, of.slot, func(o *Object) { o.Shape = to })
	return true
}

// grow creates a pod for a place of a deployment, and calls ready once the pod is ready.
func (p *plan) grow(deployment uint32, place int, ready func()) {
	d := &p.deployments[deployment]
	slot := p.put(Pods, Object{Owner: deployment, Revision: d.revision, Shape: Pending})
	d.pods[place] = slot
	of := p.podAt(deployment, slot)
	p.touch(ReplicaSets, d.sets[0])
	p.after(p.between(50*time.Millisecond, 300*time.Millisecond), func() { p.schedule(of, ready) })
}

func (p *plan) schedule(of pod, ready func()) {
	node := p.node()
	if !p.is(of, Pending) {
		return
	}
	p.reshape(Pods, of.slot, func(o *Object) { o.Shape, o.Node = Scheduled, node })
	p.emit(0, node)
	p.after(p.between(time.Second, 4*time.Second), func() { p.start(of, ready) })
}

func (p *plan) start(of pod, ready func()) {
	if !p.step(of, Scheduled, Starting) {
		return
	}
	for reason := range Shape(3) {
		p.emit(1+reason, of.serial)
	}
	p.after(p.between(2*time.Second, 8*time.Second), func() {
		if p.step(of, Starting, Ready) {
			p.serves(of)
			p.touch(ReplicaSets, p.deployments[of.deployment].sets[0])
			ready()
		}
	})
}

// serves changes the endpoint slice of a pod.
func (p *plan) serves(of pod) { p.touch(Slices, p.deployments[of.deployment].slice) }

// end terminates a pod, unless it is terminating already.
func (p *plan) end(of pod) {
	if !p.is(of, Pending, Scheduled, Starting, Ready) {
		return
	}
	p.reshape(Pods, of.slot, func(o *Object) { o.Shape = Terminating })
	p.serves(of)
	p.emit(4, of.serial)
	p.after(p.between(time.Second, 5*time.Second), func() { p.remove(Pods, of.slot) })
}

// emit adds an event, and removes the oldest one soon after.
func (p *plan) emit(reason Shape, about uint32) {
	slot := p.put(Events, Object{Node: about, Shape: reason})
	p.events = append(p.events, slot)
	if p.random.IntN(10) == 0 {
		p.touch(Events, slot) // seen once more, in the same second
	}
	p.after(p.between(100*time.Millisecond, 2*time.Second), func() {
		p.remove(Events, p.events[0])
		p.events = p.events[1:]
	})
}

// any chooses a deployment and a place in it at random.
func (p *plan) any() (deployment uint32, place int) {
	return uint32(p.random.IntN(len(p.deployments))), p.random.IntN(PodsPerDeployment)
}

// flap makes a pod unready for some seconds.
func (p *plan) flap() {
	number, place := p.any()
	of := p.podAt(number, p.deployments[number].pods[place])
	if !p.step(of, Ready, Starting) {
		return
	}
	p.serves(of)
	p.after(p.between(time.Second, 10*time.Second), func() {
		if p.step(of, Starting, Ready) {
			p.serves(of)
		}
	})
}

// churn ends a pod and replaces it at once.
func (p *plan) churn() {
	number, place := p.any()
	d := &p.deployments[number]
	of := p.podAt(number, d.pods[place])
	if d.rolling || !p.is(of, Ready) {
		return
	}
	p.end(of)
	p.grow(number, place, func() {})
}

// roll begins a rollout.
func (p *plan) roll() {
	number, _ := p.any()
	d := &p.deployments[number]
	if d.rolling {
		return
	}
	d.rolling = true
	d.revision++
	p.remove(ReplicaSets, d.sets[1])
	d.sets[1] = d.sets[0]
	d.sets[0] = p.put(ReplicaSets, Object{Owner: number, Revision: d.revision, Shape: Scaling})
	p.reshape(ReplicaSets, d.sets[1], func(o *Object) { o.Shape = Scaling })
	p.wave(number, 0)
}

// wave replaces the next pods of a rollout, each of which ends when its replacement is ready.
func (p *plan) wave(number uint32, first int) {
	d := &p.deployments[number]
	for place := first; place < min(first+wave, PodsPerDeployment); place++ {
		old := p.podAt(number, d.pods[place])
		p.grow(number, place, func() { p.end(old) })
	}
	next := func() { p.wave(number, first+wave) }
	if first+wave >= PodsPerDeployment {
		next = func() { p.rolled(number) }
	}
	p.after(p.between(13*time.Second, 18*time.Second), next) // longer than a pod takes to be ready
}

func (p *plan) rolled(number uint32) {
	d := &p.deployments[number]
	d.rolling = false
	p.reshape(ReplicaSets, d.sets[0], func(o *Object) { o.Shape = Full })
	p.reshape(ReplicaSets, d.sets[1], func(o *Object) { o.Shape = Empty })
}
