// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/test/e2e/apiserver"
	"github.com/kinformer/cache/test/e2e/follow"
	"github.com/kinformer/cache/test/e2e/transport"
)

// fault breaks a component for some seconds and repairs it before it returns. An error ends the run.
type fault struct {
	name string
	run  doing
}

type doing func(ctx context.Context, r *run, random *rand.Rand) error

// lanes run side by side, each with one fault at a time.
var lanes = [2][]fault{{
	{"network: connections cut", cut},
	{"network: connections refused", breakNetwork(func(*rand.Rand) weather { return weather{refuse: true} }, before)},
	{"network: stalled", breakNetwork(stalled, never)},
	{"network: stalled, then cut", breakNetwork(stalled, after)},
	{"network: delayed", breakNetwork(func(random *rand.Rand) weather {
		return weather{delay: between(random, time.Millisecond, 200*time.Millisecond)}
	}, never)},
	{"network: cut within frames", breakNetwork(func(random *rand.Rand) weather {
		return weather{cutAfter: 1 + random.Int64N(40_000)}
	}, never)},
	{"server: killed and restarted", func(ctx context.Context, r *run, random *rand.Rand) error {
		return r.cluster.restart(ctx, true, between(random, 0, maxDown))
	}},
	{"server: stopped and restarted", func(ctx context.Context, r *run, random *rand.Rand) error {
		return r.cluster.restart(ctx, false, between(random, 0, maxDown))
	}},
	{"server: frozen", freeze},
	{"server: compacted", func(ctx context.Context, r *run, random *rand.Rand) error { return r.cluster.compact(ctx) }},
	{"server: without watch cache", withoutWatchCache},
	{"server: forgets what informers know", expire},
	{"server: refuses with 429", refuse},
}, {
	{"handler: slow", behave(func(random *rand.Rand, _ <-chan struct{}) behaviour {
		return behaviour{delay: between(random, time.Millisecond, 50*time.Millisecond)}
	})},
	{"handler: stuck", behave(func(_ *rand.Rand, over <-chan struct{}) behaviour { return behaviour{until: over} })},
	{"handler: panics", behave(func(random *rand.Rand, _ <-chan struct{}) behaviour {
		return behaviour{panicEvery: 1 + random.Int64N(20)}
	})},
	{"handler: added or removed", changeHandlers},
	{"informer: started and stopped", startAndStop},
	{"informer: stopped and replaced", replaceFollower},
	{"informer: index added", addIndexer},
	{"reader: without a pause", readEagerly},
}}

const (
	maxDown = 2 * time.Second
	// mostHandlers and mostIndexers bound the handlers and indices that faults add to one informer.
	mostHandlers = 8
	mostIndexers = 5
)

// between draws a duration.
func between(random *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(random.Int64N(int64(most-least)))
}

func cut(ctx context.Context, r *run, random *rand.Rand) error {
	for range 1 + random.IntN(4) {
		r.cluster.network.cut()
		wait(ctx, between(random, 10*time.Millisecond, time.Second))
	}
	return nil
}

// Whether and when breakNetwork cuts all connections.
const (
	never = iota
	before
	after
)

// breakNetwork sets the weather for a while.
func breakNetwork(draw func(*rand.Rand) weather, cuts int) doing {
	return func(ctx context.Context, r *run, random *rand.Rand) error {
		r.cluster.network.set(draw(random))
		if cuts == before {
			r.cluster.network.cut()
		}
		wait(ctx, between(random, 500*time.Millisecond, 3*time.Second))
		r.cluster.network.set(weather{})
		if cuts == after {
			r.cluster.network.cut()
		}
		return nil
	}
}

// stalled stalls one direction or both.
func stalled(random *rand.Rand) weather {
	n := 1 + random.IntN(3)
	return weather{stall: [2]bool{n&1 != 0, n&2 != 0}}
}

func freeze(ctx context.Context, r *run, random *rand.Rand) error {
	if err := r.cluster.server.Pause(); err != nil {
		return err
	}
	wait(ctx, between(random, time.Second, 4*time.Second))
	return r.cluster.server.Resume()
}

// withoutWatchCache disables the server's watch cache for a while and compacts etcd's history.
func withoutWatchCache(ctx context.Context, r *run, random *rand.Rand) error {
	r.cluster.opts.DisableWatchCache = true
	if err := r.cluster.restart(ctx, true, 0); err != nil {
		return err
	}
	wait(ctx, between(random, time.Second, 3*time.Second))
	if err := r.cluster.compact(ctx); err != nil {
		return err
	}
	r.cluster.network.cut()
	r.cluster.opts.DisableWatchCache = false
	return r.cluster.restart(ctx, true, 0)
}

// expire disconnects the informers until their resourceVersion has expired on the server.
func expire(ctx context.Context, r *run, _ *rand.Rand) error {
	r.cluster.network.set(weather{refuse: true})
	defer r.cluster.network.set(weather{})
	r.cluster.network.cut()
	wait(ctx, time.Second) // writers continue
	if err := r.cluster.compact(ctx); err != nil {
		return err
	}
	return r.cluster.restart(ctx, true, 0)
}

// refuse refuses some or all lists and watches of informers with 429 and a delay.
func refuse(ctx context.Context, r *run, random *rand.Rand) error {
	r.cluster.refusing.Store(30 + random.Int64N(71))
	defer r.cluster.refusing.Store(0)
	for range 2 {
		r.cluster.network.cut()
		wait(ctx, between(random, time.Second, 3*time.Second))
	}
	return nil
}

func (r *run) anyFollower(random *rand.Rand) *follower {
	return r.followers[random.IntN(len(r.followers))]
}

