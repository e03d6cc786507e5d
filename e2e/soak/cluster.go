// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"errors"
	"fmt"
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
	server *apiserver.Server
	proxy  *proxy.Proxy
	opts   apiserver.Options // of the next start
	writer dynamic.Interface
	direct func() // closes the writers' connections
	dir    string

	throttle follow.Throttle // what informers are answered with 429
	refusing atomic.Pointer[refusing]
}

// refusing is how requests of informers are refused for a while.
type refusing struct {
	percent int // of the requests
	seconds int // that the answer asks for, from 1 to this
}

func startCluster(ctx context.Context, binary string) (_ *cluster, err error) {
	c := &cluster{}
	c.throttle.Refuse = func(*http.Request) int {
		now := c.refusing.Load()
		if now == nil || rand.IntN(100) >= now.percent {
			return 0
		}
		return 1 + rand.IntN(now.seconds)
	}
	if c.dir, err = os.MkdirTemp("", "kinformer-soak-"); err != nil {
		return nil, fmt.Errorf("soak: %w", err)
	}
	c.opts = apiserver.Options{DataDir: c.dir, Binary: binary}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.dir))
	}
	if err := c.connect(ctx); err != nil {
		return nil, errors.Join(err, c.stop(ctx))
	}
	return c, nil
}

func (c *cluster) connect(ctx context.Context) (err error) {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(c.opts.Port))
	if c.proxy, err = proxy.Listen(func() string { return address }); err != nil {
		return err
	}
	if err := c.server.InstallCRD(ctx, follow.Widget); err != nil {
		return err
	}
	config := c.server.Config()
	config.Timeout = writeTimeout
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("soak: %w", err)
	}
	c.direct = follow.CloseIdle(httpClient)
	if c.writer, err = dynamic.NewForConfigAndClient(config, httpClient); err != nil {
		return fmt.Errorf("soak: %w", err)
	}
	return nil
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

// restart kills the server, or stops it, and starts it again after a while, as change has it.
func (c *cluster) restart(ctx context.Context, kill bool, down time.Duration, change func(*apiserver.Options)) error {
	end := func() error { return c.server.Stop(ctx) }
	if kill {
		end = c.server.Kill
	}
	if err := end(); err != nil {
		return err
	}
	wait(ctx, down)
	if change != nil {
		change(&c.opts)
	}
	return c.start(ctx)
}

// resource makes one that is read as a user with request limits, by way of the proxy, over a
// connection of its own.
func (c *cluster) resource(kind string, tapped bool) (*follow.Resource, error) {
	config := c.server.UserConfig()
	config.Dial = c.proxy.Dial
	config.Wrap(c.throttle.Wrap)
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

func (c *cluster) stop(ctx context.Context) error {
	var errs []error
	if c.direct != nil {
		c.direct()
	}
	if c.proxy != nil {
		errs = append(errs, c.proxy.Close())
	}
	return errors.Join(append(errs, c.server.Stop(ctx), os.RemoveAll(c.dir))...)
}
