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

// list is the phase listing: it fetches the collection, publishes it, and goes on to watching.
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

// watchesFirst reports whether a failed list is followed by a watch: the list was sent because
// watches were not served, and now the server is out of reach.
func (r *round) watchesFirst() bool {
	return r.state.is(unserved) && r.timers.outage.err != nil && !r.state.is(newest) && !r.state.is(distrusting)
}

// fetch fetches the collection. An answer that would remove most of the store is not believed, but asked
// for once more.
func (r *round) fetch(ctx context.Context) (got fetched, err error) {
	if r.state.confirms != nil {
		return r.confirm(ctx)
	}
	if got, err = r.fetchOnce(ctx); err == nil {
		err = r.lossBy(ctx, got.stage)
	}
	if errors.As(err, &r.state.confirms) {
		got = fetched{} // releases the objects before others arrive
		return r.confirm(ctx)
	}
	return got, err
}

// fetchOnce fetches the collection at the version that listVersion returns. If the server refuses that
// version, fetchOnce lists the most recent state without delay. The paging rules of the first request
// apply to both.
func (r *round) fetchOnce(ctx context.Context) (fetched, error) {
	asked := r.listVersion()
	pages := r.pager(asked)
	got, err := r.fetchTrusted(ctx, pages, asked)
	if isRefused(err) {
		r.asks(ctx, ByList, againRefused)
		r.state.refuse(true)
		got, err = r.fetchTrusted(ctx, pages, r.listVersion())
	}
	if err != nil {
		return fetched{}, fmt.Errorf("failed to list %v: %w", r.options.Journal.Name(), err)
	}
	if asked == "0" && got.paged {
		r.state.become(paging, true)
	}
	return got, nil
}

// lossBy returns a *loss if a stage would remove too much. Before the first state with a version there is
// none: versions are needed to tell a server from a fake with canned answers.
func (r *round) lossBy(ctx context.Context, state Stage) error {
	if !r.state.versioned() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, settles)
	defer cancel()
	r.options.Sink.Settle(ctx)
	return lossBy(state)
}

// confirm lists the most recent state, in pages, because an earlier answer was not believed.
func (r *round) confirm(ctx context.Context) (fetched, error) {
	why := r.state.confirms
	r.state.confirms = nil
	r.asks(ctx, ByList, againLoss)
	r.options.warn(ctx, "An answer would remove most objects, so they are listed once more", "removed", why.removed, "stored", why.stored)
	got, err := r.fetchTrusted(ctx, r.pager(""), "")
	if err != nil {
		return fetched{}, fmt.Errorf("%w, and the list that was to confirm it failed: %w", why, err)
	}
	return got, nil
}

// fetchTrusted is fetchAt. If the objects that were decoded directly are in doubt, it fetches them once
// more.
func (r *round) fetchTrusted(ctx context.Context, pages *pager.ListPager, version string) (fetched, error) {
	got, err := r.fetchAt(ctx, pages, version)
	if r.doubted(ctx, err) {
		r.asks(ctx, ByList, againDecoding)
		got, err = r.fetchAt(ctx, pages, version)
	}
	return got, err
}

// listVersion returns the version for a list: "" (the most recent) after a refusal, "0" (any that
// the server has cached) for the first list, else at least the last version seen, so that the store
// never goes back in time.
func (r *round) listVersion() string {
	version := r.state.Version()
	switch {
	case r.state.is(newest):
		return ""
	case version == "":
		return "0"
	default:
		return version
	}
}

// fetched is a list that is not published yet.
type fetched struct {
	stage   Stage
	version string
	paged   bool         // whether the list came in more than one page
	first   string       // the name of the first item of the last page
	taken   int          // the number of items that were staged
	foreign foreignItems // the items that were left out
}

// fetchAt fetches the collection page by page. Each page is a request of its own, and this
// goroutine stages it as it arrives; the pager sees only a page's list metadata. If a continue
// token expires, the pager and the stage start again from the first page.
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
			got = fetched{stage: r.newStage(size, false, version)}
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
	if got.taken == 0 && got.foreign.n > 0 { // the informer or the server is configured for other objects
		return fetched{}, fmt.Errorf("none of %d list items is one of the expected objects: %w", got.foreign.n, got.foreign.first)
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return fetched{}, err
	}
	got.version = accessor.GetResourceVersion()
	if got.isNothing() && r.state.versioned() {
		return fetched{}, errNothing
	}
	return got, nil
}

