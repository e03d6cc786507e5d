// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"cmp"
	"context"
	"errors"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
)

// ListWatch is a ListerWatcher of one shard of another ListerWatcher. The reflectors of this module unwrap
// it with Of, because they can drop objects of other shards before decoding them.
type ListWatch struct {
	all  clientgo.ListerWatcher
	part *Range
	err  error // the reason why there is no such shard; every request returns it
}

// errNested is the error of a shard of a shard of UIDs. The same hash divides both, so that the inner one would
// have most of its objects in one shard of the outer one, and none in others.
var errNested = errors.New("a shard of a shard does not have the objects that it seems to have: divide all objects into as many shards as are needed")

// NewListWatch returns a ListerWatcher of shard i of n. If there is no such shard, or all is a shard of UIDs
// itself, every request fails.
func NewListWatch(all clientgo.ListerWatcher, i, n int) *ListWatch {
	part, err := RangeOf(i, n)
	if _, outer := Of(all); outer.hashes(UID) {
		err = cmp.Or(err, errNested)
	}
	return &ListWatch{all, part, err}
}

// NewSelected returns a ListerWatcher of the objects that the selector matches, or all if these are all
// objects. If the selector is none of ranges of one field, every request fails.
func NewSelected(all clientgo.ListerWatcher, selector sharding.Selector) clientgo.ListerWatcher {
	part, err := Select(selector)
	if part == nil && err == nil {
		return all
	}
	return &ListWatch{all, part, err}
}

// Of returns the ListerWatcher behind a ListWatch, and its shard, which is the intersection of those of
// several. For any other ListerWatcher, and for a ListWatch of which every request fails, it returns lw
// and nil.
func Of(lw clientgo.ListerWatcher) (all clientgo.ListerWatcher, part *Range) {
	for {
		l, ok := lw.(*ListWatch)
		if !ok || l.err != nil {
			return lw, part
		}
		lw, part = l.all, part.Within(l.part)
	}
}

// List is ListWithContext without a context.
func (l *ListWatch) List(o metav1.ListOptions) (runtime.Object, error) {
	return l.ListWithContext(context.Background(), o)
}

// Watch is WatchWithContext without a context.
func (l *ListWatch) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return l.WatchWithContext(context.Background(), o)
}

// ListWithContext lists, and removes objects of other shards from the list.
func (l *ListWatch) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	if l.err != nil {
		return nil, l.err
	}
	list, err := clientgo.ToListerWatcherWithContext(l.all).ListWithContext(ctx, l.part.Narrow(o))
	if err != nil {
		return nil, err
	}
	return list, l.part.Divide(list)
}

// WatchWithContext watches, and drops events about objects of other shards.
func (l *ListWatch) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
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
			if e.Type != watch.Bookmark && p.part.IsOther(e.Object) {
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

// IsWatchListSemanticsUnSupported reports whether the underlying ListerWatcher does not support
// streaming lists.
func (l *ListWatch) IsWatchListSemanticsUnSupported() bool {
	return watchlist.DoesClientNotSupportWatchListSemantics(l.all)
}
