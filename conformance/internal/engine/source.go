// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"
)

// errNoContext is the answer to a call without a context: engines have one for each of their calls.
var errNoContext = errors.New("the engine called its source without a context")

// ContextOnly is a source that can only be called with a context; it has the other methods because
// ListerWatcher, the type of a constructor's parameter, asks for them.
type ContextOnly struct {
	clientgo.ListerWatcherWithContext
}

// List always fails.
func (ContextOnly) List(v1.ListOptions) (runtime.Object, error) { return nil, errNoContext }

// Watch always fails.
func (ContextOnly) Watch(v1.ListOptions) (watch.Interface, error) { return nil, errNoContext }

// NoStreams is a source that says that it cannot stream lists.
type NoStreams struct {
	ContextOnly
}

// IsWatchListSemanticsUnSupported is what client-go's watchlist package asks a source for.
func (NoStreams) IsWatchListSemanticsUnSupported() bool { return true }
