// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// patience is how long a watch that is read waits for the call that opens it. One that reads events
// before it returns would wait for ever; others return within microseconds of the headers.
const patience = 2 * time.Second

// hold is what becomes of a held body. It only goes forward.
type hold uint8

const (
	undecided hold = iota // the call that opens the watch has not returned
	claimed               // the body is read by us; client-go gets what it is handed
	released              // client-go reads the body, behind what it was handed
)

// held is the body of a watch that client-go reads instead of the real one: silent, but for what it
// is handed, until it is released. One goroutine reads it.
type held struct {
	real    io.ReadCloser
	starved chan struct{} // has a token if more than it was handed is read

	mu struct {
		sync.Mutex
		hold    hold
		pending []byte // handed, and not read
		handed  bool   // and not taken back
		err     error  // released: what the real body has failed with, nil if it has more
		closed  bool
		waits   *time.Timer // of patience, while it is undecided and was read
	}
	changed sync.Cond
}

func newHeld(real io.ReadCloser) *held {
	b := &held{real: real, starved: make(chan struct{}, 1)}
	b.changed.L = &b.mu
	return b
}

// Read returns what was handed on, or what the real body has once that is released.
func (b *held) Read(p []byte) (int, error) {
	b.mu.Lock()
	for b.blocksLocked() {
		b.changed.Wait()
	}
	defer b.mu.Unlock()
	switch {
	case b.mu.closed && b.mu.hold != released:
		return 0, io.EOF // the client has seen nothing that would not be whole, and ends without an error
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

// blocksLocked reports whether there is nothing to read, and nothing to be asked.
func (b *held) blocksLocked() bool {
	if b.mu.closed || len(b.mu.pending) > 0 || b.mu.hold == released {
		return false
	}
	if b.mu.hold == undecided && b.mu.waits == nil {
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

// claim keeps the body for us. It returns false if nobody could wait for that.
func (b *held) claim() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.hold != undecided {
		return false
	}
	b.mu.hold = claimed
	b.stopWaitingLocked()
	return true
}

// giveBack releases the body unless it is claimed. One that is closed just ends: a client that is
// stopped would make an event of an error, and nobody might take that.
func (b *held) giveBack() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.hold == undecided && !b.mu.closed {
		b.releaseLocked(nil, nil)
	}
}

// hand gives client-go bytes of a claimed body. They must not change until they are taken back.
func (b *held) hand(frame []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.starved:
	default:
	}
	b.mu.pending, b.mu.handed = frame, true
	b.changed.Broadcast()
}

// takeBack ends what hand has begun. White space behind a value may be left.
func (b *held) takeBack() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.pending, b.mu.handed = nil, false
}

// release gives the body back: client-go reads rest, which is its own from now on, and then err or,
// without one, what the real body has. A second call does nothing.
func (b *held) release(rest []byte, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.releaseLocked(rest, err)
}

func (b *held) releaseLocked(rest []byte, err error) {
	if b.mu.hold == released {
		return
	}
	b.mu.hold, b.mu.pending, b.mu.handed, b.mu.err = released, rest, false, err
	b.stopWaitingLocked()
	b.changed.Broadcast()
}

func (b *held) stopWaitingLocked() {
	if b.mu.waits != nil {
		b.mu.waits.Stop()
	}
}

// Close closes the real body, which ends a Read of ours there.
func (b *held) Close() error {
	b.mu.Lock()
	b.mu.closed = true
	b.stopWaitingLocked()
	b.changed.Broadcast()
	b.mu.Unlock()
	return b.real.Close()
}
