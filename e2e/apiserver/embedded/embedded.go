// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/kinformer/cache/e2e/apiserver"
)

// Run runs a server in this process until ctx ends, and calls ready once it
// serves.
func Run(ctx context.Context, opts apiserver.Options, ready func(apiserver.Endpoint) error) error {
	began := time.Now()
	fmt.Fprintf(opts.Log, "apiserver: starting in process %d, data in %s\n", os.Getpid(), opts.DataDir)
	db, err := startEtcd(ctx, opts)
	if err != nil {
		return err
	}
	defer db.close()
	id, err := loadIdentity(opts.DataDir)
	if err != nil {
		return err
	}
	net, err := listen(ctx, opts.Port, id)
	if err != nil {
		return err
	}
	chain, err := newChain(opts, db, net, id)
	if err != nil {
		return errors.Join(err, net.close())
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan struct{})
	var served error
	go func() {
		defer close(ended)
		served = chain.server.PrepareRun().RunWithContext(ctx)
	}()
	err = chain.waitReady(ctx, ended)
	if err == nil {
		fmt.Fprintf(opts.Log, "apiserver: ready in %v at %s\n", time.Since(began).Round(time.Millisecond), net.endpoint(id).URL)
		err = errors.Join(apiserver.WriteKubeconfigs(opts.DataDir, net.endpoint(id)), ready(net.endpoint(id)))
	}
	if err != nil {
		stop()
	}
	<-ended
	fmt.Fprintln(opts.Log, "apiserver: stopped")
	return errors.Join(err, served)
}
