// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/kinformer/cache/test/bench/internal/blank"
	"github.com/kinformer/cache/test/bench/internal/child"
	"github.com/kinformer/cache/test/bench/internal/measure"
)

// row is a line of the table: a cost of each side.
type row struct{ label, unit string }

// rows are the lines of the table, in order.
var rows = []row{
	{startIn("JSON"), "s"}, {startIn("protobuf"), "s"}, {updateIn("JSON"), "µs"}, {updateIn("protobuf"), "µs"},
	{heap, "MB"}, {longestGet, "ms"}, {afterOutage, "s"},
}

const (
	heap        = "live heap, one handler behind"
	longestGet  = "longest Get in the relist"
	afterOutage = "current after the outage"
)

func startIn(encoding string) string  { return "start until synced, " + encoding }
func updateIn(encoding string) string { return "CPU of an update, " + encoding }

// digits formats a figure with three digits.
func digits(figure float64, unit string) string {
	places := 2
	for limit := 10.0; figure >= limit && places > 0; limit *= 10 {
		places--
	}
	return strconv.FormatFloat(figure, 'f', places, 64) + unit
}

// ratio returns client-go's figure divided by ours. Near zero, a figure is mostly chance.
func ratio(theirs, ours float64) string {
	if theirs > 100*ours {
		return ">100x"
	}
	return digits(theirs/ours, "x")
}

// comparison holds the compared processes and their figures.
type comparison struct {
	cluster  *cluster
	config   config
	children []*child.Process
	figures  map[string][]float64 // of each side, by row
	out      io.Writer
}

func (c *comparison) say(format string, args ...any) { fmt.Fprintf(c.out, format+"\n", args...) }

// add stores the figures of a row and prints them.
func (c *comparison) add(label string, of func(side int) float64) {
	r := rows[slices.IndexFunc(rows, func(r row) bool { return r.label == label })]
	line, figures := fmt.Sprintf("  %-30s", label), []float64{}
	for side, name := range sides {
		figures = append(figures, of(side))
		line += fmt.Sprintf("  %s %s", name, digits(figures[side], " "+r.unit))
	}
	c.figures[label] = figures
	c.say("%s", line)
}

// print prints the table: the figures and their ratios.
func (c *comparison) print(title string) {
	c.say("\n%-30s %10s %18s %18s", title, sides[0], sides[1], sides[2])
	for _, r := range rows {
		figures := c.figures[r.label]
		if figures == nil {
			continue // the comparison was interrupted before
		}
		line := fmt.Sprintf("%-30s %10s", r.label, digits(figures[0], " "+r.unit))
		for _, figure := range figures[1:] {
			line += fmt.Sprintf(" %10s %7s", digits(figure, " "+r.unit), ratio(figures[0], figure))
		}
		c.say("%s", line)
	}
	c.say("x: client-go's figure divided by that of the side; above 1 the side is better\n")
}

// run measures processes that request JSON, and then processes that request protobuf.
func (c *comparison) run(ctx context.Context, o options) error {
	defer c.stop()
	if err := c.updates(ctx, "JSON", blank.JSON, o.duration); err != nil {
		return err
	}
	c.stop()
	if err := c.updates(ctx, "protobuf", blank.Protobuf, o.duration); err != nil {
		return err
	}
	return c.outage(ctx, o.outage)
}

// stop ends the children.
func (c *comparison) stop() {
	for _, process := range c.children {
		_ = process.Stop() // after an interrupt, it was killed
	}
	c.children = nil
}

// ask has all children execute a command at once and returns their reports.
func (c *comparison) ask(ctx context.Context, do string, with any) ([]report, error) {
	reports, errs := make([]report, len(c.children)), make([]error, len(c.children))
	var asked sync.WaitGroup
	for i, process := range c.children {
		asked.Go(func() { errs[i] = process.Call(ctx, do, with, &reports[i]) })
	}
	asked.Wait()
	return reports, errors.Join(errs...)
}

// current waits until the caches of all children have the current state of the server.
func (c *comparison) current(ctx context.Context) ([]report, error) {
	versions, err := c.cluster.mark(ctx)
	if err != nil {
		return nil, err
	}
	return c.ask(ctx, "current", versions)
}

// updates starts processes and measures the cost of an update.
func (c *comparison) updates(ctx context.Context, encoding, mediaType string, d time.Duration) error {
	c.config.MediaType = mediaType
	if err := c.start(ctx, encoding); err != nil {
		return err
	}
	c.say("updating pods for %s; one handler takes %s for each change and gets behind", d, slowness)
	if _, err := c.ask(ctx, "collect", nil); err != nil { // else garbage of the start is collected during the measurement
		return err
	}
	before, err := c.current(ctx)
	if err != nil {
		return err
	}
	stop := c.cluster.startChanging(ctx)
	_ = measure.Pause(ctx, d)
	count := stop() + 1 // includes the update of current
	after, err := c.current(ctx)
	if err != nil {
		return err
	}
	collected, err := c.ask(ctx, "collect", nil)
	if err != nil {
		return err
	}
	c.add(updateIn(encoding), func(side int) float64 {
		return float64((after[side].CPU - before[side].CPU).Microseconds()) / float64(count)
	})
	c.add(heap, func(side int) float64 { return float64(collected[side].Heap) / 1e6 })
	return nil
}

// start starts a child for each side, one after the other.
func (c *comparison) start(ctx context.Context, encoding string) error {
	c.say("starting a process for each side, one after the other, in %s", encoding)
	var took [len(sides)]float64
	for c.config.Side = range sides {
		began := time.Now()
		process, err := child.Start(ctx, clientRole, c.config, nil, os.Stderr)
		if err != nil {
			return err
		}
		c.children = append(c.children, process)
		var synced report
		if err := process.Call(ctx, "synced", nil, &synced); err != nil {
			return err
		}
		took[c.config.Side] = synced.At.Sub(began).Seconds()
	}
	c.add(startIn(encoding), func(side int) float64 { return took[side] })
	return nil
}

// outage cuts off the server and restores it. The server then has no history, so all informers have to
// list again.
func (c *comparison) outage(ctx context.Context, away time.Duration) error {
	c.say("cutting off the server for %s; then it has no history, so all list again (up to half a minute)", away)
	defer c.cluster.startChanging(ctx)()
	_, err := c.ask(ctx, "read", nil)
	err2 := c.cluster.cut(ctx)
	_ = measure.Pause(ctx, away)
	err3 := c.cluster.restore(ctx) // even after an error: the check needs the server
	if err := errors.Join(err, err2, err3); err != nil {
		return err
	}
	back := time.Now()
	current, err := c.current(ctx)
	if err != nil {
		return err
	}
	c.add(longestGet, func(side int) float64 { return current[side].Longest.Seconds() * 1000 })
	c.add(afterOutage, func(side int) float64 { return current[side].At.Sub(back).Seconds() })
	return nil
}
