// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/kinformer/cache/tools/internal/surface"
)

const clientGo = "k8s.io/client-go"

// mirrored are the packages of client-go whose names we have.
var mirrored = []string{clientGo + "/tools/cache", clientGo + "/tools/cache/synctrack", clientGo + "/tools/cache/testing"}

// bump is a move from one version of client-go to another.
type bump struct {
	out      io.Writer
	dir      string // of the root module
	from, to string
	modules  []string // folders
	test     bool
	failed   int
}

// choose finds out which version there is, and which one is wanted.
func (b *bump) choose(ctx context.Context, wanted string) error {
	requires, err := requirements(b.dir)
	if err != nil {
		return err
	}
	if b.from = requires[clientGo]; b.from == "" {
		return fmt.Errorf("%s/go.mod does not require %s", b.dir, clientGo)
	}
	if wanted == "" {
		wanted = semver.MajorMinor(b.from)
	}
	listed, err := b.command(ctx, "", "go", "list", "-m", "-f", "{{range .Versions}}{{.}} {{end}}", "-versions", clientGo)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, listed)
	}
	b.to, err = newest(strings.Fields(listed), wanted)
	return err
}

// newest returns the newest release that is a version, or a patch of a minor.
func newest(versions []string, wanted string) (found string, err error) {
	for _, version := range versions {
		matches := version == wanted || semver.MajorMinor(version) == wanted && semver.Prerelease(version) == ""
		if matches && semver.Compare(version, found) > 0 {
			found = version
		}
	}
	if found == "" {
		return "", fmt.Errorf("client-go has no version %s", wanted)
	}
	return found, nil
}

// requirements are the versions that the go.mod file in a folder asks for, by module.
func requirements(dir string) (map[string]string, error) {
	path := filepath.Join(dir, "go.mod")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	file, err := modfile.Parse(path, text, nil)
	if err != nil {
		return nil, err
	}
	versions := map[string]string{}
	for _, require := range file.Require {
		versions[require.Mod.Path] = require.Mod.Version
	}
	return versions, nil
}

// allModules are the folders with a go.mod file, the root first.
func allModules(dir string) (folders []string, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != dir && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "bin" || name == "testdata"):
			return filepath.SkipDir
		case name == "go.mod":
			folder, err := filepath.Rel(dir, filepath.Dir(path))
			folders = append(folders, folder)
			return err
		}
		return nil
	})
	slices.Sort(folders) // a dot comes before letters
	return folders, err
}

// printNews lists what is different in the names that we have.
func (b *bump) printNews(ctx context.Context) error {
	if b.from == b.to {
		fmt.Fprintln(b.out, "that is what go.mod has")
		return nil
	}
	at := func(version string) []surface.Module { return []surface.Module{{Path: clientGo, Version: version}} }
	before, err := surface.LoadVersion(ctx, at(b.from), mirrored...)
	if err != nil {
		return err
	}
	now, err := surface.LoadVersion(ctx, at(b.to), mirrored...)
	if err != nil {
		return err
	}
	incompatible := surface.Report(b.out, surface.Compare(before, now))
	was, err := surface.Deprecated(ctx, at(b.from), mirrored...)
	if err != nil {
		return err
	}
	is, err := surface.Deprecated(ctx, at(b.to), mirrored...)
	if err != nil {
		return err
	}
	newly := 0
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if _, old := was[name]; !old {
			newly++
			fmt.Fprintf(b.out, "deprecated: %s: %s\n", name, is[name])
		}
	}
	fmt.Fprintf(b.out, "client-go's own names: %d incompatible changes, %d newly deprecated\n", incompatible, newly)
	return nil
}

// move changes the requirements and whatever follows from them.
func (b *bump) move(ctx context.Context) error {
	for _, folder := range b.modules {
		b.step("requirements of "+folder, func() (string, error) { return b.require(ctx, folder) })
	}
	b.step("go generate", func() (string, error) { return b.command(ctx, "", "go", "generate", "./...") })
	for _, folder := range b.modules {
		b.step("build "+folder, func() (string, error) { return b.build(ctx, folder) })
	}
	for _, folder := range b.modules {
		b.step("tidy "+folder, func() (string, error) { return b.tidy(ctx, folder) })
	}
	b.step("surface", func() (string, error) {
		return b.command(ctx, "", "go", "test", "-count=1", "-run", "^TestSurface$", ".")
	})
	if b.test {
		b.step("tests of the root", func() (string, error) { return b.command(ctx, "", "go", "test", "-timeout", "20m", "./...") })
		b.step("client-go's tests", func() (string, error) { return b.command(ctx, "conformance", "go", "run", "./cmd/upstream") })
	}
	if b.failed > 0 {
		fmt.Fprintf(b.out, "to do: %d steps failed\n", b.failed)
		return errToDo
	}
	return nil
}

