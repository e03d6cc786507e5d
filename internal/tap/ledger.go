// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"io"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Counts are the counters that the engine increments. See State and Ledger.Bytes.
type Counts struct {
	Decoded, Reused, Verified, Differences atomic.Int64
	Checked, WrittenTo                     atomic.Int64
	ListBytes, WatchBytes                  atomic.Int64
}

// Keeper knows which fields of objects are kept. The only one is *keep.Rule: behind an interface, a program without Decoding.Keep
// does not link it.
type Keeper interface {
	// Says returns the paths of the fields that are kept, and the labels of the objects that are whole; nil: none are.
	Says() (paths []string, whole labels.Selector)
	// IsWhole reports whether all fields of an object are kept.
	IsWhole(obj any) bool
	// Prune removes the fields that are not kept. It modifies the topmost struct or map only.
	Prune(obj any)
}

// Ledger contains the counts and the state of a Source. The zero value is valid. It is safe for
// concurrent use.
type Ledger struct {
	Counts
	host   atomic.Pointer[string] // of the last request; nil: no transport of package direct has sent one
	target atomic.Pointer[Target] // of the first request; for several sources what is common to theirs; nil: not known
	Held   atomic.Value           // what is kept in memory as long as the ledger, for an engine
	Drops  atomic.Bool            // the client removes managed fields
	whole  *Ledger                // of the informer whose source this ledger is of; nil: not one of several

	received  atomic.Int64             // when a list was last requested or a byte of it received, in nanoseconds after processBegan; 0: never
	receiving atomic.Pointer[received] // the list that a transport of package direct receives; nil: none

	refused atomic.Pointer[Refusal] // the last answer other than 200; nil: none

	mu struct {
		sync.Mutex
		on       bool
		encoding string
		why      string
		reason   string
		givenUp  map[string]int64
		tables   func() (Texts, Parts) // nil: the informer uses none

		skips    bool
		shares   bool
		unshared string
		written  string

		unguarded string
	}
}

// State returns the current state.
func (l *Ledger) State() State {
	texts, parts := l.tables()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := State{
		On: l.mu.on, Encoding: l.mu.encoding, Why: l.mu.why, Reason: l.mu.reason, GivenUp: maps.Clone(l.mu.givenUp),
		Decoded: l.Decoded.Load(), Reused: l.Reused.Load(), Verified: l.Verified.Load(), Differences: l.Differences.Load(),
		Skips: l.mu.skips, Shares: l.mu.shares, Unshared: l.mu.unshared, Texts: texts, Parts: parts,
		Checked: l.Checked.Load(), WrittenTo: l.WrittenTo.Load(), Written: l.mu.written,
		Unguarded: l.mu.unguarded,
	}
	if s.Shares && s.Reason == NoTransport {
		s.Unshared = s.Why
	}
	return s
}

// Unguarded records why partial objects may be written although they must not, or "".
func (l *Ledger) Unguarded(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.unguarded = why
}

// tables returns zeros if the informer uses no tables. The lock is not held while the tables are asked.
func (l *Ledger) tables() (texts Texts, parts Parts) {
	l.mu.Lock()
	ask := l.mu.tables
	l.mu.Unlock()
	if ask == nil {
		return texts, parts
	}
	return ask()
}

// Uses sets the function that describes the tables of the process; nil: the informer uses none.
func (l *Ledger) Uses(tables func() (Texts, Parts)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.tables = tables
}

// Absorb adds the counts of another ledger, which is no longer in use.
func (l *Ledger) Absorb(over *Ledger) {
	for _, of := range [...]struct{ sum, part *atomic.Int64 }{
		{&l.Decoded, &over.Decoded}, {&l.Reused, &over.Reused}, {&l.Verified, &over.Verified}, {&l.Differences, &over.Differences},
		{&l.Checked, &over.Checked}, {&l.WrittenTo, &over.WrittenTo}, {&l.ListBytes, &over.ListBytes}, {&l.WatchBytes, &over.WatchBytes},
	} {
		of.sum.Add(of.part.Load())
	}
	givenUp := over.State().GivenUp
	l.mu.Lock()
	defer l.mu.Unlock()
	for reason, n := range givenUp {
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
func (l *Ledger) Bytes() (lists, watches int64) { return l.ListBytes.Load(), l.WatchBytes.Load() }

// Sends records the host and port of a request that a transport of package direct sends.
func (l *Ledger) Sends(host *string) { l.host.Store(host) }

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

// HasTarget reports whether the target of a request is known.
func (l *Ledger) HasTarget() bool { return l.target.Load() != nil }

// Ask records the target of the first request.
func (l *Ledger) Ask(first Target) {
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

// Refuses records an answer other than 200.
func (l *Ledger) Refuses(r Refusal) { l.refused.Store(&r) }

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

// Receives records that a list was requested or, if body is not nil, that it is received from now on
// with the body returned.
func (l *Ledger) Receives(body io.ReadCloser) io.ReadCloser {
	list := &received{body, l}
	l.received.Store(int64(time.Since(processBegan)))
	l.receiving.Store(list)
	return list
}

// ReceivesNothing records that no body came.
func (l *Ledger) ReceivesNothing() {
	l.received.Store(int64(time.Since(processBegan)))
	l.receiving.Store(nil)
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

// WroteTo records a part that a program has modified. It reports whether it is the first one.
func (l *Ledger) WroteTo(where string) (first bool) {
	l.WrittenTo.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.written != "" {
		return false
	}
	l.mu.written = where
	return true
}

// TurnedOn records that the last request was decoded directly.
func (l *Ledger) TurnedOn(encoding string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.on, l.mu.encoding, l.mu.why, l.mu.reason = true, encoding, "", ""
}

// TurnedOff records that the last request was not decoded directly, and a word for the reason.
func (l *Ledger) TurnedOff(why, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.on, l.mu.encoding, l.mu.why, l.mu.reason = false, "", why, reason
}

// manyReasons is the largest number of reasons to count separately.
const manyReasons = 16

// GaveUp records an object that the decoder gave up.
func (l *Ledger) GaveUp(why error) {
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
