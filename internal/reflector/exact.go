// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/tap"
)

const (
	// exactPage is how many objects a page of an exact list has: the next one is asked for when
	// they are looked at, so that this is all that there is of a list at any time.
	exactPage = 500
	// exactPatience is how long a page may take: far longer than 500 objects do, and short for a
	// list that keeps its slot meanwhile. As a deadline it lifts the bound of what waits to be
	// decoded, which is a page.
	exactPatience = time.Minute
)

// errPageLate says that a page has taken longer than exactPatience.
var errPageLate = errors.New("a page of the list has taken more than " + exactPatience.String())

// Exact lists what a reflector follows as it was at a version, beside the reflector, of whose
// options it is made. Any number of goroutines may use it.
type Exact struct {
	Options
	expects expectation

	// As our own decoders make them: whole objects, less what the reflector drops, and objects with
	// nothing but their identity.
	whole, bare *tap.Source
}

// NewExact makes one of the options of a reflector. Status tells nothing of what it does.
func NewExact(o Options) *Exact {
	o.Journal = nil
	e := &Exact{Options: o.withDefaults(), expects: expectationOf(o.ExpectedType)}
	e.expects.namespace, e.expects.decoding = o.Namespace, &e.Decoding
	lists := clientgo.ToListerWatcherWithContext(e.ListerWatcher)
	whole := e.decoding()
	whole.Share = false // somebody may have written to what it would share with the stored objects
	e.whole, e.bare = tap.New(lists, o.ExpectedType, whole), tap.New(lists, o.ExpectedType, e.identifying())
	return e
}

// identifying decodes identities only, which takes less time than reading them from a network.
func (e *Exact) identifying() tap.Options {
	o := e.decoding()
	o.Identities, o.Ahead, o.Share = true, -1, false
	return o
}

// Inexact says that a server does not list as of a version.
type Inexact struct{ Why error }

func (e *Inexact) Error() string {
	return "the server does not list as of a resourceVersion: " + e.Why.Error()
}

func (e *Inexact) Unwrap() error { return e.Why }

// List calls take for each object of the collection at version that the reflector would admit, less
// what it drops, and returns how many there are that it would not. An error of take ends it. It
// waits for its turn, as a reflector does.
func (e *Exact) List(ctx context.Context, version string, take func(runtime.Object) error) (foreign int, err error) {
	return e.list(ctx, e.whole, e.expects, version, take)
}

// ListIdentities is List for objects that may have nothing but what tells them in their state from
// all others: name, namespace, UID, resourceVersion and kind. With from, which may be nil, the
// requests go to another lister, and objects may be of any type.
func (e *Exact) ListIdentities(ctx context.Context, from clientgo.ListerWithContext, version string, take func(runtime.Object) error) (foreign int, err error) {
	if from == nil {
		return e.list(ctx, e.bare, e.expects, version, take)
	}
	metadata := tap.New(listsOnly{from}, &metav1.PartialObjectMetadata{}, e.identifying())
	return e.list(ctx, metadata, expectation{namespace: e.expects.namespace}, version, take)
}

// list lists page by page.
func (e *Exact) list(ctx context.Context, from *tap.Source, expects expectation, version string, take func(runtime.Object) error) (foreign int, err error) {
	if e.Turns != nil {
		select {
		case <-e.Turns:
			defer func() { e.Turns <- struct{}{} }()
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	options := metav1.ListOptions{Limit: exactPage, ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	for {
		page, err := e.page(ctx, from, options)
		if err != nil {
			return foreign, err
		}
		n, next, err := expects.takePage(page, version, take)
		switch foreign += n; {
		case err != nil || next == "":
			return foreign, err
		case next == options.Continue:
			return foreign, errEndlessList
		}
		options = metav1.ListOptions{Limit: exactPage, Continue: next}
	}
}

// page asks for a page, and waits for the answer until ctx ends, even if the lister does not heed
// that.
func (e *Exact) page(ctx context.Context, from clientgo.ListerWithContext, options metav1.ListOptions) (runtime.Object, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, exactPatience, errPageLate)
	defer cancel()
	silent := newTimers(&e.Options)
	page, err := request(ctx, &silent, func(ctx context.Context) (runtime.Object, error) {
		return askExactly(ctx, from, options)
	}, func(runtime.Object) {})
	if errors.Is(err, errStopped) {
		return nil, context.Cause(ctx)
	}
	return page, err
}

// listsOnly is a lister that nobody asks to watch.
type listsOnly struct{ clientgo.ListerWithContext }

func (l listsOnly) List(o metav1.ListOptions) (runtime.Object, error) {
	return l.ListWithContext(context.Background(), o)
}

func (listsOnly) Watch(metav1.ListOptions) (watch.Interface, error) { return nil, errNoStream }

func (listsOnly) WatchWithContext(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return nil, errNoStream
}

// askExactly asks for a page, and again if what was decoded directly is in doubt: from then on the
// client decodes.
func askExactly(ctx context.Context, from clientgo.ListerWithContext, options metav1.ListOptions) (runtime.Object, error) {
	page, err := from.ListWithContext(ctx, options)
	if doubt := (*tap.Doubt)(nil); errors.As(err, &doubt) {
		page, err = from.ListWithContext(ctx, options)
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && options.Continue == "" && (apierrors.IsBadRequest(err) || apierrors.IsInvalid(err)):
		return nil, &Inexact{event.DiscreetAnswer(err)}
	case err != nil:
		return nil, event.DiscreetAnswer(err)
	case event.IsNil(page):
		return nil, errNoList
	}
	return page, nil
}

// takePage takes the objects of a page, which has to be of the version, and returns how the next
// one is asked for, "" if there is none.
func (e expectation) takePage(page runtime.Object, version string, take func(runtime.Object) error) (foreign int, next string, err error) {
	list, each := pageOf(page)
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return 0, "", fmt.Errorf("unable to understand a list result of type %T: %w", list, err)
	}
	if got := accessor.GetResourceVersion(); got != version {
		return 0, "", &Inexact{fmt.Errorf("asked for %q, it answers with %q", version, event.Shortened(got))}
	}
	err = each(func(item runtime.Object) error {
		if e.admitItem(item) != nil {
			foreign++
			return nil
		}
		return take(item)
	})
	return foreign, accessor.GetContinue(), err
}
