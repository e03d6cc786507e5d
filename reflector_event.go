// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
)

// watchChange is a watch event that passed all checks: Added, Modified, Deleted or Bookmark, with an object that has
// metadata.
type watchChange struct {
	kind watch.EventType
	obj  runtime.Object
	meta metav1.Object
}

// endsInitialEvents tells that the change is the mark at the end of a watch-list.
func (c watchChange) endsInitialEvents() bool {
	return c.kind == watch.Bookmark && c.meta.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

// follow hands the changes of s to take until take returns true; then it returns nil and s is still open. Otherwise
// the error tells why it ended: errStopped, errClosed, errSilent, a *resyncError, a *VeryShortWatchError, or what the
// server said. Events that make no sense are reported and left out. A nil quiet lets a stream be silent for ever, as does one that says so; its error is errSilent or errIdle.
func (m *machine) follow(ctx context.Context, s *stream, quiet *silence, take func(context.Context, watchChange) bool) error {
	for {
		events, freed := m.readable(s)
		select {
		case <-ctx.Done():
			return errStopped
		case <-freed:
			quiet.restart(s) // a pause of ours is no silence of the server
		case <-m.resync.C():
			if err := m.resync.fire(ctx); err != nil {
				return err
			}
		case <-m.outage.C():
			m.outage.ring(ctx)
		case <-quiet.C():
			if freed != nil {
				quiet.restart(s)
			} else if err := quiet.check(ctx, s); err != nil {
				return err
			}
		case event, open := <-events:
			now := m.r.clock.Now()
			m.r.report.event(now)
			s.beginBatch(now)
			done, err := m.drain(ctx, s, event, open, take)
			if done || err != nil {
				return err
			}
		}
	}
}

// closing is the error of a stream that the server closed.
func (m *machine) closing(s *stream) error {
	if s.understood == 0 && m.r.clock.Since(s.since) < veryShortWatch {
		return &VeryShortWatchError{Name: m.r.name}
	}
	return errClosed
}

// vet makes a change of an event, or says why it is none.
func (e expectation) vet(event watch.Event) (watchChange, error) {
	obj := event.Object
	if err := e.admit(obj); err != nil {
		return watchChange{}, err
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return watchChange{}, fmt.Errorf("object of type %T has no metadata: %w", obj, err)
	}
	switch event.Type {
	case watch.Added, watch.Modified, watch.Deleted:
		return watchChange{kind: event.Type, obj: obj, meta: accessor}, e.admitNamespace(accessor)
	case watch.Bookmark: // which is of no namespace
		return watchChange{kind: event.Type, obj: obj, meta: accessor}, nil
	default:
		return watchChange{}, fmt.Errorf("unknown type of event for %v", klog.KObj(accessor))
	}
}
