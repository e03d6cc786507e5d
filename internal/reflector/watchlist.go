// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/consistencydetector"

	"github.com/kinformer/cache/internal/event"
)

// streamList is the phase streaming: it stages a watch-list up to its end mark, publishes the
// stage, and goes on to watching with the same stream.
func (r *round) streamList(ctx context.Context) outcome {
	done, err := r.takeTurn(ctx, Streaming)
	if err != nil {
		return r.interrupted(ctx, err)
	}
	defer done()
	r.begins()
	started, asked := r.options.Clock.Now(), r.state.Version() // at least the last version seen
	if r.state.is(newest) {
		asked = "" // the most recent state
	}
	r.asks(ctx, ByWatchList, r.state.again)
	objects, err := r.takeStream(ctx, asked)
	if errors.Is(err, errStopped) {
		return goOn(Stopped)
	}
	r.options.Journal.ended(Past{Kind: KindWatchList, Took: r.options.Clock.Since(started), Objects: objects, Failed: err != nil})
	r.state.again = againFailed
	if err != nil {
		r.dropStream()
		return r.streamFailed(ctx, asked, err)
	}
	if r.state.Version() == asked {
		r.still = asked
	}
	r.stream.handOver(r.options.Clock.Now())
	r.reader.anew.begins(false)
	next := r.beginWatching(ctx)
	r.timers.outage.over(ctx, time.Now())
	r.state.succeeded(ctx, r.stream)
	return next
}

// takeStream opens a stream and publishes its objects up to the end mark. The stream stays open.
// objects is the number of events with an object.
func (r *round) takeStream(ctx context.Context, asked string) (objects int, err error) {
	r.askWhetherSharded(ctx)
	s, err := r.open(ctx, KindWatchList, r.streamOptions(asked))
	if err != nil {
		return 0, err
	}
	r.stream = s
	if err := r.connected(s); err != nil {
		return 0, err
	}
	staged := r.newStage(0, true, asked)
	if consistencydetector.IsDataConsistencyDetectionForWatchListEnabled() {
		staged = &recordingStage{staged, NewStage(event.Staging{Streamed: true}, nil)}
	}
	version, err := r.collect(ctx, staged)
	if err != nil {
		return s.understood - s.others, err
	}
	if err := r.lossBy(ctx, staged); err != nil {
		return s.understood - s.others - 1, err
	}
	if recorded, ok := staged.(*recordingStage); ok {
		r.compareWithList(ctx, recorded.received.objects(), version)
	}
	return s.understood - s.others - 1, r.publish(staged, version, "watch-list") // without the end mark
}

// askWhetherSharded finds out by a list of one object whether the server restricts what it sends to
// the requested shard; a stream does not say. Without an answer the status stays as it is.
func (r *round) askWhetherSharded(ctx context.Context) {
	if r.reader.expects.part == nil {
		return
	}
	page, err := r.pageFrom(ctx, r.state.lists.Plain(), r.reader.expects.part.Narrow(metav1.ListOptions{Limit: 1}))
	if err != nil {
		return
	}
	if list, err := meta.ListAccessor(page); err == nil {
		_ = r.state.serves(list) // a stream of another shard could not be told from this one
	}
}

// streamOptions returns the options of a watch-list: a state at least as new as version as
// synthetic Added events, a bookmark as the end mark, and then the events that follow.
func (r *round) streamOptions(version string) metav1.ListOptions {
	sendInitialEvents := true
	return metav1.ListOptions{
		ResourceVersion:      version,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		SendInitialEvents:    &sendInitialEvents,
		AllowWatchBookmarks:  true,
		TimeoutSeconds:       r.options.watchTimeout(),
	}
}

// collect fills staged from the open stream up to the end mark, and returns the end mark's version.
func (r *round) collect(ctx context.Context, staged Stage) (version string, err error) {
	quiet := r.streamWatchdog()
	defer quiet.disarm()
	r.timers.hang.asks(ctx, KindWatchList)
	var refused error
	err = r.reader.follow(ctx, r.stream, quiet, func(ctx context.Context, c watchChange) bool {
		var err error
		switch c.kind {
		case watch.Bookmark:
			version = c.meta.GetResourceVersion()
		case watch.Deleted:
			err = staged.Remove(c.obj)
		default:
			err = staged.Put(c.obj)
		}
		if err != nil {
			refused = fmt.Errorf("unable to sync watch-list result: %w", event.Redacted(err))
			return true
		}
		return c.endsInitialEvents()
	})
	switch {
	case refused != nil:
		err = refused
	case errors.Is(err, errClosed) && r.options.Clock.Since(r.stream.opened) >= veryShortWatch: // else the server was busy
		r.markless++
	case err == nil && version == "" && r.state.versioned():
		err = errMark
	case err == nil && r.stream.understood == 1 && r.stream.received > 1: // only the end mark
		err = fmt.Errorf("none of %d watch-list events is about one of the expected objects", r.stream.received-1)
	}
	if err == nil {
		r.timers.hang.asks(ctx, "")
	}
	return version, err
}

