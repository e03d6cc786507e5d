// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
	m.r.report.takesOver()
	s, err := m.open(ctx, m.r.streamOptions(asked))
	if err != nil {
		return m.streamFailed(ctx, asked, err)
	}
	m.stream = s
	m.connected(ctx, s)
	check := consistencydetector.IsDataConsistencyDetectionForWatchListEnabled()
	staged := m.r.sink.stage(0, true)
	if check {
		staged = newRecordingStage(staged)
	}
	version, err := m.collect(ctx, staged)
	if err != nil {
		m.dropStream()
		return m.streamFailed(ctx, asked, err)
	}
	m.r.refuse(false)
	if recorded, ok := staged.(*recordingStage); ok {
		m.compareWithList(ctx, recorded.received.objects(), version)
	}
	if err := staged.publish(version); err != nil {
		m.dropStream()
		return m.streamFailed(ctx, asked, fmt.Errorf("unable to sync watch-list result: %w", discreet(err)))
	}
	m.r.position.advance(version)
	m.r.logSlow(ctx, "watch-list", started)
	m.stream.handOver(m.r.clock.Now())
	m.r.succeeded()
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

// collect fills staged from the open stream up to the end mark, and returns the version of that.
func (m *machine) collect(ctx context.Context, staged stage) (version string, err error) {
	quiet := m.r.streamWatchdog()
	defer quiet.stop()
	var refused error
	err = m.follow(ctx, m.stream, quiet, func(ctx context.Context, c watchChange) bool {
		var err error
		switch c.kind {
		case watch.Bookmark:
			version = c.meta.GetResourceVersion()
		case watch.Deleted:
			err = staged.remove(c.obj)
		default:
			err = staged.put(c.obj)
		}
		if err != nil {
			refused = fmt.Errorf("unable to sync watch-list result: %w", discreet(err))
			return true
		}
		return c.endsInitialEvents()
	})
	switch {
	case refused != nil:
		err = refused
	case err == nil && m.stream.understood == 1 && m.stream.received > 1: // nothing but the end mark
		err = fmt.Errorf("none of %d watch-list events is about one of the expected objects", m.stream.received-1)
	}
	return version, err
}

// streamFailed decides what follows a stream that gave no state. Each attempt starts with nothing staged.
func (m *machine) streamFailed(ctx context.Context, asked string, err error) reflectorPhase {
	r := m.r
	logger := klog.FromContext(ctx)
	if errors.Is(err, errStopped) {
		return stopped
	}
	m.failed(ctx, err)
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

// compareWithList panics if a list at the same version differs from what was streamed. It is for when the environment asks
// for it (KUBE_WATCHLIST_INCONSISTENCY_DETECTOR), which is meant for continuous integration.
func (m *machine) compareWithList(ctx context.Context, streamed []any, version string) {
	list := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return request(ctx, m, func(ctx context.Context) (runtime.Object, error) { return m.r.listPage(ctx, options) }, func(runtime.Object) {})
	}
	// Both sides as the server sent them: the store transforms later, in Replace.
	consistencydetector.CheckDataConsistency(ctx, m.r.name, version, list, nil, metav1.ListOptions{}, func() []any { return streamed })
}
