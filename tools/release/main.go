// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command release checks that a version can be tagged, and tags it, with the same patch version of earlier minors.
//
//	cd tools && go run ./release -version v0.37.1 -dry-run   # checks
//	cd tools && go run ./release -version v0.37.1            # checks, and sets the tags
//
// The command does not push the tags, but prints the commands for it.
//
// # Earlier minors
//
// The tree of an earlier minor is made by tools/port. It is committed on top of the released commit, on
// no branch, checked in the same way, and has its own tags: v0.36.1 beside v0.37.1.
//
// # Published modules
//
// The root module, and the nested modules adapters/prom and adapters/client are published, each with
// its own tag on the same commit; also test/e2e, for its command apiserver. The other nested modules are used only in this
// repository and are never tagged.
//
// In this repository a replace directive builds a nested module with the root module beside it. The go
// command ignores that directive in a module that another one requires, and uses the require line,
// which must therefore name an existing version: the one that is tagged with it. go run and go install
// refuse a command in a module with such a directive, so that test/e2e has it in go.work. The root's tag must
// be pushed first: a module proxy that gets a nested module's tag requests the root's, and may cache its
// absence for a while.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// release is a version of a repository.
type release struct {
	root    string   // path of the root module
	nested  []string // folders of the published nested modules, in the order of their tags
	command string   // folder of the command that users install
	server  string   // folder of the command of the last nested module, which takes minutes to compile
	resolve bool     // whether the server's dependencies are only resolved, and not compiled
	dir     string   // folder of the root module
	version string

	minors []string // earlier minors to be released with it
	port   func(ctx context.Context, from, minor, to string) error
}

// ours returns the release of this project.
func ours() *release {
	return &release{
		root: "github.com/kinformer/cache", nested: []string{"adapters/prom", "adapters/client", "test/e2e"},
		command: "cmd/kinformer-measure", server: "test/e2e/cmd/apiserver",
		minors: []string{"v0.36"}, port: makePort,
	}
}

func main() {
	r := ours()
	flag.StringVar(&r.version, "version", "", "the `version` to tag, as v0.37.0")
	flag.StringVar(&r.dir, "C", "..", "`folder` of the root module")
	dry := flag.Bool("dry-run", false, "set no tags")
	flag.Parse()
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := r.run(ctx, os.Stdout, *dry); err != nil {
		log.Fatal("release: ", err)
	}
}

// run checks the tree and those of earlier minors, and sets the tags if all pass and dry is false.
func (r *release) run(ctx context.Context, out io.Writer, dry bool) (err error) {
	if err := errors.Join(r.check(ctx), r.checkChangelog(ctx)); err != nil {
		return err
	}
	trees := []*release{r}
	for _, minor := range r.minors {
		p, remove, err := r.ported(ctx, minor)
		if err != nil {
			return err
		}
		defer remove()
		if err := p.check(ctx); err != nil {
			return fmt.Errorf("the tree of %s: %w", minor, err)
		}
		trees = append(trees, p)
	}
	for _, tree := range trees {
		if err := tree.finish(ctx, out, dry); err != nil {
			return err
		}
	}
	return nil
}

// check returns an error if the version cannot be tagged.
func (r *release) check(ctx context.Context) (err error) {
	if semver.Canonical(r.version) != r.version || r.version == "" || semver.Build(r.version) != "" {
		return fmt.Errorf("-version %q: a version is like v0.37.0", r.version)
	}
	if r.dir, err = filepath.Abs(r.dir); err != nil {
		return err
	}
	for _, check := range []func(context.Context) error{r.checkTree, r.checkTags, r.checkModules, r.checkUsers} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	return nil
}

// checkTree requires that the tree has no uncommitted changes, so that the checked tree is the tagged
// one.
func (r *release) checkTree(ctx context.Context) error {
	changed, err := output(ctx, r.dir, nil, "git", "status", "--porcelain")
	if err == nil && changed != "" {
		err = fmt.Errorf("the tree is not clean:\n%s", changed)
	}
	return err
}

// checkTags requires that none of the tags exists, nor any of a later patch version.
func (r *release) checkTags(ctx context.Context) error {
	listed, err := output(ctx, r.dir, nil, "git", "tag", "--list")
	if err != nil {
		return err
	}
	for _, tag := range strings.Fields(listed) {
		later := semver.MajorMinor(tag) == semver.MajorMinor(r.version) && semver.Compare(tag, r.version) > 0
		if later || slices.Contains(r.tags(), tag) {
			return fmt.Errorf("there is a tag %s", tag)
		}
	}
	return nil
}

// checkChangelog requires that the first section of the changelog is that of this version.
func (r *release) checkChangelog(context.Context) error {
	text, err := os.ReadFile(filepath.Join(r.dir, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	_, first, _ := strings.Cut(string(text), "\n## ")
	if heading, _, _ := strings.Cut(first, "\n"); heading != r.version {
		return fmt.Errorf("the first section of CHANGELOG.md is %q, and not %q", heading, r.version)
	}
	return nil
}

// finish prints the tree, sets the tags unless dry, and prints the next steps.
func (r *release) finish(ctx context.Context, out io.Writer, dry bool) error {
	commit, err := output(ctx, r.dir, nil, "git", "log", "-1", "--shortstat", "--format=tree %T of commit %H, %s")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s %s can be tagged, if make nightly and make vulncheck are green:\n%s", r.root, r.version, commit)
	for _, tag := range r.tags() {
		if dry {
			continue
		}
		if _, err := output(ctx, r.dir, nil, "git", "tag", "-a", "-m", tag, tag); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, "\nPush the tags one after the other, and then set BASELINE of the Makefile:")
	for _, tag := range r.tags() {
		fmt.Fprintln(out, "    git push origin", tag)
	}
	fmt.Fprintln(out)
	return nil
}

// folders returns the folders of the published modules, the root first.
func (r *release) folders() []string { return append([]string{""}, r.nested...) }

// module returns the published module in a folder.
func (r *release) module(folder string) module.Version {
	return module.Version{Path: strings.TrimSuffix(r.root+"/"+folder, "/"), Version: r.version}
}

// tags returns the tags of all published modules, in the order in which they are set.
func (r *release) tags() (tags []string) {
	for _, folder := range r.folders() {
		tags = append(tags, strings.TrimPrefix(folder+"/"+r.version, "/"))
	}
	return tags
}

// output runs a command and returns its standard output. The error contains the standard output and
// error.
func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String(), nil
}
