// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"time"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/test/bench/internal/blank"
	"github.com/kinformer/cache/test/bench/internal/child"
	"github.com/kinformer/cache/test/bench/internal/measure"
	"github.com/kinformer/cache/test/bench/internal/serve"
	"github.com/kinformer/cache/test/bench/internal/world"
)

// side is an implementation with options.
type side struct {
	name, title, module string
	direct              bool // whether its informers decode directly
	newInformer         func(clientgo.ListerWatcher, apiruntime.Object, time.Duration, clientgo.Indexers) clientgo.SharedIndexInformer
}

var sides = []side{
	{"client-go", "client-go", measure.ClientGo, false, clientgo.NewSharedIndexInformer},
	{"ours", "kinformer", measure.Kinformer, false, cache.NewSharedIndexInformer},
	{"direct", "kinformer, decoding directly", measure.Kinformer, true, cache.NewSharedIndexInformer},
	{"shared", "kinformer, decoding directly, sharing", measure.Kinformer, true, kinformer.Constructor(kinformer.Options{Decoding: kinformer.Decoding{ShareParts: true}})},
	{"keep", "kinformer, ten fields of each kind, sharing", measure.Kinformer, true, kinformer.Constructor(tenFields())},
}

// tenFields returns the options of informers that keep what blank.Kept names.
func tenFields() kinformer.Options {
	o := kinformer.Options{For: map[apiruntime.Object]kinformer.Options{}}
	for _, of := range world.All() {
		o.For[blank.Of(of).New()] = kinformer.Options{Decoding: kinformer.Decoding{Keep: blank.Kept(of), ShareParts: true}}
	}
	return o
}

func sideNamed(name string) (side, error) {
	var names []string
	for _, s := range sides {
		if s.name == name {
			return s, nil
		}
		names = append(names, s.name)
	}
	return side{name: name, title: name}, fmt.Errorf("unknown side %q: use %s", name, strings.Join(names, ", "))
}

// title returns the title of the side with a name.
func title(name string) string {
	s, _ := sideNamed(name)
	return s.title
}

// clientConfig configures the client process.
type clientConfig struct {
	Side, MediaType string
	Server          serve.Hello
}

// informer is an informer with its handlers.
type informer struct {
	clientgo.SharedIndexInformer
	of            world.Resource
	registrations map[*handler]clientgo.ResourceEventHandlerRegistration
	handlers      []*handler
}

// manager has the informers of a controller manager without controllers: informers of six resources
// with twelve handlers, one of which is slow, and one of which joins late.
type manager struct {
	side      side
	informers []*informer
	phases    phases
}

// groups are the groups of each resource's handlers, without the one that joins late.
var groups = map[world.Resource][]group{
	world.Leases: {prompt, prompt}, world.Pods: {prompt, prompt}, world.Slices: {prompt, slow}, world.Events: {prompt},
	world.ReplicaSets: {prompt, prompt}, world.Nodes: {prompt, prompt},
}

// indexes are the numbers of each resource's indexes.
var indexes = [world.Resources]int{world.Leases: 1, world.Pods: 3, world.Slices: 1, world.Events: 1, world.ReplicaSets: 1, world.Nodes: 1}

