// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/kinformer/cache/tools/interleave/overlay"
)

// packages are the packages under test, as folders of the root module.
var packages = []string{"internal/table", "internal/eventlog", "internal/fanout"}

// mutant is a patch. Its first line describes the fault, and its second one names the tests that must
// fail if no schedules do.
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

// kill runs the schedules of a mutant, and if they pass, repeats its tests for up to patience, until
// one fails. It returns the name of the failure, "" for none, and the time that all runs took.
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
// mutants in a second or two, and with all.
var fewFirst = [][]string{{"-schedules.preemptions", "1"}, nil}

// configuration returns the name of a subtest's configuration.
func configuration(killer string) string {
	_, name, found := strings.Cut(killer, "/")
	if !found {
		return killer
	}
	return strings.ReplaceAll(name, "_", " ")
}

// copied are the files and folders of the root module that a copy has: the packages under test, and
// those that they need.
var copied = []string{"internal", "cachetest", "go.mod", "go.sum"}

// packageCopy is a module with the copied files only.
type packageCopy struct{ dir string }

func newCopy(root string) (c packageCopy, err error) {
	if c.dir, err = os.MkdirTemp("", "mutant-"); err != nil {
		return c, err
	}
	for _, name := range copied {
		if err := exec.Command("cp", "-R", filepath.Join(root, name), c.dir).Run(); err != nil {
			c.remove()
			return c, fmt.Errorf("copy %s: %w", name, err)
		}
	}
	return c, nil
}

func (c packageCopy) remove() { _ = os.RemoveAll(c.dir) }

// binary is a built test binary of a package.
type binary struct{ file, dir string }

// tests builds the tests of a package, with the race detector. A run finds a fault only by chance.
func (c packageCopy) tests(ctx context.Context, pkg string) (b binary, err error) {
	return c.build(ctx, pkg, "tests", "-race")
}

// schedules builds the schedules of a package.
func (c packageCopy) schedules(ctx context.Context, pkg string) (b binary, err error) {
	file, err := overlay.Write(filepath.Join(c.dir, "points"), c.dir, packages...)
	if err != nil {
		return b, err
	}
	return c.build(ctx, pkg, "schedules", "-overlay", file, "-tags", "interleave")
}

func (c packageCopy) build(ctx context.Context, pkg, what string, flags ...string) (b binary, err error) {
	b = binary{filepath.Join(c.dir, what+".test"), filepath.Join(c.dir, pkg)}
	args := append([]string{"test", "-c", "-o", b.file}, flags...)
	return b, c.do(ctx, "go", append(args, "./"+pkg)...)
}

func (c packageCopy) do(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = c.dir
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, args[0], err, output)
	}
	return nil
}

// run runs tests once and returns the name of the failure, or "" if all pass.
func (b binary) run(ctx context.Context, tests string, timeout time.Duration, flags ...string) (killer string, output []byte) {
	args := []string{"-test.run", tests, "-test.failfast", "-test.timeout", timeout.String()}
	cmd := exec.CommandContext(ctx, b.file, append(args, flags...)...)
	cmd.Dir = b.dir
	output, err := cmd.CombinedOutput()
	if err == nil || ctx.Err() != nil {
		return "", output
	}
	return killerIn(output, err), output
}

var (
	failed  = regexp.MustCompile(`--- FAIL: (\S+)`)
	crashed = regexp.MustCompile(`(?m)^(panic|fatal error): .*`)
)

// killerIn returns the name of a failure from the output of a test binary: the subtest, or the
// message of a crash.
func killerIn(output []byte, err error) string {
	if all := failed.FindAllSubmatch(output, -1); len(all) > 0 {
		return string(all[len(all)-1][1])
	}
	if crash := crashed.Find(output); crash != nil {
		return string(crash)
	}
	return err.Error()
}
