// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/shard"
	"github.com/kinformer/cache/internal/tap"
)

// list is the phase listing: fetch the whole collection, publish it, go on to watching.
func (r *round) list(ctx context.Context) outcome {
	done, err := r.takeTurn(ctx, Listing)
	if err != nil {
		return r.interrupted(ctx, err)
	}
	defer done()
	r.begins()
	started, before := r.options.Clock.Now(), r.state.Version()
	r.asks(ctx, ByList, r.state.again)
	got, err := r.fetch(ctx)
	if err == nil {
		r.timers.outage.answered()
		err = r.publish(got.stage, got.version, "list")
	}
	if errors.Is(err, errStopped) {
		return goOn(Stopped)
	}
	r.options.Journal.ended(Past{Kind: KindList, Took: r.options.Clock.Since(started), Objects: got.taken, Failed: err != nil})
	r.state.again = againFailed
	if err != nil {
		if r.failed(ctx, err); r.watchesFirst() {
			r.timers.resync.begin()
			return tryLater(Watching, err)
		}
		return endRound(err)
	}
	if got.version == before {
		r.still = before
	}
	next := r.beginWatching(ctx)
	r.timers.outage.over(ctx, time.Now())
	return next
}

// watchesFirst reports whether a failed request for the whole state is followed by a watch: it was
// made because watches were not served, and now the server is not there at all.
func (r *round) watchesFirst() bool {
	return r.state.unserved && r.timers.outage.err != nil && !r.state.newest && !r.state.distrusts
}

// fetch gets the collection at the version that position asks for, and, if the server refuses that
// version, at its newest without delay. The rules for pages are those of the first request in both
// cases.
func (r *round) fetch(ctx context.Context) (fetched, error) {
	asked := r.listVersion()
	pages := r.pager(asked)
	got, err := r.fetchAt(ctx, pages, asked)
	if r.doubted(ctx, err) {
		r.asks(ctx, ByList, againDecoding)
		got, err = r.fetchAt(ctx, pages, asked)
	}
	if isRefused(err) {
		r.asks(ctx, ByList, againRefused)
		r.state.refuse(true)
		got, err = r.fetchAt(ctx, pages, r.listVersion())
	}
	if err != nil {
		return fetched{}, fmt.Errorf("failed to list %v: %w", r.options.Journal.Name(), err)
	}
	if asked == "0" && got.paged {
		r.state.paging = true
	}
	r.state.refuse(false)
	return got, nil
}

// listVersion is the version that a list asks for: "" (the newest) after a refusal, "0" (whatever
// the server has in its cache) for the first one, else at least the last one seen, so that the
// store never goes back in time.
func (r *round) listVersion() string {
	version := r.state.Version()
	switch {
	case r.state.newest:
		return ""
	case version == "":
		return "0"
	default:
		return version
	}
}

// fetched is a list that waits to be published, its version, and whether it came in more than one
// page.
type fetched struct {
	stage   Stage
	version string
	paged   bool
	first   string       // the name of the first item of the last page
	taken   int          // items that were staged
	foreign foreignItems // items that were left out
}

// fetchAt gets the collection page by page. Each page is a request of its own and is staged, by
// this goroutine, as it arrives; the pager sees only what a page says of itself. If a continue
// token expires the pager begins anew, and so does the stage.
func (r *round) fetchAt(ctx context.Context, pages *pager.ListPager, version string) (got fetched, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pages.PageFn = func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		page, err := r.pageFrom(ctx, r.state.lists, options)
		if err != nil {
			return nil, err
		}
		if options.Continue == "" {
			_, size, _ := pageOf(page)
			got = fetched{stage: r.newStage(size, false)}
		}
		before := got.first
		list, err := r.stagePage(ctx, &got, page)
		if got.first = firstOf(page); err == nil && list.Continue != "" && list.Continue == options.Continue && got.first == before {
			return nil, errEndlessList
		}
		return list, err
	}
	var list runtime.Object
	list, got.paged, err = pages.ListWithAlloc(ctx, metav1.ListOptions{ResourceVersion: version})
	if ctx.Err() != nil {
		return fetched{}, errStopped
	}
	if err != nil {
		return fetched{}, err
	}
	if got.taken == 0 && got.foreign.n > 0 { // the informer, or the server, is set up for something else
		return fetched{}, fmt.Errorf("none of %d list items is one of the expected objects: %w", got.foreign.n, got.foreign.first)
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return fetched{}, err
	}
	got.version = accessor.GetResourceVersion()
	return got, nil
}

