// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

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
}

// withoutWatchCache has the server read etcd, of which the history is compacted, for a while.
func withoutWatchCache(ctx context.Context, r *run, random *rand.Rand) error {
	err := r.cluster.restart(ctx, true, 0, func(o *apiserver.Options) { o.DisableWatchCache = true })
	if err != nil {
		return err
	}
	for range 2 {
		wait(ctx, between(random, 300*time.Millisecond, 2*time.Second))
		if _, err := r.cluster.server.Compact(ctx); err != nil {
			return err
		}
		r.cluster.proxy.Cut()
	}
	return r.cluster.restart(ctx, true, 0, func(o *apiserver.Options) { o.DisableWatchCache = false })
}

// expire keeps the informers away until the server has forgotten the resourceVersion that they are at.
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

// tooManyRequests has all informers list anew while one request at a time is served.
func tooManyRequests(ctx context.Context, r *run, random *rand.Rand) error {
	stopFlood, err := flood(ctx, r.cluster.server.UserConfig())
	if err != nil {
		return err
	}
	err = expire(ctx, r, func(o *apiserver.Options) { o.MaxRequestsInFlight = 1 })
	wait(ctx, between(random, time.Second, 4*time.Second))
	stopFlood()
	return errors.Join(err, r.cluster.restart(ctx, true, 0, func(o *apiserver.Options) { o.MaxRequestsInFlight = 0 }))
}

// flood lists pods all the time; answers do not matter.
func flood(ctx context.Context, config *rest.Config) (stop func(), err error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, err
	}
	pods := client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(follow.Namespace)
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for wait(ctx, time.Millisecond) {
				_, _ = pods.List(ctx, metav1.ListOptions{})
			}
		})
	}
	return func() {
		cancel()
		group.Wait()
		httpClient.CloseIdleConnections()
	}, nil
}