// streamWatchdog returns the watchdog for a watch-list that has not reached its end mark.
func (r *round) streamWatchdog() *silence {
	limit := r.options.StreamSilence
	if limit <= 0 {
		limit = streamSilenceLimit
	}
	s := &silence{clock: r.options.Clock, step: min(streamSilenceStep, limit), limit: limit, err: errSilent}
	s.still = func(ctx context.Context, received int, quiet time.Duration) {
		r.options.warn(ctx, "Still waiting for the bookmark at the end of the initial events", "events", received, "silentFor", quiet)
	}
	s.begin()
	return s
}

// streamFailed returns what follows a watch-list that failed. Each attempt starts with an empty
// stage.
func (r *round) streamFailed(ctx context.Context, asked string, err error) outcome {
	switch {
	case r.doubted(ctx, err):
		r.state.again = againDecoding
		return goOn(Streaming)
	case errors.As(err, &r.state.confirms):
		r.state.again = "" // confirm has the reason
		return goOn(Listing)
	}
	r.failed(ctx, err)
	switch {
	case isBusy(err) && r.watchesFirst():
		r.timers.resync.begin()
		return tryLater(Watching, err)
	case isBusy(err):
		r.options.log(ctx, 4, "Watch-list failed, backing off", "err", err)
		return tryLater(Streaming, err)
	case isRefused(err) && asked != "":
		r.state.again = againRefused
		r.state.refuse(true)
		return goOn(Streaming)
	case errors.Is(err, errClosed):
		if r.strikes++; r.strikes < streamStrikes {
			r.options.log(ctx, 2, "Watch-list closed before its end, trying again", "attempt", r.strikes)
			return goOn(Streaming)
		}
	}
	r.state.again = againFallback
	r.state.refuse(r.state.is(newest) || isRefused(err))
	if r.markless == streamStrikes || errors.Is(err, errSilent) {
		if r.options.Mode == ByChoice { // else the user has asked for watch-lists
			r.options.Journal.write(func(p *journalState) { p.ListUntil = p.clock.Now().Add(listPreference) })
		}
		r.options.warn(ctx, "Watch-list never comes to its end, falling back to LIST", "err", err)
	} else {
		r.options.log(ctx, 4, "No state by watch-list, falling back to LIST", "err", err)
	}
	if asksToWait(err) && !isRefused(err) { // too large a version is refused with a delay
		return tryLater(Listing, err)
	}
	return goOn(Listing)
}

// compareWithList panics if a list at the same version differs from the streamed objects. It is
// called only if KUBE_WATCHLIST_INCONSISTENCY_DETECTOR is set, which is meant for continuous
// integration.
func (r *round) compareWithList(ctx context.Context, streamed []any, version string) {
	list := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		part := r.reader.expects.part
		page, err := r.pageFrom(ctx, r.state.lists.Plain(), part.Narrow(options))
		if err == nil {
			err = part.Divide(page)
		}
		if err == nil {
			err = meta.EachListItem(page, func(item runtime.Object) error { _ = r.reader.expects.admitItem(item, false); return nil })
		}
		return page, err
	}
	// Both sides are as the server sent them, without dropped fields; the store transforms later.
	consistencydetector.CheckDataConsistency(ctx, r.options.Name, version, list, nil, metav1.ListOptions{}, func() []any { return streamed })
}

// recordingStage is a stage that records copies of the received objects, because a transform may
// change the objects. It serves compareWithList.
type recordingStage struct {
	Stage
	received *collectedStage
}

func (s *recordingStage) Put(obj any) error {
	if object, ok := obj.(runtime.Object); ok {
		_ = s.received.Put(object.DeepCopyObject())
	}
	return s.Stage.Put(obj)
}

func (s *recordingStage) Remove(obj any) error {
	_ = s.received.Remove(obj)
	return s.Stage.Remove(obj)
}
