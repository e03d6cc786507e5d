// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache/e2e/apiserver"
	"github.com/kinformer/cache/e2e/follow"
	"github.com/kinformer/cache/e2e/proxy"
	"github.com/kinformer/cache/e2e/transport"
)

const (
	startPatience = 5 * time.Minute
	// writeTimeout bounds each write. It is longer than any fault and any answer takes: a write
	// that is given up may still take effect, after the state was taken that everything is compared
	// with.
	writeTimeout = 30 * time.Second
)

// cluster is the server with its proxy, and the clients of the writers. It is used by one fault at
// a time.
type cluster struct {
	server   *apiserver.Server
	proxy    *proxy.Proxy
	opts     apiserver.Options // of the next start
	writer   dynamic.Interface
	direct   func()       // closes the writers' connections
	gate     follow.Gate  // of informers
	refusing atomic.Int64 // percent of their requests
}

func startCluster(ctx context.Context, binary string) (_ *cluster, err error) {
	c := &cluster{direct: func() {}}
	c.gate.Refuse = func(*http.Request) int {
		if rand.Int64N(100) >= c.refusing.Load() {
			return 0
		}
		return 1 + rand.IntN(3)
	}
	if c.opts.DataDir, err = os.MkdirTemp("", "kinformer-soak-"); err != nil {
		return nil, err
	}
	c.opts.Binary = binary
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.opts.DataDir))
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(c.opts.Port))
	if c.proxy, err = proxy.Listen(func() string { return address }); err == nil {
		err = c.connect(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.stop(ctx))
	}
	return c, nil
}

// connect makes the writers' client.
func (c *cluster) connect(ctx context.Context) error {
	if err := c.server.InstallCRD(ctx, follow.Widget); err != nil {
		return err
	}
	config := c.server.Config()
	config.Timeout = writeTimeout
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	c.direct = follow.CloseIdle(httpClient)
	c.writer, err = dynamic.NewForConfigAndClient(config, httpClient)
	return err
}

// start starts the server with c.opts, on the data, port and credentials of the last time.
func (c *cluster) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	server, err := apiserver.StartChild(ctx, c.opts)
	if err != nil {
		return err
	}
	c.server, c.opts.Port = server, server.Endpoint().Port
	return nil
}

// restart kills the server, or stops it, and starts it again after a while.
func (c *cluster) restart(ctx context.Context, kill bool, down time.Duration) error {
	end := func() error { return c.server.Stop(ctx) }
	if kill {
		end = c.server.Kill
	}
	if err := end(); err != nil {
		return err
	}
	wait(ctx, down)
	return c.start(ctx)
}

// resource makes one that is read by way of the proxy, over a connection of its own.
func (c *cluster) resource(kind string, tapped bool) (*follow.Resource, error) {
	config := c.server.Config()
	config.Dial = c.proxy.Dial
	config.Wrap(c.gate.Wrap)
	if tapped {
		transport.Direct(config)
	}
	return follow.Kinds()[kind](follow.Clients{Read: config, Write: c.writer})
}

// compact has the server forget old versions.
func (c *cluster) compact(ctx context.Context) error {
	_, err := c.server.Compact(ctx)
	return err
}

func (c *cluster) stop(ctx context.Context) (err error) {
	c.direct()
	if c.proxy != nil {
		err = c.proxy.Close()
	}
	return errors.Join(err, c.server.Stop(ctx), os.RemoveAll(c.opts.DataDir))
}
