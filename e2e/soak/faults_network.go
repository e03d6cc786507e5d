// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/kinformer/cache/e2e/proxy"
)

// networkFaults are what the proxy does.
var networkFaults = []fault{
	{"network: connections cut", func(ctx context.Context, r *run, random *rand.Rand) error {
		for range 1 + random.IntN(4) {
			r.cluster.proxy.Cut()
			wait(ctx, between(random, 10*time.Millisecond, time.Second))
		}
		return nil
	}},
	{"network: connections refused", weather(func(*rand.Rand) proxy.Weather { return proxy.Weather{Refuse: true} }, true)},
	{"network: stalled to the client", weather(func(*rand.Rand) proxy.Weather {
		return proxy.Weather{Stall: [2]bool{proxy.ToClient: true}}
	}, false)},
	{"network: stalled to the server", weather(func(*rand.Rand) proxy.Weather {
		return proxy.Weather{Stall: [2]bool{proxy.ToServer: true}}
	}, false)},
	{"network: stalled, then cut", func(ctx context.Context, r *run, random *rand.Rand) error {
		err := weather(func(*rand.Rand) proxy.Weather { return proxy.Weather{Stall: [2]bool{true, true}} }, false)(ctx, r, random)
		r.cluster.proxy.Cut()
		return err
	}},
	{"network: delayed", weather(func(random *rand.Rand) proxy.Weather {
		return proxy.Weather{Delay: between(random, time.Millisecond, 200*time.Millisecond)}
	}, false)},
	{"network: throttled", weather(func(random *rand.Rand) proxy.Weather {
		return proxy.Weather{BytesPerSecond: 2_000 + random.IntN(50_000)}
	}, false)},
	{"network: cut within frames", weather(func(random *rand.Rand) proxy.Weather {
		return proxy.Weather{CutAfter: 1 + random.Int64N(40_000)}
	}, false)},
	{"network: half-closed to the server", halfClose(proxy.ToServer)},
	{"network: half-closed to the client", halfClose(proxy.ToClient)},
}

// weather sets the weather for a while. With cut, it comes with a cut of all connections.
func weather(draw func(*rand.Rand) proxy.Weather, cut bool) func(context.Context, *run, *rand.Rand) error {
	return func(ctx context.Context, r *run, random *rand.Rand) error {
		r.cluster.proxy.SetWeather(draw(random))
		defer r.cluster.proxy.SetWeather(proxy.Weather{})
		if cut {
			r.cluster.proxy.Cut()
		}
		wait(ctx, between(random, 500*time.Millisecond, 3*time.Second))
		return nil
	}
}

func halfClose(d proxy.Direction) func(context.Context, *run, *rand.Rand) error {
	return func(ctx context.Context, r *run, random *rand.Rand) error {
		if err := r.cluster.proxy.HalfClose(d); err != nil {
			r.report.count("half-closes of what was closed", 1)
		}
		wait(ctx, between(random, 200*time.Millisecond, 2*time.Second))
		return nil
	}
}
