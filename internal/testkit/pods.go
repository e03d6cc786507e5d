// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/cachetest"
)

// Pods is a source of pods in namespace ns, to be listed and watched. Its streams buffer up to a
// thousand unread events, which Unread counts.
type Pods struct {
	*cachetest.Source
	newest atomic.Pointer[watch.Interface]
	writes atomic.Int64
}

// NewPods returns a source of pods.
func NewPods(pods ...runtime.Object) *Pods {
	return &Pods{Source: cachetest.New(cachetest.Options{
		Objects: pods, Buffer: 1000, WatchList: cachetest.WatchListUnsupported,
		NewList: func() runtime.Object { return &corev1.PodList{} },
	})}
}

// Put creates or replaces the pod. It increases the generation, so that it is a write even if
// nothing else changes.
func (s *Pods) Put(pod *corev1.Pod) {
	pod.Generation = s.writes.Add(1)
	s.Source.Put(pod)
}

// WatchWithContext opens a stream.
func (s *Pods) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	w, err := s.Source.WatchWithContext(ctx, options)
	if err == nil {
		s.newest.Store(&w)
	}
	return w, err
}

// Unread returns the number of unread events in the newest stream.
func (s *Pods) Unread() int {
	if w := s.newest.Load(); w != nil {
		return len((*w).ResultChan())
	}
	return 0
}

// Remove deletes a pod, if it exists. Only one goroutine may remove pods.
func (s *Pods) Remove(name string) {
	if s.Get("ns", name) != nil {
		s.Delete("ns", name)
	}
}

// Expire ends all streams with 410, so that clients list again.
func (s *Pods) Expire() {
	s.Inject(cachetest.ErrorEvent(cachetest.Expired()))
	s.Cut()
}

// State returns the objects in the form of Mirror.State.
func (s *Pods) State() map[string]string {
	return StateOfPods(func(yield func(runtime.Object) bool) {
		for key := range s.Versions() {
			if !yield(s.Get("ns", key[len("ns/"):])) {
				return
			}
		}
	})
}

// FailureNamed returns the error with that name.
func FailureNamed(t *testing.T, name string) error {
	failures := map[string]error{
		"429": cachetest.TooManyRequests(0), "410": cachetest.Expired(), "500": cachetest.InternalError(), "refused": cachetest.ConnectionRefused(),
		"403": ErrForbidden, "401": apierrors.NewUnauthorized("no"), "404": apierrors.NewNotFound(corev1.Resource("pods"), ""),
		"too-large": cachetest.TooLargeResourceVersion(99, 1), "timeout": context.DeadlineExceeded, "none": nil,
		"429-after-30s": cachetest.TooManyRequests(30 * time.Second), "429-after-years": cachetest.TooManyRequests(1 << 30 * time.Second),
	}
	require.Contains(t, failures, name)
	return failures[name]
}
