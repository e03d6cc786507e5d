// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"time"

	"k8s.io/klog/v2"

	"github.com/kinformer/cache/bench/cluster/internal/child"
	"github.com/kinformer/cache/bench/cluster/internal/world"
	"github.com/kinformer/cache/bench/internal/measure"
)

// Role is that of the process.
const Role = "client"

// Report is what handlers were told, by phase.
type Report struct {
	Phases []PhaseReport `json:"phases"`
	// Faulty counts notifications that were not in order; Faults are the first ones.
	Faulty int      `json:"faulty"`
	Faults []string `json:"faults"`
}

// PhaseReport is one phase. Prompt are all handlers but the slow one and the one that joined late.
type PhaseReport struct {
	Name   string             `json:"name"`
	Prompt Latency            `json:"prompt"`
	Of     map[string]Latency `json:"of"` // prompt, by resource
	Slow   Latency            `json:"slow"`
	Late   Latency            `json:"late"`
}

// Status is what changes while the client runs.
type Status struct {
	Goroutines int `json:"goroutines"`
	// Live is how many bytes of the heap two forced collections have left; 0 if none was forced.
	Live uint64 `json:"live"`
	// Tables is how many bytes of that are our tables of shared texts and parts. Filling reports
	// whether objects share parts and one of the tables is below its limit.
	Tables  uint64 `json:"tables"`
	Filling bool   `json:"filling"`
	// LastLate is when a handler, but the slow one, was last called later than the Limit, in
	// nanoseconds since 1970; 0 for never.
	LastLate int64 `json:"lastLate"`
}

// Serve runs informers and does what it is told:
//
//	sync       waits until all have synced, and returns how long they took
//	phase      {name}: begins a phase now
//	join       adds the handler that joins late, and returns how long it took to know all
//	differs    {Expected of each resource}: returns what is otherwise, as texts
//	audit      compares all with the server while it changes, and returns how many informers it did
//	status     {whether the client rests: collects garbage twice}: returns the Status
//	report     returns the Report
//	profile    {a file}: begins a CPU profile; "" ends it
func Serve(ctx context.Context, c Config, in io.Reader, out io.Writer) error {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	m, err := newManager(c)
	if err != nil {
		return err
	}
	start := time.Now()
	m.start(ctx)
	defer m.stop()
	return child.Serve(ctx, in, out, nil, m.commands(start))
}

// with makes a command of a function with an argument.
func with[A, R any](do func(context.Context, A) (R, error)) func(context.Context, json.RawMessage) (any, error) {
	return func(ctx context.Context, argument json.RawMessage) (any, error) {
		var a A
		if len(argument) > 0 {
			if err := json.Unmarshal(argument, &a); err != nil {
				return nil, err
			}
		}
		return do(ctx, a)
	}
}

func (m *manager) commands(start time.Time) child.Commands {
	var profile *os.File
	return child.Commands{
		"sync": with(func(ctx context.Context, limit time.Duration) (time.Duration, error) {
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			err := m.sync(ctx)
			return time.Since(start), err
		}),
		"sync slow": with(func(ctx context.Context, limit time.Duration) (any, error) {
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			return nil, m.syncSlow(ctx)
		}),
		"phase": with(func(_ context.Context, name string) (any, error) {
			m.phases.begin(name, time.Now().UnixNano())
			return nil, nil
		}),
		"join": with(func(ctx context.Context, limit time.Duration) (time.Duration, error) {
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			return m.join(ctx)
		}),
		"differs": with(func(_ context.Context, expected [world.Resources]Expected) ([]string, error) {
			return texts(m.differs(expected)), nil
		}),
		"audit":   with(func(ctx context.Context, _ any) (int, error) { return m.audit(ctx) }),
		"status":  with(func(_ context.Context, rests bool) (Status, error) { return m.status(rests), nil }),
		"report":  with(func(context.Context, any) (Report, error) { return m.report(), m.decodes() }),
		"profile": with(func(_ context.Context, path string) (any, error) { return nil, toggle(&profile, path) }),
	}
}

func texts(errs []error) []string {
	all := []string{}
	for _, err := range errs {
		all = append(all, err.Error())
	}
	return all
}

// toggle begins a profile, or ends it and writes those of mutexes and blocking beside it.
func toggle(file **os.File, path string) (err error) {
	if path != "" {
		runtime.SetMutexProfileFraction(10)
		if *file, err = os.Create(path); err != nil {
			return fmt.Errorf("profile: %w", err)
		}
		return pprof.StartCPUProfile(*file)
	}
	pprof.StopCPUProfile()
	name := (*file).Name()
	err = (*file).Close()
	for _, kind := range []string{"heap", "mutex", "goroutine"} {
		f, err2 := os.Create(name + "." + kind)
		if err2 == nil {
			err2 = errors.Join(pprof.Lookup(kind).WriteTo(f, 0), f.Close())
		}
		err = errors.Join(err, err2)
	}
	return err
}

func (m *manager) status(rests bool) Status {
	s := Status{Goroutines: runtime.NumGoroutine()}
	if rests {
		s.Live = measure.LiveHeap()
	}
	for _, i := range m.informers {
		bytes, filling := m.side.tables(i.SharedIndexInformer)
		s.Tables, s.Filling = max(s.Tables, bytes), s.Filling || filling // all informers share them
		for _, h := range i.handlers {
			if h.group != slow {
				h.mu.Lock()
				s.LastLate = max(s.LastLate, h.mu.lastLate)
				h.mu.Unlock()
			}
		}
	}
	return s
}

func (m *manager) report() Report {
	var r Report
	for number, p := range *m.phases.all.Load() {
		r.Phases = append(r.Phases, m.phaseReport(number, p.name))
	}
	for _, i := range m.informers {
		for _, h := range i.handlers {
			h.mu.Lock()
			r.Faulty += h.mu.faulty
			r.Faults = append(r.Faults, texts(h.mu.faults)...)
			h.mu.Unlock()
		}
	}
	return r
}

func (m *manager) phaseReport(number int, name string) PhaseReport {
	r := PhaseReport{Name: name, Of: map[string]Latency{}}
	byGroup := map[group]*latencies{prompt: newLatencies(), slow: newLatencies(), late: newLatencies()}
	for _, i := range m.informers {
		own := newLatencies()
		for _, h := range i.handlers {
			h.mu.Lock()
			if number < len(h.mu.latencies) {
				byGroup[h.group].merge(h.mu.latencies[number])
				if h.group == prompt {
					own.merge(h.mu.latencies[number])
				}
			}
			h.mu.Unlock()
		}
		r.Of[i.of.String()] = own.summary(false)
	}
	r.Prompt, r.Slow, r.Late = byGroup[prompt].summary(true), byGroup[slow].summary(false), byGroup[late].summary(false)
	return r
}
