// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rig lets tests outside of the root package drive engines that have no exported name of their own. Importing
// the root package fills it in. It is for tests only and promises nothing.
package rig

import (
	"context"
	"time"

	clientgo "k8s.io/client-go/tools/cache"
)

// Settings say what a reflector is to be.
type Settings struct {
	// ListerWatcher, ExpectedType, Store and Options are the arguments of client-go's NewReflectorWithOptions.
	ListerWatcher clientgo.ListerWatcher
	ExpectedType  any
	Store         clientgo.ReflectorStore
	Options       clientgo.ReflectorOptions

	// WatchListPageSize, ShouldResync and MaxInternalErrorRetryDuration are exported fields of client-go's Reflector.
	WatchListPageSize             int64
	ShouldResync                  func() bool
	MaxInternalErrorRetryDuration time.Duration

	// Delay, if not nil, takes the place of Options.Backoff.
	Delay func() time.Duration
	// ResourceVersion is the version reached so far.
	ResourceVersion string
	// WatchErrorHandler is called for errors that end a round of Run; nil: the default one.
	WatchErrorHandler clientgo.WatchErrorHandlerWithContext
}

// Reflector is the reflector engine that the informers run. At most one of ListAndWatch and Run may run at a time.
type Reflector interface {
	// ListAndWatch runs one round, as client-go's ListAndWatchWithContext.
	ListAndWatch(ctx context.Context) error
	// Run runs rounds until ctx ends, as client-go's RunWithContext.
	Run(ctx context.Context)
	// LastSyncResourceVersion is the version that the next watch would start from. It may be called at any time.
	LastSyncResourceVersion() string
	// UsesWatchList reports whether rounds begin with a watch-list stream.
	UsesWatchList() bool
}

// NewReflector makes a Reflector; the root package's initialization sets it.
var NewReflector func(Settings) Reflector
