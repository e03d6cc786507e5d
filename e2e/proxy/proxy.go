// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proxy forwards TCP connections on 127.0.0.1 and breaks them on demand: it cuts, stalls and
// delays them, and ends them in the middle of a transfer. Since it carries TLS, every cut is in the
// middle of a frame.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Direction is a direction of transfer.
type Direction int

// The two directions.
const (
	ToServer Direction = iota
	ToClient
)

// Weather is the treatment of bytes. The zero value forwards them.
type Weather struct {
	// Stall holds back the bytes of a direction until the weather changes.
	Stall [2]bool
	// Delay delays each chunk.
	Delay time.Duration
	// CutAfter, if positive, ends each connection after that many more bytes to the client.
	CutAfter int64
	// Refuse ends new connections at once.
	Refuse bool
}

// Proxy is a running proxy. Its methods may be called concurrently.
type Proxy struct {
	listener *net.TCPListener
	target   func() string
	group    sync.WaitGroup
	accepted atomic.Int64
	cuts     atomic.Int64

	mu struct {
		sync.Mutex
		conns   map[*conn]struct{}
		weather Weather
		changed chan struct{} // closed when the weather changes
		closed  bool
	}
}

// conn is a client's connection and the corresponding connection to the server.
type conn struct {
	client, server *net.TCPConn
	done           chan struct{} // closed when the connection ends
	once           sync.Once
	allowance      atomic.Int64 // bytes to the client until the cut, if the weather has CutAfter
}

// Listen starts a proxy on a free port. target returns the server's address and is called for each
// connection.
func Listen(target func() string) (*Proxy, error) {
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p := &Proxy{listener: listener, target: target}
	p.mu.conns, p.mu.changed = map[*conn]struct{}{}, make(chan struct{})
	p.group.Go(p.accept)
	return p, nil
}

// Dial connects to the proxy and ignores the address. It is a function for rest.Config.Dial.
func (p *Proxy) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", p.listener.Addr().String())
}

// Close ends all connections and returns when all goroutines of the proxy have ended.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.mu.closed = true
	p.mu.Unlock()
	err := p.listener.Close()
	p.Cut()
	p.group.Wait()
	return err
}

// Open returns the number of open connections, and of all connections accepted so far.
func (p *Proxy) Open() (open int, accepted int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.mu.conns), p.accepted.Load()
}

// Cuts returns the number of connections cut by the proxy.
func (p *Proxy) Cuts() int64 { return p.cuts.Load() }

// SetWeather changes the treatment of bytes, including stalled ones.
func (p *Proxy) SetWeather(w Weather) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.weather = w
	for c := range p.mu.conns {
		c.allowance.Store(w.CutAfter)
	}
	close(p.mu.changed)
	p.mu.changed = make(chan struct{})
}

func (p *Proxy) weather() (Weather, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.weather, p.mu.changed
}

// Cut resets all open connections.
func (p *Proxy) Cut() {
	for _, c := range p.open() {
		p.cut(c)
	}
}

func (p *Proxy) open() []*conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	conns := make([]*conn, 0, len(p.mu.conns))
	for c := range p.mu.conns {
		conns = append(conns, c)
	}
	return conns
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.AcceptTCP()
		if err != nil {
			return // the listener is closed
		}
		p.accepted.Add(1)
		p.group.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client *net.TCPConn) {
	c, err := p.connect(client)
	if err != nil {
		// The reset notifies the client.
		reset(client)
		return
	}
	var pumps sync.WaitGroup
	pumps.Go(func() { p.pump(c, c.server, c.client, ToServer) })
	pumps.Go(func() { p.pump(c, c.client, c.server, ToClient) })
	pumps.Wait()
	c.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.mu.conns, c)
}

var errRefused = errors.New("proxy: refused")

func (p *Proxy) connect(client *net.TCPConn) (*conn, error) {
	if w, _ := p.weather(); w.Refuse {
		return nil, errRefused
	}
	server, err := net.Dial("tcp", p.target())
	if err != nil {
		return nil, err
	}
	c := &conn{client: client, server: server.(*net.TCPConn), done: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.closed {
		reset(c.server)
		return nil, errRefused
	}
	c.allowance.Store(p.mu.weather.CutAfter)
	p.mu.conns[c] = struct{}{}
	return c, nil
}

// pump forwards one direction until it ends or the connection is cut.
func (p *Proxy) pump(c *conn, to, from *net.TCPConn, d Direction) {
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !p.forward(c, to, buf[:n], d) {
			p.cut(c)
			return
		}
		if errors.Is(err, io.EOF) {
			// An error means that it is closed already.
			_ = to.CloseWrite()
			return
		}
		if err != nil {
			c.end()
			return
		}
	}
}

// forward writes b as the weather allows, and reports whether the connection continues.
func (p *Proxy) forward(c *conn, to io.Writer, b []byte, d Direction) bool {
	for {
		w, changed := p.weather()
		if w.Stall[d] {
			select {
			case <-changed:
				continue
			case <-c.done:
				return false
			}
		}
		if w.Delay > 0 && !c.wait(w.Delay) {
			return false
		}
		if w.CutAfter > 0 && d == ToClient && c.allowance.Add(-int64(len(b))) < 0 {
			// A part is sent, so that the cut is within a frame. An error cuts as well.
			_, _ = to.Write(b[:len(b)/2])
			return false
		}
		_, err := to.Write(b)
		return err == nil
	}
}

func (c *conn) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.done:
		return false
	}
}

// cut ends c as a fault; c.end ends it because one side has ended.
func (p *Proxy) cut(c *conn) {
	c.once.Do(func() {
		p.cuts.Add(1)
		c.reset()
	})
}

func (c *conn) end() { c.once.Do(c.reset) }

func (c *conn) reset() {
	close(c.done)
	reset(c.client)
	reset(c.server)
}

// reset closes a connection with RST instead of FIN. It may be closed already.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}
