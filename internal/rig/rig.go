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

// Reflector is the reflector engine that the informers run. The setters stand for fields that client-go's Reflector
// has, exported or not, and must be called before ListAndWatch or Run, of which at most one may run at a time.
type Reflector interface {
	// ListAndWatch runs one round, as client-go's ListAndWatchWithContext.
	ListAndWatch(ctx context.Context) error
	// Run runs rounds until ctx ends, as client-go's RunWithContext.
	Run(ctx context.Context)

	// LastSyncResourceVersion is the version that the next watch would start from. It may be called at any time.
	LastSyncResourceVersion() string
	// Name and TypeDescription are as given or as defaulted.
	Name() string
	TypeDescription() string
	// UsesWatchList tells whether rounds begin with a watch-list stream.
	UsesWatchList() bool

	// SetShouldResync stands for the field ShouldResync.
	SetShouldResync(should func() bool)
	// SetWatchListPageSize stands for the field WatchListPageSize.
	SetWatchListPageSize(size int64)
	// SetMaxInternalErrorRetry stands for the field MaxInternalErrorRetryDuration.
	SetMaxInternalErrorRetry(max time.Duration)
	// SetDelay stands for the field delayHandler: the length of each backoff.
	SetDelay(delay func() time.Duration)
	// SetLastSyncResourceVersion stands for the method of that name: the version reached so far.
	SetLastSyncResourceVersion(version string)
	// SetListerWatcher stands for the field listerWatcher. Whether lists are streamed stays as decided before.
	SetListerWatcher(lw clientgo.ListerWatcher)
	// SetWatchErrorHandler stands for the field watchErrorHandler.
	SetWatchErrorHandler(handle clientgo.WatchErrorHandlerWithContext)
}

// NewReflector makes a Reflector; the root package's initialization sets it.
var NewReflector func(lw clientgo.ListerWatcher, expectedType any, store clientgo.ReflectorStore, options clientgo.ReflectorOptions) Reflector
