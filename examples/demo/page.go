// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"net/http"

	"github.com/kinformer/cache/debug"
)

// servePage serves the page of the informers of this process, to this machine only, until stop is
// called.
func servePage(screen *screen) (stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/informers/", debug.Handler(debug.Options{}))
	server, ended := &http.Server{Handler: mux}, make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // it ends with an error in any case
	}()
	screen.line("http://%s/debug/informers/ shows the informer while this runs", listener.Addr())
	return func() { _ = server.Close(); <-ended }, nil
}

// keepOn has the cluster change, and shows it, until ctx ends.
func keepOn(ctx context.Context, w *world, f *follower, rivals []*rival, n int, screen *screen) {
	screen.line("it goes on until you interrupt it")
	if w.server != nil {
		defer w.startChanging(ctx, n)()
	}
	screen.show(ctx.Done(), f, rivals)
}
