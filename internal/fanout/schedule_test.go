// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interleave

package fanout

import (
	"testing"

	"go.uber.org/goleak"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kinformer/cache/internal/interleave"
	"github.com/kinformer/cache/internal/interleave/atomic"
	"github.com/kinformer/cache/internal/interleave/schedules"
)

// The tests here run processors through all schedules: see internal/interleave. Their goroutines
// are threads of those, and the clock stands still unless a handler is slow.

// bodies are those of the threads, by their names.
type bodies []interleave.Thread

func (b bodies) and(name string, body func()) bodies {
	return append(b, interleave.Thread{Name: name, Body: body})
}

func thread(name string, body func()) bodies { return bodies{}.and(name, body) }

// config is one configuration.
type config struct {
	name              string
	listing           bool // the first list is still to come
	preemptions, deep int
	start             func(s *street) bodies
}

// TestSchedules runs all configurations.
func TestSchedules(t *testing.T) {
	defer goleak.VerifyNone(t)
	if _, ok := any(&new(feed).end).(*atomic.Int64); !ok {
		t.Fatal("the package has no points: see make interleave")
	}
	utilruntime.ReallyCrash, utilruntime.PanicHandlers = false, nil
	var cases []schedules.Case
	for _, c := range configs {
		start := func(answers *int) interleave.Program {
			s := newStreet(answers)
			if !c.listing {
				s.sync()
			}
			return interleave.Program{Threads: c.start(s), Check: s.check}
		}
		cases = append(cases, schedules.Case{Name: c.name, Preemptions: c.preemptions, Deep: c.deep, Start: start})
	}
	schedules.Run(t, cases)
}
