// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// relists is how often the pods are listed anew. The median counts: a busy machine delays a Get of any cache.
const relists = 3

// row is a line of the table: a figure of each side.
type row struct {
	what, unit string
	figures    []float64
}

func newRow(what, unit string) *row { return &row{what, unit, make([]float64, len(sides))} }

// cell writes a figure with three digits.
func (r *row) cell(side int) string {
	figure, digits := r.figures[side], 2
	for limit := 10.0; figure >= limit && digits > 0; limit *= 10 {
		digits--
	}
	return fmt.Sprintf("%.*f %s", digits, figure, r.unit)
}

// comparison is the table as it grows.
type comparison struct {
	cluster  *cluster
	config   config
	children []*child
	rows     []*row
	out      io.Writer
}

func (c *comparison) say(format string, args ...any) { fmt.Fprintf(c.out, format+"\n", args...) }

// add ends a phase.
func (c *comparison) add(rows ...*row) {
	for _, r := range rows {
		c.rows = append(c.rows, r)
		c.say("  %-26s %12s %12s %12s", r.what, r.cell(0), r.cell(1), r.cell(2))
	}
}

// print prints what each side took, and how many times that client-go took.
func (c *comparison) print(title string) {
	c.say("\n%-26s %12s %20s %20s", title, sides[0], sides[1], sides[2])
	for _, r := range c.rows {
		line := fmt.Sprintf("%-26s %12s", r.what, r.cell(0))
		for side := 1; side < len(sides); side++ {
			ratio := row{figures: []float64{r.figures[0] / r.figures[side]}, unit: "x"}
			line += fmt.Sprintf(" %12s %7s", r.cell(side), strings.ReplaceAll(ratio.cell(0), " ", ""))
		}
		c.say("%s", line)
	}
	c.say("")
}

// run has the children go through the phases.
func (c *comparison) run(ctx context.Context, o options) error {
	defer func() { c.stop() }()
	synced, err := c.start(ctx)
	if err != nil {
		return err
	}
	c.add(synced)
	if err := c.updates(ctx, o.duration); err != nil {
		return err
	}
	if err := c.relist(); err != nil {
		return err
	}
	c.stop()
	// Informers of both libraries wait longer after each failure: those that meet the outage have met none.
	if _, err := c.start(ctx); err != nil {
		return err
	}
	return c.outage(ctx, o.outage)
}

// start starts the children, one after the other.
func (c *comparison) start(ctx context.Context) (*row, error) {
	c.say("starting a process with the informers of each side, one after the other")
	synced := newRow("start, until synced", "s")
	for c.config.Side = range sides {
		child, took, err := startChild(ctx, c.config)
		if err != nil {
			return nil, err
		}
		c.children = append(c.children, child)
		synced.figures[c.config.Side] = took.Seconds()
	}
	return synced, nil
}

// stop ends the children.
func (c *comparison) stop() {
	for _, child := range c.children {
		child.stop()
	}
	c.children = nil
}

// ask has all children do something at once.
func (c *comparison) ask(do command) ([]report, error) {
	reports, errs := make([]report, len(c.children)), make([]error, len(c.children))
	var asked sync.WaitGroup
	for i, child := range c.children {
		asked.Go(func() { reports[i], errs[i] = child.ask(do) })
	}
	asked.Wait()
	return reports, errors.Join(errs...)
}

// current waits until the caches of all children have what the server has now.
func (c *comparison) current(ctx context.Context) ([]report, error) {
	versions, err := c.cluster.mark(ctx)
	if err != nil {
		return nil, err
	}
	return c.ask(command{Current: versions})
}

// updates measures what an update takes.
func (c *comparison) updates(ctx context.Context, d time.Duration) error {
	c.say("updating the status of pods for %s; one handler takes %s for each change", d, slowness)
	before, err := c.current(ctx)
	if err != nil {
		return err
	}
	stop := c.cluster.startChanging(ctx)
	sleep(ctx, d)
	count := stop()
	after, err := c.current(ctx)
	if err != nil {
		return err
	}
	heaps, err := c.ask(command{Heap: true})
	if err != nil {
		return err
	}
	cpu, heap := newRow("CPU of an update", "us"), newRow("live heap then", "MB")
	for i := range c.children {
		cpu.figures[i] = float64((after[i].CPU - before[i].CPU).Microseconds()) / float64(count+1)
		heap.figures[i] = float64(heaps[i].Heap) / 1e6
	}
	c.add(cpu, heap)
	return nil
}

// relist has the children list the pods anew, one after the other.
func (c *comparison) relist() error {
	c.say("410 Expired for the watch of pods, %d times for each side: the pods are listed anew", relists)
	longest := newRow("longest Get meanwhile", "ms")
	for i, child := range c.children {
		var all []float64
		for range relists {
			r, err := child.ask(command{Relist: true})
			if err != nil {
				return err
			}
			all = append(all, r.Longest.Seconds()*1000)
		}
		slices.Sort(all)
		longest.figures[i] = all[len(all)/2]
	}
	c.add(longest)
	return nil
}

// outage measures how long after an outage all informers of a child are current.
func (c *comparison) outage(ctx context.Context, away time.Duration) error {
	c.say("killing the server, and starting it again on the same data after %s", away)
	stop := c.cluster.startChanging(ctx)
	back, err := c.cluster.outage(ctx, away)
	var current []report
	if err == nil {
		current, err = c.current(ctx)
	}
	stop()
	if err != nil {
		return err
	}
	late := newRow("back, until all current", "s")
	for i, r := range current {
		late.figures[i] = r.At.Sub(back).Seconds()
	}
	c.add(late)
	return nil
}
