// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
)

// Lister is a ListerWatcher of a part of what another one has. Reflectors of this module take it
// apart (Of), since they can leave objects out before these are decoded.
type Lister struct {
	all  clientgo.ListerWatcher
	part *Range
	err  error // why there is no such part, of all requests
}

// NewLister returns a lister of the i-th of n parts. If there is none, the error is that of each
// request.
func NewLister(all clientgo.ListerWatcher, i, n int) *Lister {
	part, err := RangeOf(i, n)
	return &Lister{all, part, err}
}

// Of returns what a ListerWatcher lists and watches, and of which part of that; nil: of all.
func Of(lw clientgo.ListerWatcher) (all clientgo.ListerWatcher, part *Range) {
	if l, ok := lw.(*Lister); ok && l.err == nil {
		return l.all, l.part
	}
	return lw, nil
}

// List is ListWithContext without one.
func (l *Lister) List(o metav1.ListOptions) (runtime.Object, error) {
	return l.ListWithContext(context.Background(), o)
}

// Watch is WatchWithContext without one.
func (l *Lister) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return l.WatchWithContext(context.Background(), o)
}

// ListWithContext lists, and leaves out of the list what is not of the part.
func (l *Lister) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	if l.err != nil {
		return nil, l.err
	}
	list, err := clientgo.ToListerWatcherWithContext(l.all).ListWithContext(ctx, l.part.Narrow(o))
	if err != nil {
		return nil, err
	}
	return list, l.part.Divide(list)
}

// Divide leaves out of a list what is not of the part.
func (r *Range) Divide(list runtime.Object) error {
	if r == nil {
		return nil
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	return meta.SetList(list, slices.DeleteFunc(items, r.isOther))
}

// WatchWithContext watches, and leaves out events about objects that are not of the part.
func (l *Lister) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	if l.err != nil {
		return nil, l.err
	}
	w, err := clientgo.ToListerWatcherWithContext(l.all).WatchWithContext(ctx, l.part.Narrow(o))
	if err != nil || l.part == nil {
		return w, err
	}
	p := &partWatch{Interface: w, part: l.part, events: make(chan watch.Event), stopped: make(chan struct{})}
	go p.run()
	return p, nil
}

// partWatch is a watch without the events about objects of other parts. Unlike that of watch.Filter its
// goroutine ends when the watch is stopped, whether or not somebody takes what it has.
type partWatch struct {
	watch.Interface
	part    *Range
	events  chan watch.Event
	once    sync.Once
	stopped chan struct{}
}

func (p *partWatch) run() {
	defer close(p.events)
	for {
		select {
		case e, open := <-p.Interface.ResultChan():
			if !open {
				return
			}
			if e.Type != watch.Bookmark && p.part.isOther(e.Object) {
				continue
			}
			select {
			case p.events <- e:
			case <-p.stopped:
				return
			}
		case <-p.stopped:
			return
		}
	}
}

// ResultChan returns the events.
func (p *partWatch) ResultChan() <-chan watch.Event { return p.events }

// Stop ends the watch.
func (p *partWatch) Stop() {
	p.once.Do(func() { close(p.stopped) })
	p.Interface.Stop()
}

func (r *Range) isOther(obj runtime.Object) bool {
	accessor, err := meta.Accessor(obj)
	return err == nil && !r.Has(accessor)
}

// IsWatchListSemanticsUnSupported reports whether the ListerWatcher denies that it can stream lists.
func (l *Lister) IsWatchListSemanticsUnSupported() bool {
	return watchlist.DoesClientNotSupportWatchListSemantics(l.all)
}
