// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/e2e/follow"
	"github.com/kinformer/cache/internal/testkit/checker"
)

// auditPatience bounds the audits of a store that was changed, on a server that may be away.
const auditPatience = 20 * time.Second

// tamper starts an informer of its own, and while nobody writes loses, alters and makes up objects
// in its store, as no fault of ours may. An audit must find these and nothing else, and repair
// them.
func tamper(ctx context.Context, r *run, random *rand.Rand) error {
	if r.config.Library != Kinformer {
		return nil // has no audits
	}
	k := r.kinds[random.IntN(len(r.kinds))]
	resource, err := r.cluster.resource(k.name, random.IntN(2) == 0)
	if err != nil {
		return err
	}
	defer resource.Close()
	source := &follow.Source{ListWatch: resource.ListWatch, Mode: anyMode(random)}
	informer := cache.NewSharedIndexInformer(source, resource.Example, 0, cache.Indexers{shardIndex: byShard})
	ctx, cancel := context.WithTimeout(ctx, auditPatience)
	ended := make(chan struct{})
	go func() { defer close(ended); informer.RunWithContext(ctx) }()
	defer func() { cancel(); <-ended; source.Drain() }()
	k.gate.Lock()
	defer k.gate.Unlock()
	if cache.WaitForSync(ctx, informer) != nil {
		r.report.count("stores changed: not synced in time", 1)
		return nil
	}
	want, err := k.resource.Listed(ctx)
	for err == nil && checker.Compare(informer.GetIndexer(), want) != nil && wait(ctx, 10*time.Millisecond) {
	}
	if err == nil && ctx.Err() == nil {
		r.auditChanged(ctx, informer, want, random)
	}
	return nil
}

// auditChanged changes the store of an informer that equals want, and has it audited and repaired.
func (r *run) auditChanged(ctx context.Context, informer cache.SharedIndexInformer, want checker.Contents, random *rand.Rand) {
	planted, err := plant(informer.GetStore(), random)
	if err != nil {
		r.report.violation("audit", "a changed store", "%v", err)
		return
	}
	report, err := audit.Once(ctx, informer, audit.Options{Depth: audit.Content, Repair: audit.Relist})
	found := map[string]audit.Kind{}
	for _, finding := range report.Findings {
		found[finding.Key] = finding.Kind
	}
	switch {
	case err != nil && !report.Relisted:
		r.report.count("stores changed: audits not possible", 1)
		return
	case !maps.Equal(found, planted):
		r.report.violation("audit", "a changed store", "found %v, and %v were planted; %v", found, planted, report)
		return
	}
	for _, kind := range planted {
		r.report.count("stores changed: found "+string(kind), 1)
	}
	for checker.Compare(informer.GetIndexer(), want) != nil && wait(ctx, 10*time.Millisecond) {
	}
	if ctx.Err() != nil {
		r.report.count("stores changed: not repaired in time", 1)
		return
	}
	r.report.count("stores changed: repaired", 1)
}

// plant loses some objects of a store, alters some, and makes some up.
func plant(store cache.Store, random *rand.Rand) (planted map[string]audit.Kind, err error) {
	planted = map[string]audit.Kind{}
	for i, obj := range store.List() {
		if random.IntN(20) > 0 && i > 3 {
			continue
		}
		key, _ := checker.StateOf(obj)
		changed := obj.(runtime.Object).DeepCopyObject()
		m := changed.(metav1.Object)
		switch i % 3 {
		case 0:
			planted[key], err = audit.Missing, store.Delete(obj)
		case 1:
			m.SetLabels(map[string]string{checker.ValueLabel: "altered"})
			planted[key], err = audit.Different, store.Update(changed)
		case 2:
			m.SetName("x" + m.GetName())
			planted[follow.Namespace+"/"+m.GetName()], err = audit.Extra, store.Add(changed)
		}
		if err != nil {
			return nil, fmt.Errorf("plant: %w", err)
		}
	}
	return planted, nil
}
