// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
)

// The pauses between two rounds of WaitForCacheSync: short at first, because caches in tests mostly sync at
// once, and client-go's value in the end.
const (
	firstSyncPoll = time.Millisecond
	lastSyncPoll  = 100 * time.Millisecond
)

// WaitForCacheSync polls cacheSyncs. It returns true when all of them return true in the same round, and
// false if stopCh is closed before. The pauses are 1, 2, 4 ... 100 ms. WaitFor reacts at once;
// kinformer.WaitForSync also returns the reason.
func WaitForCacheSync(stopCh <-chan struct{}, cacheSyncs ...InformerSynced) bool {
	unsynced := func(synced InformerSynced) bool { return !synced() }
	for pause := firstSyncPoll; slices.ContainsFunc(cacheSyncs, unsynced); pause = min(2*pause, lastSyncPoll) {
		timer := time.NewTimer(pause)
		select {
		case <-stopCh:
		case <-timer.C:
		}
		timer.Stop()
		select { // once more, because the select above takes either case if both are ready
		case <-stopCh:
			return false
		default:
		}
	}
	return true
}

// WaitForNamedCacheSync is WaitForCacheSync with a log line before and after, with the name of the waiting
// controller.
func WaitForNamedCacheSync(controllerName string, stopCh <-chan struct{}, cacheSyncs ...InformerSynced) bool {
	return waitLogged(context.Background(), stopCh, cacheSyncs, "controller", controllerName)
}

// WaitForNamedCacheSyncWithContext is WaitForCacheSync until ctx ends, with a line to the logger of ctx
// before and after.
func WaitForNamedCacheSyncWithContext(ctx context.Context, cacheSyncs ...InformerSynced) bool {
	return waitLogged(ctx, ctx.Done(), cacheSyncs)
}

// waitLogged logs the same messages as client-go, word for word, because people search for them in logs.
func waitLogged(ctx context.Context, stopCh <-chan struct{}, cacheSyncs []InformerSynced, keysAndValues ...any) bool {
	logger := klog.FromContext(ctx)
	logger.Info("Waiting for caches to sync", keysAndValues...)
	if !WaitForCacheSync(stopCh, cacheSyncs...) {
		event.Report(ctx, nil, "Unable to sync caches", keysAndValues...)
		return false
	}
	logger.Info("Caches are synced", keysAndValues...)
	return true
}
