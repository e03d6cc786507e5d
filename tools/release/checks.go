// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// check is one thing that has to be right. It returns what it has found in a few words, or an error
// for all that is wrong.
type check struct {
	name string
	run  func(*release, context.Context) (string, error)
}

// checks are in the order in which they run, the quick ones first.
var checks = []check{
	{"version", (*release).checkVersion},
	{"tree", (*release).checkTree},
	{"modules", (*release).checkModules},
	{"changelog", (*release).checkChangelog},
	{"documents", (*release).checkDocuments},
	{"licences", (*release).checkLicences},
	{"surface", (*release).checkSurface},
	{"names", (*release).checkNames},
	{"users", (*release).checkUsers},
	{"tests", (*release).checkTests},
}

// check runs all checks, also after one that fails, and prints a line for each.
func (r *release) check(ctx context.Context, out io.Writer) error {
	bad := 0
	fmt.Fprintf(out, "%s %s\n", r.root, r.version)
	for _, c := range checks {
		note, err := c.run(r, ctx)
		if err == nil {
			fmt.Fprintf(out, "ok    %-10s %s\n", c.name, note)
			continue
		}
		bad++
		for i, line := range strings.Split(strings.TrimSpace(err.Error()), "\n") {
			if i == 0 {
				fmt.Fprintf(out, "FAIL  %-10s %s\n", c.name, line)
			} else {
				fmt.Fprintf(out, "%16s %s\n", "", line)
			}
		}
	}
	if bad > 0 {
		fmt.Fprintf(out, "not ready: %d of %d checks failed\n", bad, len(checks))
		return errNotReady
	}
	return nil
}

// checkVersion: the minor is client-go's, none of the tags is there, and no later patch is.
func (r *release) checkVersion(ctx context.Context) (string, error) {
	theirs := r.clientGo()
	if semver.MajorMinor(r.version) != semver.MajorMinor(theirs) {
		return "", fmt.Errorf("go.mod asks for client-go %s: the minor of a version is client-go's", theirs)
	}
	listed, err := git(ctx, r.dir, "tag", "--list")
	if err != nil {
		return "", err
	}
	var faults []error
	for _, tag := range strings.Fields(listed) {
		switch {
		case slices.Contains(r.tags(), tag):
			faults = append(faults, fmt.Errorf("tag %s is there already", tag))
		case semver.MajorMinor(tag) == semver.MajorMinor(r.version) && semver.Compare(tag, r.version) > 0:
			faults = append(faults, fmt.Errorf("tag %s is of a later version", tag))
		}
	}
	return "goes with client-go " + theirs, errors.Join(faults...)
}

// checkTree: what is checked is what is tagged.
func (r *release) checkTree(ctx context.Context) (string, error) {
	status, err := git(ctx, r.dir, "status", "--porcelain")
	if err != nil {
		return "", err
	}
	if status != "" {
		return "", fmt.Errorf("not clean:\n%s", status)
	}
	commit, err := git(ctx, r.dir, "log", "-1", "--format=%h %s")
	return "clean, at " + strings.TrimSpace(commit), err
}

// checkSurface: no name of client-go is missing.
func (r *release) checkSurface(ctx context.Context) (string, error) {
	_, err := output(ctx, r.dir, nil, "go", "test", "-count=1", "-run", "^TestSurface", ".")
	return "every name of client-go, and own ones as testdata/surface/own.txt lists them", err
}

// checkNames: no name that a patch must keep is gone since the version in tools/api/baseline.txt.
func (r *release) checkNames(ctx context.Context) (string, error) {
	said, err := output(ctx, filepath.Join(r.dir, "tools"), nil, "go", "run", "./api")
	lines := strings.Split(strings.TrimSpace(said), "\n")
	return lines[len(lines)-1], err
}

// checkTests runs make test, if it is asked to.
func (r *release) checkTests(ctx context.Context) (string, error) {
	if !r.test {
		return "not run: -test does, or make test, and make vulncheck with a database", nil
	}
	_, err := output(ctx, r.dir, nil, "make", "test")
	return "make test is green", err
}
