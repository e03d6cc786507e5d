// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"context"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinformer/cache/internal/decode"
	"github.com/kinformer/cache/internal/event"
)

// State is whether an informer decodes directly, and how that goes.
type State struct {
	On       bool     // the last list or watch was
	Encoding Encoding // of that; "" if it is not
	Why      string   // it is not; "" if it is, or nothing was asked for yet

	Decoded     int64            // objects that were decoded directly
	Reused      int64            // objects that were known by their bytes, and were not decoded
	GivenUp     map[string]int64 // those that were not, by reason, of which there are few
	Verified    int64            // those that were decoded by both
	Differences int64            // those of them that were not the same

	Shares   bool   // equal parts of objects are one
	Unshared string // why not, although that was asked for

	Texts Texts // the process's, while it is used
	Parts Parts // the same

	Checked   int64  // parts that were found and decoded anew
	WrittenTo int64  // those of them that somebody had written to
	Written   string // what the first of them was, by its type and place, without a value
}

// IsSuspended reports whether the last list was in doubt, and nothing was decoded directly since.
func (s State) IsSuspended() bool { return strings.HasPrefix(s.Why, suspended) }

// IsOffForGood reports whether a fault of a list or of a compared object has turned the tap off.
func (s State) IsOffForGood() bool { return strings.HasPrefix(s.Why, forGood) }

// Ledger is where a Source tells what it does. The zero value is ready, and anybody may read it.
type Ledger struct {
	decoded, verified, differences atomic.Int64
	checked, writtenTo             atomic.Int64
	reused                         atomic.Int64
	texts                          tableUse[decode.Intern]
	parts                          tableUse[decode.Parts]

	listBytes, watchBytes atomic.Int64
	host                  atomic.Pointer[string] // of the last request; nil: no transport of package direct has sent one
	target                atomic.Pointer[Target] // of the first request; nil: nobody has told

	received  atomic.Int64             // when the last byte of a list came, or a sign of one, in nanoseconds after processBegan; 0: none yet
	receiving atomic.Pointer[received] // a list that a transport of package direct receives; nil: none

	mu struct {
		sync.Mutex
		on       bool
		encoding Encoding
		why      string
		givenUp  map[string]int64

		shares   bool
		unshared string
		written  string
	}
}

// State returns what is to be told now.
func (l *Ledger) State() State {
	texts, parts := textsOf(&l.texts), partsOf(&l.parts)
	l.mu.Lock()
	defer l.mu.Unlock()
	return State{
		On: l.mu.on, Encoding: l.mu.encoding, Why: l.mu.why, GivenUp: maps.Clone(l.mu.givenUp),
		Decoded: l.decoded.Load(), Reused: l.reused.Load(), Verified: l.verified.Load(), Differences: l.differences.Load(),
		Shares: l.mu.shares, Unshared: l.mu.unshared, Texts: texts, Parts: parts,
		Checked: l.checked.Load(), WrittenTo: l.writtenTo.Load(), Written: l.mu.written,
	}
}

// Absorb adds what another ledger has counted, of which nobody tells any more.
func (l *Ledger) Absorb(over *Ledger) {
	counted := over.State()
	lists, watches := over.Bytes()
	l.listBytes.Add(lists)
	l.watchBytes.Add(watches)
	l.decoded.Add(counted.Decoded)
	l.reused.Add(counted.Reused)
	l.verified.Add(counted.Verified)
	l.differences.Add(counted.Differences)
	l.checked.Add(counted.Checked)
	l.writtenTo.Add(counted.WrittenTo)
	l.mu.Lock()
	defer l.mu.Unlock()
	for reason, n := range counted.GivenUp {
		l.giveUpLocked(reason, n)
	}
}

// begin notes whether equal parts are to be one. There may be readers already.
func (l *Ledger) begin(shares bool, unshared string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.shares, l.mu.unshared = shares, unshared
}

// Bytes returns how much was read of the bodies that were taken: of lists that came to their end,
// and of watches so far.
func (l *Ledger) Bytes() (lists, watches int64) { return l.listBytes.Load(), l.watchBytes.Load() }

// Host returns the host and port that a transport of package direct has last sent a request to, ""
// if it has sent none.
func (l *Ledger) Host() string {
	if host := l.host.Load(); host != nil {
		return *host
	}
	return ""
}

// Target returns what the first request asked for, as far as a transport or a ListerWatcher of package
// direct has told.
func (l *Ledger) Target() Target {
	if target := l.target.Load(); target != nil {
		return *target
	}
	return Target{}
}

// processBegan has a monotonic reading, which times that are compared need: the wall clock may be
// set.
var processBegan = time.Now()

// Received returns when a transport of package direct has last sent the request for a list, or
// received a byte of the answer (zero: never), and whether more may come that it will see.
func (l *Ledger) Received() (last time.Time, more bool) {
	if at := l.received.Load(); at != 0 {
		last = processBegan.Add(time.Duration(at))
	}
	return last, l.receiving.Load() != nil
}

// receives notes that the list is received from now on; nil: none is.
func (l *Ledger) receives(list *received) {
	l.received.Store(int64(time.Since(processBegan)))
	l.receiving.Store(list)
}

// received is the body of a list, whose bytes a ledger notes the time of. Goroutines may use it
// when it is closed, and when the next list is received.
type received struct {
	io.ReadCloser
	ledger *Ledger
}

func (b *received) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ledger.received.Store(int64(time.Since(processBegan)))
	if err != nil {
		b.ends()
	}
	return n, err
}

func (b *received) Close() error {
	b.ends()
	return b.ReadCloser.Close()
}

// ends notes that no more comes of this list.
func (b *received) ends() { b.ledger.receiving.CompareAndSwap(b, nil) }

// counting counts what is read of a body, once for each Read.
type counting struct {
	io.Reader
	n *atomic.Int64
}

func (c counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// partsWritten counts the parts, of all informers, that somebody was seen to have written to. After
// each, no object is returned that was there before: it may have what was written.
var partsWritten atomic.Int64

// checkedPart notes the check of a part, which somebody has written to if w is not nil. The first
// of these is reported.
func (l *Ledger) checkedPart(w *decode.Written) {
	l.checked.Add(1)
	if w == nil {
		return
	}
	partsWritten.Add(1)
	where := writtenTo(w)
	if l.firstWrittenTo(where) {
		event.Report(context.Background(), fmt.Errorf("somebody has written to objects of an informer, which share it: %s", where), "Objects were written to")
	}
	l.writtenTo.Add(1)
}

func (l *Ledger) firstWrittenTo(where string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.written != "" {
		return false
	}
	l.mu.written = where
	return true
}

// turnedOn notes that what was asked for is decoded directly.
func (l *Ledger) turnedOn(e Encoding) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.on, l.mu.encoding, l.mu.why = true, e, ""
}

// turnedOff notes that it is not.
func (l *Ledger) turnedOff(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.on, l.mu.encoding, l.mu.why = false, "", why
}

// manyReasons is how many reasons are told apart.
const manyReasons = 16

// gaveUp notes an object that our decoder was not sure of.
func (l *Ledger) gaveUp(why error) {
	reason := "no reason"
	if why != nil {
		reason = why.Error()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.giveUpLocked(reason, 1)
}

func (l *Ledger) giveUpLocked(reason string, n int64) {
	if l.mu.givenUp == nil {
		l.mu.givenUp = map[string]int64{}
	}
	if _, known := l.mu.givenUp[reason]; !known && len(l.mu.givenUp) >= manyReasons {
		reason = "others"
	}
	l.mu.givenUp[reason] += n
}
