// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/cache/internal/decode"
	"github.com/kinformer/cache/internal/event"
)

// State describes whether an informer decodes directly, with what result.
type State struct {
	On       bool     // the last list or watch was decoded directly
	Encoding Encoding // of the last list or watch; "" if not decoded directly
	Why      string   // the reason why On is false; "" if On is true or nothing was requested yet

	Decoded     int64            // objects decoded directly
	Reused      int64            // objects found by their bytes, and not decoded
	GivenUp     map[string]int64 // objects the decoder gave up, by reason; there are few reasons
	Verified    int64            // objects that both decoded
	Differences int64            // those that differed

	Skips    bool   // Options.SkipUndecodable
	Shares   bool   // objects that are decoded directly share equal parts
	Unshared string // the reason why none do, although it was requested

	Texts Texts // of the process, while in use
	Parts Parts // of the process, while in use

	Checked   int64  // parts that were decoded again to check them
	WrittenTo int64  // those that a program had modified
	Written   string // the first of them, by type and path, without a value
}

// IsSuspended reports whether the last list was in doubt, and nothing was decoded directly since.
func (s State) IsSuspended() bool { return strings.HasPrefix(s.Why, suspended) }

// IsTurnedOff reports whether the tap was on and what it received has turned it off, for good or for a watch.
func (s State) IsTurnedOff() bool {
	return strings.HasPrefix(s.Why, forGood) || strings.HasPrefix(s.Why, forWatch)
}

// Ledger contains the counts and the state of a Source. The zero value is valid. It is safe for
// concurrent use.
type Ledger struct {
	decoded, verified, differences atomic.Int64
	checked, writtenTo             atomic.Int64
	reused                         atomic.Int64
	texts                          tableUse[decode.Intern]
	parts                          tableUse[decode.Parts]

	listBytes, watchBytes atomic.Int64
	host                  atomic.Pointer[string] // of the last request; nil: no transport of package direct has sent one
	target                atomic.Pointer[Target] // of the first request; for several sources what is common to theirs; nil: not known
	whole                 *Ledger                // of the informer whose source this ledger is of; nil: not one of several

	received  atomic.Int64             // when a list was last requested or a byte of it received, in nanoseconds after processBegan; 0: never
	receiving atomic.Pointer[received] // the list that a transport of package direct receives; nil: none

	refused atomic.Pointer[Refusal] // the last answer other than 200; nil: none

	mu struct {
		sync.Mutex
		on       bool
		encoding Encoding
		why      string
		givenUp  map[string]int64

		skips    bool
		shares   bool
		unshared string
		written  string
	}
}

// State returns the current state.
func (l *Ledger) State() State {
	texts, parts := textsOf(&l.texts), partsOf(&l.parts)
	l.mu.Lock()
	defer l.mu.Unlock()
	s := State{
		On: l.mu.on, Encoding: l.mu.encoding, Why: l.mu.why, GivenUp: maps.Clone(l.mu.givenUp),
		Decoded: l.decoded.Load(), Reused: l.reused.Load(), Verified: l.verified.Load(), Differences: l.differences.Load(),
		Skips: l.mu.skips, Shares: l.mu.shares, Unshared: l.mu.unshared, Texts: texts, Parts: parts,
		Checked: l.checked.Load(), WrittenTo: l.writtenTo.Load(), Written: l.mu.written,
	}
	if s.Shares && s.Why == noTransport {
		s.Unshared = noTransport
	}
	return s
}

// Absorb adds the counts of another ledger, which is no longer in use.
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

// begin records the options that readers of the ledger see. It may have readers already.
func (l *Ledger) begin(skips, shares bool, unshared string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.skips, l.mu.shares, l.mu.unshared = skips, shares, unshared
}

// Bytes returns the number of bytes read from the bodies that were taken: from complete lists, and
// from watches so far.
func (l *Ledger) Bytes() (lists, watches int64) { return l.listBytes.Load(), l.watchBytes.Load() }

// Host returns the host and port of the last request that a transport of package direct sent, or
// "".
func (l *Ledger) Host() string {
	if host := l.host.Load(); host != nil {
		return *host
	}
	return ""
}

