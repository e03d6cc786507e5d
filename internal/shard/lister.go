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

// Lister is a ListerWatcher of one shard of another ListerWatcher. The reflectors of this module
// unwrap it with Of, because they can drop objects of other shards before decoding them.
type Lister struct {
	all  clientgo.ListerWatcher
	part *Range
	err  error // the reason why there is no such shard; every request returns it
}

// NewLister returns a lister of shard i of n. If there is no such shard, every request fails.
func NewLister(all clientgo.ListerWatcher, i, n int) *Lister {
	part, err := RangeOf(i, n)
	return &Lister{all, part, err}
}

// Of returns the ListerWatcher behind a Lister, and its shard. For any other ListerWatcher, it
// returns lw and nil.
func Of(lw clientgo.ListerWatcher) (all clientgo.ListerWatcher, part *Range) {
	if l, ok := lw.(*Lister); ok && l.err == nil {
		return l.all, l.part
	}
	return lw, nil
}

// List is ListWithContext without a context.
func (l *Lister) List(o metav1.ListOptions) (runtime.Object, error) {
	return l.ListWithContext(context.Background(), o)
}

// Watch is WatchWithContext without a context.
func (l *Lister) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return l.WatchWithContext(context.Background(), o)
}

// ListWithContext lists, and removes objects of other shards from the list.
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

// Divide removes objects of other shards from a list.
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

// WatchWithContext watches, and drops events about objects of other shards.
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

// partWatch is a watch without events about objects of other shards. Its goroutine ends when the
// watch is stopped, even if no goroutine receives from ResultChan, unlike that of watch.Filter.
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

// ResultChan returns the channel of events. It is closed when the watch ends.
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

// IsWatchListSemanticsUnSupported reports whether the underlying ListerWatcher does not support
// streaming lists.
func (l *Lister) IsWatchListSemanticsUnSupported() bool {
	return watchlist.DoesClientNotSupportWatchListSemantics(l.all)
}
