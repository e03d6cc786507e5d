// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package exact lists the collection of an informer at an exact version, for audits.
package exact

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/shard"
	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/engine"
)

const (
	// pageSize is the number of objects of a page. The next page is requested when they were
	// processed, so that at most one page is in memory at any time.
	pageSize = 500
	// patience is how long a page may take: far longer than 500 objects need, and short enough for
	// a list that holds a slot. As a deadline it lifts the bound on the bytes that wait to be
	// decoded, which are then at most a page.
	patience = time.Minute
)

var (
	errLate    = errors.New("a page of the list has taken more than " + patience.String())
	errNoList  = errors.New("the ListerWatcher returned no list and no error")
	errEndless = errors.New("a page has the continue token that was just used, so the list would never end")
	errNoWatch = errors.New("not for watches")
)

// Lister lists the collection that a reflector follows, independently of the reflector. It may be
// used by any number of goroutines.
type Lister struct {
	options reflector.Options
	admits  func(runtime.Object) error

	// whole decodes objects without the fields that the reflector drops, and bare only their
	// identities, if the direct decoders support the type.
	whole, bare *engine.Source
}

// New returns a Lister for a reflector of the given options. Its requests do not appear in the
// reflector's status.
func New(o reflector.Options) *Lister {
	all, part := o.Shard()
	lists := clientgo.ToListerWatcherWithContext(all)
	whole := o.Decoding
	whole.Part = part
	whole.Share, whole.Ledger = false, nil // a caller may have modified parts that it would share with stored objects
	return &Lister{o, o.Admits(), engine.New(lists, o.ExpectedType, engine.Options{Options: whole}), engine.New(lists, o.ExpectedType, identifying(whole))}
}

// identifying returns options that decode only identities, which takes less time than reading from
// a network.
func identifying(o tap.Options) engine.Options {
	o.Ahead = -1
	return engine.Options{Options: o, Make: identityDecoders, Compared: bare}
}

// Inexact means that a server does not list at a given version.
type Inexact struct{ Why error }

func (e *Inexact) Error() string {
	return "the server does not list as of a resourceVersion: " + e.Why.Error()
}

func (e *Inexact) Unwrap() error { return e.Why }

// List calls take for each object of the collection at version that the reflector would admit,
// without dropped fields, and returns the number of objects that it would not admit. An error of
// take ends the list. List waits for a slot, as a reflector does.
func (l *Lister) List(ctx context.Context, version string, take func(runtime.Object) error) (foreign int, err error) {
	return l.list(ctx, l.whole, l.admits, version, take)
}

// ListIdentities is List for objects that may have only their identity: name, namespace, UID,
// resourceVersion and kind. If from is not nil, it is requested instead of the informer's
// ListerWatcher, and objects may be of any type.
func (l *Lister) ListIdentities(ctx context.Context, from clientgo.ListerWithContext, version string, take func(runtime.Object) error) (foreign int, err error) {
	if from == nil {
		return l.list(ctx, l.bare, l.admits, version, take)
	}
	anything := reflector.Options{Namespace: l.options.Namespace, ListerWatcher: l.options.ListerWatcher, Part: l.options.Part}
	decoding := l.options.Decoding
	_, decoding.Part = l.options.Shard()
	decoding.SkipUndecodable = false // its client may have no transport of package direct, and its objects may have only metadata
	metadata := engine.New(listsOnly{from}, &metav1.PartialObjectMetadata{}, identifying(decoding))
	return l.list(ctx, metadata, anything.Admits(), version, take)
}

// list lists page by page.
func (l *Lister) list(ctx context.Context, from *engine.Source, admits func(runtime.Object) error, version string, take func(runtime.Object) error) (foreign int, err error) {
	if turns := l.options.Turns; turns != nil {
		select {
		case <-turns:
			defer func() { turns <- struct{}{} }()
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	admitted := func(item runtime.Object) error {
		switch reason := admits(item); {
		case errors.Is(reason, shard.ErrOther):
			return nil
		case reason != nil:
			foreign++
			return nil
		}
		return take(item)
	}
	options := metav1.ListOptions{Limit: pageSize, ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	for {
		page, err := l.page(ctx, from, options)
		if err != nil {
			return foreign, err
		}
		next, err := eachOf(page, version, admitted)
		switch {
		case err != nil || next == "":
			return foreign, err
		case next == options.Continue:
			return foreign, errEndless
		}
		options = metav1.ListOptions{Limit: pageSize, Continue: next}
	}
}

// page requests a page, and returns when ctx ends even if the lister ignores ctx. A panic of the lister is
// handled as in the reflector, by HandleCrash: if the program goes on, it is an error.
func (l *Lister) page(ctx context.Context, from clientgo.ListerWithContext, options metav1.ListOptions) (page runtime.Object, err error) {
	defer utilruntime.HandleCrashWithContext(ctx, func(_ context.Context, p any) { page, err = nil, fmt.Errorf("the ListerWatcher panicked: %v", p) })
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errLate)
	defer cancel()
	return l.options.Call(ctx, func(ctx context.Context) (runtime.Object, error) { return ask(ctx, from, options) })
}

// listsOnly makes a ListerWatcher of a lister; its watches fail.
type listsOnly struct{ clientgo.ListerWithContext }

func (l listsOnly) List(o metav1.ListOptions) (runtime.Object, error) {
	return l.ListWithContext(context.Background(), o)
}

func (listsOnly) Watch(metav1.ListOptions) (watch.Interface, error) { return nil, errNoWatch }

func (listsOnly) WatchWithContext(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return nil, errNoWatch
}

// mostTries is how often a page is requested at most: each reason of isPassing comes once.
const mostTries = 3

// isPassing reports whether another request for a page differs. If directly decoded objects were in doubt,
// the client decodes its answer. If the server did not accept that it should leave out managed fields, it
// does not ask for that.
func isPassing(err error) bool {
	doubt := (*tap.Doubt)(nil)
	return errors.As(err, &doubt) || apierrors.IsNotAcceptable(err)
}

// ask requests a page, and again if that may help.
func ask(ctx context.Context, from clientgo.ListerWithContext, options metav1.ListOptions) (runtime.Object, error) {
	page, err := from.ListWithContext(ctx, options)
	for tries := 1; tries < mostTries && isPassing(err); tries++ {
		page, err = from.ListWithContext(ctx, options)
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && options.Continue == "" && (apierrors.IsBadRequest(err) || apierrors.IsInvalid(err)):
		return nil, &Inexact{event.RedactedAnswer(err)}
	case err != nil:
		return nil, event.RedactedAnswer(err)
	case event.IsNil(page):
		return nil, errNoList
	}
	return page, nil
}

// eachOf calls take for the objects of a page, which must have the given version, and returns the
// continue token, or "" for the last page.
func eachOf(page runtime.Object, version string, take func(runtime.Object) error) (next string, err error) {
	list, direct := page, []runtime.Object(nil)
	if p, ok := page.(*tap.Page); ok {
		list, direct = p.List, p.Items
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return "", fmt.Errorf("unable to understand a list result of type %T: %w", list, err)
	}
	if got := accessor.GetResourceVersion(); got != version {
		return "", &Inexact{fmt.Errorf("asked for %q, it answers with %q", version, event.Shortened(got))}
	}
	if list == page {
		return accessor.GetContinue(), meta.EachListItemWithAlloc(list, take)
	}
	for _, item := range direct {
		if err := take(item); err != nil {
			return "", err
		}
	}
	return accessor.GetContinue(), nil
}