// pager makes the pager for a list that begins at version. A forced page size goes first. Otherwise
// lists at "" and "0" may come in pages, because the first is read from etcd anyway and the second
// ignores the limit if the server has a watch cache; a list at a given version asks for one page,
// since a limit would take it from the watch cache to etcd, unless paging has shown that there is
// none.
func (r *round) pager(version string) *pager.ListPager {
	p := pager.New(nil) // fetchAt gives it the function
	if r.options.PageSize != 0 || !r.state.paging && version != "" && version != "0" {
		p.PageSize = r.options.PageSize
	}
	return p
}

// pageFrom requests a page of a list.
func (r *round) pageFrom(ctx context.Context, from clientgo.ListerWithContext, options metav1.ListOptions) (runtime.Object, error) {
	return requestOf(ctx, r.timers, KindList, func(ctx context.Context) (runtime.Object, error) {
		r.options.Journal.write(func(p *pages) { p.Status.Lists++ })
		page, err := from.ListWithContext(ctx, options)
		if err == nil && event.IsNil(page) {
			return nil, errNoList
		}
		return page, event.DiscreetAnswer(err)
	}, func(runtime.Object) {})
}

// stagePage stages the items of a page, which it does not change, and returns a list without items
// that says of itself what the page does. Items that are none of the expected objects are reported
// and left out. Items are copied out of the page's array, so that none of them keeps all others
// alive.
func (r *round) stagePage(ctx context.Context, into *fetched, page runtime.Object) (*metav1.List, error) {
	list, _, each := pageOf(page)
	if gvk, bad := unusableKind(list); bad {
		return nil, fmt.Errorf("unsupported list of kind %v, type: %v", gvk, r.options.Journal.Name()) // a badly set up client may get it
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, fmt.Errorf("unable to understand a list result of type %T: %w", list, err)
	}
	var refused error
	var foreign foreignItems
	r.state.serves(accessor)
	err = each(func(item runtime.Object) error {
		switch reason := r.reader.expects.admitItem(item); {
		case errors.Is(reason, shard.ErrOther):
			return nil
		case reason != nil:
			foreign.note(reason)
			return nil
		}
		refused = into.stage.Put(item)
		into.taken++
		return refused
	})
	into.foreign.add(foreign)
	r.reader.leaveOut(ctx, "List items dropped", foreign, "items", foreign.n)
	switch {
	case refused != nil:
		return nil, fmt.Errorf("unable to sync list result: %w", event.Discreet(refused))
	case err != nil:
		return nil, fmt.Errorf("unable to understand the items of a list result of type %T: %w", list, event.DiscreetAnswer(err))
	}
	return &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: accessor.GetResourceVersion(), Continue: accessor.GetContinue()}}, nil
}

// firstOf returns namespace and name of the first item of a page; "" if it has none.
func firstOf(page runtime.Object) (name string) {
	_, _, each := pageOf(page)
	_ = each(func(item runtime.Object) error {
		if accessor, err := meta.Accessor(item); err == nil {
			name = accessor.GetNamespace() + "/" + accessor.GetName()
		}
		return io.EOF // one is enough
	})
	return name
}

// pageOf returns the list that a page is, how many items it has, and how to go through them.
func pageOf(page runtime.Object) (list runtime.Object, n int, each func(func(runtime.Object) error) error) {
	direct, ok := page.(*tap.Page)
	if !ok {
		return page, meta.LenList(page), func(take func(runtime.Object) error) error { return meta.EachListItemWithAlloc(page, take) }
	}
	return direct.List, len(direct.Items), func(take func(runtime.Object) error) error {
		for _, item := range direct.Items {
			if err := take(item); err != nil {
				return err
			}
		}
		return nil
	}
}

// newStage returns a stage of the sink, which is told if what the sink has is not to be trusted.
func (r *round) newStage(size int, streamed bool) Stage {
	stage := r.options.Sink.Stage(size, streamed)
	if wary, ok := stage.(interface{ Distrust() }); ok && r.state.distrusts {
		wary.Distrust()
	}
	if informed, ok := stage.(interface{ WhenStored(func()) }); ok {
		informed.WhenStored(r.options.Relister.answered())
	}
	return stage
}

// doubted reports whether err says that what was decoded directly may be wrong: also what the sink
// has.
func (r *round) doubted(ctx context.Context, err error) bool {
	var doubt *tap.Doubt
	if !errors.As(err, &doubt) {
		return false
	}
	r.state.distrust(true)
	r.options.say(ctx, 0, "Warning: taking over the whole state again, decoded by the client", "err", doubt)
	return true
}

// publish makes a whole state the content of the store, and its version the position.
func (r *round) publish(stage Stage, version, kind string) error {
	if err := stage.Publish(version); err != nil {
		return fmt.Errorf("unable to sync %s result: %w", kind, event.Discreet(err))
	}
	r.options.Journal.write(func(p *pages) { p.Version = version })
	r.state.distrust(false)
	return nil
}
