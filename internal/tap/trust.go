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

// mostDoubts about lists that the client can decode show that more of them will follow.
const mostDoubts = 3

// Options are how an informer decodes. The zero value works.
type Options struct {
	Off    bool  // by client-go only
	Ahead  int64 // bytes of a list that may wait to be decoded; 0: defaultAhead; -1: none
	Verify int64 // one object in so many goes both ways; 0: defaultVerify
	// Start is where the sample of objects that go both ways starts; 0: at a random place.
	Start uint64
	// Share says that equal parts of objects are one, Unshared why they are not, although that was
	// asked for.
	Share    bool
	Unshared string
	// Remember says that objects may come again that were returned before, if Share is set: nobody
	// writes to any.
	Remember bool
	// Drop is what is to be left out of what was received: see Trim.
	Drop *decode.Drop
	// Part is what requests ask for; nil: all. What comes nevertheless is left out where that saves
	// decoding it.
	Part *shard.Range
	// Compared returns what is compared of an object that goes both ways; nil: all of it.
	Compared func(runtime.Object) runtime.Object
	// Make makes decoders; nil: those of this library.
	Make Maker
	// Ledger is where the source tells what it does; nil: one that nobody reads.
	Ledger *Ledger
}

// isOther reports whether an object is known not to be of the part, before it is decoded.
func (o *Options) isOther(object []byte, e Encoding) bool {
	if o.Part == nil {
		return false
	}
	uid := decode.UID(object, e)
	return len(uid) > 0 && !o.Part.HasHash(shard.Hash(uid))
}

// DropOf sets what is left out, by its paths, and returns those that cannot be.
func (o *Options) DropOf(paths []string) (refused []string) {
	o.Drop, refused = decode.DropOf(paths)
	return refused
}

// Trim makes of an object that was received, by whomever it was decoded, what may be used: it
// leaves out what is dropped. It writes to the topmost struct or map only, once.
func (o *Options) Trim(obj runtime.Object) {
	if o != nil {
		o.Drop.Trim(obj)
	}
}

// trust is how an informer decodes, and whether it still does. Its lists and watches share it.
type trust struct {
	example reflect.Type // of the objects; nil: not known
	options Options
	sampler sampler
	checks  atomic.Bool // all parts that objects share

	rows   *rows // may be nil
	cached cached

	mu struct {
		sync.Mutex
		off    string // for good, and why
		listed bool   // the state was, or may have been, taken from a Page

		suspended string // until the client has decoded a list, and why
		doubts    int    // about lists that the client could decode
	}
}

// decoder returns a decoder, if there is one.
func (t *trust) decoder(of reflect.Type, e Encoding) (sure, bool) {
	d := t.options.Make(of, e)
	return sure{d}, d != nil
}

// difference compares an object as both have decoded it.
func (t *trust) difference(ours, theirs runtime.Object) string {
	if of := t.options.Compared; of != nil {
		return difference(of(ours), of(theirs))
	}
	return difference(ours, theirs)
}

// doubt turns the tap off, and returns the error that says so.
func (t *trust) doubt(why string) error {
	t.turnOff(forGood + why)
	t.setListed(false)
	return &Doubt{forGood + why}
}

// suspect turns the tap off until settle, and returns the error that says so: the server may be to
// blame for a list that is odd.
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

// settle ends a suspension by the list that was left to the client. If the client has failed, too,
// the doubt is forgotten; else it counts, and the third turns the tap off. A page before the last
// one, a call that was ended, or a version that has expired settles nothing: the list that follows
// does.
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

// resume ends the suspension, once, and reports whether its doubt was the last that is allowed.
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
	defer t.rows.forget() // nothing is looked for any more, neither here nor in the tables
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

// setListed notes whether there is a Page in the state, and returns what was known.
func (t *trust) setListed(listed bool) (before bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, t.mu.listed = t.mu.listed, listed
	return before
}
