// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/testkit"
)

// herdRuns makes TestHerd log medians of several runs.
var herdRuns = flag.Int("herd-runs", 1, "the number of runs of which TestHerd takes the median")

// worst returns the largest number of times within one second. The times are sorted.
func worst(at []time.Duration) (most int) {
	first := 0
	for last := range at {
		for at[last]-at[first] >= time.Second {
			first++
		}
		most = max(most, last-first+1)
	}
	return most
}

// fleet is a number of processes with some informers each, and their Requests.StartJitter.
type fleet struct {
	processes, informers int
	jitter               time.Duration
}

// run runs a fleet of kinformer (ours) or of client-go until stop is called.
func (f fleet) run(t *testing.T, server *apiServer, ours bool) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range f.processes {
		servers := &Servers{}
		for range f.informers {
			run := func(ctx context.Context) {
				clientgo.NewReflectorWithOptions(server, &v1.Pod{}, clientgo.NewStore(clientgo.MetaNamespaceKeyFunc), clientgo.ReflectorOptions{Name: "theirs"}).RunWithContext(ctx)
			}
			if ours {
				run = New(Options{Name: "ours", ListerWatcher: server, ExpectedType: &v1.Pod{}, Sink: Foreign(&testkit.StoreLog{}), Servers: servers, Spread: f.jitter}).Run
			}
			running.Go(func() { run(ctx) })
		}
	}
	return func() { cancel(); running.Wait() }
}

// returned is what a fleet did after its server was away: the seconds from the server's return until half of the
// informers and the last one had listed, the lists of the worst second, and the requests since the server went away.
type returned struct{ half, last, worst, requests float64 }

// herd lets a server be away from a fleet for a while, after which it has forgotten all versions.
func herd(t *testing.T, f fleet, away time.Duration, ours bool) (got returned) {
	synctest.Test(t, func(t *testing.T) {
		const begins = 4 * time.Minute
		server := newAPIServer(t, between(begins, begins+away, refusedBy("a:6443")))
		server.back = testkit.ErrExpired
		defer f.run(t, server, ours)()
		time.Sleep(begins - time.Second)
		synctest.Wait()
		before := len(server.Requests())
		time.Sleep(away + 3*time.Minute + time.Second)
		synctest.Wait()
		n := f.processes * f.informers
		require.Len(t, server.seen().lists, 2*n, "all are fresh")
		lists := slices.Sorted(slices.Values(server.seen().lists[n:]))
		got = returned{
			(lists[n/2] - begins - away).Seconds(), (lists[n-1] - begins - away).Seconds(), float64(worst(lists)),
			float64(len(server.Requests()) - before),
		}
	})
	return got
}

// ratio returns ours relative to theirs, each number by itself.
func (ours returned) ratio(theirs returned) returned {
	return returned{ours.half / theirs.half, ours.last / theirs.last, ours.worst / theirs.worst, ours.requests / theirs.requests}
}

// median returns the median of each number.
func median(all []returned) returned {
	of := func(get func(returned) float64) float64 {
		var numbers []float64
		for _, one := range all {
			numbers = append(numbers, get(one))
		}
		slices.Sort(numbers)
		return numbers[len(numbers)/2]
	}
	return returned{
		of(func(r returned) float64 { return r.half }), of(func(r returned) float64 { return r.last }),
		of(func(r returned) float64 { return r.worst }), of(func(r returned) float64 { return r.requests }),
	}
}

// TestHerd checks how fleets return to a server beside client-go: small processes soon, large ones not all at once, and
// none with many more requests. The bounds are goals with a fifth to spare for chance.
func TestHerd(t *testing.T) {
	testkit.AtNight(t)
	small := returned{half: 1. / 3, last: 1. / 3, worst: 2.5, requests: 1.35}
	large := returned{half: 1, last: 1. / 5, worst: 8, requests: 1.35}
	for _, f := range []fleet{{2000, 1, 0}, {500, 4, 0}, {60, 30, 0}, {30, 60, 0}, {10, 200, 0}} {
		for _, away := range []time.Duration{12, 25, 45, 60} {
			goal := small
			if f.informers >= 30 {
				goal = large
			}
			if away == 12 {
				goal.worst = map[bool]float64{true: 1.5, false: 4}[f.informers < 30]
			}
			got := f.beside(t, away*time.Second, *herdRuns)
			assert.LessOrEqual(t, got.half, 1.2*goal.half, "%v away %d", f, away)
			assert.LessOrEqual(t, got.last, 1.2*goal.last, "%v away %d", f, away)
			assert.LessOrEqual(t, got.worst, 1.2*goal.worst, "%v away %d", f, away)
			assert.LessOrEqual(t, got.requests, 1.2*goal.requests, "%v away %d", f, away)
		}
	}
}

