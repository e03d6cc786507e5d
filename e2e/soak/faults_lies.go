// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/e2e/follow"
)

const (
	// mostLies is how often an informer is lied to, until it can be audited at a moment at which it
	// is wrong, and is repaired.
	mostLies = 5
	// auditPatience bounds two audits of an informer that is wrong, on a server that is there.
	auditPatience = 20 * time.Second
	// calm is long enough for what an informer was told to be in its store, as a rule.
	calm = 100 * time.Millisecond
)

// misledKinds are the handlers of an informer that is lied to. They are not told everything.
var misledKinds = []handlerKind{
	{name: "misled", wrap: delivered(cache.Delivery{}), misled: true},
	{name: "misled, coalesce", wrap: delivered(cache.Delivery{Overflow: cache.OverflowCoalesce}), misled: true},
}

// misled is an informer that is lied to.
type misled struct {
	*follower
	liar  *liar
	truth *follow.Resource
}

// lieToSome starts an informer of each kind of objects, has its watches lose, alter and make up
// objects and then hold back all that comes, and has it audited meanwhile. The audit must find what
// a comparison with the server finds, which is made without it, and repair it.
func lieToSome(ctx context.Context, r *run, random *rand.Rand) error {
	if r.config.Library != Kinformer {
		return nil // has no audits
	}
	var group sync.WaitGroup
	errs := make([]error, len(r.kinds))
	for i, kind := range r.kinds {
		own := rand.New(rand.NewPCG(random.Uint64(), 0))
		l := newLiar(rand.New(rand.NewPCG(random.Uint64(), 0)), r.report)
		f, _, err := r.newFollower(kind, anyMode(own), misledKinds, l)
		if err != nil {
			errs[i] = err
			continue
		}
		f.start(ctx)
		group.Go(func() {
			defer f.stop()
			errs[i] = r.lieTo(ctx, misled{f, l, r.resources[kind]}, own)
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// lieTo lies to an informer until it was repaired. Then it must be what the server has.
func (r *run) lieTo(ctx context.Context, m misled, random *rand.Rand) error {
	for range mostLies {
		if m.deceive(ctx, random) {
			r.report.count("lied to: repaired", 1)
			return r.compareAlone(ctx, m.follower)
		}
	}
	r.report.count("lied to: never repaired", 1)
	return nil
}

// deceive lies to the informer for a while, and reports whether an audit has then found something,
// and has asked for its repair.
func (m misled) deceive(ctx context.Context, random *rand.Rand) (repairing bool) {
	ctx, cancel := context.WithTimeout(ctx, auditPatience)
	defer cancel()
	if cache.WaitForSync(ctx, m.informer) != nil {
		m.report.count("lied to: not synced in time", 1)
		return false
	}
	m.liar.lie(true)
	wait(ctx, between(random, 500*time.Millisecond, 2*time.Second))
	m.liar.lie(false)
	release := m.liar.hold()
	defer release()
	wait(ctx, calm)
	depth := audit.Depth(random.IntN(2))
	found, err := m.audited(ctx, depth)
	switch {
	case errors.Is(err, errOvertaken):
		m.report.count("lied to: overtaken", 1)
	case err != nil:
		m.report.count("lied to: audits not possible", 1)
	case found:
		return m.repaired(ctx, depth)
	}
	return false
}

// errOvertaken says that the store has changed while it was looked at.
var errOvertaken = errors.New("overtaken")

// audited audits the informer while all that comes is held back, and holds what is found against
// the difference between the store and the server, both at the same version.
func (m misled) audited(ctx context.Context, depth audit.Depth) (found bool, err error) {
	asked := m.liar.asked.Load()
	first, err := audit.Once(ctx, m.informer, audit.Options{})
	if err != nil {
		return false, err
	}
	before := first.Digest
	stored, err := m.stored()
	if err != nil {
		return false, err
	}
	report, err := audit.Once(ctx, m.informer, audit.Options{Depth: depth})
	if err != nil {
		return false, err
	}
	listed, err := m.truth.ListedAt(ctx, before.ResourceVersion)
	if err != nil {
		return false, err
	}
	if report.Digest != before || m.liar.asked.Load() != asked {
		return false, errOvertaken
	}
	m.report.count("lied to: audits", 1)
	want := differences(stored, listed, depth)
	if text := contradiction(report, want); text != "" {
		m.report.violation("audit", m.name, "%s; %v", text, report)
	}
	if report.Equal() != (len(want) == 0) {
		m.report.violation("audit", m.name, "%d differ, and the report is equal: %t; %v", len(want), report.Equal(), report)
	}
	for _, kind := range want {
		m.report.count("lied to: found "+string(kind), 1)
	}
	return len(want) > 0, nil
}

// stored is what the informer has.
func (m misled) stored() (follow.Contents, error) {
	s, err := cache.SnapshotOf(m.informer.GetIndexer())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return follow.ContentsOf(s.List()), nil
}

// repaired has an audit repair the informer, if it can. Watches that open for that are not held
// back.
func (m misled) repaired(ctx context.Context, depth audit.Depth) bool {
	report, err := audit.Once(ctx, m.informer, audit.Options{Depth: depth, Repair: audit.Relist})
	switch {
	case err != nil && !report.Relisted:
		m.report.count("lied to: audits not possible", 1)
	case err != nil:
		m.report.count("lied to: repairs not confirmed", 1)
	case !report.Equal() && !report.Repaired:
		m.report.violation("audit", m.name, "not repaired: %v", report)
	}
	return report.Relisted
}

// differences compares everything with everything.
func differences(stored, listed follow.Contents, depth audit.Depth) map[string]audit.Kind {
	differ := map[string]audit.Kind{}
	for key, server := range listed {
		switch ours, exists := stored[key]; {
		case !exists:
			differ[key] = audit.Missing
		case ours.RV != server.RV || ours.UID != server.UID:
			differ[key] = audit.Stale
		case depth == audit.Content && ours != server:
			differ[key] = audit.Different
		}
	}
	for key := range stored {
		if _, exists := listed[key]; !exists {
			differ[key] = audit.Extra
		}
	}
	return differ
}

// contradiction says what is wrong with the report of an audit of an informer that differs so, and
// does not change; "" is nothing.
func contradiction(report audit.Report, want map[string]audit.Kind) string {
	found, confirmed := map[string]audit.Kind{}, 0
	for _, finding := range report.Findings {
		found[finding.Key] = finding.Kind
		if finding.Confirmed {
			confirmed++
		}
	}
	switch {
	case !maps.Equal(found, want):
		return fmt.Sprintf("an audit has found %v, and %v differ", found, want)
	case confirmed != len(want):
		return fmt.Sprintf("an audit has confirmed %d findings of %d", confirmed, len(want))
	}
	return ""
}

// compareAlone stops the writers of one kind, and waits until a follower equals a quorum LIST. Then
// an audit, if it is possible, must find nothing.
func (r *run) compareAlone(ctx context.Context, f *follower) error {
	ctx, cancel := context.WithTimeout(ctx, r.config.Patience)
	defer cancel()
	gate := &r.ledgers[f.kind].gate
	gate.Lock()
	defer gate.Unlock()
	want, err := r.listed(ctx, f.kind)
	if err != nil {
		return err
	}
	f.compare(ctx, want)
	report, err := audit.Once(ctx, f.informer, audit.Options{Depth: audit.Content})
	if len(report.Found) > 0 {
		r.report.violation("audit", f.name, "after a repair: %v (error: %v)", report, err)
	}
	return nil
}
