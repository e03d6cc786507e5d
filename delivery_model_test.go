// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// deliveryStep is one thing that happens in a schedule.
type deliveryStep struct{ op, name, uid string }

func drawSchedule(t *rapid.T) []deliveryStep {
	step := rapid.Custom(func(t *rapid.T) deliveryStep {
		return deliveryStep{
			op:   rapid.SampledFrom([]string{"put", "put", "put", "put", "delete", "settle", "call", "call", "call", "resync", "relist", "join"}).Draw(t, "op"),
			name: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"),
			uid:  rapid.SampledFrom([]string{"x", "x", "y"}).Draw(t, "uid"),
		}
	})
	return rapid.SliceOfN(step, 1, 40).Draw(t, "schedule")
}

// deliveryModel plays a schedule against an informer in a synctest bubble. Handlers return from a
// call when they get a token; joiners are handlers like the first, added on the way.
type deliveryModel struct {
	delivery cache.Delivery
	source   *testkit.Pods
	informer ownInformer
	version  int
	handlers []*testkit.Mirror
	handles  []cache.ResourceEventHandlerRegistration
	tokens   chan struct{}
	dropped  atomic.Int64 // calls of OnDisconnect
}

func (m *deliveryModel) join() error {
	handler := testkit.NewMirror()
	handler.SameUID = m.delivery.Overflow == cache.OverflowCoalesce
	handler.Before = func(string) { <-m.tokens }
	delivery := m.delivery
	if delivery.Overflow == cache.OverflowDisconnect {
		delivery.OnDisconnect = func(error) { m.dropped.Add(1) }
	}
	handle, err := m.informer.AddEventHandlerWithResyncPeriod(cache.Deliver(handler, delivery), time.Minute)
	m.handlers, m.handles = append(m.handlers, handler), append(m.handles, handle)
	return err
}

func (m *deliveryModel) put(name, uid string) {
	m.version++
	m.source.Put(testkit.PodOf(name, fmt.Sprint(m.version), uid))
}

func (m *deliveryModel) play(step deliveryStep) error {
	switch step.op {
	case "put":
		m.put(step.name, step.uid)
	case "delete":
		m.source.Remove(step.name)
	case "settle":
		synctest.Wait()
	case "call":
		select {
		case m.tokens <- struct{}{}:
		default:
		}
	case "resync":
		time.Sleep(time.Minute)
	case "relist":
		m.source.Expire()
	case "join":
		return m.join()
	}
	return nil
}

// run plays the schedule in a bubble and returns what was wrong.
func (m *deliveryModel) run(t *testing.T, schedule []deliveryStep, judge func(m *deliveryModel) error) (fault error) {
	synctest.Test(t, func(t *testing.T) {
		m.source, m.tokens = testkit.NewPods(), make(chan struct{})
		m.informer = cache.NewSharedIndexInformer(m.source, &corev1.Pod{}, time.Minute, nil).(ownInformer)
		m.put("a", "x")
		fault = m.join()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { m.informer.RunWithContext(ctx); close(done) }()
		for _, step := range schedule {
			fault = errors.Join(fault, m.play(step))
		}
		close(m.tokens)
		time.Sleep(2 * time.Minute) // longer than a resync and any backoff
		synctest.Wait()
		fault = errors.Join(fault, judge(m))
		cancel()
		<-done
	})
	return fault
}

// judgeComplete wants every handler to know exactly what the store holds.
func judgeComplete(m *deliveryModel) (fault error) {
	want := testkit.StateOfPods(slices.Values(m.informer.GetStore().List()))
	if truth := m.source.State(); fmt.Sprint(truth) != fmt.Sprint(want) {
		fault = fmt.Errorf("the store holds %v, the source %v", want, truth)
	}
	for i, handler := range m.handlers {
		known, problems, calls := handler.State()
		if len(problems) > 0 || fmt.Sprint(known) != fmt.Sprint(want) {
			fault = errors.Join(fault, fmt.Errorf("handler %d knows %v, the store holds %v; %q", i, known, want, problems))
		}
		statistics := m.handles[i].(cache.MeasuredRegistration).Stats()
		if statistics.State != cache.HandlerIdle || statistics.Pending != 0 || statistics.Delivered != uint64(calls) {
			fault = errors.Join(fault, fmt.Errorf("handler %d: %+v after %d calls", i, statistics, calls))
		}
		if !m.handles[i].HasSynced() {
			fault = errors.Join(fault, fmt.Errorf("handler %d has not synced", i))
		}
	}
	return fault
}

// judgeDisconnected wants what handlers heard to make sense, and those that were not removed to
// know everything.
func judgeDisconnected(m *deliveryModel) (fault error) {
	staying := &deliveryModel{informer: m.informer, source: m.source}
	for i, handler := range m.handlers {
		if m.informer.IsRegistered(m.handles[i]) {
			staying.handlers, staying.handles = append(staying.handlers, handler), append(staying.handles, m.handles[i])
			continue
		}
		if _, problems, _ := handler.State(); len(problems) > 0 {
			fault = errors.Join(fault, fmt.Errorf("handler %d: %q", i, problems))
		}
		select {
		case <-m.handles[i].(ownRegistration).ShutdownChan():
		default:
			fault = errors.Join(fault, fmt.Errorf("handler %d was removed and is not shut down", i))
		}
	}
	if gone := len(m.handlers) - len(staying.handlers); int64(gone) != m.dropped.Load() {
		fault = errors.Join(fault, fmt.Errorf("%d handlers were removed, and OnDisconnect called %d times", gone, m.dropped.Load()))
	}
	return errors.Join(fault, judgeComplete(staying))
}

func TestEveryScheduleOfEveryDelivery(t *testing.T) {
	for name, test := range map[string]struct {
		delivery cache.Delivery
		judge    func(*deliveryModel) error
	}{
		"lossless":            {cache.Delivery{}, judgeComplete},
		"lossless parallel":   {cache.Delivery{Parallel: 3}, judgeComplete},
		"block":               {cache.Delivery{Overflow: cache.OverflowBlock, Max: 2}, judgeComplete},
		"block parallel":      {cache.Delivery{Overflow: cache.OverflowBlock, Max: 2, Parallel: 3}, judgeComplete},
		"coalesce":            {cache.Delivery{Overflow: cache.OverflowCoalesce}, judgeComplete},
		"coalesce parallel":   {cache.Delivery{Overflow: cache.OverflowCoalesce, Parallel: 3}, judgeComplete},
		"disconnect":          {cache.Delivery{Overflow: cache.OverflowDisconnect, Max: 3}, judgeDisconnected},
		"disconnect parallel": {cache.Delivery{Overflow: cache.OverflowDisconnect, Max: 3, Parallel: 3}, judgeDisconnected},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				m := &deliveryModel{delivery: test.delivery}
				if fault := m.run(t, drawSchedule(rt), test.judge); fault != nil {
					rt.Fatal(fault)
				}
			})
		})
	}
}
