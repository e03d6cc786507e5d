// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
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
	// they are looked at, so that this, and exactAhead, is all that there is of a list at any time.
	exactPage = 500
	// exactAhead is how many bytes of a page may wait to be decoded: a tenth of a page of large
	// pods.
	exactAhead = 1 << 19
)

// Exact lists what a reflector follows as it was at a version, beside the reflector, of whose
// options it is made. Any number of goroutines may use it.
type Exact struct {
	Options
	expects expectation
	lists   *tap.Source
}

// NewExact makes one of the options of a reflector. Status tells nothing of what it does.
func NewExact(o Options) *Exact {
	o.Report = nil
	o = o.withDefaults()
	o.Decoding.Ahead = exactAhead
	o.Decoding.Share = false // somebody may have written to what it would share with the stored objects
	e := &Exact{Options: o, expects: expectationOf(o.ExpectedType)}
	e.lists = tap.New(clientgo.ToListerWatcherWithContext(o.ListerWatcher), o.ExpectedType, o.decoding())
	e.expects.namespace = o.Namespace
	return e
}

// Inexact says that a server does not list as of a version.
type Inexact struct{ Why error }

func (e *Inexact) Error() string {
	return "the server does not list as of a resourceVersion: " + e.Why.Error()
}

func (e *Inexact) Unwrap() error { return e.Why }

// List calls take for each object of the collection at version that the reflector would admit, less
// what it drops, and returns how many there are that it would not. An error of take ends it. With
// from, which may be nil, the requests go to another ListerWatcher, and objects may be of any type.
// It waits for its turn, as a reflector does.
func (e *Exact) List(ctx context.Context, from clientgo.ListerWithContext, version string, take func(runtime.Object) error) (foreign int, err error) {
	if e.Turns != nil {
		select {
		case <-e.Turns:
			defer func() { e.Turns <- struct{}{} }()
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	expects := e.expects
	if from == nil {
		from = e.lists
	} else {
		from, expects = e.tapped(from), expectation{namespace: expects.namespace}
	}
	trimmed := func(item runtime.Object) error {
		e.Decoding.Drop.Trim(item)
		return take(item)
	}
	options := metav1.ListOptions{Limit: exactPage, ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	for {
		page, err := askExactly(ctx, from, options)
		if err != nil {
			return foreign, err
		}
		n, next, err := expects.takePage(page, version, trimmed)
		if foreign += n; err != nil || next == "" {
			return foreign, err
		}
		options = metav1.ListOptions{Limit: exactPage, Continue: next}
	}
}

// tapped returns another lister, whose answers are decoded directly if they are metadata, without
// the larger half, which nobody compares.
func (e *Exact) tapped(from clientgo.ListerWithContext) clientgo.ListerWithContext {
	o := e.decoding()
	o.DropOf([]string{"metadata.managedFields", "metadata.annotations[" + corev1.LastAppliedConfigAnnotation + "]"})
	return tap.New(listsOnly{from}, &metav1.PartialObjectMetadata{}, o)
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
