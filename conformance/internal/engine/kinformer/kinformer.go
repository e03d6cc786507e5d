// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinformer makes this project's own reflector an engine.
package kinformer

import (
	clientgo "k8s.io/client-go/tools/cache"

	_ "github.com/kinformer/cache" // its initialization fills rig in
	"github.com/kinformer/cache/conformance/internal/engine"
	"github.com/kinformer/cache/internal/rig"
)

// New makes a reflector by the settings. It panics when they ask for a watch-list that the engine itself would not
// use: it can only be kept from one.
func New(s engine.Settings) engine.Engine {
	lw := s.ListerWatcher
	if s.WatchList != nil && !*s.WatchList {
		lw = engine.NoStreams{ContextOnly: engine.ContextOnly{ListerWatcherWithContext: clientgo.ToListerWatcherWithContext(lw)}}
	}
	r := rig.NewReflector(rig.Settings{
		ListerWatcher: lw, ExpectedType: s.ExpectedType, Store: s.Store, Options: s.Options,
		WatchListPageSize: s.WatchListPageSize, ShouldResync: s.ShouldResync, MaxInternalErrorRetryDuration: s.MaxInternalErrorRetryDuration,
		Delay: s.Delay, ResourceVersion: s.ResourceVersion, WatchErrorHandler: s.WatchErrorHandler,
	})
	if s.WatchList != nil && *s.WatchList != r.UsesWatchList() {
		panic("the engine does not do a watch-list where the settings ask for one")
	}
	return r
}
