// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinformer makes this project's own reflector an engine.
package kinformer

import (
	"context"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/conformance/internal/engine"
	"github.com/kinformer/cache/internal/reflector"
)

// New makes a reflector by the settings. It panics when they ask for a watch-list that the engine
// itself would not use: it can only be kept from one.
func New(s engine.Settings) engine.Engine {
	lw := s.ListerWatcher
	if s.WatchList != nil && !*s.WatchList {
		lw = engine.NoStreams{ContextOnly: engine.ContextOnly{ListerWatcherWithContext: clientgo.ToListerWatcherWithContext(lw)}}
	}
	o := reflector.Options{
		Name: s.Options.Name, TypeDescription: s.Options.TypeDescription,
		ListerWatcher: lw, ExpectedType: s.ExpectedType, Sink: reflector.Foreign(s.Store),
		ResyncPeriod: s.Options.ResyncPeriod, MinWatchTimeout: s.Options.MinWatchTimeout,
		Backoff: s.Options.Backoff, Clock: s.Options.Clock, Logger: s.Options.Logger,
		PageSize: s.WatchListPageSize, ShouldResync: s.ShouldResync, MaxInternalErrorRetry: s.MaxInternalErrorRetryDuration,
		Delay: s.Delay, Reached: s.ResourceVersion,
	}
	o.OnError = errorsTo(s.WatchErrorHandler)
	r := reflector.New(o)
	if s.WatchList != nil && *s.WatchList != r.Streams() {
		panic("the engine does not do a watch-list where the settings ask for one")
	}
	return ours{r}
}

// errorsTo hands the errors that end a round to the handler, or to the usual one.
func errorsTo(handler clientgo.WatchErrorHandlerWithContext) func(context.Context, reflector.Failure) {
	return func(ctx context.Context, f reflector.Failure) {
		switch {
		case handler != nil:
			handler(ctx, nil, f.Err)
		case !f.Expected:
			clientgo.DefaultWatchErrorHandler(ctx, &clientgo.Reflector{}, f.Err)
		}
	}
}

// ours names the methods as client-go does.
type ours struct{ *reflector.Reflector }

func (o ours) LastSyncResourceVersion() string { return o.Version() }

func (o ours) UsesWatchList() bool { return o.Streams() }