// step prints what came of something, and everything that it said if it failed.
func (b *bump) step(name string, do func() (string, error)) {
	said, err := do()
	if err == nil {
		fmt.Fprintf(b.out, "ok    %s\n", name)
		return
	}
	b.failed++
	fmt.Fprintf(b.out, "FAIL  %s: %v\n", name, err)
	for line := range strings.Lines(strings.TrimSpace(said)) {
		fmt.Fprint(b.out, "      ", strings.TrimRight(line, "\n"), "\n")
	}
}

// require moves the modules of Kubernetes that have client-go's versions.
func (b *bump) require(ctx context.Context, folder string) (string, error) {
	requires, err := requirements(filepath.Join(b.dir, folder))
	if err != nil {
		return "", err
	}
	args := []string{"get"}
	for _, path := range slices.Sorted(maps.Keys(requires)) {
		if isStaging(path, requires[path]) {
			args = append(args, path+"@"+b.to)
		}
	}
	if len(args) == 1 {
		return "", nil
	}
	if said, err := b.command(ctx, folder, "go", args...); err != nil {
		return said, err
	}
	return b.download(ctx, folder)
}

// download adds the checksums of all requirements to go.sum. What else does, as go mod tidy, would
// also move a module away again for which a package is missing.
func (b *bump) download(ctx context.Context, folder string) (string, error) {
	requires, err := requirements(filepath.Join(b.dir, folder))
	if err != nil {
		return "", err
	}
	args := []string{"mod", "download"}
	for _, path := range slices.Sorted(maps.Keys(requires)) {
		if !strings.HasPrefix(path, "github.com/kinformer/cache") {
			args = append(args, path+"@"+requires[path])
		}
	}
	return b.command(ctx, folder, "go", args...)
}

// tidy tidies a module, unless that moves it away again: go mod tidy takes whatever version has the
// packages that are imported, so that it is for modules that build.
func (b *bump) tidy(ctx context.Context, folder string) (string, error) {
	before := map[string][]byte{}
	for _, name := range []string{"go.mod", "go.sum"} {
		file := filepath.Join(b.dir, folder, name)
		text, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		before[file] = text
	}
	said, err := b.command(ctx, folder, "go", "mod", "tidy")
	if err != nil {
		return said, err
	}
	requires, err := requirements(filepath.Join(b.dir, folder))
	for path, version := range requires {
		if isStaging(path, version) && version != b.to {
			err = fmt.Errorf("it takes %s %s", path, version)
			for file, text := range before {
				err = errors.Join(err, os.WriteFile(file, text, 0o644))
			}
			return said, err
		}
	}
	return "", err
}

// isStaging reports whether a module is released together with client-go.
func isStaging(path, version string) bool {
	return strings.HasPrefix(path, "k8s.io/") && semver.Major(version) == "v0" && !module.IsPseudoVersion(version)
}

// build builds a module with its tests. If that fails, it lists and counts what does not compile.
func (b *bump) build(ctx context.Context, folder string) (string, error) {
	said, err := b.command(ctx, folder, "go", "build", "./...")
	if err == nil {
		said, err = b.command(ctx, folder, "go", "vet", "./...")
	}
	if err == nil {
		return "", nil
	}
	lines, cause := b.broken(ctx, folder)
	if len(lines) == 0 {
		return said, errors.Join(err, cause)
	}
	return strings.Join(lines, "\n"), fmt.Errorf("%w: %d places do not compile", err, len(lines))
}

// command runs a command in a folder, and returns all that it has printed.
func (b *bump) command(ctx context.Context, folder, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = filepath.Join(b.dir, folder)
	said, err := cmd.CombinedOutput()
	return string(said), err
}