// TestHerdOfOtherLengths checks that there is no length of an outage after which a fleet comes back all at once.
func TestHerdOfOtherLengths(t *testing.T) {
	testkit.AtNight(t)
	for f, most := range map[fleet]float64{{2000, 1, 0}: 3, {30, 60, 0}: 12} {
		for _, away := range []time.Duration{2, 5, 8, 16, 20, 30, 38, 90, 120, 180, 300} {
			got := f.beside(t, away*time.Second, *herdRuns)
			assert.LessOrEqual(t, got.worst, 1.2*most, "%v away %d", f, away)
		}
	}
}

// beside returns what a fleet does relative to client-go, as the median of some runs.
func (f fleet) beside(t *testing.T, away time.Duration, runs int) returned {
	var ours, theirs []returned
	for range runs {
		ours, theirs = append(ours, herd(t, f, away, true)), append(theirs, herd(t, f, away, false))
	}
	a, b := median(ours), median(theirs)
	got := a.ratio(b)
	t.Logf("%4d x %3d away %3.0f s: half %4.1f s (%.2f), last %5.1f s (%.2f), worst second %4.0f (%.1f), requests %.2f",
		f.processes, f.informers, away.Seconds(), a.half, got.half, a.last, got.last, a.worst, got.worst, got.requests)
	return got
}

// TestAlone checks that all informers of a process of many list soon after their server is back, and sooner with a
// StartJitter.
func TestAlone(t *testing.T) {
	for jitter, most := range map[time.Duration]float64{0: 4.5, 500 * time.Millisecond: 1.5} {
		for _, away := range []time.Duration{12 * time.Second, time.Minute} {
			got := herd(t, fleet{1, 61, jitter}, away, true)
			t.Logf("61 informers, jitter %v, away %v: the last one lists after %.1f s", jitter, away, got.last)
			assert.LessOrEqual(t, got.last, 1.2*most)
		}
	}
}

// TestHalfDeadServer checks that a server which answers some requests, as a load balancer with dead backends does, gets
// about as many requests as from client-go.
func TestHalfDeadServer(t *testing.T) {
	testkit.AtNight(t)
	for _, share := range []float64{0.5, 0.1} {
		ours, theirs := halfDead(t, share, true), halfDead(t, share, false)
		said := fmt.Sprintf("answers %.0f %%: requests in ten minutes %.2f times, in the worst minute %.2f times",
			share*100, ours.all/theirs.all, ours.worst/theirs.worst)
		t.Log(said)
		assert.LessOrEqual(t, ours.all, 1.2*1.2*theirs.all, said)
		assert.LessOrEqual(t, ours.worst, 1.2*2*theirs.worst, said)
	}
}

// load is the number of requests in ten minutes, and in the worst of them.
type load struct{ all, worst float64 }

// halfDead runs a fleet for ten minutes with a server that answers a share of the requests.
func halfDead(t *testing.T, share float64, ours bool) (got load) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		server := newAPIServer(t, func(at time.Duration) error {
			if at > time.Minute && random.Float64() > share {
				return refusedBy("a:6443")
			}
			return nil
		})
		defer fleet{5, 60, 0}.run(t, server, ours)()
		time.Sleep(time.Minute - time.Second)
		for range 10 {
			synctest.Wait()
			before := len(server.Requests())
			time.Sleep(time.Minute)
			synctest.Wait()
			requests := float64(len(server.Requests()) - before)
			got.all, got.worst = got.all+requests, max(got.worst, requests)
		}
	})
	return got
}