// isNothing reports whether a list is what client-go's typed clients make of any document that is no list:
// one without items and version. The kind does not tell, because they remove it. A server sends a version
// with an empty list too, but a fake may not: an informer that never had a version takes it.
func (f *fetched) isNothing() bool {
	return f.version == "" && f.taken == 0 && f.foreign.n == 0
}

// pager returns the pager for a list that begins at version. A configured page size takes
// precedence. Otherwise lists at "" and "0" may come in pages: the first is read from etcd anyway,
// and a server with a watch cache ignores the limit for the second. A list at another version is
// one page, because a limit would move it from the watch cache to etcd, unless an earlier list has
// shown that the server has no watch cache.
func (r *round) pager(version string) *pager.ListPager {
	p := pager.New(nil) // fetchAt sets PageFn
	if r.options.PageSize != 0 || !r.state.is(paging) && version != "" && version != "0" {
		p.PageSize = r.options.PageSize
	}
	return p
}

// pageFrom requests one page of a list.
func (r *round) pageFrom(ctx context.Context, from clientgo.ListerWithContext, options metav1.ListOptions) (runtime.Object, error) {
	return requestOf(ctx, r.timers, KindList, func(ctx context.Context) (runtime.Object, error) {
		r.options.Journal.write(func(p *journalState) { p.Status.Lists++ })
		page, err := from.ListWithContext(ctx, options)
		if err == nil && event.IsNil(page) {
			return nil, errNoList
		}
		return page, event.RedactedAnswer(err)
	}, func(runtime.Object) {})
}

// stagePage stages the items of a page and returns a list without items that has the page's
// metadata. It does not change the page. Items that are not among the expected objects are reported
// and left out. Items are copied out of the page's array, so that one item does not keep the others
// alive.
func (r *round) stagePage(ctx context.Context, into *fetched, page runtime.Object) (*metav1.List, error) {
	list, n, each := pageOf(page)
	pruned := tap.IsPruned(page)
	if other := r.state.otherKind(page, n); other != "" {
		return nil, fmt.Errorf("the answer is a %s, not a %s", event.Shortened(other), r.state.listKind)
	}
	if gvk, bad := unusableKind(list); bad {
		return nil, fmt.Errorf("unsupported list of kind %v, type: %v", gvk, r.options.Journal.Name()) // a badly configured client may get it
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, fmt.Errorf("unable to understand a list result of type %T: %w", list, err)
	}
	var refused error
	var foreign foreignItems
	if err := r.state.serves(accessor); err != nil {
		return nil, err
	}
	err = each(func(item runtime.Object) error {
		switch reason := r.reader.expects.admitItem(item, pruned); {
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
		return nil, fmt.Errorf("unable to sync list result: %w", event.Redacted(refused))
	case err != nil:
		return nil, fmt.Errorf("unable to understand the items of a list result of type %T: %w", list, event.RedactedAnswer(err))
	}
	return &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: accessor.GetResourceVersion(), Continue: accessor.GetContinue()}}, nil
}

// firstOf returns namespace/name of the first item of a page, or "" if the page is empty.
func firstOf(page runtime.Object) (name string) {
	_, _, each := pageOf(page)
	_ = each(func(item runtime.Object) error {
		if accessor, err := meta.Accessor(item); err == nil {
			name = accessor.GetNamespace() + "/" + accessor.GetName()
		}
		return io.EOF // stops after the first item
	})
	return name
}

// pageOf returns the list of a page, the number of its items, and an iterator over them.
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

// newStage returns a stage of the sink for a state that is asked for at a version.
func (r *round) newStage(size int, streamed bool, asked string) Stage {
	return r.options.Sink.Stage(event.Staging{
		Size: size, Streamed: streamed, Asked: asked, Distrust: r.state.is(distrusting), Stored: r.options.Relister.answered(),
	})
}

// doubted reports whether err says that directly decoded objects may be wrong. If so, the sink's
// objects are not trusted either.
func (r *round) doubted(ctx context.Context, err error) bool {
	var doubt *tap.Doubt
	if !errors.As(err, &doubt) {
		return false
	}
	r.state.distrust(true)
	r.options.warn(ctx, "Listing again, with objects decoded by the client", "err", doubt)
	return true
}

// publish makes the staged objects the content of the store, and version the reflector's position.
func (r *round) publish(stage Stage, version, kind string) error {
	if err := stage.Publish(version); err != nil {
		return fmt.Errorf("unable to sync %s result: %w", kind, event.Redacted(err))
	}
	r.options.Journal.write(func(p *journalState) { p.listed(version) })
	r.reader.anew.listed(version)
	r.state.refuse(false)
	r.state.distrust(false)
	return nil
}
