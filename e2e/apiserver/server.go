// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver runs a Kubernetes API server for tests and demos, with no
// cluster, container or download: only Go is needed.
//
//	srv, err := apiserver.StartChild(ctx, apiserver.Options{})
//	if err != nil { ... }
//	defer srv.Stop(context.Background())
//	client, err := kubernetes.NewForConfig(srv.ProtobufConfig())
//
// # What it is
//
// The generic API server stack: k8s.io/apiserver's registry, watch cache and
// etcd3 storage, with an etcd in the same process, serving
//
//   - core/v1: pods, nodes, configmaps, secrets, serviceaccounts, services,
//     namespaces, events
//   - apps/v1: deployments, replicasets
//   - coordination.k8s.io/v1: leases
//   - events.k8s.io/v1: events
//   - rbac.authorization.k8s.io/v1: roles, rolebindings, clusterroles, clusterrolebindings
//   - custom resources, by apiextensions-apiserver
//
// in JSON and protobuf (custom resources in JSON), over TLS and HTTP/2, with discovery and OpenAPI
// documents, so that kubectl apply and kubectl explain work. List, watch, paging, watch-list,
// bookmarks, selectors, conflicts, server-side apply and resource versions are the real ones, and so
// are their errors: 409, 410, 429 and the rest.
//
// # What it is not
//
// It is not kube-apiserver. There is no defaulting and no validation beyond metadata; no graceful
// deletion, garbage collection or controllers (finalizers do work); no admission, so that a
// namespaced object does not need its namespace; and there are no short names. Status is stored as
// sent on create and on update; the status subresource changes status only. Generation never moves.
// core/v1 and events.k8s.io/v1 events are two separate collections. The list of groups at /apis names
// those of custom resources only in its aggregated form, which client-go and kubectl ask for. To
// server-side apply each list in an object of a built-in type is one value.
//
// Without [Options.RBAC] everybody may do everything. With it, roles and bindings are obeyed; there
// are no default roles, no aggregated ones, no access reviews, and whoever may write a role may grant
// anything. The only token is the administrator's, who may impersonate everybody.
//
// [StartChild] runs the server in a child process, which can be killed, frozen
// and measured by itself, and keeps k8s.io/apiserver and etcd out of the binary
// that calls it: this package imports neither.
//
// # Guarantees
//
//  1. It listens on 127.0.0.1 only.
//  2. URL, certificate, token and kubeconfig file stay the same over
//     [Server.Restart].
//  3. What a client was told is written survives [Server.Kill]: the data is in
//     the kernel's page cache by then. It does not survive a crash of the
//     machine, because nothing is fsynced.
//  4. A child never outlives its parent: it ends when the pipe that it has as
//     standard input is closed, however the parent ended. A child that is
//     frozen by [Server.Pause] ends once it runs again.
//
// # Making a resource version expire
//
// [Server.Compact] alone gives no 410 to a watch while the watch cache is on: the cache still holds
// the last 75 seconds or more of events and answers from them. Compact then Restart does: the new
// process knows nothing older than its start, so that a watch, and a list with
// resourceVersionMatch=Exact, from before the compaction end with 410 Expired. With
// [Options.DisableWatchCache], Compact alone is enough, for watches, exact lists and continue
// tokens.
package apiserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// ErrStopped is returned by calls on a server after Stop.
var ErrStopped = errors.New("apiserver: stopped")

// Server is a handle over a running API server and its restarts. Its methods
// may be called concurrently.
type Server struct {
	opts     Options
	tempData bool

	// lifecycle is held during Stop, Kill and Restart, and taken before mu.
	lifecycle sync.Mutex

	mu struct {
		sync.Mutex
		current *child
		stopped bool
	}
}

