// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/decode"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/keep"
	"github.com/kinformer/cache/internal/tap"
)

const (
	// defaultAhead is four times the size, in bytes, of a list of 1000 large pods, so nearly all
	// lists fit.
	defaultAhead = 32 << 20
	// defaultVerify is the number of objects per object that both decode. The cost is not
	// measurable.
	defaultVerify = 4096

	// logsBodies is the level of klog at which client-go logs bodies, which must then be complete.
	logsBodies = 8
)

// Source is a ListerWatcher with a tap in each of its requests. It returns the results of the
// underlying ListerWatcher, except that a list may be a *tap.Page, that a watch may be decoded by this
// package, and that a *Doubt may be the error, or the object of the last event of a watch.
type Source struct {
	trust
	lists     clientgo.ListerWatcherWithContext
	mayNotAsk atomic.Bool // to leave out managed fields
	guards    bool        // partial objects must not be written
}

// New returns a source for objects of the type of example, which may be nil.
func New(lists clientgo.ListerWatcherWithContext, example any, o Options) *Source {
	if o.Ahead == 0 {
		o.Ahead = defaultAhead
	}
	if o.Verify == 0 {
		o.Verify = defaultVerify
	}
	if o.Ledger == nil {
		o.Ledger = &tap.Ledger{}
	}
	o.kept, _ = o.Keep.(*keep.Rule)
	s := &Source{lists: lists, guards: o.guards(example)}
	if o.Make == nil && o.Share && o.Remember {
		s.rows = newRows(o.Drop)
	}
	if o.Start == 0 {
		o.Start = uint64(rand.Uint32())
	}
	if s.guards {
		protect(o.Ledger, guard{o.kept, o.Stored})
	}
	s.options, s.sampler.every, s.sampler.start = o, uint64(o.Verify), o.Start
	if _, ok := example.(runtime.Object); ok {
		s.example = reflect.TypeOf(example)
	}
	if why := o.TurnedOff(); why != "" {
		s.turnOff(why, tap.SwitchedOff)
	}
	return s
}

// Begin marks the informer as running, until end is called. In between, the informer uses the
// tables of the process, once it has a decoder.
func (s *Source) Begin() (end func()) {
	texts.begin(&s.uses.texts)
	parts.begin(&s.uses.parts)
	s.options.Ledger.Uses(s.uses.describe)
	s.cached.begin()
	s.remembers(true)
	return func() {
		s.cached.end()
		s.options.Ledger.Uses(nil)
		texts.end(&s.uses.texts)
		parts.end(&s.uses.parts)
		s.remembers(false)
		s.rows.forget()
	}
}

// Check makes all shared parts be checked, until it is called with false. Objects decoded in
// between are correct even if a program has modified parts, and no former object is returned.
func (s *Source) Check(parts bool) {
	if s.checks.Store(parts); parts {
		s.rows.forget()
	}
}

// ListWithContext lists. It returns a *tap.Page if the list was decoded directly.
func (s *Source) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := s.list(ctx, options)
	if err == nil {
		err = s.guard()
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (s *Source) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options = s.options.Part.Narrow(options)
	if s.example == nil || !s.wanted(ctx) {
		return s.lists.ListWithContext(s.asking(ctx, options, false), options)
	}
	if s.isSuspended() {
		list, err := s.lists.ListWithContext(s.asking(ctx, options, false), options)
		s.settle(ctx, list, err)
		return list, err
	}
	if options.Continue == "" {
		s.sampler.begins()
		s.cached.list()
	}
	t := &Tap{options: options, reading: reading{s.options.Ahead, s.sampler.next, s.checks.Load, s.cached.received, &s.trust}}
	t.decoder = func(e Encoding, drops bool) *decoder { return s.decoder(s.example, e, drops) }
	t.ledger, t.asks, t.drop = s.options.Ledger, s.options.Ledger, s.asksToDrop()
	defer t.end() // also if the call panics
	list, err := s.lists.ListWithContext(into(ctx, t), options)
	list, err = s.listed(s.noted(t.end()), list, err)
	if _, ours := list.(*tap.Page); !ours {
		s.cached.unlisted()
	}
	if err != nil {
		s.sampler.again()
	}
	return list, err
}

