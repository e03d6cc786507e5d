// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
)

// source is the ListerWatcher of a resource, held to a mode. It counts what was asked of it.
type source struct {
	*cache.ListWatch
	mode                    mode
	hold                    sync.RWMutex // while a test holds it, no request goes out
	lists, streams, watches atomic.Int64
	expired                 atomic.Int64 // requests that ended with 410
}

func (s *source) IsWatchListSemanticsUnSupported() bool { return s.mode == listMode }

func (s *source) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	s.hold.RLock()
	defer s.hold.RUnlock()
	s.lists.Add(1)
	list, err := s.ListWatch.ListWithContext(ctx, o)
	s.noteExpired(err)
	return list, err
}

func (s *source) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	s.hold.RLock()
	defer s.hold.RUnlock()
	if o.SendInitialEvents != nil && *o.SendInitialEvents {
		s.streams.Add(1)
	} else {
		s.watches.Add(1)
	}
	w, err := s.ListWatch.WatchWithContext(ctx, o)
	if err != nil {
		s.noteExpired(err)
		return nil, err
	}
	return watch.Filter(w, s.look), nil
}

// look passes every event on.
func (s *source) look(event watch.Event) (watch.Event, bool) {
	if event.Type == watch.Error {
		s.noteExpired(apierrors.FromObject(event.Object))
	}
	return event, true
}

func (s *source) noteExpired(err error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		s.expired.Add(1)
	}
}