// StartChild starts a server in a child process and returns once it serves, about a second after
// the call. If there is no binary yet, it builds one first, which takes minutes the first time; see
// Options.Binary. ctx bounds the build and the start, not the life of the server.
func StartChild(ctx context.Context, opts Options) (*Server, error) {
	if opts.Port < 0 || opts.Port > 65535 {
		return nil, fmt.Errorf("apiserver options: port %d is not between 0 and 65535", opts.Port)
	}
	s := &Server{tempData: opts.DataDir == ""}
	var err error
	if s.tempData {
		opts.DataDir, err = os.MkdirTemp("", "kinformer-apiserver-")
	} else if opts.DataDir, err = filepath.Abs(opts.DataDir); err == nil {
		err = os.MkdirAll(opts.DataDir, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	s.opts = opts
	if err := s.run(ctx); err != nil {
		return nil, errors.Join(err, s.removeTempData())
	}
	return s, nil
}

// run launches a child and makes it the current one. From the first run on the port is fixed.
func (s *Server) run(ctx context.Context) error {
	c, err := launch(ctx, s.opts)
	if err != nil {
		return fmt.Errorf("start of the API server: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.current, s.opts.Port = c, c.endpoint.Port
	return nil
}

// Stop ends the server gracefully, within a few seconds even with open watches, and removes the
// data folder if it is a temporary one. If ctx ends first, the server is ended by force and an
// error is returned. A second Stop does nothing.
func (s *Server) Stop(ctx context.Context) error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	c, err := s.running()
	if err != nil {
		return nil
	}
	s.mu.Lock()
	s.mu.stopped = true
	s.mu.Unlock()
	return errors.Join(c.stop(ctx), s.removeTempData())
}

func (s *Server) removeTempData() error {
	if !s.tempData {
		return nil
	}
	return os.RemoveAll(s.opts.DataDir)
}

// Kill ends the child as a crash would (SIGKILL) and waits for its end; Restart
// brings the server back on the same data.
func (s *Server) Kill() error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	c, err := s.running()
	if err != nil {
		return err
	}
	return c.kill()
}

// Restart stops the server gracefully, unless it has ended already, and starts it again on the same
// data, port, certificate and tokens, so that clients reconnect. It returns once the server serves.
// If it fails, another Restart may be tried.
func (s *Server) Restart(ctx context.Context) error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	c, err := s.running()
	if err != nil {
		return err
	}
	if err := c.stop(ctx); err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	return s.run(ctx)
}

// Pause freezes the child (SIGSTOP) and returns when it is: connections stay
// open and nothing is answered until Resume.
func (s *Server) Pause() error {
	c, err := s.running()
	if err != nil {
		return err
	}
	return c.freeze()
}

// Resume lets a paused child run again.
func (s *Server) Resume() error {
	c, err := s.running()
	if err != nil {
		return err
	}
	return c.thaw()
}

// Compact makes etcd forget all history before now and returns the resource version of that. See
// the package documentation for what it takes to get a 410.
func (s *Server) Compact(ctx context.Context) (int64, error) {
	c, err := s.running()
	if err != nil {
		return 0, err
	}
	return c.compact(ctx)
}

// URL returns https://127.0.0.1:port; it stays the same over restarts.
func (s *Server) URL() string { return s.Endpoint().URL }

// DataDir returns the absolute path of the data folder.
func (s *Server) DataDir() string { return s.opts.DataDir }

// Endpoint returns where the server serves, with certificate and tokens. It stays
// the same over restarts. The caller must not change it.
func (s *Server) Endpoint() Endpoint { return s.child().endpoint }

// PID returns the id of the process that serves, which changes with each Restart.
func (s *Server) PID() int { return s.child().cmd.Process.Pid }

// Done returns a channel that is closed when the process that serves has ended.
func (s *Server) Done() <-chan struct{} { return s.child().done }

func (s *Server) child() *child {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.current
}

// running returns the current child, or ErrStopped.
func (s *Server) running() (*child, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.stopped {
		return nil, ErrStopped
	}
	return s.mu.current, nil
}
