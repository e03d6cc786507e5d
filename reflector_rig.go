// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"

	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/rig"
)

func init() {
	rig.NewReflector = func(s rig.Settings) rig.Reflector {
		o := optionsFrom(s.ListerWatcher, s.ExpectedType, s.Store, s.Options)
		o.PageSize, o.ShouldResync, o.MaxInternalErrorRetry = s.WatchListPageSize, s.ShouldResync, s.MaxInternalErrorRetryDuration
		o.Delay, o.Reached, o.OnError = s.Delay, s.ResourceVersion, errorsTo(s.WatchErrorHandler)
		return rigReflector{reflector.New(o)}
	}
}

// rigReflector shows a reflector to the tests of other modules.
type rigReflector struct{ r *reflector.Reflector }

func (g rigReflector) ListAndWatch(ctx context.Context) error { return g.r.ListAndWatch(ctx) }

func (g rigReflector) Run(ctx context.Context) { g.r.Run(ctx) }

func (g rigReflector) LastSyncResourceVersion() string { return g.r.Version() }

func (g rigReflector) UsesWatchList() bool { return g.r.Streams() }
