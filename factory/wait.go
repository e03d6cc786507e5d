// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory

import (
	"context"
	"errors"
	"sync"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/kinformer"
)

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
	for key, informer := range informers {
		synced[key] = informer.HasSynced()
	}
	return synced, err
}
