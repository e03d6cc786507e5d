// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"context"
	"reflect"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/internal/decode"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/shard"
)

// mostDoubts is the number of doubts about lists which the client could decode that turn the tap
// off for good.
const mostDoubts = 3

// Options configure the decoding of an informer. The zero value is valid.
type Options struct {
	Off    bool  // client-go decodes everything
	Ahead  int64 // bytes of a list that may wait to be decoded; 0: defaultAhead; -1: none
	Verify int64 // both decode one object in Verify; 0: defaultVerify
	// Start is the position at which the sample of objects that both decode starts; 0: a random
	// one.
	Start uint64
	// Share means that objects share equal parts. Unshared is the reason why they do not, although
	// it was requested.
	Share    bool
	Unshared string
	// Remember means that, if Share is set, former objects may be returned again: no caller
	// modifies objects.
	Remember bool
	// SkipUndecodable means that an *event.Undecodable takes the place of an object that the client
	// cannot decode either, if its name and version can be read. Else its list or watch fails.
	SkipUndecodable bool
	// Drop is the metadata to remove from received objects. See Trim.
	Drop *decode.Drop
	// Part is the shard that is requested; nil: all objects. Objects of other shards are dropped if
	// that saves their decoding.
	Part *shard.Range
	// Compared returns the part of an object to compare if both decode it; nil: the whole object.
	Compared func(runtime.Object) runtime.Object
	// Make makes decoders; nil: the decoders of this package.
	Make Maker
	// Ledger receives counts and states; nil: a new one.
	Ledger *Ledger
}

// isOther reports whether an encoded object is known to be in another shard.
func (o *Options) isOther(object []byte, e Encoding) bool {
	if o.Part == nil {
		return false
	}
	return o.Part.Excludes(func(f shard.Field) []byte {
		if f == shard.Namespace {
			return decode.Namespace(object, e)
		}
		return decode.UID(object, e)
	})
}

// DropOf sets Drop to the given paths, and returns the paths that are not supported.
func (o *Options) DropOf(paths []string) (refused []string) {
	o.Drop, refused = decode.DropOf(paths)
	return refused
}

// Trim removes dropped metadata from a received object, whether client-go or this package decoded
// it. It modifies the topmost struct or map only.
func (o *Options) Trim(obj runtime.Object) {
	if o != nil {
		o.Drop.Trim(obj)
	}
}

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
	cached cached

	mu struct {
		sync.Mutex
		off    string // the reason why the tap is off for good, or ""
		listed bool   // the store has, or may have, the items of a Page

		suspended string // the reason why the client decodes the next list, or ""
		doubts    int    // the number of doubts about lists that the client could decode
	}
}

// decoder returns a decoder for the type, and reports whether there is one. drops means that the client
// removes managed fields.
func (t *trust) decoder(of reflect.Type, e Encoding, drops bool) (safeDecoder, bool) {
	d := t.options.Make(of, e)
	if own, ok := d.(interface{ dropping() Decoder }); ok && drops {
		d = own.dropping()
	}
	return safeDecoder{d}, d != nil
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
	t.turnOff(forGood + why)
	t.setListed(false)
	return &Doubt{forGood + why}
}

// suspect suspends the tap until settle, and returns the *Doubt to report. The server may be the
// cause of an odd list.
func (t *trust) suspect(why string) error {
	t.setListed(false)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.suspended = why
	t.options.Ledger.turnedOff(suspended + why)
	return &Doubt{suspended + why}
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
		t.turnOff(forGood + why)
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

func (t *trust) turnOff(why string) {
	defer t.rows.forget() // nothing is looked up any more, neither in rows nor in the tables
	defer t.cached.end()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.off == "" {
		t.mu.off = why
		t.options.Ledger.turnedOff(why)
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
