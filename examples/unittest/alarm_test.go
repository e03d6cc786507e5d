// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package unittest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
)

func pod(name string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Status: corev1.PodStatus{Phase: phase}}
}

func TestAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.Of(pod("a", corev1.PodRunning), pod("b", corev1.PodFailed))
		src.FailNext(cachetest.VerbWatchList, cachetest.TooManyRequests(time.Minute)) // the server is busy at first
		events, ended := make(chan string, 10), make(chan error)
		alarm := Alarm{
			Raise: func(pod cache.ObjectName) { events <- "raise " + pod.String() },
			Clear: func(pod cache.ObjectName) { events <- "clear " + pod.String() },
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { ended <- alarm.Run(ctx, src) }()
		assert.Equal(t, "raise ns/b", <-events, "it had failed before the start")
		cachetest.PatchAs(src, "ns", "a", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
		assert.Equal(t, "raise ns/a", <-events)
		cachetest.PatchAs(src, "ns", "a", func(p *corev1.Pod) { p.Labels = map[string]string{"touched": "yes"} })
		cachetest.PatchAs(src, "ns", "a", func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning })
		assert.Equal(t, "clear ns/a", <-events, "and not a second raise before")

		src.Create(pod("c", corev1.PodFailed))
		assert.Equal(t, "raise ns/c", <-events)
		src.Delete("ns", "c")
		assert.Equal(t, "clear ns/c", <-events)

		heal := src.Partition() // the connection is lost, a pod is deleted meanwhile, and the server forgets when
		src.Delete("ns", "b")
		src.Compact(src.ResourceVersion())
		heal()
		assert.Equal(t, "clear ns/b", <-events, "from a tombstone")
		cancel()
		assert.NoError(t, <-ended)
		assert.Empty(t, events)
	})
}
