// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kinformer/cache/tools/interleave/overlay"
)

// copied are the folders of the packages under test, and of those that they need.
var copied = append([]string{
	"internal/interleave", "internal/interleave/atomic", "internal/interleave/maphash", "internal/interleave/schedules",
	"internal/interleave/sync", "internal/interleave/time", "internal/event", "internal/testkit", "internal/testkit/cputime", "internal/tap/taptest", "cachetest", "direct",
}, packages...)

// packageCopy is a module that has nothing but the packages under test.
type packageCopy struct{ dir string }

func newCopy(root string) (c packageCopy, err error) {
	if c.dir, err = os.MkdirTemp("", "mutant-"); err != nil {
		return c, err
	}
	if err = c.fill(root); err != nil {
		c.remove()
	}
	return c, err
}

func (c packageCopy) fill(root string) error {
	files := []string{"go.mod", "go.sum"}
	for _, pkg := range copied {
		if err := os.MkdirAll(filepath.Join(c.dir, pkg, "testdata"), 0o777); err != nil {
			return err
		}
		sources, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
		if err != nil {
			return err
		}
		data, err := filepath.Glob(filepath.Join(root, pkg, "testdata", "*.json"))
		if err != nil {
			return err
		}
		for _, file := range append(sources, data...) {
			if strings.HasPrefix(filepath.Base(file), "example_") {
				continue // of the whole library
			}
			name, err := filepath.Rel(root, file)
			if err != nil {
				return err
			}
			files = append(files, name)
		}
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(c.dir, file), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

func (c packageCopy) remove() { _ = os.RemoveAll(c.dir) }

func (c packageCopy) apply(ctx context.Context, patch string) error {
	return c.do(ctx, "git", "apply", patch)
}

// binary is a built test binary of a package.
type binary struct{ file, dir string }

// tests builds those of a package, with the race detector if its mutants are a matter of chance.
func (c packageCopy) tests(ctx context.Context, pkg string) (b binary, err error) {
	if !slices.Contains(scheduled, pkg) {
		return c.build(ctx, pkg, "tests")
	}
	return c.build(ctx, pkg, "tests", "-race")
}

// schedules builds the schedules of a package.
func (c packageCopy) schedules(ctx context.Context, pkg string) (b binary, err error) {
	file, err := overlay.Write(filepath.Join(c.dir, "points"), c.dir, scheduled...)
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

// run runs tests once and returns which one has failed, if one has; else "".
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

// killerIn returns what a test binary that has failed says of it: the subtest, or with what it has
// crashed.
func killerIn(output []byte, err error) string {
	if all := failed.FindAllSubmatch(output, -1); len(all) > 0 {
		return string(all[len(all)-1][1])
	}
	if crash := crashed.Find(output); crash != nil {
		return string(crash)
	}
	return err.Error()
}
