// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

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
		"key":       func() error { return KeyError{Obj: struct{ large *[large]byte }{new([large]byte)}, Err: io.EOF} },
		"joined":    func() error { return errors.Join(io.EOF, fmt.Errorf("and %w", errors.New(strings.Repeat("x", large)))) },
	}
}

// TestStatusKeepsNoAnswer: an informer that is fine again holds nothing of the answer that it could not read, nor do the
// stats of its queue of what a process function returned.
func TestStatusKeepsNoAnswer(t *testing.T) {
	testkit.Reports(t)
	for name, broken := range largeErrors() {
		t.Run(name, func(t *testing.T) {
			var informer SharedIndexInformer
			status, held := heldBy(func() (status Status) {
				synctest.Test(t, func(t *testing.T) {
					informer = informerOf(&testkit.Server{NoStream: true, OnList: func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
						if n == 1 {
							return nil, broken()
						}
						return testkit.PodList("5"), nil
					}, OnWatch: testkit.Watches()})
					defer running(t, informer)()
					require.NoError(t, WaitForSync(t.Context(), informer))
					synctest.Wait()
					var err error
					status, err = StatusOf(informer)
					require.NoError(t, err)
				})
				return status
			})
			assert.Less(t, held, int64(2<<20))
			assert.Zero(t, status.Attempts, "it is fine again")
			require.Error(t, status.LastError)
			assert.ErrorContains(t, status.LastError, "failed to list *v1.Pod")

			failures, held := heldBy(func() *processFailures {
				failures := &processFailures{hook: func(context.Context, error) {}}
				failures.report(t.Context(), broken())
				return failures
			})
			assert.Less(t, held, int64(2<<20))
			require.Error(t, failures.mu.last)
			goruntime.KeepAlive(informer)
		})
	}
}
