// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// patience is the time that a Read of a watch waits for the call that opens it to return. If the
// call reads events before it returns, it would wait forever; other calls return within
// microseconds of the headers.
const patience = 2 * time.Second

// watchPhase is the owner of the body of a watch. It only moves forward.
//
//	undecided ── claim ──▶ claimed ── release ──▶ released
//	    └────────────── giveBack, patience ─────────▲
type watchPhase uint8

const (
	undecided watchPhase = iota // the call that opens the watch has not returned
	claimed                     // this package reads the body; client-go reads only frames passed to it
	released                    // client-go reads the body, after the bytes passed to it
)

// watchBody is the body of a watch that client-go reads instead of the real one. Until it is
// released, it returns nothing but the frames passed to it by hand. One goroutine reads it.
type watchBody struct {
	real    io.ReadCloser
	starved chan struct{} // has a token if the client reads more than it was passed

	mu struct {
		sync.Mutex
		phase   watchPhase
		pending []byte // passed by hand or release, and not read yet
		handed  bool   // by hand, and not taken back yet
		err     error  // after release: the error of the real body, or nil if it continues
		closed  bool
		waits   *time.Timer // fires after patience, if the body is read while undecided
	}
	changed sync.Cond
}

func newWatchBody(real io.ReadCloser) *watchBody {
	b := &watchBody{real: real, starved: make(chan struct{}, 1)}
	b.changed.L = &b.mu
	return b
}

// Read returns the bytes passed by hand, or the real body after release.
func (b *watchBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	for b.blocksLocked() {
		b.changed.Wait()
	}
	defer b.mu.Unlock()
	switch {
	case b.mu.closed && b.mu.phase != released:
		return 0, io.EOF // the client has not seen part of a frame, and ends without an error
	case b.mu.closed:
		return 0, http.ErrBodyReadAfterClose
	case len(b.mu.pending) > 0:
		n := copy(p, b.mu.pending)
		b.mu.pending = b.mu.pending[n:]
		return n, nil
	case b.mu.err != nil:
		return 0, b.mu.err
	}
	b.mu.pending = nil
	b.mu.Unlock()
	defer b.mu.Lock()
	return b.real.Read(p)
}

// blocksLocked reports whether Read must wait. It starts the timer of patience, and reports a
// client that wants more than it was passed.
func (b *watchBody) blocksLocked() bool {
	if b.mu.closed || len(b.mu.pending) > 0 || b.mu.phase == released {
		return false
	}
	if b.mu.phase == undecided && b.mu.waits == nil {
		b.mu.waits = time.AfterFunc(patience, b.giveBack)
	}
	if b.mu.handed {
		select {
		case b.starved <- struct{}{}:
		default:
		}
	}
	return true
}

// claim takes the body for this package. It returns false if the body was released.
func (b *watchBody) claim() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.phase != undecided {
		return false
	}
	b.mu.phase = claimed
	b.stopWaitingLocked()
	return true
}

// giveBack releases the body unless it is claimed or closed. A closed body just ends: a client that
// is stopped would make an event of an error, and block if no goroutine receives it.
func (b *watchBody) giveBack() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.phase == undecided && !b.mu.closed {
		b.releaseLocked(nil, nil)
	}
}

// hand passes bytes to the client. They must not change before takeBack. The body must be claimed.
func (b *watchBody) hand(frame []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.starved:
	default:
	}
	b.mu.pending, b.mu.handed = frame, true
	b.changed.Broadcast()
}

// takeBack ends the access of the client to the bytes passed by hand. The client may not have read
// white space after a value.
func (b *watchBody) takeBack() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.pending, b.mu.handed = nil, false
}

// release gives the body back: the client reads rest, which it then owns, and then err or, if err
// is nil, the real body. A second call does nothing.
func (b *watchBody) release(rest []byte, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.releaseLocked(rest, err)
}

func (b *watchBody) releaseLocked(rest []byte, err error) {
	if b.mu.phase == released {
		return
	}
	b.mu.phase, b.mu.pending, b.mu.handed, b.mu.err = released, rest, false, err
	b.stopWaitingLocked()
	b.changed.Broadcast()
}

func (b *watchBody) stopWaitingLocked() {
	if b.mu.waits != nil {
		b.mu.waits.Stop()
	}
}

// Close closes the real body, which ends a pending Read of it.
func (b *watchBody) Close() error {
	b.mu.Lock()
	b.mu.closed = true
	b.stopWaitingLocked()
	b.changed.Broadcast()
	b.mu.Unlock()
	return b.real.Close()
}

// counting is a reader that counts the bytes read.
type counting struct {
	io.Reader
	n *atomic.Int64
}

func (c counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}
