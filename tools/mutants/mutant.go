// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// packages are those under test, below the root module.
var packages = []string{"internal/table", "internal/eventlog", "internal/fanout"}

// mutant is a patch. Its first line says what it breaks, its second one which tests are to notice
// if no schedules do.
type mutant struct {
	pkg, name, wrong, tests string
	patch                   string // absolute path
}

func readMutants(root string) ([]mutant, error) {
	var mutants []mutant
	var errs []error
	for _, pkg := range packages {
		files, err := filepath.Glob(filepath.Join(root, pkg, "testdata/mutants/*.patch"))
		if err == nil && len(files) == 0 {
			err = fmt.Errorf("no patches for %s", pkg)
		}
		errs = append(errs, err)
		for _, file := range files {
			m, err := readMutant(file)
			m.pkg = pkg
			mutants, errs = append(mutants, m), append(errs, err)
		}
	}
	return mutants, errors.Join(errs...)
}

func readMutant(file string) (m mutant, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return m, err
	}
	m.name = strings.TrimSuffix(filepath.Base(file), ".patch")
	if m.patch, err = filepath.Abs(file); err != nil {
		return m, err
	}
	var rest string
	m.wrong, rest, _ = strings.Cut(string(text), "\n")
	tests, _, _ := strings.Cut(rest, "\n")
	m.tests, _ = strings.CutPrefix(tests, "Tests: ")
	if m.wrong == "" || m.tests == "" || m.tests == tests {
		return m, fmt.Errorf("%s: the first line must say what is wrong, the second one \"Tests: \" and a regexp", file)
	}
	return m, nil
}

// kill runs the schedules of a mutant and then, while that takes no longer than patience, its
// tests, again and again, until something fails. It returns what has, and how long all of that ran.
func (m mutant) kill(ctx context.Context, root string, patience time.Duration) (killer string, after time.Duration, err error) {
	c, err := newCopy(root)
	if err != nil {
		return "", 0, err
	}
	defer c.remove()
	if err := c.do(ctx, "git", "apply", m.patch); err != nil {
		return "", 0, err
	}
	if killer, after, err = m.bySchedules(ctx, c); killer != "" || err != nil || patience == 0 {
		return killer, after, err
	}
	b, err := c.tests(ctx, m.pkg)
	if err != nil {
		return "", 0, err
	}
	began := time.Now()
	for killer == "" && time.Since(began) < patience && ctx.Err() == nil {
		if killer, _ = b.run(ctx, m.tests, patience, "-rapid.nofailfile"); killer != "" {
			killer = "tests: " + killer
		}
	}
	return killer, after + time.Since(began), ctx.Err()
}

// bySchedules runs the schedules of a copy with the mutant.
func (m mutant) bySchedules(ctx context.Context, c packageCopy) (killer string, after time.Duration, err error) {
	b, err := c.schedules(ctx, m.pkg)
	if err != nil {
		return "", 0, err
	}
	began := time.Now()
	for _, few := range fewFirst {
		if killer, _ = b.run(ctx, schedules, scheduleTime, few...); killer != "" {
			return "schedules: " + configuration(killer), time.Since(began), nil
		}
	}
	return "", time.Since(began), nil
}

const (
	schedules    = "^TestSchedules$"
	scheduleTime = 20 * time.Minute
)

// fewFirst are the flags of two runs of the schedules: with one preemption each, which kills most
// mutants within a second or two, and all.
var fewFirst = [][]string{{"-schedules.preemptions", "1"}, nil}

// configuration is the name of that of a subtest.
func configuration(killer string) string {
	_, name, found := strings.Cut(killer, "/")
	if !found {
		return killer
	}
	return strings.ReplaceAll(name, "_", " ")
}
