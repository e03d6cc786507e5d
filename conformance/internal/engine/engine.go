// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package engine is the border between client-go's reflector tests and the reflector that they are
// aimed at.
//
// The rig (upstream/shims/rig) gives the tests a type with the fields and methods of client-go's
// Reflector. It drives whatever implements Engine: our own engine, or client-go's to prove the rig.
package engine

import (
	"context"
	"time"

	clientgo "k8s.io/client-go/tools/cache"
)

// Settings is what a test may say about the reflector that it wants.
type Settings struct {
	// ListerWatcher is the source as the test gave it, not wrapped.
	ListerWatcher clientgo.ListerWatcher
	// ExpectedType is an example object, or nil for any.
	ExpectedType any
	// Store receives what is listed and watched.
	Store clientgo.ReflectorStore
	// Options are those of NewReflectorWithOptions.
	Options clientgo.ReflectorOptions
	// WatchListPageSize, ShouldResync and MaxInternalErrorRetryDuration are Reflector's exported
	// fields.
	WatchListPageSize             int64
	ShouldResync                  func() bool
	MaxInternalErrorRetryDuration time.Duration
	// Delay, if not nil, takes the place of Options.Backoff: how long to wait before the next try.
	Delay func() time.Duration
	// ResourceVersion is the position that the reflector believes to have reached, empty at first.
	ResourceVersion string
	// WatchList, if not nil, decides about watch-list instead of the feature gate and the
	// ListerWatcher.
	WatchList *bool
	// WatchErrorHandler is called by Run for an error that leaves a round; nil is the default
	// handler.
	WatchErrorHandler clientgo.WatchErrorHandlerWithContext
}

// Engine is one reflector. Making one starts nothing.
type Engine interface {
	// ListAndWatch runs one round: a list or a watch-list, then the watches that follow it, until
	// ctx ends or an error calls for another list. A later call goes on from where the last one
	// ended.
	ListAndWatch(ctx context.Context) error
	// Run repeats rounds until ctx ends.
	Run(ctx context.Context)
	// LastSyncResourceVersion may be called at any time.
	LastSyncResourceVersion() string
	// UsesWatchList reports whether the first round asks for a watch-list.
	UsesWatchList() bool
}
