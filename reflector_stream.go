// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/consistencydetector"
	"k8s.io/klog/v2"
)

// streamList is the phase streaming: collect a watch-list stream up to its end mark, publish what was collected, and go
// on to watching with the same stream.
func (m *machine) streamList(ctx context.Context) reflectorPhase {
	done, err := m.takeTurn(ctx)
	if err != nil {
		return m.interrupted(ctx, err)
	}
	defer done()
	started, asked := m.r.clock.Now(), m.r.position.forStream()
	s, err := m.open(ctx, m.r.streamOptions(asked))
	if err != nil {
		return m.streamFailed(ctx, asked, err)
	}
	m.stream = s
	staged := newStaging()
	if err := m.collect(ctx, staged); err != nil {
		m.dropStream()
		return m.streamFailed(ctx, asked, err)
	}
	m.r.refuse(false)
	m.compareWithList(ctx, staged)
	if err := m.r.store.Replace(staged.take(), staged.version); err != nil {
		m.dropStream()
		return m.streamFailed(ctx, asked, fmt.Errorf("unable to sync watch-list result: %w", err))
	}
	m.r.position.advance(staged.version)
	m.r.logSlow(ctx, "watch-list", started)
	m.stream.handOver(m.r.clock.Now())
	m.r.report.succeeded()
	return m.beginWatching(ctx)
}

// streamOptions asks for a state at least as new as version, as synthetic Added events, a bookmark as the end mark, and
// then what happens.
func (r *reflector) streamOptions(version string) metav1.ListOptions {
	sendInitialEvents := true
	return metav1.ListOptions{
		ResourceVersion:      version,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		SendInitialEvents:    &sendInitialEvents,
		AllowWatchBookmarks:  true,
		TimeoutSeconds:       r.timeouts.seconds(),
	}
}

// collect fills staged from the open stream up to the end mark, which also gives the version.
func (m *machine) collect(ctx context.Context, staged *staging) error {
	quiet := m.r.streamSilence()
	defer quiet.stop()
	return m.follow(ctx, m.stream, quiet, func(ctx context.Context, c watchChange) bool {
		if err := staged.apply(c); err != nil {
			utilruntime.HandleErrorWithContext(ctx, err, "Unable to stage a watch-list event", "reflector", m.r.name,
				"type", m.r.typeDescription, "event", c.kind, "object", klog.KObj(c.meta))
		}
		return c.endsInitialEvents()
	})
}

// streamFailed decides what follows a stream that gave no state. Each attempt starts with nothing staged.
func (m *machine) streamFailed(ctx context.Context, asked string, err error) reflectorPhase {
	r := m.r
	logger := klog.FromContext(ctx)
	if errors.Is(err, errStopped) {
		return stopped
	}
	r.report.failed(err)
	switch {
	case isBusy(err):
		logger.V(2).Info("Watch-list failed, backing off", "reflector", r.name, "type", r.typeDescription, "err", err)
		return m.retryLater(ctx, streaming, err)
	case isRefused(err) && asked != "":
		r.refuse(true)
		return streaming
	case errors.Is(err, errClosed):
		m.strikes++
		if m.strikes < streamStrikes {
			logger.V(2).Info("Watch-list closed before its end, trying again", "reflector", r.name, "type", r.typeDescription, "attempt", m.strikes)
			return streaming
		}
	}
	r.refuse(r.position.refused || isRefused(err))
	if errors.Is(err, errClosed) || errors.Is(err, errSilent) {
		r.preferLists()
		logger.Info("Warning: watch-list never comes to its end, falling back to LIST", "reflector", r.name, "type", r.typeDescription, "err", err)
	} else {
		logger.V(4).Info("No state by watch-list, falling back to LIST", "reflector", r.name, "type", r.typeDescription, "err", err)
	}
	return listing
}

// compareWithList panics if a list at the same version differs from what was streamed. It does nothing unless the
// environment asks for it (KUBE_WATCHLIST_INCONSISTENCY_DETECTOR), which is meant for continuous integration.
func (m *machine) compareWithList(ctx context.Context, staged *staging) {
	if !consistencydetector.IsDataConsistencyDetectionForWatchListEnabled() {
		return
	}
	list := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return request(ctx, m, func(ctx context.Context) (runtime.Object, error) { return m.r.listPage(ctx, options) }, func(runtime.Object) {})
	}
	// Both sides as the server sent them: the store transforms later, in Replace.
	consistencydetector.CheckDataConsistency(ctx, m.r.name, staged.version, list, nil, metav1.ListOptions{}, staged.objects)
}

// staging holds the state that a watch-list stream describes until it is complete, as received and in the order of
// arrival.
type staging struct {
	version string         // of the end mark
	at      map[string]int // key → place in items
	items   []any          // nil where an object was deleted again
	holes   int
}

func newStaging() *staging {
	return &staging{at: make(map[string]int)}
}

// apply takes a change into the state. A bookmark changes only the version.
func (s *staging) apply(c watchChange) error {
	if c.kind == watch.Bookmark {
		s.version = c.meta.GetResourceVersion()
		return nil
	}
	key, err := DeletionHandlingMetaNamespaceKeyFunc(c.obj)
	if err != nil {
		return err
	}
	place, known := s.at[key]
	switch {
	case c.kind == watch.Deleted && known:
		delete(s.at, key)
		s.items[place] = nil
		s.holes++
	case c.kind == watch.Deleted:
	case known:
		s.items[place] = c.obj
	default:
		s.at[key] = len(s.items)
		s.items = append(s.items, c.obj)
	}
	return nil
}

// objects returns a copy of the state.
func (s *staging) objects() []any {
	objects := make([]any, 0, len(s.items)-s.holes)
	for _, obj := range s.items {
		if obj != nil {
			objects = append(objects, obj)
		}
	}
	return objects
}

// take hands the state over to the caller; the staging is empty afterwards.
func (s *staging) take() []any {
	items := s.items
	if s.holes > 0 {
		items = slices.DeleteFunc(items, func(obj any) bool { return obj == nil })
	}
	s.at, s.items, s.holes = nil, nil, 0
	return items
}
