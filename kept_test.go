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
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
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
	reports(t)
	for name, broken := range largeErrors() {
		t.Run(name, func(t *testing.T) {
			var informer SharedIndexInformer
			status, held := heldBy(func() (status Status) {
				synctest.Test(t, func(t *testing.T) {
					informer = informerOf(&fakeServer{noStream: true, list: func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
						if n == 1 {
							return nil, broken()
						}
						return podList("5"), nil
					}, watch: watches()})
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

// TestStatusKeepsNoObject: an object without a key is not kept alive by the error about it.
func TestStatusKeepsNoObject(t *testing.T) {
	object := func() (weak.Pointer[v1.Pod], error) {
		pod := podAt("a", "1")
		return weak.Make(pod), kept(fmt.Errorf("unable to sync: %w", discreet(KeyError{Obj: pod, Err: io.EOF})))
	}
	pod, err := object()
	goruntime.GC()
	assert.Nil(t, pod.Value())
	assert.EqualError(t, err, "unable to sync: couldn't create key for an object of type *v1.Pod: EOF")
	var key KeyError
	require.ErrorAs(t, err, &key)
	assert.ErrorContains(t, key, "*v1.Pod")
	assert.ErrorIs(t, err, io.EOF)
}

// TestKeptErrorsAnswerAsBefore: what programs ask of an error, a kept one answers as the error itself, however that is made up
// of small and large ones; a small one is kept as it is.
func TestKeptErrorsAnswerAsBefore(t *testing.T) {
	small := []error{io.EOF, context.Canceled, errForbidden, errExpired, errRefused, errTooManyRequests, runtime.NewMissingKindErr("x")}
	large := []error{
		runtime.NewMissingKindErr(strings.Repeat("x", 2*maxKept)), runtime.NewMissingVersionErr(strings.Repeat("x", 2*maxKept)),
		apierrors.NewForbidden(v1.Resource("pods"), "", errors.New(strings.Repeat("x", 2*maxKept))),
		apierrors.NewTooManyRequests(strings.Repeat("x", 2*maxKept), 7), KeyError{Obj: "x", Err: io.EOF},
	}
	rapid.Check(t, func(t *rapid.T) {
		pool := small
		if rapid.Bool().Draw(t, "with large") {
			pool = append(pool[:len(pool):len(pool)], large...)
		}
		var build func(depth int) error
		build = func(depth int) error {
			switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
			case kind == 0 && depth < 4:
				return fmt.Errorf("wrapped: %w", build(depth+1))
			case kind == 1 && depth < 4:
				return errors.Join(build(depth+1), build(depth+1))
			case kind == 2 && depth < 4:
				return &discreetError{text: "discreet", cause: build(depth + 1)}
			}
			return rapid.SampledFrom(pool).Draw(t, "leaf")
		}
		err := build(0)
		got := kept(err)
		if len(pool) == len(small) {
			require.Equal(t, err, got)
		}
		for _, target := range small {
			require.Equal(t, errors.Is(err, target), errors.Is(got, target), "%v", target)
		}
		require.Equal(t, apierrors.ReasonForError(err), apierrors.ReasonForError(got))
		was, _ := apierrors.SuggestsClientDelay(err)
		is, _ := apierrors.SuggestsClientDelay(got)
		require.Equal(t, was, is)
		var key KeyError
		require.Equal(t, errors.As(err, &key), errors.As(got, &key))
		require.True(t, got.Error() == err.Error() || got.Error() == shortened(err.Error()))
		eachError(got, func(e error) {
			require.LessOrEqual(t, len(e.Error()), 2*maxKept)
			require.False(t, errors.As(e, &key) && key.Obj == "x")
		})
	})
}
