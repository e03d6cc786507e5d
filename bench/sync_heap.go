// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/kinformer/cache/bench/internal/measure"
	"github.com/kinformer/cache/bench/internal/report"
	"github.com/kinformer/cache/bench/internal/source"
	"github.com/kinformer/cache/bench/internal/workload"
)

const (
	// courseShare is the share of the objects that these rows work on: they
	// decode all objects for every list.
	courseShare = 5
	// courseGCPercent is a compromise: garbage is at most this share of what
	// lives, and the collector leaves time for the rest.
	courseGCPercent = 10
)

// courseRows are the heap over a start and a relist with realistic objects
// that are decoded for each request, as those of a server are: who keeps an
// object keeps its memory.
func courseRows() []row {
	modes := []syncMode{
		{name: "list", title: "by list, one page", slow: true},
		{name: "list-trim", title: "by list, pages of 500, with a trimming transform", options: source.Options{Pages: true}, trim: true, slow: true},
		{name: "watch-list", title: "by watch-list", options: source.Options{WatchList: true}},
	}
	var all []row
	for _, mode := range modes {
		all = append(all, row{
			group: "The heap over a start and a relist", name: "course/" + mode.name, slow: mode.slow, waits: true, rounds: 3,
			title: fmt.Sprintf("heap over time, 1/%d of the objects, decoded for each request, %s", courseShare, mode.title),
			setup: func(ctx context.Context, e *env) (trial, error) { return courseTrial(ctx, e, mode) },
		})
	}
	return all
}

func courseTrial(ctx context.Context, e *env, mode syncMode) (trial, error) {
	e.drop() // or the share of garbage would be one of all objects
	part, err := workload.New(ctx, workload.Config{N: max(1, e.n/courseShare), Seed: e.seed, Light: !e.kind.full})
	if err != nil {
		return nil, fmt.Errorf("make objects: %w", err)
	}
	first, err := source.NewEncodedGeneration(part, listVersion(0))
	if err != nil {
		return nil, err
	}
	objects := len(part.Pods)
	return func(ctx context.Context, s side) (outcome, error) {
		return courseRound(ctx, s, mode, first, first.Again(listVersion(1)), objects)
	}, nil
}

func courseRound(ctx context.Context, s side, mode syncMode, first, second *source.Generation, objects int) (outcome, error) {
	plain := mode
	plain.trim = false
	r, err := newRelisting(s, plain, first, second, objects)
	if err != nil {
		return outcome{}, err
	}
	if mode.trim {
		if err := r.SetTransform(trim); err != nil { // in place: nobody else has the objects
			return outcome{}, fmt.Errorf("set transform: %w", err)
		}
	}
	var courses [2]measure.HeapCourse
	state, err := r.run(ctx, func(phase int, do func() error) (err error) {
		courses[phase], err = measure.WatchHeap(courseGCPercent, func() error { return calmed(do) })
		return err
	})
	if err != nil {
		return outcome{}, err
	}
	var (
		each   = 1 / float64(objects)
		steady = float64(courses[1].Base) - float64(courses[0].Base)
		beyond = func(course measure.HeapCourse) float64 { return float64(course.Peak) - float64(courses[1].Base) }
	)
	return outcome{
		check: state,
		samples: []sample{
			{"held when synced, objects included", "B/object", steady * each},
			{"start, peak beyond that", "B/object", beyond(courses[0]) * each},
			{"relist, peak beyond that", "B/object", beyond(courses[1]) * each},
		},
		shown:  []sample{{"relist, peak", "% of what is held", 100 * (1 + beyond(courses[1])/steady)}},
		curves: []curve{relistCourse(courses[1], r.source.Asked(), courses[0].Base)},
	}, nil
}

// calmed runs do and waits until what it left behind is collected.
func calmed(do func() error) error {
	err := do()
	measure.Settle()
	<-time.After(4 * courseMargin)
	return err
}

// courseMargin is how much of a course is shown before the first request.
const courseMargin = 50 * time.Millisecond

// relistCourse is the course from shortly before the first request on, beyond
// the heap that was there without the informer.
func relistCourse(course measure.HeapCourse, asked time.Time, without uint64) curve {
	c := curve{name: "relist", x: "s", y: "MB"}
	for _, p := range course.Points {
		if at := course.Start.Add(p.At).Sub(asked); at >= -courseMargin {
			c.points = append(c.points, report.Point{at.Seconds(), (float64(p.Bytes) - float64(without)) / 1e6})
		}
	}
	return c
}
