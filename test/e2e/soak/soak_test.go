// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package soak runs informers against a real API server under faults, and checks continuously that no
// change is lost or invented. "make soak" runs TestNothingLostNothingInvented for any duration.
//
// Writers change objects of several kinds, and a ledger records the acknowledged writes. Informers in
// both modes follow them through a network that breaks; half of kinformer's decode directly. Two lanes of
// faults run side by side, one of server and network, one of handlers and informers. The seed and the
// number of a round determine its faults and their durations, so that a seed replays the plan of a run
// (but not the scheduling of goroutines). Every few rounds the writers pause, and all state is compared
// with a quorum LIST.
//
// The run checks the rules of package checker, and:
//
//	differs   after the faults, a handler, the store or an index is not equal to a quorum LIST in time
//	synced    the registration of a handler has not synced by then, or it has although a call of its initial list panicked
//	ledger    an acknowledged write is missing in the quorum LIST
//	audit     an audit reports a finding
//	decoding  an informer has stopped to decode directly, or an object differs from its client's
//	stop      an informer does not stop, or calls a handler after its end
//	leak      goroutines, sockets or memory remain at the end
//	logs      contents of objects appear in logs at verbosity 4
package soak

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit/checker"
	"github.com/kinformer/cache/test/e2e/follow"
)

var (
	seed     = flag.Uint64("seed", 1, "decides the plan of the run")
	duration = flag.Duration("duration", 15*time.Second, "how long there are faults; the run takes up to about five minutes more")
	library  = flag.String("library", ours, ours+" or client-go")
	names    = flag.Int("names", 60, "objects of each writer")
	pause    = flag.Duration("pause", 10*time.Millisecond, "between two writes of a writer, and two reads of a reader")
	faults   = flag.String("faults", ".", "which faults, a regular expression on their names")
	tapped   = flag.Int("tapped", 50, "percent of kinformer's informers that decode directly, half of which share equal parts; -1: none")
)

// newInformer is the constructor of the library under test.
type newInformer func(cache.ListerWatcher, apiruntime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer

const ours = "kinformer"

var libraries = map[string]newInformer{ours: cache.NewSharedIndexInformer, "client-go": clientgo.NewSharedIndexInformer}

const (
	writers    = 2 // per kind
	checkEvery = 3 // rounds of faults between comparisons
	// patience bounds a comparison. The backoff of reflectors grows to 30 s and more during faults.
	patience = 5 * time.Minute
)

// TestNothingLostNothingInvented is a short run, unless flags make it longer.
func TestNothingLostNothingInvented(t *testing.T) {
	require.Contains(t, libraries, *library)
	r := &run{report: newReport(t), selected: regexp.MustCompile(*faults)}
	t.Logf("soak of %s, seed %d, %v", *library, *seed, *duration)
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	compareLeaks := watchLeaks(r.report)
	restore := captureProcess(r.report)
	assert.NoError(t, r.inCluster(ctx))
	compareLeaks()
	restore()
	t.Logf("slowest comparison %v\n%v", r.slowest, r.report)
	expected := []string{"comparisons", "rounds", "notifications", "reads"}
	if *library == ours && *tapped > 0 {
		expected = append(expected, "decoded directly", "audits: objects")
	}
	for _, name := range expected {
		assert.NotZero(t, r.report.counts[name], name)
	}
}

// kind is the state of one kind of objects.
type kind struct {
	name     string
	resource *follow.Resource // for writers and comparisons
	ledger   *checker.Ledger
	gate     sync.RWMutex // read-locked by writers, locked to pause them
}

// run is the state of one run.
type run struct {
	report    *report
	cluster   *cluster
	kinds     []*kind
	followers []*follower // changed by the lane of handlers and informers, and between rounds
	informers atomic.Int64
	selected  *regexp.Regexp
	slowest   time.Duration // until all was equal
}

func (r *run) inCluster(ctx context.Context) (err error) {
	if r.cluster, err = startCluster(ctx, r.report.TempDir()); err != nil {
		return err
	}
	defer func() {
		r.report.count("connections", r.cluster.network.opened.Load())
		r.report.count("connections cut", r.cluster.network.cuts.Load())
		r.report.count("answers of 429 in place of the server", r.cluster.gate.Own.Load())
		r.report.count("informers", r.informers.Load())
		err = errors.Join(err, r.cluster.stop(context.WithoutCancel(ctx)))
	}()
	stopWriters, err := r.startWriters(ctx)
	if err != nil {
		return err
	}
	defer stopWriters()
	defer func() {
		for _, f := range r.followers {
			f.stop()
		}
	}()
	for _, k := range r.kinds {
		for _, mode := range []follow.Mode{follow.ListMode, follow.WatchListMode} {
			f, err := r.startFollower(ctx, k, mode)
			if err != nil {
				return err
			}
			r.followers = append(r.followers, f)
		}
	}
	return r.rounds(ctx)
}

func (r *run) startWriters(ctx context.Context) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	for n, name := range slices.Sorted(maps.Keys(follow.Kinds())) {
		k := &kind{name: name, ledger: checker.NewLedger()}
		if k.resource, err = r.cluster.resource(name, false); err != nil {
			cancel()
			return nil, err
		}
		r.kinds = append(r.kinds, k)
		for i := range writers {
			w := &writer{
				kind: k, report: r.report, known: map[string]checker.State{}, uncertain: map[string]bool{},
				random: rand.New(rand.NewPCG(*seed, 2<<32+uint64(n*1000+i))),
			}
			group.Go(func() { w.write(ctx, fmt.Sprintf("w%d", i)) })
		}
	}
	return func() {
		cancel()
		group.Wait()
		for _, k := range r.kinds {
			k.resource.Close()
		}
	}, nil
}

