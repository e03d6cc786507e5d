// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/store"
)

var (
	// ErrUnknown says that there is no source of a name.
	ErrUnknown = errors.New("there is no source of this name")

	errNoListerWatcher = errors.New("the ListerWatcher of the source is nil, so nothing can be listed or watched")
)

// Group is the sources of one informer, for any number of goroutines.
type Group struct {
	kind
	mu struct {
		sync.Mutex
		sources map[string]*Source
		phase   phase
		unfit   error // why none will ever run; nil: they may
		follow        // once it runs
	}
}

// phase is where in its life a group is. It only goes forward.
type phase uint8

const (
	phaseNew     phase = iota // sources wait for Follow
	phaseRunning              // a source runs as soon as it is put
	phaseEnded                // no source runs any more
)

// follow is what running sources need.
type follow struct {
	ctx     context.Context
	options reflector.Options
	queue   *queue.Queue
	room    *sharedRoom
	running *sync.WaitGroup // reflectors; grows in phaseRunning only
}

// Attach has an informer that nobody else has yet follow several sources, in the place of its
// ListerWatcher.
func Attach(informer *door.Informer) *Group {
	g := NewGroup(informer)
	informer.Configure(func(c *door.Config) { c.Follower = g })
	g.Refuse(informer.Report.Status().Unfit)
	return g
}

// NewGroup returns a group without sources, of an informer that has not run.
func NewGroup(whole *door.Informer) *Group {
	g := &Group{kind: kind{whole: whole, synced: make(chan struct{})}}
	g.unsynced.Store(1)
	g.mu.sources = map[string]*Source{}
	return g
}

// Put adds a source, or has the source of that name ask for something else. What that source has
// stays until the first state of the new request is there.
func (g *Group) Put(name string, lw clientgo.ListerWatcher) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.mu.sources[name]
	if s == nil {
		s = newSource(name, &g.kind, &g.mu)
		g.mu.sources[name] = s
	}
	g.retireLocked(s)
	s.session = s.session.next(lw)
	unfit := g.mu.unfit
	if event.IsNil(lw) {
		unfit = cmp.Or(unfit, errNoListerWatcher)
	}
	switch {
	case unfit != nil:
		s.report.Refuse(unfit)
	case g.mu.phase == phaseEnded:
		s.report.End()
	case g.mu.phase == phaseRunning:
		g.startLocked(s)
	}
}

// Refuse says why no source that is put from now on will ever run.
func (g *Group) Refuse(unfit error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.unfit = unfit
}

// Remove has a source and its objects go; after the end of Follow the objects stay. The error is
// ErrUnknown.
func (g *Group) Remove(name string) error {
	g.mu.Lock()
	s := g.mu.sources[name]
	if s == nil {
		g.mu.Unlock()
		return fmt.Errorf("%w: %q", ErrUnknown, name)
	}
	delete(g.mu.sources, name)
	g.retireLocked(s)
	s.report.End()
	s.number++
	q, last, running := g.mu.queue, s.number, g.mu.phase == phaseRunning
	g.mu.Unlock()
	if s.ignore(); running {
		q.PutState(store.NewGone(&store.Session{Source: s.part, Number: last}))
	}
	return nil
}

// Source returns the source of a name, nil if there is none.
func (g *Group) Source(name string) *Source {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.sources[name]
}

// Names returns the names of the sources in their order.
func (g *Group) Names() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Sorted(maps.Keys(g.mu.sources))
}

// Parts returns the sources as informers.
func (g *Group) Parts() map[string]*door.Informer {
	g.mu.Lock()
	all := maps.Clone(g.mu.sources)
	g.mu.Unlock()
	parts := make(map[string]*door.Informer, len(all))
	for name, s := range all {
		parts[name] = s.Look()
	}
	return parts
}

// HasSyncedChecker waits for the sources that Follow has begun with, but for those that were removed.
func (g *Group) HasSyncedChecker() clientgo.DoneChecker {
	return checker{"Sources of " + g.whole.Resource, g.synced}
}

// Version returns the version of the only source, "" if there are several.
func (g *Group) Version() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.mu.sources) == 1 {
		for _, s := range g.mu.sources {
			return s.part.Version()
		}
	}
	return ""
}

// Follow runs the sources until ctx ends. It returns when all reflectors have.
func (g *Group) Follow(ctx context.Context, o reflector.Options, q *queue.Queue) {
	room := &sharedRoom{of: o.Sink}
	var running sync.WaitGroup
	defer g.end(&running)
	g.begin(follow{ctx, o, q, room, &running})
	g.resync(ctx, &o)
}

// begin starts the sources that there are, for which HasSynced waits.
func (g *Group) begin(f follow) {
	g.mu.Lock()
	g.mu.phase, g.mu.follow = phaseRunning, f
	for _, s := range g.mu.sources {
		s.await()
		if !s.report.HasEnded() {
			g.startLocked(s)
		}
	}
	g.mu.Unlock()
	g.oneLess()
}

// end has no more sources start, and says of those that there are that nothing more comes, once it
// does not.
func (g *Group) end(running *sync.WaitGroup) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.phase = phaseEnded
	for _, s := range g.mu.sources {
		s.stop()
	}
	g.mu.Unlock()
	running.Wait()
	g.mu.Lock()
	for _, s := range g.mu.sources {
		s.report.End()
	}
}

// resync has all that is in the store told again, from time to time, until ctx ends.
func (g *Group) resync(ctx context.Context, o *reflector.Options) {
	if o.ResyncPeriod <= 0 {
		<-ctx.Done()
		return
	}
	timer := o.Clock.NewTimer(o.ResyncPeriod)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C():
		}
		timer.Reset(o.ResyncPeriod)
		if o.ShouldResync != nil && !o.ShouldResync() {
			continue
		}
		if err := o.Sink.Resync(); err != nil {
			event.Report(ctx, err, "Resync failed", "type", g.whole.Resource)
		}
	}
}

// startLocked runs the present session of a source.
func (g *Group) startLocked(s *Source) {
	f, number := &g.mu.follow, s.number
	ctx, stop := context.WithCancel(f.ctx)
	s.stop = stop
	reader := f.queue.NewReader()
	s.transform = &reader.Transform
	o := f.options
	o.ListerWatcher, o.Journal, o.Relister, o.ResyncPeriod = s.listerWatcher, s.report, s.relister, 0
	o.Name, o.TypeDescription = o.Name+" source "+s.name, s.label()
	o.Sink = &sink{&store.Session{Source: s.part, Number: number, Stored: s.sync}, reader, f.queue, f.room}
	s.requests = func() reflector.Options { return o }
	f.running.Go(func() {
		defer stop()
		defer f.queue.PutState(store.NewEnd(func() { g.ended(s, number) }))
		defer utilruntime.HandleCrashWithContext(ctx)
		reflector.New(o).Run(ctx)
	})
}

// retireLocked ends the session of a source. What it has counted goes on counting for the informer.
func (g *Group) retireLocked(s *Source) {
	s.stop()
	if s.transform != nil { // else it has not run
		g.mu.options.Journal.Absorb(s.report)
		g.mu.queue.Reader.Transform.Absorb(s.transform)
	}
}

// ended notes that all that a source has brought is in the store, and no more comes, unless it has
// another session. The end of Follow does so, too, after which nobody empties the queue.
func (g *Group) ended(s *Source, number uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.number == number {
		s.report.End()
	}
}
