// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"errors"
	"io"
	"sync"
	"time"
)

// Chunks of memory grow from the first, which holds a short list, to the last: more gains nothing,
// and less costs system calls.
const (
	firstChunk = 4 << 10
	lastChunk  = 128 << 10

	// longPause is how long a body may have nothing before what it had is decoded meanwhile. An
	// answer that comes from memory, over a fast network, pauses for less.
	longPause = time.Millisecond

	// longList is how long after its request a list is bound to the limit. Servers cut lists after
	// a minute, which then has to suffice for the rest of the body, and not for decoding it.
	longList = 20 * time.Second
)

var errClosed = errors.New("the body was closed")

// ahead reads a body in a goroutine of its own, up to a limit of bytes that wait to be read, so
// that a server is not held up by the decoding of what it sends. After some time the limit is
// lifted, so that the decoding of a long list does not count as the time that its request takes.
// One goroutine reads from it. That waits while more arrives, until the limit was reached once:
// otherwise it would take turns with the goroutine that reads the body, and with a server on the
// same machine, where processors are few.
type ahead struct {
	body  io.Reader
	limit int64
	size  int         // of the next chunk; the goroutine's own
	pause *time.Timer // of the body
	lifts *time.Timer // the limit

	mu struct {
		sync.Mutex
		chunks  [][]byte // read, the first perhaps in part
		waiting int64    // bytes in them
		total   int64    // bytes that were read
		err     error    // behind them
		paused  bool     // the body has nothing for longer than longPause
		full    bool     // the limit was reached
		lifted  bool     // there is no limit any more
		closed  bool
	}
	changed sync.Cond
}

// readAhead begins to read, for so long with the limit. The goroutine ends when body returns an
// error, as after its Close, or close was called.
func readAhead(body io.Reader, limit int64, limited time.Duration) *ahead {
	a := &ahead{body: body, limit: limit, size: firstChunk}
	a.changed.L = &a.mu
	a.pause = time.AfterFunc(longPause, a.paused)
	a.lifts = time.AfterFunc(limited, a.lift)
	go a.run()
	return a
}

func (a *ahead) run() {
	defer a.pause.Stop()
	defer a.lifts.Stop()
	for a.makeRoom() {
		buf := a.empty()
		a.pause.Reset(longPause)
		n, err := a.body.Read(buf)
		a.add(buf[:n], err)
		if err != nil {
			return
		}
	}
}

// makeRoom waits until less than the limit waits to be read, if there is one. It returns false when
// nobody reads.
func (a *ahead) makeRoom() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.waiting >= a.limit {
		a.mu.full = true
		a.changed.Broadcast()
	}
	for a.mu.waiting >= a.limit && !a.mu.lifted && !a.mu.closed {
		a.changed.Wait()
	}
	return !a.mu.closed
}

// lift ends the limit.
func (a *ahead) lift() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.lifted = true
	a.changed.Broadcast()
}

// paused lets what has arrived be decoded.
func (a *ahead) paused() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.paused = true
	a.changed.Broadcast()
}

// empty returns memory to read into: what is left of the last chunk, or a new one.
func (a *ahead) empty() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.mu.chunks); n > 0 {
		if last := a.mu.chunks[n-1]; cap(last)-len(last) >= cap(last)/4 {
			return last[len(last):cap(last)]
		}
	}
	buf := make([]byte, a.size)
	a.size = min(2*a.size, lastChunk)
	return buf
}

// add makes what was read known. If it went into the last chunk it becomes part of that.
func (a *ahead) add(read []byte, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(read) > 0 {
		a.appendLocked(read)
	}
	a.mu.waiting += int64(len(read))
	a.mu.total += int64(len(read))
	a.mu.err = err
	a.mu.paused = false
	if err != nil || a.mu.full {
		a.changed.Broadcast()
	}
}

func (a *ahead) appendLocked(read []byte) {
	if n := len(a.mu.chunks); n > 0 {
		last := a.mu.chunks[n-1]
		if room := last[len(last):cap(last)]; len(room) > 0 && &room[0] == &read[0] {
			a.mu.chunks[n-1] = last[:len(last)+len(read)]
			return
		}
	}
	a.mu.chunks = append(a.mu.chunks, read)
}

// Read returns what was read, and then io.EOF. Any other error of the body comes at once.
func (a *ahead) Read(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for !a.readyLocked() {
		a.changed.Wait()
	}
	if a.mu.closed {
		return 0, errClosed
	}
	if len(a.mu.chunks) == 0 || a.failedLocked() != nil {
		return 0, a.mu.err
	}
	first := a.mu.chunks[0]
	n := copy(p, first)
	a.mu.chunks[0] = first[n:]
	if a.mu.waiting -= int64(n); n == len(first) {
		a.dropFirstLocked()
	}
	if a.mu.full {
		a.changed.Broadcast()
	}
	return n, nil
}

// readyLocked reports whether Read returns now: the body has paused, or brought as much as may
// wait, and there are bytes of it; or nothing more comes.
func (a *ahead) readyLocked() bool {
	if a.mu.err != nil || a.mu.closed {
		return true
	}
	return len(a.mu.chunks) > 0 && (a.mu.paused || a.mu.full)
}

// dropFirstLocked drops a chunk that was read to its end.
func (a *ahead) dropFirstLocked() {
	a.mu.chunks[0] = nil
	if a.mu.chunks = a.mu.chunks[1:]; len(a.mu.chunks) == 0 {
		a.mu.chunks = nil
	}
}

// read returns how many bytes were read so far.
func (a *ahead) read() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mu.total
}

// failed returns the error that the body has failed with, nil if it did not, or has not yet.
func (a *ahead) failed() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failedLocked()
}

func (a *ahead) failedLocked() error {
	if errors.Is(a.mu.err, io.EOF) {
		return nil
	}
	return a.mu.err
}

// close ends the reading, and forgets what waits. It does not close the body.
func (a *ahead) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.closed, a.mu.chunks = true, nil
	a.changed.Broadcast()
}
