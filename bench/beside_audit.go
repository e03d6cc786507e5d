// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/bench/internal/source"
	"github.com/kinformer/cache/bench/internal/stats"
	"github.com/kinformer/cache/bench/internal/workload"
)

const (
	besideRate    = 1000 // events per second
	besideSeconds = 3    // of a full run
	// besideLists is the time between two Lists of all objects.
	besideLists = 50 * time.Millisecond
)

// besideAuditRows are reads and events while the informer is audited, one
// audit after the other. Our side runs three informers: one alone, one beside
// audits, and, as the control, one beside a goroutine that makes the lists of
// such audits and nothing else, which take processor time and leave garbage as
// well. client-go has no audits: its figure beside the lists stands for both.
func besideAuditRows() []row {
	return []row{{
		group: "Beside an audit", name: "audited/light", light: true, slow: true, rounds: 3,
		title: fmt.Sprintf("Get each 100 µs, List each %d ms, and %d events a second; audited: beside audits without a pause, from memory, client-go beside their lists; lists alone: so ours as well",
			besideLists.Milliseconds(), besideRate),
		setup: func(ctx context.Context, e *env) (trial, error) {
			population, err := e.population(ctx)
			if err != nil {
				return nil, err
			}
			b := &besideAudit{
				env: e, population: population, generation: source.NewGeneration(population, listVersion(0)),
				events: updatesOf(population.Pods, max(10, e.ops(besideSeconds*besideRate))),
			}
			return b.round, nil
		},
	}}
}

// besideAudit is what the row has.
type besideAudit struct {
	env        *env
	population *workload.Population
	generation *source.Generation
	events     []watch.Event
	rounds     int // of both sides
}

// company is what goes on beside an informer, once; it returns how many objects
// it has looked at.
type company func(ctx context.Context, i *informer, from *exactSource) (objects int, err error)

// round runs the informers of a side, of which another one begins in each
// round.
func (b *besideAudit) round(ctx context.Context, s side) (out outcome, err error) {
	companies := []company{nil, listOnce, auditOnce}
	if s.snapshot == nil {
		companies = companies[:2]
	}
	var ends [3]outcome
	for turn := range companies {
		which := (turn + b.rounds) % len(companies)
		if ends[which], err = b.one(ctx, s, companies[which]); err != nil {
			return out, err
		}
	}
	if b.rounds++; s.snapshot == nil {
		ends[2] = ends[1]
	}
	return besideOutcome(ends)
}

// besideOutcome is that of a round, of those of the informers alone, beside
// lists, and beside audits.
func besideOutcome(ends [3]outcome) (out outcome, err error) {
	out.check = ends[0].check
	for _, end := range ends[1:] {
		if end.check != out.check {
			return out, fmt.Errorf("%w: %+v, else %+v", errObservedUnlike, end.check, out.check)
		}
	}
	for i, alone := range ends[0].samples {
		listed, audited := ends[1].samples[i], ends[2].samples[i]
		listed.name, audited.name = "lists alone, "+listed.name, "audited, "+audited.name
		out.samples = append(out.samples, alone, audited)
		out.shown = append(out.shown, listed)
	}
	for i, which := range []string{"lists alone", "audited"} {
		out.shown = append(out.shown, sample{which + ", objects looked at", "1/s", ends[i+1].shown[0].value})
	}
	return out, nil
}

// one runs one informer.
func (b *besideAudit) one(ctx context.Context, s side, beside company) (out outcome, err error) {
	from := &exactSource{source.New(b.generation, source.Options{}), b.population.Pods, b.events}
	i := newInformerOn(s, from, 0, indexers(1))
	i.source = from.Source
	defer i.stop()
	clocked, delays := newClockedEvents(b.events, besideRate), make([]float64, len(b.events))
	if err := i.addHandler(0, clocked.handler(delays)); err != nil {
		return out, err
	}
	stream, err := i.startSynced(ctx, len(b.population.Pods))
	if err != nil {
		return out, err
	}
	i.expect(len(b.events))
	var reads [2][]float64
	var objects int
	usage, err := b.env.measure(func() error {
		stop := keep(ctx, beside, i, from)
		var failed, stopped error
		reads, failed = b.reading(ctx, i.GetIndexer(), func() error {
			if err := clocked.play(ctx, stream); err != nil {
				return err
			}
			return i.wait(ctx)
		})
		objects, stopped = stop()
		return errors.Join(failed, stopped)
	})
	if err != nil {
		return out, err
	}
	out.check, err = i.finish()
	slices.Sort(delays)
	for _, of := range []struct {
		name   string
		sorted []float64
	}{{"event to handler", delays}, {"Get", reads[0]}, {"List", reads[1]}} {
		out.samples = append(out.samples, sample{of.name + ", p50", "us", stats.Percentile(of.sorted, 0.5)},
			sample{of.name + ", p99", "us", stats.Percentile(of.sorted, 0.99)})
	}
	out.shown = []sample{{"objects looked at", "1/s", float64(objects) / usage.Wall.Seconds()}}
	return out, err
}

