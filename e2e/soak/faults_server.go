// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/kinformer/cache/e2e/apiserver"
	"github.com/kinformer/cache/e2e/follow"
	"github.com/kinformer/cache/e2e/proxy"
)

const maxDown = 2 * time.Second

// serverFaults are what happens to the server.
var serverFaults = []fault{
	{"server: killed and restarted", func(ctx context.Context, r *run, random *rand.Rand) error {
		return r.cluster.restart(ctx, true, between(random, 0, maxDown), nil)
	}},
	{"server: stopped and restarted", func(ctx context.Context, r *run, random *rand.Rand) error {
		return r.cluster.restart(ctx, false, between(random, 0, maxDown), nil)
	}},
	{"server: frozen", func(ctx context.Context, r *run, random *rand.Rand) error {
		if err := r.cluster.server.Pause(); err != nil {
			return err
		}
		wait(ctx, between(random, time.Second, 4*time.Second))
		return r.cluster.server.Resume()
	}},
	{"server: compacted", func(ctx context.Context, r *run, random *rand.Rand) error {
		_, err := r.cluster.server.Compact(ctx)
		wait(ctx, between(random, 0, time.Second))
		return err
	}},
	{"server: without watch cache", withoutWatchCache},
	{"server: forgets what informers know", func(ctx context.Context, r *run, _ *rand.Rand) error {
		return expire(ctx, r, nil)
	}},
	{"server: too many requests", tooManyRequests},
	{"server: refuses with 429", refuse},
}

// withoutWatchCache has the server read etcd, of which the history is compacted, for a while, also
// while an informer lists page by page.
func withoutWatchCache(ctx context.Context, r *run, random *rand.Rand) error {
	err := r.cluster.restart(ctx, true, 0, func(o *apiserver.Options) { o.DisableWatchCache = true })
	if err != nil {
		return err
	}
	if err := compactWithinList(ctx, r, random); err != nil {
		return err
	}
	wait(ctx, between(random, 300*time.Millisecond, 2*time.Second))
	if _, err := r.cluster.server.Compact(ctx); err != nil {
		return err
	}
	r.cluster.proxy.Cut()
	return r.cluster.restart(ctx, true, 0, func(o *apiserver.Options) { o.DisableWatchCache = false })
}

// compactWithinList starts an informer that gets its pages slowly, and compacts between two of
// them.
func compactWithinList(ctx context.Context, r *run, random *rand.Rand) error {
	const patience = 3 * time.Second // on a server that is new there may be one page, or none
	r.cluster.proxy.SetWeather(proxy.Weather{Delay: 30 * time.Millisecond})
	defer r.cluster.proxy.SetWeather(proxy.Weather{})
	f, err := r.startFollower(ctx, r.kinds[random.IntN(len(r.kinds))], follow.ListMode, handlerKinds)
	if err != nil {
		return err
	}
	defer f.stop()
	for end := time.Now().Add(patience); f.source.Lists.Load() < 2 && time.Now().Before(end); {
		wait(ctx, 5*time.Millisecond)
	}
	_, err = r.cluster.server.Compact(ctx)
	wait(ctx, between(random, 300*time.Millisecond, 2*time.Second))
	return err
}

// expire keeps the informers away until the server has forgotten the resourceVersion that they are
// at.
func expire(ctx context.Context, r *run, change func(*apiserver.Options)) error {
	r.cluster.proxy.SetWeather(proxy.Weather{Refuse: true})
	defer r.cluster.proxy.SetWeather(proxy.Weather{})
	r.cluster.proxy.Cut()
	wait(ctx, time.Second) // writers go on
	if _, err := r.cluster.server.Compact(ctx); err != nil {
		return err
	}
	return r.cluster.restart(ctx, true, 0, change)
}

// tooManyRequests has all informers list anew while the one request that the server takes at a time
// is somebody else's. An informer hears of it after ten attempts of its client, a second each.
func tooManyRequests(ctx context.Context, r *run, random *rand.Rand) error {
	err := expire(ctx, r, func(o *apiserver.Options) { o.MaxRequestsInFlight = 1 })
	if err != nil {
		return err
	}
	leave, err := follow.Occupy(ctx, r.cluster.server.UserConfig())
	if err != nil {
		return err
	}
	r.cluster.proxy.Cut() // who came before is asked to come again
	wait(ctx, between(random, 12*time.Second, 15*time.Second))
	leave()
	return r.cluster.restart(ctx, true, 0, func(o *apiserver.Options) { o.MaxRequestsInFlight = 0 })
}

// refuse has some or all lists and watches of informers refused with 429 and a time to wait.
func refuse(ctx context.Context, r *run, random *rand.Rand) error {
	r.cluster.refusing.Store(&refusing{percent: 30 + random.IntN(71), seconds: 3})
	defer r.cluster.refusing.Store(nil)
	for range 2 {
		r.cluster.proxy.Cut()
		wait(ctx, between(random, time.Second, 3*time.Second))
	}
	return nil
}
