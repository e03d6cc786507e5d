// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/kinformer"
)

// GVRSyncResult is the result of ResourceFactory.WaitForCacheSyncWithContext.
type GVRSyncResult struct {
	// Err is nil if all informers had synced. Otherwise it joins the cause of the wait's end with the
	// reasons of each informer that had not synced.
	Err error
	// Synced reports for each started informer whether it had synced.
	Synced map[schema.GroupVersionResource]bool
}

// AsError returns nil if all informers had synced, and otherwise an error that names those that had
// not, and wraps Err.
func (r GVRSyncResult) AsError() error {
	if r.Err == nil {
		return nil
	}
	var missing []string
	for gvr, synced := range r.Synced {
		if !synced {
			missing = append(missing, gvr.String())
		}
	}
	slices.Sort(missing)
	return fmt.Errorf("failed to sync all caches: %s: %w", strings.Join(missing, ", "), r.Err) // client-go's words
}

// errStopped is the cause of a wait that ended because all informers that have not synced have stopped.
var errStopped = errors.New("an informer has stopped before it had synced")

// waitForSync waits until each informer has synced or stopped, or ctx ends. If one of them has not
// synced then, the error joins the cause of ctx, or errStopped, with the reasons of each of these
// informers.
func waitForSync[K comparable](ctx context.Context, informers map[K]cache.SharedIndexInformer) (synced map[K]bool, err error) {
	var waits sync.WaitGroup
	all := make([]interface{ HasSyncedChecker() cache.DoneChecker }, 0, len(informers))
	for _, informer := range informers {
		all = append(all, informer)
		waits.Go(func() { _ = kinformer.WaitForSync(ctx, informer) }) // the error is obtained below
	}
	waits.Wait()
	over, cancel := context.WithCancelCause(ctx)
	cancel(errStopped)
	if err = kinformer.WaitForSync(over, all...); err != nil && !errors.Is(err, context.Cause(over)) {
		err = errors.Join(context.Cause(over), err)
	}
	synced = make(map[K]bool, len(informers))
	missing := false
	for key, informer := range informers {
		synced[key] = informer.HasSynced()
		missing = missing || !synced[key]
	}
	if !missing { // the last one has synced since
		return synced, nil
	}
	return synced, err
}