// reading makes Gets and Lists while do runs, and returns how long each took,
// sorted, in microseconds.
func (b *besideAudit) reading(ctx context.Context, store clientgo.Indexer, do func() error) (took [2][]float64, err error) {
	ctx, finish := context.WithCancel(ctx)
	defer finish()
	all := stallReads(b.population)
	kinds := [2]stallRead{all[0], all[2]}
	kinds[1].interval = besideLists
	var reading sync.WaitGroup
	failed := make([]error, len(kinds)+1)
	for k, kind := range kinds {
		reading.Go(func() {
			failed[k] = eachCall(ctx, store, kind, func(d time.Duration) {
				took[k] = append(took[k], float64(d)/float64(time.Microsecond))
			})
			slices.Sort(took[k])
		})
	}
	failed[len(kinds)] = do()
	finish()
	reading.Wait()
	return took, errors.Join(failed...)
}

// keep has company again and again, once at least, until stop is called, which
// returns how many objects were looked at. No company is done at once.
func keep(ctx context.Context, c company, i *informer, from *exactSource) (stop func() (objects int, err error)) {
	if c == nil {
		return func() (int, error) { return 0, nil }
	}
	over, ended := make(chan struct{}), make(chan struct{})
	objects, err := 0, error(nil)
	go func() {
		defer close(ended)
		for err == nil {
			var n int
			n, err = c(ctx, i, from)
			objects += n
			select {
			case <-over:
				return
			default:
			}
		}
	}()
	return func() (int, error) { close(over); <-ended; return objects, err }
}

var errFalseAlarm = errors.New("an audit has found what does not differ")

// auditOnce audits the informer.
func auditOnce(ctx context.Context, i *informer, _ *exactSource) (objects int, err error) {
	report, err := audit.Once(ctx, i, audit.Options{})
	if err == nil && len(report.Found) > 0 {
		err = fmt.Errorf("%w: %v", errFalseAlarm, report)
	}
	return report.Digest.Objects, err
}

// listOnce makes the list of an audit, and goes through its items as an audit
// does.
func listOnce(ctx context.Context, i *informer, from *exactSource) (objects int, err error) {
	o := metav1.ListOptions{Limit: 500, ResourceVersion: i.LastSyncResourceVersion(), ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	for {
		list, err := from.ListWithContext(ctx, o)
		if err != nil {
			return objects, err
		}
		err = meta.EachListItemWithAlloc(list, func(runtime.Object) error { objects++; return nil })
		next := list.(*corev1.PodList).Continue
		if err != nil || next == "" {
			return objects, err
		}
		o = metav1.ListOptions{Limit: 500, Continue: next}
	}
}

// exactSource is a source that also lists its pods as they were at a version,
// in pages, as servers do. Event number i is one of pod i%len(pods), at its
// eventVersion.
type exactSource struct {
	*source.Source
	pods   []*corev1.Pod
	events []watch.Event
}

// List is ListWithContext without a context.
func (s *exactSource) List(options metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), options)
}

// ListWithContext answers as of a version, if that is asked for, else with the
// list of the source.
func (s *exactSource) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	version, from := options.ResourceVersion, 0
	switch {
	case options.Continue != "":
		if _, err := fmt.Sscanf(options.Continue, "%d@%s", &from, &version); err != nil {
			return nil, fmt.Errorf("continue token: %w", err)
		}
	case options.ResourceVersionMatch != metav1.ResourceVersionMatchExact:
		return s.Source.ListWithContext(ctx, options)
	}
	at, err := strconv.Atoi(version)
	if err != nil {
		return nil, fmt.Errorf("resource version: %w", err)
	}
	to := min(from+int(options.Limit), len(s.pods))
	page := &corev1.PodList{Items: make([]corev1.Pod, 0, to-from)}
	for i := from; i < to; i++ {
		page.Items = append(page.Items, *s.podAt(i, at-firstEventVersion))
	}
	if page.ResourceVersion = version; to < len(s.pods) {
		page.Continue = fmt.Sprintf("%d@%s", to, version)
	}
	return page, nil
}

// podAt is pod number i as it was after an event, by its number.
func (s *exactSource) podAt(i, event int) *corev1.Pod {
	if event < i {
		return s.pods[i]
	}
	return s.events[event-(event-i)%len(s.pods)].Object.(*corev1.Pod)
}
