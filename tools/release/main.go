// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command release checks that a version can be tagged, and tags it, with the same patch of earlier minors.
//
//	cd tools && go run ./release -version v0.37.1 -dry-run   # checks
//	cd tools && go run ./release -version v0.37.1            # checks, and sets the tags
//
// It pushes nothing, and prints the commands that do.
//
// # Earlier minors
//
// The tree of an earlier minor is made by tools/port. It is committed on top of the commit that is
// released, on no branch, checked as that is, and has tags of its own: v0.36.1 beside v0.37.1.
//
// # What is published
//
// The root module, and the nested modules kinformerprom, kinformerotel and kinformerclient, each by a tag of its own
// on the same commit; also e2e, for its command apiserver. The other nested modules are for what only we need and are
// never tagged.
//
// In this repository a nested module is built with the root beside it, by a replace directive. The
// go command ignores that directive in a module that somebody requires. There the require line
// counts, so it has to name a version that exists: the one that is tagged with it. go run and go install
// refuse the command of a module with such a directive, so that e2e has it in go.work. The root's tag
// goes first: a module proxy that sees a nested module's tag asks for the root's, and may remember
// for a while that there is none.
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
	nested  []string // folders of the nested modules that are published, in the order of their tags
	command string   // folder of the command that users install
	server  string   // folder of the command of the last nested module, which is published for it and takes minutes to compile
	resolve bool     // what the server needs is resolved, and not compiled
	dir     string   // of the root module
	version string

	minors []string // earlier ones that are released with it
	port   func(ctx context.Context, from, minor, to string) error
}

// ours is what this project releases.
func ours() *release {
	return &release{
		root: "github.com/kinformer/cache", nested: []string{"kinformerprom", "kinformerotel", "kinformerclient", "e2e"},
		command: "cmd/kinformer-measure", server: "e2e/cmd/apiserver",
		minors: []string{"v0.36"}, port: makePort,
	}
}

func main() {
	r := ours()
	flag.StringVar(&r.version, "version", "", "the `version` to tag, as v0.37.0")
	flag.StringVar(&r.dir, "C", "..", "`folder` of the root module")
	dry := flag.Bool("dry-run", false, "set no tag")
	flag.Parse()
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := r.run(ctx, os.Stdout, *dry); err != nil {
		log.Fatal("release: ", err)
	}
}

// run checks the tree and those of earlier minors, and sets tags if nothing is wrong with any.
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

// checkTree requires that what is checked is what is tagged.
func (r *release) checkTree(ctx context.Context) error {
	changed, err := output(ctx, r.dir, nil, "git", "status", "--porcelain")
	if err == nil && changed != "" {
		err = fmt.Errorf("the tree is not clean:\n%s", changed)
	}
	return err
}

// checkTags requires that none of the tags exists, and that none of a later patch does.
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

// checkChangelog requires that the first section of the changelog is about this version.
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

// finish shows the tree, sets the tags, unless this is a dry run, and prints what is to be done next.
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

// folders are those of the modules that are published, the root first.
func (r *release) folders() []string { return append([]string{""}, r.nested...) }

// module is the published module in a folder.
func (r *release) module(folder string) module.Version {
	return module.Version{Path: strings.TrimSuffix(r.root+"/"+folder, "/"), Version: r.version}
}

// tags are those of all published modules, in the order in which they are set.
func (r *release) tags() (tags []string) {
	for _, folder := range r.folders() {
		tags = append(tags, strings.TrimPrefix(folder+"/"+r.version, "/"))
	}
	return tags
}

// output runs a command and returns its standard output. The error has all that it has printed.
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
