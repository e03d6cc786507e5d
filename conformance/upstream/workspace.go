// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	clientGo = "k8s.io/client-go"
	ours     = "github.com/kinformer/cache"
	// runModule is the temporary module. Its path lies under the project's, so that shims may
	// import internal packages.
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
	listed, err := goOutput(ctx, "", "list", "-m", "-f", "{{.Dir}}", ours+"/conformance", ours, clientGo)
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

// add rewrites and prunes the tests of a suite, and writes what is left into a folder. total is how
// many tests there are; with the rig, how many of them make a Reflector.
func (w *workspace) add(ctx context.Context, s suite) (folder string, kept []string, drops []drop, total int, err error) {
	original, err := w.testFiles(s.path)
	if err != nil {
		return "", nil, nil, 0, err
	}
	files, rigged, err := rewriteAll(original, path.Join(ours, s.path[len("tools/cache"):]), s.rig)
	if err != nil {
		return "", nil, nil, 0, err
	}
	wanted := testsIn(files)
	if s.rig {
		wanted = reaching(files, rigged, wanted)
	}
	var added []file
	if folder = path.Join(s.path, "alias"); s.rig {
		folder = path.Join(s.path, "rig")
	}
	if s.path == "tools/cache" {
		shim, err := parseFile("shims_test.go", bytes.Replace(shims, []byte("package shims"), []byte("package cache"), 1))
		if err != nil {
			return "", nil, nil, 0, err
		}
		added = append(added, shim)
	}
	imp, err := w.importerFor(ctx, append(slices.Clone(files), added...))
	if err != nil {
		return "", nil, nil, 0, err
	}
	if files, drops, err = prune(files, added, imp); err != nil {
		return "", nil, nil, 0, err
	}
	for _, test := range testsIn(files) {
		if slices.Contains(wanted, test) {
			kept = append(kept, test)
		}
	}
	if s.rig { // the others were told of without it
		drops = slices.DeleteFunc(drops, func(d drop) bool { return !slices.Contains(wanted, d.name) })
	}
	return folder, kept, drops, len(wanted), w.write(folder, append(files, added...))
}

func (w *workspace) write(folder string, files []file) error {
	dir := filepath.Join(w.dir, folder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.name), f.src, 0o644); err != nil {
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

// importerFor compiles what the files import, as the tests will be, and returns what reads that.
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

// goOutput runs the go command in dir and returns what it prints. An error has what it complained
// of.
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
