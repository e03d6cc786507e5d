// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/kinformer"
)

func podOf(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: "1"}}
}

// TestPanicInAnInitialListIsNoViolation covers all kinds of handlers and both libraries.
func TestPanicInAnInitialListIsNoViolation(t *testing.T) {
	for library, newInformer := range libraries {
		for _, kind := range handlerKinds {
			t.Run(library+" "+kind.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					report := newReport(t)
					defer captureProcess(report)()
					source := cachetest.Of(podOf("a"), podOf("b"))
					h := newHandler(kind, "informer", nil, report)
					h.behaviour.Store(&behaviour{panicEvery: 2})
					informer := newInformer(source, &corev1.Pod{}, 0, cache.Indexers{})
					var err error
					h.registration, err = informer.AddEventHandler(kinformer.Deliver(h, kind.delivery))
					require.NoError(t, err)
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					var running sync.WaitGroup
					running.Go(func() { informer.RunWithContext(ctx) })
					h.awaitSynced(ctx)
					assert.NoError(t, ctx.Err(), "it is of no use to wait")
					cancel()
					running.Wait()
					assert.EqualValues(t, 1, h.panics.Load())
				})
			})
		}
	}
}
