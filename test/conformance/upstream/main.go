// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command upstream runs client-go's own tests of tools/cache and its sub-packages, read from the module
// cache, against this project.
//
//	cd test/conformance && go run ./upstream [-run regexp] [-keep dir]
//
// The tests have the version required by go.mod. They are rewritten and pruned in a temporary directory,
// and run with the race detector; they are not stored here.
//
//	module cache ─▶ rewrite ─▶ prune ─▶ temporary module ─▶ go test -race
//	 *_test.go      names of     tests that    + shims
//	                kinformer    cannot compile
//
// Functions that create a Reflector create a type of this project instead, the rig, which drives
// kinformer's reflector (shims/shims.go).
//
// The command prints how many tests were kept and passed, and why each other test was dropped. The exit
// status is 1 if a test does not pass, or if fewer tests are kept than the suite's floor.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/kinformer/cache/internal/minor"
)

func main() {
	keep := flag.String("keep", "", "write the rewritten tests into this new `directory` and leave them there")
	only := flag.String("run", "", "run only the tests whose names match this `regexp`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *keep, *only, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "upstream:", err)
		os.Exit(1)
	}
}

// suite is the tests of a package of client-go.
type suite struct {
	path  string // relative to client-go's root
	floor int    // the number of tests to be kept: fewer mean that an exported name was lost
}

// floors are the floors of the suites, by the minor version of client-go.
var floors = map[string][3]int{
	"v0.38": {120, 10, 2},
	"v0.37": {116, 10, 2},
	"v0.36": {101, 10, 2},
}[minor.Of]

var suites = []suite{
	{path: "tools/cache", floor: floors[0]},
	{path: "tools/cache/synctrack", floor: floors[1]},
	{path: "tools/cache/testing", floor: floors[2]},
}

// run runs all suites. It must be called inside the conformance module.
func run(ctx context.Context, keep, only string, out io.Writer) (err error) {
	filter, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	dir := keep
	if dir != "" {
		err = os.Mkdir(dir, 0o755)
	} else if dir, err = os.MkdirTemp("", "upstream-"); err == nil {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	if err != nil {
		return err
	}
	w, err := newWorkspace(ctx, dir)
	if err != nil {
		return err
	}
	var failed []error
	for _, s := range suites {
		if err := s.run(ctx, w, filter, out); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", s.path, err))
		}
	}
	return errors.Join(failed...)
}

// run writes the tests of a suite into the workspace, prints why others were dropped, and runs the
// selected ones.
func (s suite) run(ctx context.Context, w *workspace, filter *regexp.Regexp, out io.Writer) error {
	kept, drops, total, err := w.add(ctx, s)
	if err != nil {
		return err
	}
	for _, d := range drops {
		fmt.Fprintf(out, "    dropped %-60s %s:%d: %s\n", d.name, d.at.Filename, d.at.Line, d.why)
	}
	fmt.Fprintf(out, "%s: %d of %d tests kept\n", s.path, len(kept), total)
	if len(kept) < s.floor {
		return fmt.Errorf("only %d tests were kept where %d can be", len(kept), s.floor)
	}
	var selected []string
	for _, test := range kept {
		if filter.MatchString(test) {
			selected = append(selected, test)
		}
	}
	if len(selected) == 0 {
		return nil
	}
	ended, err := w.test(ctx, s.path, selected, out)
	for n := 1; n < timedRuns && len(ended["fail"]) > 0 && isSubset(ended["fail"], timed); n++ {
		var again map[string][]string
		again, err = w.test(ctx, s.path, ended["fail"], out)
		ended["pass"], ended["fail"] = append(ended["pass"], again["pass"]...), again["fail"]
	}
	passed, skipped := len(ended["pass"]), len(ended["skip"])
	fmt.Fprintf(out, "%s: passed %d, skipped %d, failed %d\n", s.path, passed, skipped, len(ended["fail"]))
	if err == nil && passed+skipped != len(selected) {
		err = fmt.Errorf("%d tests did not end", len(selected)-passed-skipped)
	}
	return err
}

// timed are tests that depend on the clock and may fail under load. If only timed tests fail, they run
// again by themselves, up to timedRuns times in all.
var timed = []string{"TestNewReflectorWithCustomBackoff"}

const timedRuns = 3

