// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
)

// watch is the phase watching: open a watch at the position unless one is open, and follow it to its end.
func (m *machine) watch(ctx context.Context) reflectorPhase {
	if m.stream == nil {
		options := m.r.watchOptions()
		s, err := m.open(ctx, options)
		if err != nil {
			return m.watchNotOpened(ctx, err)
		}
		s.ordered = options.ResourceVersion != "" && options.ResourceVersion != "0"
		m.stream = s
		if m.connected(ctx, s) {
			m.r.succeeded()
		}
	}
	quiet := m.r.idleWatchdog()
	defer quiet.stop()
	err := m.follow(ctx, m.stream, quiet, m.apply)
	m.r.logWatchEnd(ctx, m.stream, err)
	m.dropStream()
	return m.watchEnded(ctx, err)
}

func (r *reflector) watchOptions() metav1.ListOptions {
	return metav1.ListOptions{
		ResourceVersion:     r.position.version(),
		AllowWatchBookmarks: true,
		TimeoutSeconds:      r.timeouts.seconds(),
	}
}

// expired is told that the version of a watch has expired. If that is the version that the reflector was at before it listed,
// such a list will not help: a server that lists in pages gives exactly the version that it is asked for, as long as it
// has it, and the watch would expire for ever. The next list is then for the newest.
func (m *machine) expired() {
	if m.still != "" && m.still == m.r.position.version() {
		m.r.refuse(true)
	}
}

// watchNotOpened decides what follows a watch that could not be started: the same again later if the server is busy,
// else another round, and its caller hears of the error.
func (m *machine) watchNotOpened(ctx context.Context, err error) reflectorPhase {
	var resync *resyncError
	if errors.Is(err, errStopped) || errors.As(err, &resync) {
		return m.interrupted(ctx, err)
	}
	m.failed(ctx, err)
	if isExpired(err) {
		m.expired()
	}
	switch {
	case isBusy(err):
		klog.FromContext(ctx).V(4).Info("Watch failed, backing off", "reflector", m.r.name, "type", m.r.typeDescription, "err", err)
		return m.retryLater(ctx, watching, err)
	default:
		return m.endRound(ctx, err)
	}
}

// watchEnded decides what follows an established watch. None of its errors leaves the round: the next one tells whether
// anything is wrong. An expired version in particular does not yet mark the position as refused, because a list at that
// version asks for something at least as new and may well succeed; see expired.
func (m *machine) watchEnded(ctx context.Context, err error) reflectorPhase {
	m.retry.After(err)
	logger := klog.FromContext(ctx)
	switch {
	case errors.Is(err, errStopped):
		return stopped
	case errors.Is(err, errClosed):
		return watching
	case errors.Is(err, errIdle):
		logger.Info("Warning: the watch is silent, opening it anew", "reflector", m.r.name, "type", m.r.typeDescription)
		m.r.report.silent()
		return watching
	}
	m.failed(ctx, err)
	switch {
	case isExpired(err):
		m.expired()
		logger.V(4).Info("Watch expired", "reflector", m.r.name, "type", m.r.typeDescription, "err", err)
	case apierrors.IsTooManyRequests(err):
		logger.V(2).Info("Watch returned 429, backing off", "reflector", m.r.name, "type", m.r.typeDescription)
		return m.retryLater(ctx, watching, err)
	case isInternalError(err) && m.retry.ShouldRetry():
		logger.V(2).Info("Watching again after an internal error", "reflector", m.r.name, "type", m.r.typeDescription, "err", err)
		return watching
	default:
		logger.Info("Warning: watch ended with an error", "reflector", m.r.name, "type", m.r.typeDescription, "err", err)
	}
	return m.endRound(ctx, nil)
}

// apply takes a change in, to be handed over with the others of its batch, and says how far that brings the position. It
// never asks follow to end.
func (m *machine) apply(_ context.Context, c watchChange) bool {
	version := c.meta.GetResourceVersion() // before the sink's transform may blank it
	m.collected.add(c, version)
	if c.kind == watch.Bookmark {
		m.r.bookmarked = true
	}
	if c.kind != watch.Added {
		m.stream.ordered = true // the synthetic events, if any, are over
	}
	if m.stream.ordered {
		m.collected.moveTo(version)
	}
	return false
}

func (r *reflector) logWatchEnd(ctx context.Context, s *stream, err error) {
	klog.FromContext(ctx).V(4).Info("Watch closed", "reflector", r.name, "type", r.typeDescription, "totalItems", s.understood,
		"duration", r.clock.Since(s.since), "reason", err)
}