// newManager makes the informers, without running them.
func newManager(c clientConfig) (*manager, error) {
	s, err := sideNamed(c.Side)
	if err != nil {
		return nil, err
	}
	m := &manager{side: s}
	m.phases.begin(phaseStart, 0)
	for _, of := range world.All() {
		lw, err := serve.ListWatch(c.Server.Config(s.direct), of, c.MediaType)
		if err != nil {
			return nil, fmt.Errorf("client of %s: %w", of, err)
		}
		i := &informer{
			SharedIndexInformer: s.newInformer(lw, blank.Of(of).New(), 0, blank.Indexers(indexes[of])),
			of:                  of, registrations: map[*handler]clientgo.ResourceEventHandlerRegistration{},
		}
		m.informers = append(m.informers, i)
		for _, g := range groups[of] {
			if err := i.add(newHandler(of, g, &m.phases)); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

func (i *informer) add(h *handler) (err error) {
	i.handlers = append(i.handlers, h)
	i.registrations[h], err = i.AddEventHandler(h)
	return err
}

// sync blocks until all handlers, slow ones if theSlow and others if not, have received the first
// lists.
func (m *manager) sync(ctx context.Context, within time.Duration, theSlow bool) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for _, i := range m.informers {
		for h, r := range i.registrations {
			if (h.group == slow) == theSlow && !clientgo.WaitForCacheSync(ctx.Done(), r.HasSynced) {
				return fmt.Errorf("%s has not synced: %w", i.of, context.Cause(ctx))
			}
		}
	}
	return nil
}

// join adds a handler of pods to the running informer and blocks until the handler has received all
// pods.
func (m *manager) join(ctx context.Context, within time.Duration) (time.Duration, error) {
	start := time.Now()
	pods := m.informers[slices.IndexFunc(m.informers, func(i *informer) bool { return i.of == world.Pods })]
	err := pods.add(newHandler(world.Pods, late, &m.phases))
	if err == nil {
		err = m.sync(ctx, within, false)
	}
	return time.Since(start), err
}

// expected is the expected state of a resource while nothing changes.
type expected struct {
	State world.State
	// Changes is the number of changes that each handler except the late one must have received, if
	// Exact is set.
	Changes uint64
	Exact   bool
}

// differs describes each store and each handler whose state is not as expected.
func (m *manager) differs(all [world.Resources]expected) []string {
	found := []string{}
	for _, i := range m.informers {
		want := all[i.of]
		var stored world.State
		for _, obj := range i.GetStore().List() {
			if o, err := look(obj); err == nil {
				stored.AddHash(o.uid, o.version)
			}
		}
		if stored != want.State {
			found = append(found, fmt.Sprintf("the store of %s has state %+v, the server %+v", i.of, stored, want.State))
		}
		for number, h := range i.handlers {
			told, changes := h.state()
			if told != want.State || want.Exact && h.group != late && changes != want.Changes {
				found = append(found, fmt.Sprintf("handler %d of %s has state %+v after %d changes, the server %+v after %d (exact: %v)",
					number+1, i.of, told, changes, want.State, want.Changes, want.Exact))
			}
		}
	}
	return found
}

// decodes returns an error unless each informer decodes as the manager's side does.
func (m *manager) decodes() error {
	for _, i := range m.informers {
		if m.side.module == measure.ClientGo {
			continue
		}
		status, err := inspect.StatusOf(i.SharedIndexInformer)
		if err != nil {
			return fmt.Errorf("%s: %w", i.of, err)
		}
		if err := m.side.decodes(status.Decoding); err != nil {
			return fmt.Errorf("%s %w", i.of, err)
		}
	}
	return nil
}

// decodes returns an error unless an informer with the state d decodes directly if and only if the
// side does, without differences.
func (s side) decodes(d inspect.Decoding) error {
	switch {
	case s.direct != d.On || !s.direct && d.Direct > 0 || d.Verified.Differences > 0 || len(d.GivenUp) > 0:
		return fmt.Errorf("does not decode as it should: %+v", d)
	case s.direct && d.Direct == 0:
		return errors.New("decoded no object directly that was not also verified: a longer -steady or a larger -n gives it more")
	}
	return nil
}

// clientStatus is the part of a client's state that is read while it runs.
type clientStatus struct {
	Collected time.Duration // the CPU time of garbage collection so far
	// LastLate is the time of the last call of a handler, except the slow one, with a latency over
	// the limit, in nanoseconds since 1970; 0 means none.
	LastLate int64
}

// each calls do with each handler, while no call of the handler is counted.
func (m *manager) each(do func(h *handler)) {
	for _, i := range m.informers {
		for _, h := range i.handlers {
			h.mu.Lock()
			do(h)
			h.mu.Unlock()
		}
	}
}

func (m *manager) status() clientStatus {
	s := clientStatus{Collected: measure.GC()}
	m.each(func(h *handler) {
		if h.group != slow {
			s.LastLate = max(s.LastLate, h.lastLate)
		}
	})
	return s
}

// report has the latencies of handlers, by phase and group, and their faults.
type report struct {
	Phases map[string]map[group]latency
	// Faulty is the number of notifications that were not in order; Faults are the first ones.
	Faulty int
	Faults []string
}

func (m *manager) report() report {
	r := report{Phases: map[string]map[group]latency{}}
	for _, p := range m.phases.all {
		r.Phases[p.name] = map[group]latency{}
		for _, g := range []group{prompt, slow, late} {
			all := newLatencies()
			m.each(func(h *handler) {
				if h.group == g {
					all.merge(h.latencies[p.name])
				}
			})
			r.Phases[p.name][g] = all.summary()
		}
	}
	m.each(func(h *handler) {
		r.Faulty, r.Faults = r.Faulty+h.faulty, append(r.Faults, h.faults...)
	})
	return r
}

// follow runs the informers as a child, and executes these commands of the parent:
//
//	sync       blocks until all handlers except the slow one have synced; returns the time since
//	           the start
//	sync slow  blocks until the slow handler has synced
//	phase      {name}: begins a phase now
//	join       adds the handler that joins late, blocks until it has synced, returns the time taken
//	differs    {the expected state of each resource}: returns the differences
//	status     returns the clientStatus
//	report     returns the report
//	profile    {file}: begins a CPU profile; "" ends it, and writes a heap profile beside it
func follow(ctx context.Context, c clientConfig) error {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	m, err := newManager(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	start := time.Now()
	var running sync.WaitGroup
	for _, i := range m.informers {
		running.Go(func() { i.RunWithContext(ctx) })
	}
	defer running.Wait()
	defer cancel()
	var profile *os.File
	return child.Serve(ctx, nil, map[string]child.Command{
		"sync": child.With(func(ctx context.Context, within time.Duration) (time.Duration, error) {
			err := m.sync(ctx, within, false)
			return time.Since(start), err
		}),
		"sync slow": child.With(func(ctx context.Context, within time.Duration) (any, error) {
			return nil, m.sync(ctx, within, true)
		}),
		"phase":   child.Do(func(name string) { m.phases.begin(name, time.Now().UnixNano()) }),
		"join":    child.With(m.join),
		"differs": child.With(func(_ context.Context, e [world.Resources]expected) ([]string, error) { return m.differs(e), nil }),
		"status":  child.With(func(context.Context, any) (clientStatus, error) { return m.status(), nil }),
		"report":  child.With(func(context.Context, any) (report, error) { return m.report(), m.decodes() }),
		"profile": child.With(func(_ context.Context, path string) (any, error) { return nil, toggle(&profile, path) }),
	})
}

// toggle begins a CPU profile, or if path is empty, ends it and writes a heap profile.
func toggle(file **os.File, path string) (err error) {
	if path != "" {
		if *file, err = os.Create(path); err != nil {
			return fmt.Errorf("profile: %w", err)
		}
		return pprof.StartCPUProfile(*file)
	}
	pprof.StopCPUProfile()
	heap, err := os.Create((*file).Name() + ".heap")
	if err == nil {
		err = errors.Join(pprof.Lookup("heap").WriteTo(heap, 0), heap.Close())
	}
	return errors.Join(err, (*file).Close())
}
