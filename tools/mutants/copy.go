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
	"time"
)

// packageCopy is a module that has nothing but the package under test.
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
	if err := os.MkdirAll(filepath.Join(c.dir, pkg), 0o777); err != nil {
		return err
	}
	files := []string{"go.mod", "go.sum"}
	for _, pattern := range []string{"*.go", "*.s"} {
		found, err := filepath.Glob(filepath.Join(root, pkg, pattern))
		if err != nil {
			return err
		}
		for _, file := range found {
			files = append(files, filepath.Join(pkg, filepath.Base(file)))
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

func (c packageCopy) build(ctx context.Context) error {
	return c.do(ctx, "go", "test", "-race", "-c", "-o", filepath.Join(c.dir, "table.test"), "./"+pkg)
}

func (c packageCopy) do(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = c.dir
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, args[0], err, output)
	}
	return nil
}

// test runs tests once and returns which one has failed, if one has; else "".
func (c packageCopy) test(ctx context.Context, tests string, timeout time.Duration) (killer string, output []byte) {
	cmd := exec.CommandContext(ctx, filepath.Join(c.dir, "table.test"),
		"-test.run", tests, "-test.failfast", "-test.timeout", timeout.String(), "-rapid.nofailfile")
	cmd.Dir = filepath.Join(c.dir, pkg)
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

// killerIn returns what a test binary that has failed says of it: the subtest, or with what it has crashed.
func killerIn(output []byte, err error) string {
	if all := failed.FindAllSubmatch(output, -1); len(all) > 0 {
		return string(all[len(all)-1][1])
	}
	if crash := crashed.Find(output); crash != nil {
		return string(crash)
	}
	return err.Error()
}
