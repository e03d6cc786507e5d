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
// # Contents
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
// It is not kube-apiserver. There is no defaulting and no validation beyond metadata; no graceful
// deletion, garbage collection or controllers (finalizers do work); no admission, so that a namespaced
// object does not need its namespace; and there are no short names. Status is stored as sent on create
// and on update; the status subresource changes status only. Generation never changes. core/v1 and
// events.k8s.io/v1 events are two separate collections. The list of groups at /apis includes groups of
// custom resources only in its aggregated form, which client-go and kubectl request. Server-side apply
// treats each list in an object of a built-in type as one value.
//
// Without [Options.RBAC] every user may do everything. With it, roles and bindings are enforced; there
// are no default or aggregated roles and no access reviews, and a user with write access to roles may
// grant any permission. The only token is the administrator's. The administrator may impersonate every
// user.
//
// [StartChild] runs the server in a child process, which can be killed, paused and measured separately.
// It also keeps k8s.io/apiserver and etcd out of the calling binary: this package imports neither.
//
// # Guarantees
//
//  1. The server listens on 127.0.0.1 only.
//  2. URL, certificate, token and kubeconfig file stay the same over
//     [Server.Restart].
//  3. Every acknowledged write survives [Server.Kill]: the data is in the
//     kernel's page cache by then. It does not survive a crash of the
//     machine, because nothing is fsynced.
//  4. A child never outlives its parent: it ends when the pipe that is its
//     standard input is closed, however the parent ended. A child frozen by
//     [Server.Pause] ends once it runs again.
//
// # Making a resource version expire
//
// [Server.Compact] alone gives no 410 to a watch while the watch cache is on: the cache still holds the
// last 75 seconds or more of events and answers from them. Compact followed by Restart does: the new
// process has no events from before its start, so that a watch, and a list with
// resourceVersionMatch=Exact, at a version before the compaction end with 410 Expired. With
// [Options.DisableWatchCache], Compact alone is enough for watches, exact lists and continue tokens.
package apiserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// ErrStopped is returned by methods called after Stop.
var ErrStopped = errors.New("apiserver: stopped")

// Server is a handle for a running API server and its restarts. Its methods may be called concurrently.
type Server struct {
	opts     Options
	tempData bool

	// lifecycle is held during Stop, Kill and Restart. It is acquired before mu.
	lifecycle sync.Mutex

	mu struct {
		sync.Mutex
		current *child
		stopped bool
	}
}

// StartChild starts a server in a child process and returns once it serves, about a second after the
// call. If there is no binary yet, StartChild builds one, which takes minutes the first time; see
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

// run launches a child and makes it the current one. The first run fixes the port.
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

// Stop ends the server gracefully, within a few seconds even with open watches, and removes the data
// folder if it is temporary. If ctx ends first, Stop kills the server and returns an error. A second
// Stop does nothing.
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

// Kill ends the child with SIGKILL, as a crash would, and waits for its end. Restart starts a server on
// the same data.
func (s *Server) Kill() error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	c, err := s.running()
	if err != nil {
		return err
	}
	return c.kill()
}

// Restart stops the server gracefully, unless it has ended already, and starts it again with the same
// data, port, certificate and token, so that clients reconnect. It returns once the server serves. After
// an error Restart may be called again.
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

// Pause freezes the child with SIGSTOP and returns once it is frozen. Connections stay open, and the
// server answers no request until Resume.
func (s *Server) Pause() error {
	c, err := s.running()
	if err != nil {
		return err
	}
	return c.freeze()
}

// Resume continues a paused child.
func (s *Server) Resume() error {
	c, err := s.running()
	if err != nil {
		return err
	}
	return c.thaw()
}

// Compact removes all history before the current resource version from etcd and returns that version.
// See the package documentation for how to obtain a 410.
func (s *Server) Compact(ctx context.Context) (int64, error) {
	c, err := s.running()
	if err != nil {
		return 0, err
	}
	return c.compact(ctx)
}

// URL returns https://127.0.0.1:port. It stays the same over restarts.
func (s *Server) URL() string { return s.Endpoint().URL }

// DataDir returns the absolute path of the data folder.
func (s *Server) DataDir() string { return s.opts.DataDir }

// Endpoint returns the server's address, certificate and token. It stays the same over restarts. The
// caller must not modify it.
func (s *Server) Endpoint() Endpoint { return s.child().endpoint }

// PID returns the ID of the serving process. It changes with each Restart.
func (s *Server) PID() int { return s.child().cmd.Process.Pid }

// Done returns a channel that is closed when the serving process has ended.
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
