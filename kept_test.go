// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	goruntime "runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// heldBy returns how many bytes of memory are held by what make returns.
func heldBy[T any](make func() T) (value T, bytes int64) {
	var before, after goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&before)
	value = make()
	goruntime.GC()
	goruntime.ReadMemStats(&after)
	return value, int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

// largeErrors are errors that hold an answer of 8 MB.
func largeErrors() map[string]func() error {
	const large = 8 << 20
	return map[string]func() error{
		"kind":    func() error { return runtime.NewMissingKindErr(strings.Repeat("x", large)) },
		"version": func() error { return runtime.NewMissingVersionErr(strings.Repeat("x", large)) },
		"status":  func() error { return apierrors.NewInternalError(errors.New(strings.Repeat("x", large))) },
		"causes": func() error {
			err := apierrors.NewInternalError(io.EOF)
			err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "cause", Message: strings.Repeat("x", large)}}
			return err
		},
		"one's own": func() error { return errors.New(strings.Repeat("x", large)) },
		"key":       func() error { return cache.KeyError{Obj: struct{ large *[large]byte }{new([large]byte)}, Err: io.EOF} },
		"joined":    func() error { return errors.Join(io.EOF, fmt.Errorf("and %w", errors.New(strings.Repeat("x", large)))) },
	}
}

// TestStatusKeepsNoAnswer: an informer that is fine again holds nothing of the answer that it could
// not read, nor do the stats of its queue of what a process function returned.
func TestStatusKeepsNoAnswer(t *testing.T) {
	before := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = nil // one that keeps what it is told would be counted
	defer func() { utilruntime.ErrorHandlers = before }()
	for name, broken := range largeErrors() {
		t.Run(name, func(t *testing.T) {
			var informer cache.SharedIndexInformer
			status, held := heldBy(func() (status cache.Status) {
				synctest.Test(t, func(t *testing.T) {
					informer = informerOf(&testkit.Server{NoStream: true, OnList: func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
						if n == 1 {
							return nil, broken()
						}
						return testkit.PodList("5"), nil
					}, OnWatch: testkit.Watches()})
					defer running(t, informer)()
					require.NoError(t, cache.WaitForSync(t.Context(), informer))
					synctest.Wait()
					var err error
					status, err = cache.StatusOf(informer)
					require.NoError(t, err)
				})
				return status
			})
			assert.Less(t, held, int64(2<<20))
			assert.Zero(t, status.Attempts, "it is fine again")
			require.Error(t, status.LastError)
			assert.ErrorContains(t, status.LastError, "failed to list *v1.Pod")
			goruntime.KeepAlive(informer)

			controller, held := heldBy(func() cache.Controller { return failsOnce(t, broken()) })
			assert.Less(t, held, int64(2<<20))
			stats, _ := cache.QueueStatsOf(controller)
			assert.EqualValues(t, 1, stats.ProcessErrors)
			assert.Error(t, stats.LastProcessError)
		})
	}
}

// failsOnce returns a controller that has run, whose process function returned err once.
func failsOnce(t *testing.T, err error) (c cache.Controller) {
	synctest.Test(t, func(t *testing.T) {
		c = cache.New(&cache.Config{
			Queue:         cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true}),
			ListerWatcher: &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches(testkit.Sent(testkit.Added("a", "6")))},
			Process: func(any, bool) (failed error) {
				failed, err = err, nil
				return failed
			},
		})
		defer running(t, c)()
		synctest.Wait()
	})
	return c
}
