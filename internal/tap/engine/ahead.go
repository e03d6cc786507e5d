// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"io"
	"sync"
	"time"
)

// The size of a chunk of memory grows from firstChunk, which holds a short list, to lastChunk.
// Larger chunks are not faster, smaller ones cost system calls.
const (
	firstChunk = 4 << 10
	lastChunk  = 128 << 10

	// longPause is the time without data after which the data received so far is decoded. A
	// response from memory over a fast network has shorter pauses.
	longPause = time.Millisecond

	// longList is the time after the request during which ReadAhead limits the received bytes. Servers end lists
	// after a minute. The remaining 40 seconds must suffice to receive the rest, but not to decode
	// it.
	longList = 20 * time.Second
)

var errClosed = errors.New("the body was closed")

// ahead reads a body in a goroutine of its own. Up to a limit of bytes wait to be read, so that
// slow decoding does not block the server. After longList the limit is lifted, so that the time to
// decode a long list does not count as time of the request.
//
//	body ── run ──▶ chunks [ used | waiting ........ ] ── Read ──▶ decoder
//
// One goroutine reads from it. Until the limit is first reached, Read blocks while more data
// arrives. Otherwise, with few processors, it would alternate with the goroutine that reads the
// body, and with a server on the same machine.
type ahead struct {
	body  io.Reader
	limit int64
	size  int         // of the next chunk, in bytes; used by run only
	pause *time.Timer // fires when the body pauses
	lifts *time.Timer // fires when the limit ends

	mu struct {
		sync.Mutex
		chunks  [][]byte // the bytes read; the first chunk may be partly used
		waiting int64    // the number of bytes in chunks
		total   int64    // the number of bytes read from the body
		err     error    // of the body, after the chunks
		paused  bool     // no data arrived for longPause
		full    bool     // the limit was reached
		lifted  bool     // there is no limit any more
		closed  bool
	}
	changed sync.Cond
}

// readAhead begins to read, with the limit for the duration limited. The goroutine ends when body
// returns an error, for example because it was closed, or after close.
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

// makeRoom blocks until the waiting bytes are below the limit, if there still is one. It returns
// false after close.
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

// paused allows Read to return the data received so far.
func (a *ahead) paused() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.paused = true
	a.changed.Broadcast()
}

// empty returns memory to read into: the rest of the last chunk, or a new chunk.
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

// add makes the bytes read available to Read. If they are in the last chunk, they become part of
// it.
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

// Read returns the bytes of the body, and then io.EOF. Any other error of the body is returned at
// once, before waiting bytes.
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

// readyLocked reports whether Read may return: there are bytes, and the body has paused or the
// limit was reached; or the body has ended.
func (a *ahead) readyLocked() bool {
	if a.mu.err != nil || a.mu.closed {
		return true
	}
	return len(a.mu.chunks) > 0 && (a.mu.paused || a.mu.full)
}

// dropFirstLocked drops the first chunk, which is used up.
func (a *ahead) dropFirstLocked() {
	a.mu.chunks[0] = nil
	if a.mu.chunks = a.mu.chunks[1:]; len(a.mu.chunks) == 0 {
		a.mu.chunks = nil
	}
}

// read returns the number of bytes read from the body.
func (a *ahead) read() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mu.total
}

// failed returns the error of the body, or nil if it has not failed. io.EOF is not a failure.
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

// close stops the reading and drops the waiting bytes. It does not close the body.
func (a *ahead) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.closed, a.mu.chunks = true, nil
	a.changed.Broadcast()
}
