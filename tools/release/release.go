// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// release is a version of a repository.
type release struct {
	root      string   // path of the root module
	published []string // folders of the nested modules that are tagged, too, in the order of their tags
	commands  []string // what users install, by folder
	users     []user   // who gets the modules
	dir       string   // of the root module
	version   string
	test      bool // whether make test is one of the checks
	modules   []*mod
	log       *changelog
}

// ours is what this project releases.
func ours() *release {
	return &release{
		root:      "github.com/kinformer/cache",
		published: []string{"kinformerprom", "kinformerotel"},
		commands:  []string{"cmd/kinformer-measure"},
		users:     ourUsers(),
	}
}

// complete reads what all checks need.
func (r *release) complete() (err error) {
	if r.version == "" || semver.Canonical(r.version) != r.version || semver.Build(r.version) != "" {
		return fmt.Errorf("-version %q: a version is like v0.37.0", r.version)
	}
	if r.dir, err = filepath.Abs(r.dir); err != nil {
		return err
	}
	if r.modules, err = readModules(r.dir); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(r.dir, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	r.log = parseChangelog(string(text))
	return nil
}

// module is the module in a folder, at the version of this release.
func (r *release) module(folder string) module.Version {
	path := r.root
	if folder != "" {
		path += "/" + folder
	}
	return module.Version{Path: path, Version: r.version}
}

// folders are those of the modules that are published, the root first.
func (r *release) folders() []string { return append([]string{""}, r.published...) }

// tag is the tag of the module in a folder.
func (r *release) tag(folder string) string { return strings.TrimPrefix(folder+"/"+r.version, "/") }

// tags are all of them, in the order in which they are to be set.
func (r *release) tags() (tags []string) {
	for _, folder := range r.folders() {
		tags = append(tags, r.tag(folder))
	}
	return tags
}

// git returns what git has printed.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	return output(ctx, dir, nil, "git", args...)
}

// output runs a command and returns what it has printed on its standard output. The error has what
// came on the other one.
func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	if env != nil {
		cmd.Env = append(os.Environ(), env...)
	}
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(stdout.String() + stderr.String())
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, said)
	}
	return stdout.String(), nil
}
