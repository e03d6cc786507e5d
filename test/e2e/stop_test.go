// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/test/e2e/apiserver"
	"github.com/kinformer/cache/test/e2e/follow"
	"github.com/kinformer/cache/test/e2e/transport"
)

// fuse is the network of an informer. It burns once after bytes have been received from the server.
// after and burnt must be set before use.
type fuse struct {
	after int64
	burnt chan struct{} // closed when it burns

	once sync.Once
	come atomic.Int64
	open atomic.Int64 // number of open connections
}

// Dial is a function for rest.Config.Dial.
func (f *fuse) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	f.open.Add(1)
	return &fusedConn{Conn: c, fuse: f}, nil
}

type fusedConn struct {
	net.Conn
	fuse *fuse
	once sync.Once
}

// Read counts the bytes before they are returned.
func (c *fusedConn) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	if c.fuse.come.Add(int64(n)) >= c.fuse.after {
		c.fuse.once.Do(func() { close(c.fuse.burnt) })
	}
	return n, err
}

func (c *fusedConn) Close() error {
	c.once.Do(func() { c.fuse.open.Add(-1) })
	return c.Conn.Close()
}

// stopAfter runs an informer until it has received that many bytes from the server, stops it, and
// reports an error if a connection remains. It returns the number of bytes received before the informer
// synced, 0 if it did not.
func stopAfter(t *testing.T, ctx context.Context, srv *apiserver.Server, kind string, m follow.Mode, after int64) (synced int64) {
	t.Helper()
	network := &fuse{after: after, burnt: make(chan struct{})}
	config := srv.Config()
	config.Dial = network.Dial
	r := resourceOver(t, srv, kind, config)
	f := newFollowed(r, m, kinformer.Options{})
	has := f.start(t).HasSyncedChecker().Done()
	for stopped := false; !stopped; {
		select {
		case <-has:
			synced, has = network.come.Load(), nil
		case <-network.burnt:
			stopped = true
		case <-ctx.Done():
			require.FailNow(t, "the fuse has not burnt")
		}
	}
	f.stop()
	require.NoError(t, until(ctx, func() bool {
		r.Close()
		return network.open.Load() == 0
	}), "connections are open")
	assert.Empty(t, f.faults.Take())
	return synced
}

// TestStoppedAnywhere checks that an informer, stopped at any point of a list, watch or handshake,
// leaves no goroutine, body or connection.
func TestStoppedAnywhere(t *testing.T) {
	const points = 12
	ctx, srv := follow.StartServer(t, apiserver.Options{})
	running := goleak.IgnoreCurrent()
	for _, kind := range []string{"pods-protobuf", "crd-dynamic"} {
		resource := resourceOf(t, srv, kind)
		w := startWriters(ctx, 6, writesTo(resource))
		require.NoError(t, w.awaitWrites(ctx, someWrites/4))
		for _, m := range []follow.Mode{follow.ListMode, follow.WatchListMode} {
			t.Run(fmt.Sprint(kind, "/", m), func(t *testing.T) {
				const some = 100 << 10 // includes some events
				synced := stopAfter(t, ctx, srv, kind, m, some)
				require.NotZero(t, synced)
				for i := range int64(points) {
					stopAfter(t, ctx, srv, kind, m, 1+i*i*2*synced/(points*points))
				}
			})
		}
		w.finish()
		resource.Close()
	}
	left := fmt.Errorf("%d bodies are open", transport.Open())
	for left != nil && ctx.Err() == nil {
		resourceOf(t, srv, "pods-protobuf").Close() // closes the connections that clients without a Dial share
		if transport.Open() == 0 {
			left = goleak.Find(running)
		}
	}
	assert.NoError(t, left)
}