// listed decides whether the result of a list with a tap is used.
func (s *Source) listed(got taken, list runtime.Object, err error) (runtime.Object, error) {
	body := got.list
	switch phase := body.phase(); {
	case phase == unread:
		if s.notTaken(got, err); err == nil {
			s.setListed(false)
			err = s.refuses(got)
		}
		return list, err
	case got.several:
		return nil, s.doubt("several lists were asked for in one call")
	case phase == decoding && err != nil:
		return nil, err // of a call that did not wait, because it was canceled for example
	case phase == decoding:
		return nil, s.doubt("the list is still read when the call has returned")
	case body.none != nil:
		return nil, s.noList(body.none)
	case body.why != "":
		return nil, s.suspect(body.why)
	case err != nil && !body.done:
		return nil, err // the error of the real body
	case err != nil && body.bad != nil:
		return nil, event.WithText(body.bad.Error(), err)
	case err == nil && !event.IsNil(list) && s.isOther(body.about.Kind) && body.isUntouched(list):
		return nil, s.noList(decode.NoList(body.about.Kind))
	case err != nil || event.IsNil(list) || body.isUntouched(list):
		return nil, s.suspect("the client did not take the list, less items")
	}
	page, odd, differs := body.page(list, &s.trust)
	if differs {
		s.options.Ledger.Differences.Add(1)
	}
	if odd != "" {
		return nil, s.doubt(odd)
	}
	s.account(body)
	if page.GetContinue() == "" {
		s.cached.listed()
	}
	s.setListed(true)
	s.options.Ledger.TurnedOn(string(got.encoding))
	return page, nil
}

// noList returns an error that says what came instead of a list of the example objects.
func (s *Source) noList(came *decode.NoListError) error {
	if kind := s.listKind(); kind != "" {
		return fmt.Errorf("%w, not a %s", came, kind)
	}
	return fmt.Errorf("%w, not a list", came)
}

// listKind returns the kind that lists of the example objects have by convention, or "" for unstructured ones.
func (s *Source) listKind() string {
	if s.example.Kind() == reflect.Pointer && !s.example.Implements(reflect.TypeFor[runtime.Unstructured]()) {
		return s.example.Elem().Name() + "List"
	}
	return ""
}

// isOther reports whether a kind is not that of lists of the example objects. A client of unstructured ones takes each.
func (s *Source) isOther(kind string) bool {
	expected := s.listKind()
	return kind != "" && expected != "" && kind != expected
}

// account counts the items of a list that is used.
func (s *Source) account(b *listBody) {
	ledger := s.options.Ledger
	for _, why := range b.gaveUp {
		if why != nil {
			ledger.GaveUp(why)
		} else {
			ledger.Verified.Add(1)
		}
	}
	ledger.Decoded.Add(int64(len(b.items) - len(b.passed) - b.skipped - b.reused))
	ledger.Reused.Add(int64(b.reused))
	ledger.ListBytes.Add(b.bytes)
}

// WatchWithContext opens a watch, and decodes its frames directly if that is safe.
func (s *Source) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	w, err := s.watch(ctx, options)
	if err != nil || event.IsNil(w) || tap.IsEmpty(w) {
		return w, err
	}
	if err := s.guard(); err != nil {
		w.Stop()
		return nil, err
	}
	return w, nil
}

func (s *Source) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options = s.options.Part.Narrow(options)
	if !s.wanted(ctx) {
		return s.lists.WatchWithContext(s.asking(ctx, options, true), options)
	}
	if options.SendInitialEvents != nil && *options.SendInitialEvents {
		s.cached.list()
	} else {
		s.cached.unlisted()
	}
	t := &Tap{options: options, watches: true, asks: s.options.Ledger, drop: s.asksToDrop()}
	defer func() { t.end().giveBack() }() // also if the call panics; no-op if the body was claimed
	w, err := s.lists.WatchWithContext(into(ctx, t), options)
	return s.opened(s.noted(t.end()), w, err)
}

