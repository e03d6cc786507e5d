// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"time"

	"github.com/kinformer/cache/internal/rig"
)

func init() {
	rig.NewReflector = func(lw ListerWatcher, expectedType any, store ReflectorStore, options ReflectorOptions) rig.Reflector {
		return rigReflector{newReflector(optionsFrom(lw, expectedType, store, options))}
	}
}

// rigReflector shows a reflector to the tests of other modules.
type rigReflector struct{ r *reflector }

func (g rigReflector) ListAndWatch(ctx context.Context) error { return g.r.listAndWatch(ctx) }
func (g rigReflector) Run(ctx context.Context)                { g.r.run(ctx) }
func (g rigReflector) LastSyncResourceVersion() string        { return g.r.lastSyncResourceVersion() }
func (g rigReflector) Name() string                           { return g.r.name }
func (g rigReflector) TypeDescription() string                { return g.r.typeDescription }
func (g rigReflector) UsesWatchList() bool                    { return g.r.opening == streaming }

func (g rigReflector) SetShouldResync(should func() bool)         { g.r.shouldResync = should }
func (g rigReflector) SetWatchListPageSize(size int64)            { g.r.pageSize = size }
func (g rigReflector) SetMaxInternalErrorRetry(max time.Duration) { g.r.maxInternalErrorRetry = max }
func (g rigReflector) SetDelay(delay func() time.Duration)        { g.r.delay = delay }
func (g rigReflector) SetLastSyncResourceVersion(version string)  { g.r.position.advance(version) }
func (g rigReflector) SetListerWatcher(lw ListerWatcher)          { g.r.lists = ToListerWatcherWithContext(lw) }
func (g rigReflector) SetWatchErrorHandler(handle WatchErrorHandlerWithContext) {
	g.r.onError = errorsTo(handle)
}
