// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/factory"
)

// TestFactoryWithBadOptions: its informers do not run, and who waits for them is told at once, and
// why.
func TestFactoryWithBadOptions(t *testing.T) {
	for why, options := range map[string][]factory.Option{
		"WithPageSize is -1":   {factory.WithInformerOptions(cache.WithPageSize(-1))},
		"is nil":               {factory.WithInformerOptions(cache.WithPageSize(5), nil)},
		"option 4 of 4 is nil": {nil},
	} {
		t.Run(why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, began := bubbleContext(t), time.Now()
				client := fake.NewClientset()
				f := factory.Wrap(informers.NewSharedInformerFactory(client, 0), options...)
				informer := f.Core().V1().Pods().Informer()
				f.StartWithContext(ctx)
				synced := f.WaitForCacheSyncWithContext(ctx)
				require.ErrorContains(t, synced.Err, why)
				assert.NotContains(t, synced.Synced, true)
				assert.ErrorContains(t, cache.WaitForSync(ctx, informer), why)
				status, err := cache.StatusOf(informer)
				require.NoError(t, err)
				assert.ErrorContains(t, status.LastError, why)
				assert.Empty(t, client.Actions())
				f.Shutdown()
				assert.Zero(t, time.Since(began))
			})
		})
	}
}
