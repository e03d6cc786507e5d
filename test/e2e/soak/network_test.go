// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The directions of transfer.
const (
	toServer = iota
	toClient
)

// weather is the treatment of bytes. The zero value forwards them.
type weather struct {
	// stall holds back the bytes of a direction until the weather changes.
	stall [2]bool
	// delay delays each chunk.
	delay time.Duration
	// cutAfter, if positive, ends each connection after that many more bytes to the client.
	cutAfter int64
	// refuse refuses new connections.
	refuse bool
}

// network opens connections and breaks them on demand: it cuts, stalls and delays them, and ends them in
// the middle of a transfer. Since they carry TLS, every cut is in the middle of a frame. Its methods may
// be called concurrently.
type network struct {
	opened, cuts atomic.Int64
	pumps        sync.WaitGroup

	mu struct {
		sync.Mutex
		conns   map[*conn]struct{}
		weather weather
		changed chan struct{} // closed when the weather changes
	}
}

func newNetwork() *network {
	n := &network{}
	n.mu.conns, n.mu.changed = map[*conn]struct{}{}, make(chan struct{})
	return n
}

// broken returns the error of a system call.
func broken(call string, why syscall.Errno) error {
	return &net.OpError{Op: call, Net: "tcp", Err: os.NewSyscallError(call, why)}
}

// dial is a function for rest.Config.Dial.
func (n *network) dial(ctx context.Context, protocol, address string) (net.Conn, error) {
	if w, _ := n.now(); w.refuse {
		return nil, broken("connect", syscall.ECONNREFUSED)
	}
	var dialer net.Dialer
	server, err := dialer.DialContext(ctx, protocol, address)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: server, network: n, out: make(chan []byte, 64), done: make(chan struct{})}
	n.opened.Add(1)
	n.mu.Lock()
	defer n.mu.Unlock()
	c.allowance.Store(n.mu.weather.cutAfter)
	n.mu.conns[c] = struct{}{}
	n.pumps.Go(c.pump)
	return c, nil
}

func (n *network) now() (weather, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.weather, n.mu.changed
}

// set changes the treatment of bytes, including stalled ones.
func (n *network) set(w weather) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.weather = w
	for c := range n.mu.conns {
		c.allowance.Store(w.cutAfter)
	}
	close(n.mu.changed)
	n.mu.changed = make(chan struct{})
}

// cut resets all open connections.
func (n *network) cut() {
	n.mu.Lock()
	conns := n.mu.conns
	n.mu.conns = map[*conn]struct{}{}
	n.mu.Unlock()
	for c := range conns {
		c.cut()
	}
}

// conn is a connection of a client. Write queues chunks for pump, as the buffer of a socket does.
type conn struct {
	net.Conn
	network   *network
	out       chan []byte
	done      chan struct{} // closed when the connection ends
	once      sync.Once
	reset     atomic.Bool  // cut
	allowance atomic.Int64 // bytes to the client until the cut, if the weather has cutAfter
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	select {
	case <-c.done:
		return 0, c.why("write", net.ErrClosed)
	case c.out <- bytes.Clone(b):
		return len(b), nil
	}
}

// pump forwards the queued chunks until the connection ends.
func (c *conn) pump() {
	for {
		select {
		case <-c.done:
			return
		case b := <-c.out:
			_, open := c.wait(toServer)
			if !open {
				return
			}
			if _, err := c.Conn.Write(b); err != nil {
				return // Read returns an error, too
			}
		}
	}
}

// Read implements net.Conn.
func (c *conn) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	if n == 0 {
		return n, c.why("read", err)
	}
	w, open := c.wait(toClient)
	if open && w.cutAfter > 0 && c.allowance.Add(-int64(n)) < 0 {
		c.cut()
		return n / 2, c.why("read", net.ErrClosed) // the cut is within a frame
	}
	if !open {
		return 0, c.why("read", net.ErrClosed)
	}
	return n, err
}

// wait blocks as the weather says, and reports whether the connection is still open.
func (c *conn) wait(direction int) (w weather, open bool) {
	w, changed := c.network.now()
	for ; w.stall[direction]; w, changed = c.network.now() {
		select {
		case <-changed:
		case <-c.done:
			return w, false
		}
	}
	select {
	case <-time.After(w.delay):
		return w, true
	case <-c.done:
		return w, false
	}
}

// why returns the error of a system call after a cut, and err otherwise.
func (c *conn) why(call string, err error) error {
	if c.reset.Load() {
		return broken(call, syscall.ECONNRESET)
	}
	return err
}

// cut ends the connection with RST instead of FIN.
func (c *conn) cut() {
	c.once.Do(func() {
		c.network.cuts.Add(1)
		c.reset.Store(true)
		_ = c.Conn.(*net.TCPConn).SetLinger(0) // the server may have closed it already
		c.end()
	})
}

// Close implements net.Conn.
func (c *conn) Close() (err error) {
	c.once.Do(func() { err = c.end() })
	return err
}

func (c *conn) end() error {
	close(c.done)
	c.network.mu.Lock()
	delete(c.network.mu.conns, c)
	c.network.mu.Unlock()
	return c.Conn.Close()
}

// echo returns the address of a server that returns what it receives.
func echo(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, listener.Close()) })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c) // ends with the connection
			}()
		}
	}()
	return listener.Addr().String()
}

// say sends text, and returns a channel with the answer, which is too short after an error.
func say(t *testing.T, c net.Conn, text string) <-chan string {
	_, err := c.Write([]byte(text))
	require.NoError(t, err)
	heard := make(chan string, 1)
	go func() {
		buf := make([]byte, len(text))
		n, _ := io.ReadFull(c, buf)
		heard <- string(buf[:n])
	}()
	return heard
}

// TestNetwork checks each weather, and that new connections work after a cut.
func TestNetwork(t *testing.T) {
	n, address := newNetwork(), echo(t)
	defer func() {
		n.cut()
		n.pumps.Wait()
		assert.Empty(t, n.mu.conns)
	}()
	connected := func() net.Conn {
		c, err := n.dial(t.Context(), "tcp", address)
		require.NoError(t, err)
		require.Equal(t, "a", <-say(t, c, "a"))
		return c
	}
	isReset := func(c net.Conn, cuts int64) {
		_, err := c.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		assert.Equal(t, cuts, n.cuts.Load())
	}

	c := connected()
	n.set(weather{delay: 20 * time.Millisecond})
	start := time.Now()
	require.Equal(t, "a", <-say(t, c, "a"))
	assert.GreaterOrEqual(t, time.Since(start), 40*time.Millisecond, "both ways")
	for direction := range 2 {
		w := weather{}
		w.stall[direction] = true
		n.set(w)
		heard := say(t, c, "hello")
		select {
		case text := <-heard:
			t.Fatal(text)
		case <-time.After(50 * time.Millisecond):
		}
		n.set(weather{})
		require.Equal(t, "hello", <-heard)
	}

	n.set(weather{stall: [2]bool{false, true}})
	_, err := c.Write([]byte("hello"))
	require.NoError(t, err)
	done := make(chan struct{})
	time.AfterFunc(50*time.Millisecond, func() { n.cut(); close(done) })
	isReset(c, 1)
	<-done
	n.set(weather{})
	c = connected()
	n.cut()
	isReset(c, 2)
	c = connected()
	n.set(weather{cutAfter: 1000})
	assert.Less(t, len(<-say(t, c, strings.Repeat("a", 8000))), 8000)
	isReset(c, 3)
	n.set(weather{refuse: true})
	_, err = n.dial(t.Context(), "tcp", address)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}
