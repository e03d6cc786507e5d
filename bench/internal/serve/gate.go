// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"net"
	"sync"
)

// gate is a listener whose connections can all be cut, and that can be shut: then it closes what it
// accepts.
type gate struct {
	net.Listener

	mu struct {
		sync.Mutex
		shut bool
		open map[*gated]struct{}
	}
}

// gated is a connection of a gate.
type gated struct {
	net.Conn
	gate *gate
}

func newGate(l net.Listener) *gate {
	g := &gate{Listener: l}
	g.mu.open = map[*gated]struct{}{}
	return g
}

// Accept accepts a connection.
func (g *gate) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if made := g.admit(c); made != nil {
			return made, nil
		}
		_ = c.Close() // the client notices
	}
}

func (g *gate) admit(c net.Conn) net.Conn {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.shut {
		return nil
	}
	made := &gated{c, g}
	g.mu.open[made] = struct{}{}
	return made
}

// Close closes the connection.
func (c *gated) Close() error {
	c.gate.mu.Lock()
	delete(c.gate.mu.open, c)
	c.gate.mu.Unlock()
	return c.Conn.Close()
}

// cut closes all connections, as a load balancer does that goes away.
func (g *gate) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.mu.open {
		_ = c.Conn.Close() // the server closes it, too
	}
}

// setShut shuts the gate and cuts all connections, or opens it again.
func (g *gate) setShut(shut bool) {
	g.mu.Lock()
	g.mu.shut = shut
	g.mu.Unlock()
	if shut {
		g.cut()
	}
}