// behave changes the behaviour of a handler for a while.
func behave(draw func(random *rand.Rand, over <-chan struct{}) behaviour) doing {
	return func(ctx context.Context, r *run, random *rand.Rand) error {
		handlers := r.anyFollower(random).current()
		h := handlers[random.IntN(len(handlers))]
		over := make(chan struct{})
		b := draw(random, over)
		h.behaviour.Store(&b)
		wait(ctx, between(random, 500*time.Millisecond, 4*time.Second))
		h.behaviour.Store(&behaviour{})
		close(over)
		return nil
	}
}

// changeHandlers adds a permanent handler, or removes any handler but the first.
func changeHandlers(ctx context.Context, r *run, random *rand.Rand) error {
	f := r.anyFollower(random)
	handlers := f.current()
	defer wait(ctx, between(random, 0, 2*time.Second))
	if n := len(handlers); n < mostHandlers && (n == 1 || random.IntN(2) == 0) {
		return f.join(handlerKinds[random.IntN(len(handlerKinds))])
	}
	return f.leave(handlers[1+random.IntN(len(handlers)-1)])
}

func startAndStop(ctx context.Context, r *run, random *rand.Rand) error {
	f, err := r.startFollower(ctx, r.kinds[random.IntN(len(r.kinds))], anyMode(random))
	if err != nil {
		return err
	}
	wait(ctx, between(random, 0, 3*time.Second)) // the informer may not even have started
	f.stop()
	return nil
}

func anyMode(random *rand.Rand) follow.Mode {
	return []follow.Mode{follow.ListMode, follow.WatchListMode}[random.IntN(2)]
}

func replaceFollower(ctx context.Context, r *run, random *rand.Rand) error {
	i := random.IntN(len(r.followers))
	old := r.followers[i]
	old.stop()
	f, err := r.startFollower(ctx, old.kind, anyMode(random))
	if err != nil {
		r.followers = slices.Delete(r.followers, i, i+1)
		return err
	}
	r.followers[i] = f
	return nil
}

// readEagerly makes a reader call one method after the other without a pause.
func readEagerly(ctx context.Context, r *run, random *rand.Rand) error {
	f := r.anyFollower(random)
	f.eager.Store(true)
	defer f.eager.Store(false)
	wait(ctx, between(random, time.Second, 4*time.Second))
	return nil
}

// addIndexer adds an index, which readers use afterwards.
func addIndexer(ctx context.Context, r *run, random *rand.Rand) error {
	f := r.anyFollower(random)
	if n := len(f.informer.GetIndexer().GetIndexers()); n < mostIndexers {
		if err := f.informer.AddIndexers(cache.Indexers{fmt.Sprintf("late-%d", n): byShard}); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return readEagerly(ctx, r, random)
}

const (
	startPatience = 5 * time.Minute
	// writeTimeout bounds each write. It is longer than any fault and any answer: an abandoned write may
	// still take effect after the list with which the informers are compared.
	writeTimeout = 30 * time.Second
)

// cluster is the server with the network before it, and the clients of the writers. One fault at a time uses it.
type cluster struct {
	server   *apiserver.Server
	network  *network
	opts     apiserver.Options // for the next start
	writer   dynamic.Interface
	direct   func()       // closes the writers' connections
	gate     follow.Gate  // below the informers' clients
	refusing atomic.Int64 // percentage of the informers' requests
}

func startCluster(ctx context.Context, dir string) (*cluster, error) {
	c := &cluster{network: newNetwork(), opts: apiserver.Options{DataDir: dir}}
	c.gate.Refuse = func(*http.Request) int {
		if rand.Int64N(100) >= c.refusing.Load() {
			return 0
		}
		return 1 + rand.IntN(3)
	}
	if err := c.start(ctx); err != nil {
		return nil, err
	}
	if err := c.connect(ctx); err != nil {
		return nil, errors.Join(err, c.server.Stop(ctx))
	}
	return c, nil
}

// connect creates the writers' client.
func (c *cluster) connect(ctx context.Context) error {
	if err := c.server.InstallCRD(ctx, follow.Widget); err != nil {
		return err
	}
	config := c.server.Config()
	config.Timeout = writeTimeout
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	c.direct = follow.CloseIdle(httpClient)
	c.writer, err = dynamic.NewForConfigAndClient(config, httpClient)
	return err
}

// start starts the server with c.opts, reusing data, port and credentials.
func (c *cluster) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	server, err := apiserver.StartChild(ctx, c.opts)
	if err != nil {
		return err
	}
	c.server, c.opts.Port = server, server.Endpoint().Port
	return nil
}

// restart kills or stops the server, and starts it again after down.
func (c *cluster) restart(ctx context.Context, kill bool, down time.Duration) error {
	end := func() error { return c.server.Stop(ctx) }
	if kill {
		end = c.server.Kill
	}
	if err := end(); err != nil {
		return err
	}
	wait(ctx, down)
	return c.start(ctx)
}

// resource returns a resource read through the network, over its own connection.
func (c *cluster) resource(kind string, tapped bool) (*follow.Resource, error) {
	config := c.server.Config()
	config.Dial = c.network.dial
	config.Wrap(c.gate.Wrap)
	if tapped {
		transport.Direct(config)
	}
	return follow.Kinds()[kind](follow.Clients{Read: config, Write: c.writer})
}

// compact makes the server discard old versions.
func (c *cluster) compact(ctx context.Context) error {
	_, err := c.server.Compact(ctx)
	return err
}

func (c *cluster) stop(ctx context.Context) error {
	c.direct()
	c.network.cut()
	c.network.pumps.Wait()
	return c.server.Stop(ctx)
}