func isSubset(some, all []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

// test runs tests, prints their output if one fails, and returns them by result.
func (w *workspace) test(ctx context.Context, folder string, tests []string, out io.Writer) (map[string][]string, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-json", "-race", "-vet=off", "-timeout=2h", "-run=^("+strings.Join(tests, "|")+")$", "./"+folder)
	cmd.Dir = w.dir
	printed, err := cmd.CombinedOutput()
	ended, text := outcomes(printed)
	if err != nil {
		fmt.Fprintln(out, text)
	}
	return ended, err
}

// outcomes returns the top-level tests by result, and their output.
func outcomes(printed []byte) (ended map[string][]string, text string) {
	ended = map[string][]string{}
	for line := range bytes.Lines(printed) {
		var event struct{ Action, Test, Output string }
		if json.Unmarshal(line, &event) != nil {
			event.Output = string(line)
		}
		if text += event.Output; event.Test != "" && !strings.Contains(event.Test, "/") {
			ended[event.Action] = append(ended[event.Action], event.Test)
		}
	}
	return ended, text
}

const (
	clientGo = "k8s.io/client-go"
	ours     = "github.com/kinformer/cache"
	// runModule is the temporary module. Its path is below the project's, so that shims may import
	// internal packages.
	runModule = ours + "/conformance/upstreamrun"
)

// shims become part of the tests of tools/cache.
//
//go:embed shims/shims.go
var shims []byte

// workspace is a temporary module with the requirements of the conformance module.
type workspace struct {
	dir      string
	clientGo string // its root in the module cache
}

func newWorkspace(ctx context.Context, dir string) (*workspace, error) {
	listed, err := goOutput(ctx, "", "list", "-m", "-f", "{{.Dir}}", ours+"/test/conformance", ours, clientGo)
	if err != nil {
		return nil, err
	}
	roots := strings.Fields(listed)
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(roots[0], name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			return nil, err
		}
	}
	_, err = goOutput(ctx, dir, "mod", "edit", "-module="+runModule, "-replace="+ours+"="+roots[1])
	return &workspace{dir, roots[2]}, err
}

// add rewrites and prunes the tests of a suite, and writes them into the folder of its path. It returns
// the tests kept and the number of all.
func (w *workspace) add(ctx context.Context, s suite) (kept []string, drops []drop, total int, err error) {
	files, err := w.testFiles(s.path)
	if err != nil {
		return nil, nil, 0, err
	}
	for _, f := range files {
		rewrite(f.tree, path.Join(ours, s.path[len("tools/cache"):]))
	}
	total = len(testsIn(files))
	var added []file
	if s.path == "tools/cache" {
		shim, err := parseFile("shims_test.go", shims)
		if err != nil {
			return nil, nil, 0, err
		}
		shim.tree.Name.Name = "cache"
		added = append(added, shim)
	}
	imp, err := w.importerFor(ctx, slices.Concat(files, added))
	if err != nil {
		return nil, nil, 0, err
	}
	if drops, err = prune(files, added, imp); err != nil {
		return nil, nil, 0, err
	}
	return testsIn(files), drops, total, w.write(s.path, slices.Concat(files, added))
}

func (w *workspace) write(folder string, files []file) error {
	dir := filepath.Join(w.dir, folder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := f.write(filepath.Join(dir, f.name)); err != nil {
			return err
		}
	}
	return nil
}

// testFiles reads the test files of a package of client-go.
func (w *workspace) testFiles(folder string) (files []file, err error) {
	paths, err := filepath.Glob(filepath.Join(w.clientGo, folder, "*_test.go"))
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("no tests in %s", filepath.Join(w.clientGo, folder))
	}
	for _, path := range paths {
		if err != nil {
			return nil, err
		}
		var src []byte
		if src, err = os.ReadFile(path); err == nil {
			var f file
			f, err = parseFile(filepath.Base(path), src)
			files = append(files, f)
		}
	}
	return files, err
}

// importerFor compiles the imports of the files with the flags of the tests, and returns their importer.
func (w *workspace) importerFor(ctx context.Context, files []file) (types.Importer, error) {
	args := []string{"list", "-race", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}
	for _, f := range files {
		for _, spec := range f.tree.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return nil, err
			}
			args = append(args, imported)
		}
	}
	listed, err := goOutput(ctx, w.dir, args...)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for line := range strings.Lines(listed) {
		imported, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		exports[imported] = file
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }), nil
}

// goOutput runs the go command in dir and returns its output. An error contains its error output.
func goOutput(ctx context.Context, dir string, args ...string) (string, error) {
	var complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stderr = dir, &complaints
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, &complaints)
	}
	return string(out), nil
}
