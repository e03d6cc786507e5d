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
	"github.com/kinformer/cache/internal/owners"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/reflector"
)

var (
	// ErrUnknown means that there is no source of a name.
	ErrUnknown = errors.New("there is no source of this name")

	errNoListerWatcher = errors.New("the ListerWatcher of the source is nil, so nothing can be listed or watched")
)

// Group is the sources of one informer. It may be used by any number of goroutines.
type Group struct {
	common
	guarded struct { // by mu
		sources map[string]*Source
		phase   phase
		unfit   error // why no source will ever run; nil if they may
		follow        // set while running
	}
}

// phase is the state of a Group. It only advances.
type phase uint8

const (
	phaseNew     phase = iota // sources wait for Follow
	phaseRunning              // a source starts when it is put
	phaseEnded                // no source runs
)

// follow has the parameters of running sources.
type follow struct {
	ctx     context.Context
	options reflector.Options
	queue   *queue.Queue
	room    *sharedRoom
	running *sync.WaitGroup // counts reflectors; grows in phaseRunning only
}

// Attach makes an informer follow several sources instead of its ListerWatcher. No other caller may
// have the informer yet.
func Attach(informer *door.Informer) *Group {
	owners.Share(informer.Applier)
	g := NewGroup(informer)
	informer.Configure(func(c *door.Config) { c.Follower = g })
	if unfit := informer.Report.Status().Unfit; unfit != nil {
		g.Refuse(unfit)
	}
	return g
}

// NewGroup returns a Group without sources for an informer that has not run.
func NewGroup(whole *door.Informer) *Group {
	g := &Group{common: common{whole: whole, synced: make(chan struct{})}}
	g.mu.awaited, g.mu.never, g.guarded.sources = 1, make(chan struct{}), map[string]*Source{}
	return g
}

// Put adds a source, or starts another session of an existing one. The objects of the existing source
// remain until the first state of the new ListerWatcher is complete.
func (g *Group) Put(name string, lw clientgo.ListerWatcher) *Session {
	g.mu.Lock()
	defer g.mu.Unlock()
	s, report := g.guarded.sources[name], g.whole.Report.OfSource(name)
	if s == nil {
		s = newSource(name, &g.common)
		g.guarded.sources[name] = s
	} else {
		g.retireLocked(s.Current(), errReplaced)
		report.Follow(s.Current().report)
		if isClosed(s.synced) {
			s.synced = make(chan struct{})
		}
	}
	session := newSession(s, lw, report)
	s.current.Store(session)
	unfit := g.guarded.unfit
	if event.IsNil(lw) {
		unfit = cmp.Or(unfit, errNoListerWatcher)
	}
	switch {
	case unfit != nil:
		session.report.Refuse(unfit)
	case g.guarded.phase == phaseEnded:
		session.report.End()
	case g.guarded.phase == phaseRunning:
		g.startLocked(session)
	}
	g.judgeLocked(s)
	return session
}

// Refuse sets the error of the sources, and of those that are put from now on, which then never run. Follow
// is not called.
func (g *Group) Refuse(unfit error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.guarded.unfit = unfit
	for _, s := range g.guarded.sources {
		s.Current().report.Refuse(unfit)
	}
}

// Remove removes a source and its objects; after the end of Follow the objects remain. The error is
// ErrUnknown.
func (g *Group) Remove(name string) error {
	g.mu.Lock()
	s := g.guarded.sources[name]
	if s == nil {
		g.mu.Unlock()
		return fmt.Errorf("%w: %q", ErrUnknown, name)
	}
	delete(g.guarded.sources, name)
	g.ignoreLocked(s)
	g.retireLocked(s.Current(), errRemoved)
	gone := &owners.Session{Source: s.part, Number: s.Current().part.Number + 1}
	q, running := g.guarded.queue, g.guarded.phase == phaseRunning
	g.mu.Unlock()
	if running {
		q.PutState(owners.NewGone(gone))
	}
	return nil
}

// Source returns the source of a name, or nil.
func (g *Group) Source(name string) *Source {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.guarded.sources[name]
}

// Names returns the sorted names of the sources.
func (g *Group) Names() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Sorted(maps.Keys(g.guarded.sources))
}