// Target returns the target of the first request, if a transport or a ListerWatcher of package
// direct has reported it. Before that, a source has the resource of the other sources. The Target of
// several sources has their resource and their server, each unless sources have differed in it.
func (l *Ledger) Target() Target {
	switch target := l.target.Load(); {
	case target != nil:
		return *target
	case l.whole != nil:
		return Target{Resource: l.whole.Target().Resource}
	default:
		return Target{}
	}
}

// BeSource makes the ledger that of one of several sources, whose common target whole records. It
// must be called before the ledger is used.
func (l *Ledger) BeSource(whole *Ledger) { l.whole = whole }

// Whole returns the argument of BeSource, or nil.
func (l *Ledger) Whole() *Ledger { return l.whole }

// ask records the target of the first request.
func (l *Ledger) ask(first Target) {
	if l.target.CompareAndSwap(nil, &first) && l.whole != nil {
		l.whole.include(first)
	}
}

// include records the target of a source. A field in which sources have differed stays empty, so
// that names and labels made of the target do not go back and forth.
func (l *Ledger) include(source Target) {
	for {
		common, before := Target{Server: source.Server, Resource: source.Resource}, l.target.Load()
		if before != nil && before.Server != common.Server {
			common.Server = ""
		}
		if before != nil && before.Resource != common.Resource {
			common.Resource = schema.GroupVersionResource{}
		}
		if before != nil && *before == common || l.target.CompareAndSwap(before, &common) {
			return
		}
	}
}

// Refusal is an answer other than 200. The client may repeat such a request by itself, without returning.
type Refusal struct {
	At    time.Time
	Until time.Time // until when the server asks to wait; At if it does not
}

// refuses records an answer other than 200. Of 429 and 5xx, client-go obeys Retry-After.
func (l *Ledger) refuses(resp *http.Response) {
	now := time.Now()
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	obeyed := resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= http.StatusInternalServerError
	if err != nil || seconds < 0 || !obeyed {
		seconds = 0
	}
	l.refused.Store(&Refusal{now, now.Add(time.Duration(seconds) * time.Second)})
}

// Refused returns the last answer other than 200, or zero.
func (l *Ledger) Refused() Refusal {
	if last := l.refused.Load(); last != nil {
		return *last
	}
	return Refusal{}
}

// processBegan is the origin of the times in a Ledger. It has a monotonic clock reading, since the
// wall clock may be set.
var processBegan = time.Now()

// Received returns the time at which a transport of package direct last sent the request of a list
// or received a byte of the response, or zero. more reports whether it may receive more bytes.
func (l *Ledger) Received() (last time.Time, more bool) {
	if at := l.received.Load(); at != 0 {
		last = processBegan.Add(time.Duration(at))
	}
	return last, l.receiving.Load() != nil
}

// receives records that list is received from now on; nil: none is.
func (l *Ledger) receives(list *received) {
	l.received.Store(int64(time.Since(processBegan)))
	l.receiving.Store(list)
}

// received is the body of a list. It records in a ledger when bytes are received. It may be used
// concurrently with Close, and while the next list is received.
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

// ends records that no more bytes of this list will be received.
func (b *received) ends() { b.ledger.receiving.CompareAndSwap(b, nil) }

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

// partsWritten is the number of modified parts found, in all informers. After an increment, no
// former object is returned again, because it may contain the modification.
var partsWritten atomic.Int64

// checkedPart records the check of a part. If w is not nil, a program has modified the part. The
// first such part is reported.
func (l *Ledger) checkedPart(w *decode.Written) {
	l.checked.Add(1)
	if w == nil {
		return
	}
	partsWritten.Add(1)
	where := writtenTo(w)
	if l.firstWrittenTo(where) {
		event.Report(context.Background(), fmt.Errorf("a caller has modified a part that objects of an informer share: %s", where), "Objects were written to")
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

// turnedOn records that the last request was decoded directly.
func (l *Ledger) turnedOn(e Encoding) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.on, l.mu.encoding, l.mu.why = true, e, ""
}

// turnedOff records that the last request was not decoded directly.
func (l *Ledger) turnedOff(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.on, l.mu.encoding, l.mu.why = false, "", why
}

// manyReasons is the largest number of reasons to count separately.
const manyReasons = 16

// gaveUp records an object that the decoder gave up.
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
