// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/kinformer/cache/e2e/apiserver"
)

// Start runs a server in this process and returns once it serves. ctx bounds
// the start only. Kill, Pause and Resume of the result return ErrInProcess; the
// options that concern a binary are ignored.
func Start(ctx context.Context, opts apiserver.Options) (*apiserver.Server, error) {
	return apiserver.Start(ctx, opts, launch)
}

// instance is a server that runs in this process.
type instance struct {
	ep   apiserver.Endpoint
	log  io.Writer
	stop context.CancelFunc
	done chan struct{}
	err  error // set before done is closed
}

func launch(ctx context.Context, opts apiserver.Options) (apiserver.Instance, error) {
	began := time.Now()
	fmt.Fprintf(opts.Log, "apiserver: starting in process %d, data in %s\n", os.Getpid(), opts.DataDir)
	db, err := startEtcd(ctx, opts)
	if err != nil {
		return nil, err
	}
	inst, err := serve(ctx, opts, db)
	if err != nil {
		db.close()
		return nil, err
	}
	fmt.Fprintf(opts.Log, "apiserver: ready in %v at %s\n",
		time.Since(began).Round(time.Millisecond), inst.ep.URL)
	return inst, nil
}

// serve builds the servers, runs them and waits until they are ready. On
// success the instance owns db.
func serve(ctx context.Context, opts apiserver.Options, db *database) (*instance, error) {
	id, err := loadIdentity(opts.DataDir)
	if err != nil {
		return nil, err
	}
	net, err := listen(ctx, opts.Port, id)
	if err != nil {
		return nil, err
	}
	chain, err := newChain(opts, db, net, id)
	if err != nil {
		return nil, errors.Join(err, net.close())
	}
	runCtx, stop := context.WithCancel(context.Background())
	inst := &instance{ep: net.endpoint(id), log: opts.Log, stop: stop, done: make(chan struct{})}
	go inst.run(runCtx, chain.server, db)
	if err := chain.waitReady(ctx, inst.done); err != nil {
		stop()
		<-inst.done
		return nil, errors.Join(err, inst.err)
	}
	return inst, nil
}

// run serves until ctx ends and then closes everything.
func (i *instance) run(ctx context.Context, server *genericapiserver.GenericAPIServer, db *database) {
	defer close(i.done)
	if err := server.PrepareRun().RunWithContext(ctx); err != nil {
		i.err = fmt.Errorf("API server: %w", err)
	}
	db.close()
	fmt.Fprintf(i.log, "apiserver: stopped\n")
}

func (i *instance) Endpoint() apiserver.Endpoint { return i.ep }
func (i *instance) PID() int                     { return os.Getpid() }
func (i *instance) Done() <-chan struct{}        { return i.done }
func (i *instance) Kill() error                  { return apiserver.ErrInProcess }
func (i *instance) Pause() error                 { return apiserver.ErrInProcess }
func (i *instance) Resume() error                { return apiserver.ErrInProcess }

// Stop cannot force the end: when ctx ends first, the server keeps stopping in
// the background.
func (i *instance) Stop(ctx context.Context) error {
	i.stop()
	select {
	case <-i.done:
		return i.err
	case <-ctx.Done():
		return fmt.Errorf("API server still stopping: %w", ctx.Err())
	}
}

func (i *instance) Err() error {
	select {
	case <-i.done:
		return i.err
	default:
		return nil
	}
}