// Parts returns the sources as informers.
func (g *Group) Parts() map[string]*door.Informer {
	var all map[string]*door.Informer
	g.Together(func(parts map[string]*door.Informer) { all = parts })
	return all
}

// Together calls read with the sources as informers, while none is replaced or removed.
func (g *Group) Together(read func(parts map[string]*door.Informer)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	parts := make(map[string]*door.Informer, len(g.guarded.sources))
	for name, s := range g.guarded.sources {
		parts[name] = s.lookLocked()
	}
	read(parts)
}

// HasSyncedChecker reports when the sources that existed at Follow, without removed ones, have
// synced.
func (g *Group) HasSyncedChecker() clientgo.DoneChecker {
	return checker{"Sources of ", g.whole.Report, g.synced}
}

// NeverSyncs returns a channel that is closed once a source has ended for which HasSyncedChecker waits.
// The call is to be repeated for the time after the source was replaced or removed.
func (g *Group) NeverSyncs() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.never
}

// Version returns the version of the only source, or "" if there are several.
func (g *Group) Version() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.guarded.sources) == 1 {
		for _, s := range g.guarded.sources {
			return s.Current().part.Version()
		}
	}
	return ""
}

// Follow runs the sources until ctx ends. It returns when all reflectors have returned.
func (g *Group) Follow(ctx context.Context, o reflector.Options, q *queue.Queue) {
	room := &sharedRoom{of: o.Sink}
	var running sync.WaitGroup
	defer g.end(&running)
	g.begin(follow{ctx, o, q, room, &running})
	g.resync(ctx, &o)
}

// begin starts the existing sources, for which HasSynced waits.
func (g *Group) begin(f follow) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.guarded.phase, g.guarded.follow, g.mu.put = phaseRunning, f, f.queue.PutState
	for _, s := range g.guarded.sources {
		s.awaited = true
		g.mu.awaited++
		if !s.Current().report.HasEnded() {
			g.startLocked(s.Current())
		}
		g.judgeLocked(s)
	}
	g.oneLessLocked()
}

// end prevents further starts, waits for the running reflectors, and ends the journals of the
// sources.
func (g *Group) end(running *sync.WaitGroup) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.guarded.phase = phaseEnded
	for _, s := range g.guarded.sources {
		if stop := s.Current().stop; stop != nil {
			stop()
		}
	}
	g.mu.Unlock()
	running.Wait()
	g.mu.Lock()
	for _, s := range g.guarded.sources {
		s.Current().report.End()
	}
}

// resync delivers the store's content again, each resync period, until ctx ends.
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
			event.Report(ctx, err, "Resync failed", "type", g.whole.Report.Name())
		}
	}
}

// startLocked runs a session.
func (g *Group) startLocked(s *Session) {
	f, name := &g.guarded.follow, s.source.name
	ctx, stop := context.WithCancel(f.ctx)
	s.stop = stop
	reader := f.queue.NewReader()
	s.transform = &reader.Transform
	o := f.options
	o.ListerWatcher, o.Journal, o.Relister, o.ResyncPeriod = s.listerWatcher, s.report, s.relister, 0
	o.Name, o.Source, o.OnStop = o.Name+" source "+name, name, o.OnSourceStop
	o.Sink = &sink{g.whole, s.part, reader, f.queue, f.room}
	s.requests = func() reflector.Options { return o }
	f.running.Go(func() {
		defer stop()
		defer f.queue.PutState(owners.NewEnd(func() { g.ended(s) }))
		defer utilruntime.HandleCrashWithContext(ctx)
		reflector.New(o).Run(ctx)
	})
}

// retireLocked ends a session. Its counts are added to the informer's.
func (g *Group) retireLocked(s *Session, reason error) {
	if s.transform != nil { // else it has not run
		s.stop()
		g.guarded.options.Journal.Absorb(s.report)
		g.guarded.queue.Reader.Transform.Absorb(s.transform)
	}
	s.report.Leave(reason)
	s.report.End()
}

// ended ends the journal of a session whose last records are in the store. The end of Follow does the
// same, because the queue is not emptied afterwards.
func (g *Group) ended(s *Session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s.report.End()
	g.judgeLocked(s.source)
}
