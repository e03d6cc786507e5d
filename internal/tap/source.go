// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"
)

// Installation is what package direct installs.
type Installation struct {
	Engine    Maker                                          // for all informers without an Engine of their own
	Transport func(next http.RoundTripper) http.RoundTripper // for clients that the library makes
}

var installed atomic.Pointer[Installation]

// Install sets the installation of the process.
func Install(i Installation) { installed.Store(&i) }

// Wrap makes the clients of a config use the installed transport, if there is one.
func Wrap(config *rest.Config) {
	if at := installed.Load(); at != nil {
		config.Wrap(at.Transport)
	}
}

// Source is a ListerWatcher that uses an engine if there is one. Otherwise the client decodes
// everything. The engine is asked for at each request, so that an informer may be made, and run,
// before package direct is initialized.
type Source struct {
	lists   clientgo.ListerWatcherWithContext
	example any
	options Options

	mu struct {
		sync.Mutex
		engine Engine // nil: there is none yet
		end    func() // of the engine; nil: the informer does not run, or there is no engine
		runs   bool
		checks bool
	}
}

// New returns a source for objects of the type of example, which may be nil.
func New(lists clientgo.ListerWatcherWithContext, example any, o Options) *Source {
	if o.Ledger == nil {
		o.Ledger = &Ledger{}
	}
	o.Ledger.begin(o.SkipUndecodable, o.Share, o.Unshared)
	if why := o.TurnedOff(); why != "" {
		o.Ledger.TurnedOff(why, SwitchedOff)
	}
	return &Source{lists: lists, example: example, options: o}
}

// Plain returns the underlying ListerWatcher.
func (s *Source) Plain() clientgo.ListerWatcherWithContext { return s.lists }

// engine returns the engine, or nil.
func (s *Source) engine() Engine {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engineLocked()
}

func (s *Source) engineLocked() Engine {
	maker := s.options.Engine
	if at := installed.Load(); maker == nil && at != nil {
		maker = at.Engine
	}
	if s.mu.engine != nil || maker == nil {
		return s.mu.engine
	}
	s.mu.engine = maker(s.lists, s.example, s.options)
	if s.mu.engine.Check(s.mu.checks); s.mu.runs {
		s.mu.end = s.mu.engine.Begin()
	}
	return s.mu.engine
}

// Begin marks the informer as running, until end is called.
func (s *Source) Begin() (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if engine := s.engineLocked(); engine != nil {
		s.mu.end = engine.Begin()
	}
	s.mu.runs = true
	return s.end
}

func (s *Source) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.end != nil {
		s.mu.end()
	}
	s.mu.runs, s.mu.end = false, nil
}

// Check makes all shared parts be checked, until it is called with false. Objects decoded in
// between are correct even if a program has modified parts, and no former object is returned.
func (s *Source) Check(parts bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if engine := s.engineLocked(); engine != nil {
		engine.Check(parts)
	}
	s.mu.checks = parts
}

// ListWithContext lists. It returns a *Page if the list was decoded directly.
func (s *Source) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if engine := s.engine(); engine != nil {
		return engine.ListWithContext(ctx, options)
	}
	if err := s.refuses(); err != nil {
		return nil, err
	}
	list, err := s.lists.ListWithContext(ctx, s.options.Part.Narrow(options))
	return list, s.without(err)
}

// WatchWithContext opens a watch.
func (s *Source) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if engine := s.engine(); engine != nil {
		return engine.WatchWithContext(ctx, options)
	}
	if err := s.refuses(); err != nil {
		return nil, err
	}
	w, err := s.lists.WatchWithContext(ctx, s.options.Part.Narrow(options))
	return w, s.without(err)
}

// errNeedsDirect refuses Options.SkipUndecodable where the bytes of an object are never seen.
var errNeedsDirect = errors.New("Errors.SkipUndecodable: " + notImported + ": import it and wrap the config of the client " +
	"with direct.Transport, which factory.For does, or leave out the option")

// refuses returns an error if objects are to be skipped. A user who has turned direct decoding off is
// shown that the option is off, too.
func (s *Source) refuses() error {
	if !s.options.SkipUndecodable || s.options.TurnedOff() != "" {
		return nil
	}
	_ = s.without(nil)
	return errNeedsDirect
}

// without records why the client decodes, unless the request failed or the user wants it so. It returns err.
func (s *Source) without(err error) error {
	if err == nil && s.options.TurnedOff() == "" {
		s.options.Ledger.TurnedOff(notImported, NoTransport)
	}
	return err
}

// emptyWatch is the type of the watch that client-go returns if it got no connection, or not in time.
var emptyWatch = reflect.TypeOf(watch.NewEmptyWatch())

// IsEmpty reports whether no server has opened a watch.
func IsEmpty(w watch.Interface) bool { return reflect.TypeOf(w) == emptyWatch }
