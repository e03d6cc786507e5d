// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"

	"github.com/kinformer/cache/internal/rig"
)

func init() {
	rig.NewReflector = func(s rig.Settings) rig.Reflector {
		o := optionsFrom(s.ListerWatcher, s.ExpectedType, s.Store, s.Options)
		o.pageSize, o.shouldResync, o.maxInternalErrorRetry = s.WatchListPageSize, s.ShouldResync, s.MaxInternalErrorRetryDuration
		o.delay, o.reached, o.onError = s.Delay, s.ResourceVersion, errorsTo(s.WatchErrorHandler)
		return rigReflector{newReflector(o)}
	}
}

// rigReflector shows a reflector to the tests of other modules.
type rigReflector struct{ r *reflector }

func (g rigReflector) ListAndWatch(ctx context.Context) error { return g.r.listAndWatch(ctx) }
func (g rigReflector) Run(ctx context.Context)                { g.r.run(ctx) }
func (g rigReflector) LastSyncResourceVersion() string        { return g.r.version() }
func (g rigReflector) UsesWatchList() bool                    { return g.r.streams() }
