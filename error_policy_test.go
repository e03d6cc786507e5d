// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// TestOneErrorARound: a watch-list that fails and the list that fails in its place are one error, for the policy and in
// the status, which shows the later of the two.
func TestOneErrorARound(t *testing.T) {
	reports(t)
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{list: listsThen(podList("5"), errForbidden, errForbidden, errForbidden)}
		server.watch = func(_ int, _ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if o.SendInitialEvents != nil {
				return nil, errInternal
			}
			return watch.NewFake(), nil
		}
		var asked []int
		informer := informerOf(server, WithErrorPolicy(func(_ context.Context, err error, attempts int) ErrorDecision {
			asked = append(asked, attempts)
			return ErrorDecision{}
		}))
		defer running(t, informer)()
		for round := 1; round <= 3; round++ {
			synctest.Wait()
			status, err := StatusOf(informer)
			require.NoError(t, err)
			assert.Equal(t, round, status.Attempts)
			assert.ErrorIs(t, status.LastError, errForbidden)
			time.Sleep(time.Second)
		}
		assert.Equal(t, []int{1, 2, 3}, asked)
		synctest.Wait()
		status, err := StatusOf(informer)
		require.NoError(t, err)
		assert.Zero(t, status.Attempts)
	})
}

// TestErrorOfAStreamWhileListing: while the list that replaces a failed watch-list takes its time, the status says what
// was wrong with the watch-list.
func TestErrorOfAStreamWhileListing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{watch: watches(errForbidden)}
		server.list = func(_ int, ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		informer := informerOf(server)
		defer running(t, informer)()
		synctest.Wait()
		status, err := StatusOf(informer)
		require.NoError(t, err)
		assert.Equal(t, PhaseListing, status.Phase)
		assert.Equal(t, 1, status.Attempts)
		assert.ErrorIs(t, status.LastError, errForbidden)
	})
}
