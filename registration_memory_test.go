// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// TestNothingOfAStoppedInformerIsKept: neither by a registration nor by what says whether it, or
// the informer, has synced, which programs may hold for ever.
func TestNothingOfAStoppedInformerIsKept(t *testing.T) {
	for name, keep := range map[string]func(cache.SharedIndexInformer, cache.ResourceEventHandlerRegistration) any{
		"registration": func(_ cache.SharedIndexInformer, r cache.ResourceEventHandlerRegistration) any { return r },
		"registration's checker": func(_ cache.SharedIndexInformer, r cache.ResourceEventHandlerRegistration) any {
			return r.HasSyncedChecker()
		},
		"informer's checker": func(s cache.SharedIndexInformer, _ cache.ResourceEventHandlerRegistration) any {
			return s.HasSyncedChecker()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kept, objects := runAndStop(t, keep)
				alive := 0
				synctest.Wait() // a goroutine that has nothing more to do may still have objects on its stack
				runtime.GC()
				for _, obj := range objects {
					if obj.Value() != nil {
						alive++
					}
				}
				assert.Zero(t, alive)
				runtime.KeepAlive(kept)
			})
		})
	}
}

// runAndStop returns what keep chooses of an informer that has synced and stopped, and weak
// pointers to its 200 objects.
func runAndStop(t *testing.T, keep func(cache.SharedIndexInformer, cache.ResourceEventHandlerRegistration) any) (kept any, objects []weak.Pointer[corev1.Pod]) {
	source := testkit.NewPods()
	for i := range 200 {
		source.Put(testkit.Pod(fmt.Sprint("p", i), "1"))
	}
	informer := cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, nil)
	registration, err := informer.AddEventHandler(&testkit.Journal{})
	require.NoError(t, err)
	kept = keep(informer, registration)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { informer.RunWithContext(ctx); close(done) }()
	synctest.Wait()
	require.True(t, registration.HasSynced())
	for _, obj := range informer.GetStore().List() {
		objects = append(objects, weak.Make(obj.(*corev1.Pod)))
	}
	cancel()
	<-done
	return kept, objects
}
