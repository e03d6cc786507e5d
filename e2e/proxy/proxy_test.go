// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/e2e/proxy"
)

// behind returns a proxy in front of an echo server, and a connection to it.
func behind(t *testing.T) (*proxy.Proxy, net.Conn) {
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
	p, err := proxy.Listen(func() string { return listener.Addr().String() })
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, p.Close())
		open, _ := p.Open()
		assert.Zero(t, open)
	})
	c := dial(t, p)
	return p, c
}

func dial(t *testing.T, p *proxy.Proxy) net.Conn {
	c, err := p.Dial(t.Context(), "", "")
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func say(t *testing.T, c net.Conn, text string) {
	_, err := c.Write([]byte(text))
	require.NoError(t, err)
}

func hear(t *testing.T, c net.Conn, text string) {
	buf := make([]byte, len(text))
	_, err := io.ReadFull(c, buf)
	require.NoError(t, err)
	require.Equal(t, text, string(buf))
}

// silent fails if a byte arrives within 50 ms.
func silent(t *testing.T, c net.Conn) {
	require.NoError(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err := c.Read(make([]byte, 1))
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	require.True(t, timeout.Timeout())
	require.NoError(t, c.SetReadDeadline(time.Time{}))
}

func TestForwards(t *testing.T) {
	_, c := behind(t)
	say(t, c, "hello")
	hear(t, c, "hello")
}

func TestStallHoldsAndReleases(t *testing.T) {
	for _, d := range []proxy.Direction{proxy.ToServer, proxy.ToClient} {
		p, c := behind(t)
		say(t, c, "a")
		hear(t, c, "a")
		w := proxy.Weather{}
		w.Stall[d] = true
		p.SetWeather(w)
		say(t, c, "hello")
		silent(t, c)
		p.SetWeather(proxy.Weather{})
		hear(t, c, "hello")
	}
}

func TestCutEndsConnectionsAndNewOnesWork(t *testing.T) {
	p, c := behind(t)
	say(t, c, "a")
	hear(t, c, "a")
	p.Cut()
	_, err := c.Read(make([]byte, 1))
	require.Error(t, err)
	assert.EqualValues(t, 1, p.Cuts())
	again := dial(t, p)
	say(t, again, "b")
	hear(t, again, "b")
}

func TestCutAfterEndsInTheMiddle(t *testing.T) {
	p, c := behind(t)
	say(t, c, "a")
	hear(t, c, "a")
	p.SetWeather(proxy.Weather{CutAfter: 1000})
	_, err := c.Write(make([]byte, 8000))
	require.NoError(t, err)
	got, _ := io.ReadAll(c) // ends with a reset or an end of file, depending on the kernel
	assert.Less(t, len(got), 8000)
	assert.EqualValues(t, 1, p.Cuts())
}

func TestRefuse(t *testing.T) {
	p, _ := behind(t)
	p.SetWeather(proxy.Weather{Refuse: true})
	c, err := p.Dial(t.Context(), "", "")
	if err == nil { // the reset may arrive before or after the end of the dial
		defer c.Close()
		_, err = c.Read(make([]byte, 1))
	}
	require.Error(t, err)
}

func TestDelayTakesItsTime(t *testing.T) {
	p, c := behind(t)
	p.SetWeather(proxy.Weather{Delay: 20 * time.Millisecond})
	start := time.Now()
	say(t, c, "a")
	hear(t, c, "a")
	assert.GreaterOrEqual(t, time.Since(start), 40*time.Millisecond, "both ways")
}