// rounds runs rounds of faults until the time is over, with comparisons in between and at the end.
func (r *run) rounds(ctx context.Context) error {
	end := time.Now().Add(*duration)
	for n := 1; time.Now().Before(end) && ctx.Err() == nil; n++ {
		if err := r.round(ctx, n); err != nil {
			return fmt.Errorf("round %d: %w", n, err)
		}
		r.report.count("rounds", 1)
		if n%checkEvery == 0 {
			if err := r.compare(ctx); err != nil {
				return err
			}
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.compare(ctx)
}

// round runs a fault of each lane side by side. Seed and number determine the faults.
func (r *run) round(ctx context.Context, n int) error {
	var group sync.WaitGroup
	errs := make([]error, len(lanes))
	for i, lane := range lanes {
		random := rand.New(rand.NewPCG(*seed, uint64(n*len(lanes)+i)))
		matching := slices.DeleteFunc(slices.Clone(lane), func(f fault) bool { return !r.selected.MatchString(f.name) })
		if len(matching) == 0 {
			continue
		}
		f := matching[random.IntN(len(matching))]
		r.report.Logf("round %d: %s", n, f.name)
		r.report.count("fault: "+f.name, 1)
		group.Go(func() {
			if err := f.run(ctx, r, random); err != nil {
				errs[i] = fmt.Errorf("%s: %w", f.name, err)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// compare pauses the writers, waits until all state equals a quorum LIST, and resumes them.
func (r *run) compare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	start, objects := time.Now(), 0
	for _, k := range r.kinds {
		n, err := r.compareKind(ctx, k)
		if err != nil {
			return err
		}
		objects += n
	}
	took := time.Since(start)
	r.slowest = max(r.slowest, took)
	r.report.count("comparisons", 1)
	r.report.Logf("compared %d objects in %v, heap %.1f MiB", objects, took.Round(time.Millisecond), liveHeap())
	return nil
}

func (r *run) compareKind(ctx context.Context, k *kind) (objects int, err error) {
	k.gate.Lock()
	defer k.gate.Unlock()
	want, err := k.listed(ctx)
	if err != nil {
		return 0, err
	}
	var group sync.WaitGroup
	for _, f := range r.followers {
		if f.kind == k {
			group.Go(func() { f.compare(ctx, want) })
		}
	}
	group.Wait()
	for _, fault := range k.ledger.Compare(want) {
		r.report.violation("ledger", k.name, "%s", fault)
	}
	return len(want), nil
}

// listed returns a quorum LIST. It retries while the server does not answer.
func (k *kind) listed(ctx context.Context) (checker.Contents, error) {
	for {
		want, err := k.resource.Listed(ctx)
		if err == nil || !wait(ctx, 100*time.Millisecond) {
			return want, err
		}
	}
}

const (
	// heapSlack is the growth of the heap in MiB allowed at the end: schemes and codecs, the counts, and
	// client-go's unbounded cache of transports, which keeps one with its buffers per informer.
	heapSlack = 32
	// leakPatience bounds the time in which goroutines and connections end after the stop.
	leakPatience = 30 * time.Second
)

// watchLeaks records goroutines, sockets and heap. The returned function reports new ones that persist
// for leakPatience.
func watchLeaks(r *report) (compare func()) {
	running, socketsBefore, heapBefore := goleak.IgnoreCurrent(), openSockets(), liveHeap()
	return func() {
		err, sockets := goleak.Find(running), openSockets()
		for end := time.Now().Add(leakPatience); (err != nil || sockets > socketsBefore) && time.Now().Before(end); {
			err, sockets = goleak.Find(running), openSockets()
		}
		heap := liveHeap()
		r.Logf("heap after the end %.1f MiB", heap)
		if err != nil || sockets > socketsBefore || heap > heapBefore+heapSlack {
			r.violation("leak", "the process", "%d sockets (%d before), %.1f MiB (%.1f before), goroutines: %.3000v",
				sockets, socketsBefore, heap, heapBefore, err)
		}
	}
}

// openSockets returns the number of this process's sockets, 0 on systems without /proc.
func openSockets() (n int) {
	links, _ := filepath.Glob("/proc/self/fd/*") // the pattern is valid
	for _, link := range links {
		// A descriptor closed meanwhile is not counted.
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, "socket:") {
			n++
		}
	}
	return n
}

// liveHeap returns the size of the reachable heap in MiB.
func liveHeap() float64 {
	runtime.GC()
	runtime.GC() // collects memory released by finalizers of the first
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc) / (1 << 20)
}