// errDropsManagedFields refuses a client whose live objects cannot be told from partial ones.
var errDropsManagedFields = errors.New("Decoding.Keep: the client removes managed fields, by which objects of a live Get are known from those " +
	"with some of their fields: leave out rest.Config.DropManagedFields, or set Decoding.PartialWrites")

// guard returns an error if the guard of writes is on and the client removes managed fields. It records whether the guard
// knows what the informer has requested.
func (s *Source) guard() error {
	ledger := s.options.Ledger
	switch {
	case !s.guards:
	case ledger.Drops.Load():
		return errDropsManagedFields
	case ledger.HasTarget():
		ledger.Unguarded("")
	default:
		ledger.Unguarded(noTransport)
	}
	return nil
}

// asksToDrop reports whether requests ask the server to leave out managed fields: if the informer drops
// them, until a server refuses such a request.
func (s *Source) asksToDrop() bool { return s.options.Drop.ManagedFields() && !s.mayNotAsk.Load() }

// noted notes whether the server refuses requests that ask it to leave out managed fields.
func (s *Source) noted(got taken) taken {
	if got.unacceptable {
		s.mayNotAsk.Store(true)
	}
	return got
}

// opened decides whether this package decodes a watch that was opened with a tap.
func (s *Source) opened(got taken, w watch.Interface, err error) (watch.Interface, error) {
	body := got.watch
	if body == nil {
		s.notTaken(got, err)
		if refused := s.refuses(got); err == nil && !event.IsNil(w) && !tap.IsEmpty(w) && refused != nil {
			w.Stop()
			return nil, refused
		}
		return w, err
	}
	client, plain := w.(*watch.StreamWatcher)
	why := ""
	switch {
	case err != nil || event.IsNil(w):
		return w, err
	case got.several:
		why = severalWatches
	case !plain:
		why = fmt.Sprintf(noStream+", but a %T", w)
	case !body.claim():
		why = readEarly
	default:
		return follow(&s.trust, client, body, got.encoding, got.drops), nil
	}
	s.turnOff(why, reasonOf(why))
	if s.setListed(false) {
		w.Stop()
		return nil, &tap.Doubt{Why: forGood + why} // a client that filters watches may also filter lists, which is not noticed
	}
	return w, nil
}

// giveBack releases a watch that was not claimed.
func (t taken) giveBack() {
	if t.watch != nil {
		t.watch.giveBack()
	}
}

// wanted reports whether a request gets a tap.
func (s *Source) wanted(ctx context.Context) bool {
	if s.isOff() {
		return false
	}
	if klog.FromContext(ctx).V(logsBodies).Enabled() || klog.V(logsBodies).Enabled() {
		s.options.Ledger.TurnedOff(offForLog, reasonOf(offForLog))
		return false
	}
	return true
}

// asking returns a context with a tap that takes no body, but records the target of the request.
func (s *Source) asking(ctx context.Context, options metav1.ListOptions, watches bool) context.Context {
	t := &Tap{options: options, watches: watches, asks: s.options.Ledger}
	t.end()
	return into(ctx, t)
}

// errNeedsTransport refuses Options.SkipUndecodable where the bytes of an object are never seen.
var errNeedsTransport = errors.New("Errors.SkipUndecodable needs direct.Transport, which has not seen the request: " +
	"wrap the config before its clients are made, or leave out the option")

// refuses returns an error if objects are to be skipped, and no transport sees their bytes.
func (s *Source) refuses(got taken) error {
	if s.options.SkipUndecodable && !got.seen {
		return errNeedsTransport
	}
	return nil
}

// notTaken records why a body was not taken. It ignores errors, and requests without a response,
// for which client-go returns a watch that ends at once.
func (s *Source) notTaken(got taken, err error) {
	why := got.why
	switch {
	case err != nil || got.silent:
		return
	case !got.seen:
		why = noTransport
	case why == "":
		why = otherRequest
	}
	s.options.Ledger.TurnedOff(why, reasonOf(why))
}
