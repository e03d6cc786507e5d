// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package embedded

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/kinformer/cache/e2e/apiserver"
)

// Run runs a server in this process until ctx or what it reads ends. Once it serves it writes its
// Endpoint, and for each line that it reads it compacts etcd and writes what came of that.
func Run(ctx context.Context, opts apiserver.Options, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	lines := make(chan struct{})
	go func() {
		defer stop()
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			lines <- struct{}{}
		}
	}()
	db, err := startEtcd(ctx, opts)
	if err != nil {
		return err
	}
	defer db.close()
	l, err := listen(ctx, opts.Port)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	chain, endpoint, err := newChain(opts, db, l)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	ended := make(chan struct{})
	var served error
	go func() {
		defer close(ended)
		served = chain.server.PrepareRun().RunWithContext(ctx)
	}()
	answers := json.NewEncoder(out)
	if err = chain.waitReady(ctx, ended); err == nil {
		err = errors.Join(endpoint.WriteKubeconfig(opts.DataDir), answers.Encode(endpoint))
	}
	if err != nil {
		stop()
	}
	for {
		select {
		case <-lines:
			var c apiserver.Compacted
			if c.Revision, err = db.compact(ctx); err != nil {
				c.Error = err.Error()
			}
			err = answers.Encode(c)
		case <-ended:
			return errors.Join(err, served)
		}
	}
}
