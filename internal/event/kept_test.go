// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"context"
	"errors"
	"fmt"
	"io"
	goruntime "runtime"
	"strings"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"

	"github.com/kinformer/cache/internal/testkit"
)

// TestStatusKeepsNoObject: an object without a key is not kept alive by the error about it.
func TestStatusKeepsNoObject(t *testing.T) {
	object := func() (weak.Pointer[v1.Pod], error) {
		pod := testkit.PodAt("a", "1")
		return weak.Make(pod), Kept(fmt.Errorf("unable to sync: %w", Discreet(clientgo.KeyError{Obj: pod, Err: io.EOF})))
	}
	pod, err := object()
	goruntime.GC()
	assert.Nil(t, pod.Value())
	assert.EqualError(t, err, "unable to sync: couldn't create key for an object of type *v1.Pod: EOF")
	var key clientgo.KeyError
	require.ErrorAs(t, err, &key)
	assert.ErrorContains(t, key, "*v1.Pod")
	assert.ErrorIs(t, err, io.EOF)
}

// TestKeptErrorsAnswerAsBefore: what programs ask of an error, a kept one answers as the error
// itself, however that is made up of small and large ones; a small one is kept as it is.
func TestKeptErrorsAnswerAsBefore(t *testing.T) {
	small := []error{io.EOF, context.Canceled, testkit.ErrForbidden, testkit.ErrExpired, testkit.ErrRefused, testkit.ErrTooManyRequests, runtime.NewMissingKindErr("x")}
	large := []error{
		runtime.NewMissingKindErr(strings.Repeat("x", 2*maxKept)), runtime.NewMissingVersionErr(strings.Repeat("x", 2*maxKept)),
		apierrors.NewForbidden(v1.Resource("pods"), "", errors.New(strings.Repeat("x", 2*maxKept))),
		apierrors.NewTooManyRequests(strings.Repeat("x", 2*maxKept), 7), clientgo.KeyError{Obj: "x", Err: io.EOF},
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
		got := Kept(err)
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
		var key clientgo.KeyError
		require.Equal(t, errors.As(err, &key), errors.As(got, &key))
		require.True(t, got.Error() == err.Error() || got.Error() == Shortened(err.Error()))
		eachError(got, func(e error) {
			require.LessOrEqual(t, len(e.Error()), 2*maxKept)
			require.False(t, errors.As(e, &key) && key.Obj == "x")
		})
	})
}
