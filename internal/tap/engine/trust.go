// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"reflect"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/tap"
)

// mostDoubts is the number of doubts about lists which the client could decode that turn the tap
// off for good.
const mostDoubts = 3

// trust decides whether an informer decodes directly. It is shared by the lists and watches of the
// informer.
//
//	on ── suspect: a list is odd ──▶ suspended ── settle: the client ──▶ on, with one more doubt if the
//	│                                             has listed             client could decode the list
//	└── doubt: an object differs, or the third doubt about lists ──▶ off for good
type trust struct {
	example reflect.Type // of the objects; nil: not known
	options Options
	sampler sampler
	checks  atomic.Bool // check all shared parts

	rows   *rows // may be nil
	uses   uses
	cached cached

	mu struct {
		sync.Mutex
		off    string // the reason why the tap is off for good, or ""
		listed bool   // the store has, or may have, the items of a Page

		last struct { // the stream type of the last watch, and of its client
			*streamType
			coding Encoding
			drops  bool
			kept   bool // until the informer ends: its decoder uses the tables of the process
		}

		suspended string // the reason why the client decodes the next list, or ""
		doubts    int    // the number of doubts about lists that the client could decode
	}
}

// decoder returns a decoder for objects of a type, or nil if there is none. drops means that the client
// removes managed fields.
func (t *trust) decoder(of reflect.Type, e Encoding, drops bool) *decoder {
	return newDecoder(&t.options, t.rows, &t.uses, of, e, drops)
}

// remembers sets whether stream types are recorded.
func (t *trust) remembers(them bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.last.streamType, t.mu.last.kept = nil, them
}

// learned records the stream type of a watch.
func (t *trust) learned(l *streamType, e Encoding, drops bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last := &t.mu.last; last.kept && t.mu.off == "" {
		last.streamType, last.coding, last.drops = l, e, drops
	}
}

// streamType returns the stream type of the last watch, or nil if it had another encoding.
func (t *trust) streamType(e Encoding, drops bool) *streamType {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.last.coding != e || t.mu.last.drops != drops {
		return nil
	}
	return t.mu.last.streamType
}

// maySkip reports whether an object that cannot be decoded may be left out: its place in the store and in
// the order of events is known.
func (t *trust) maySkip(bad *event.Undecodable) bool {
	return t.options.SkipUndecodable && bad.Name != "" && bad.ResourceVersion != ""
}

// difference returns the difference of two objects decoded from the same bytes, or "".
func (t *trust) difference(ours, theirs runtime.Object) string {
	if of := t.options.Compared; of != nil {
		return difference(of(ours), of(theirs))
	}
	return difference(ours, theirs)
}

// doubt turns the tap off for good, and returns the *Doubt to report.
func (t *trust) doubt(why string) error {
	t.turnOffForGood(why)
	t.setListed(false)
	return &tap.Doubt{Why: forGood + why}
}

// suspect suspends the tap until settle, and returns the *Doubt to report. The server may be the
// cause of an odd list.
func (t *trust) suspect(why string) error {
	t.setListed(false)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.suspended = why
	t.options.Ledger.TurnedOff(suspended+why, reasonOf(suspended+why))
	return &tap.Doubt{Why: suspended + why}
}

func (t *trust) isSuspended() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.suspended != ""
}

// settle ends a suspension after the client decoded a list. If the client failed too, the doubt
// does not count. Otherwise it counts, and the third one turns the tap off for good. A page other
// than the last one, a canceled call, or an expired version does not end the suspension: a later
// list does.
func (t *trust) settle(ctx context.Context, list runtime.Object, err error) {
	failed := err != nil || event.IsNil(list)
	if ctx.Err() != nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || !failed && hasMorePages(list) {
		return
	}
	if why, last := t.resume(failed); last {
		t.turnOffForGood(why)
	}
}

// hasMorePages reports whether a list has more pages.
func hasMorePages(list runtime.Object) bool {
	accessor, err := meta.ListAccessor(list)
	return err == nil && accessor.GetContinue() != ""
}

// resume ends a suspension. last reports whether the doubt was the last one permitted.
func (t *trust) resume(forget bool) (why string, last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	why, t.mu.suspended = t.mu.suspended, ""
	if forget || why == "" {
		return why, false
	}
	t.mu.doubts++
	return why, t.mu.doubts == mostDoubts
}

// turnOffForGood turns the tap off because of a doubt.
func (t *trust) turnOffForGood(why string) { t.turnOff(forGood+why, reasonOf(forGood+why)) }

func (t *trust) turnOff(why, reason string) {
	defer t.rows.forget() // nothing is looked up any more, neither in rows nor in the tables
	defer t.cached.end()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.last.streamType = nil
	if t.mu.off == "" {
		t.mu.off = why
		t.options.Ledger.TurnedOff(why, reason)
	}
}

func (t *trust) isOff() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.off != ""
}

// setListed records whether the store has the items of a Page, and returns the previous value.
func (t *trust) setListed(listed bool) (before bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, t.mu.listed = t.mu.listed, listed
	return before
}
