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

	"golang.org/x/mod/semver"
)

// makePort runs tools/port.
func makePort(ctx context.Context, from, minor, to string) error {
	_, err := output(ctx, filepath.Join(from, "tools"), nil, "go", "run", "./port", "-C", from, "-minor", minor, "-o", to)
	return err
}

// ported makes the tree of an earlier minor in a worktree, and commits it on top of the released
// commit. remove removes the worktree; the commit persists if it is tagged.
func (r *release) ported(ctx context.Context, minor string) (p *release, remove func(), err error) {
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return nil, nil, err
	}
	tree := *r
	p = &tree
	p.dir, p.version, p.minors = filepath.Join(dir, minor), minor+strings.TrimPrefix(r.version, semver.MajorMinor(r.version)), nil
	remove = func() {
		_, removed := output(context.WithoutCancel(ctx), r.dir, nil, "git", "worktree", "remove", "--force", p.dir)
		if err := errors.Join(removed, os.RemoveAll(dir)); err != nil {
			fmt.Fprintln(os.Stderr, "release:", err)
		}
	}
	if err = r.commitPort(ctx, p, minor); err != nil {
		remove()
	}
	return p, remove, err
}

func (r *release) commitPort(ctx context.Context, p *release, minor string) error {
	if _, err := output(ctx, r.dir, nil, "git", "worktree", "add", "--quiet", "--detach", "--no-checkout", p.dir); err != nil {
		return err
	}
	if err := r.port(ctx, r.dir, minor, p.dir); err != nil {
		return err
	}
	if _, err := output(ctx, p.dir, nil, "git", "add", "--all", "--force"); err != nil {
		return err
	}
	_, err := output(ctx, p.dir, nil, "git", "commit", "--quiet", "--no-verify", "-m", fmt.Sprintf("%s, made by tools/port of %s", p.version, r.version))
	return err
}
