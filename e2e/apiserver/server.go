// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

var (
	// ErrStopped is returned by calls on a server after Stop.
	ErrStopped = errors.New("apiserver: stopped")
	// ErrInProcess is returned by Kill, Pause and Resume of a server that runs
	// in the calling process.
	ErrInProcess = errors.New("apiserver: the server runs in this process")
)

// Instance is one run of a server, from its start until its end. Its methods
// may be called concurrently.
type Instance interface {
	// Endpoint returns where the server serves; it never changes.
	Endpoint() Endpoint
	// PID returns the id of the process that serves.
	PID() int
	// Stop ends the server gracefully and waits for its end, at most until ctx
	// ends; then it ends it by force, as far as it can, and returns an error.
	Stop(ctx context.Context) error
	// Kill ends the server as a crash would and waits for its end.
	Kill() error
	// Pause freezes the server, Resume lets it run again.
	Pause() error
	Resume() error
	// Done is closed when the server has ended; Err then says why: nil after
	// Stop.
	Done() <-chan struct{}
	Err() error
}

// Launcher starts an Instance and returns once it serves. It gets options with
// DataDir and Log set. ctx bounds the start only.
type Launcher func(ctx context.Context, opts Options) (Instance, error)

// Server is a handle over a running API server and its restarts. Its methods
// may be called concurrently.
type Server struct {
	launch   Launcher
	tempData bool

	// lifecycle is held during Stop, Kill and Restart, and taken before state.
	lifecycle sync.Mutex

	state struct {
		sync.Mutex
		opts    Options
		current Instance
		stopped bool
	}
}

// Start runs a server by launch and returns once it serves. Most callers use
// StartChild or embedded.Start. ctx bounds the start only.
func Start(ctx context.Context, opts Options, launch Launcher) (*Server, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	s := &Server{launch: launch}
	if err := s.prepareDataDir(&opts); err != nil {
		return nil, err
	}
	opts.Log = &lineWriter{w: opts.Log}
	s.state.opts = opts
	if err := s.run(ctx); err != nil {
		return nil, errors.Join(err, s.removeTempData())
	}
	return s, nil
}

func (s *Server) prepareDataDir(opts *Options) error {
	if opts.DataDir == "" {
		dir, err := os.MkdirTemp("", "kinformer-apiserver-")
		if err != nil {
			return fmt.Errorf("data folder: %w", err)
		}
		opts.DataDir, s.tempData = dir, true
		return nil
	}
	dir, err := filepath.Abs(opts.DataDir)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	opts.DataDir = dir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	return nil
}

// run launches an instance, makes it the current one and writes the kubeconfig
// files. From the first run on the port is fixed.
func (s *Server) run(ctx context.Context) error {
	opts := s.options()
	inst, err := s.launch(ctx, opts)
	if err != nil {
		return fmt.Errorf("start of the API server: %w", err)
	}
	if err := writeKubeconfigs(opts.DataDir, inst.Endpoint()); err != nil {
		return errors.Join(err, inst.Stop(ctx))
	}
	s.state.Lock()
	defer s.state.Unlock()
	s.state.current = inst
	s.state.opts.Port = inst.Endpoint().Port
	return nil
}

// Stop ends the server gracefully, within a few seconds even with open
// watches, and removes the data folder if it is a temporary one. If ctx ends
// first, the server is ended by force and an error is returned. A second Stop
// does nothing.
func (s *Server) Stop(ctx context.Context) error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	s.state.Lock()
	done := s.state.stopped
	s.state.stopped = true
	inst := s.state.current
	s.state.Unlock()
	if done {
		return nil
	}
	return errors.Join(inst.Stop(ctx), s.removeTempData())
}

func (s *Server) removeTempData() error {
	if !s.tempData {
		return nil
	}
	if err := os.RemoveAll(s.options().DataDir); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	return nil
}

// Kill ends the child as a crash would (SIGKILL) and waits for its end; Restart
// brings the server back on the same data. It returns ErrInProcess for an
// embedded server.
func (s *Server) Kill() error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	inst, err := s.running()
	if err != nil {
		return err
	}
	return inst.Kill()
}

// Restart stops the server gracefully, unless it has ended already, and starts
// it again on the same data, port, certificate and tokens, so that clients
// reconnect. It returns once the server serves. If it fails, another Restart
// may be tried.
func (s *Server) Restart(ctx context.Context) error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	inst, err := s.running()
	if err != nil {
		return err
	}
	if err := inst.Stop(ctx); err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	return s.run(ctx)
}

// Pause freezes the child (SIGSTOP) and returns when it is: connections stay
// open and nothing is answered until Resume. It returns ErrInProcess for an embedded server.
func (s *Server) Pause() error {
	inst, err := s.running()
	if err != nil {
		return err
	}
	return inst.Pause()
}

// Resume lets a paused child run again.
func (s *Server) Resume() error {
	inst, err := s.running()
	if err != nil {
		return err
	}
	return inst.Resume()
}

// URL returns https://127.0.0.1:port; it stays the same over restarts.
func (s *Server) URL() string { return s.Endpoint().URL }

// DataDir returns the absolute path of the data folder.
func (s *Server) DataDir() string { return s.options().DataDir }

// PID returns the id of the process that serves: the current child's, which
// changes with each Restart, or the calling process's.
func (s *Server) PID() int { return s.instance().PID() }

// Done returns a channel that is closed when the current run of the server has
// ended, by Stop, Kill, Restart or by itself.
func (s *Server) Done() <-chan struct{} { return s.instance().Done() }

// Wait waits for the end of the current run and returns its error, nil if it
// was stopped gracefully; or ctx's error if that ends first.
func (s *Server) Wait(ctx context.Context) error {
	inst := s.instance()
	select {
	case <-inst.Done():
		return inst.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Server) running() (Instance, error) {
	s.state.Lock()
	defer s.state.Unlock()
	if s.state.stopped {
		return nil, ErrStopped
	}
	return s.state.current, nil
}

func (s *Server) instance() Instance {
	s.state.Lock()
	defer s.state.Unlock()
	return s.state.current
}

// Endpoint returns where the server serves, with certificate and tokens. It stays
// the same over restarts. The caller must not change it.
func (s *Server) Endpoint() Endpoint { return s.instance().Endpoint() }

func (s *Server) options() Options {
	s.state.Lock()
	defer s.state.Unlock()
	return s.state.opts
}
