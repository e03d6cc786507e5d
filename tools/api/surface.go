// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/exp/apidiff"
	"golang.org/x/mod/module"
	"golang.org/x/tools/go/packages"
)

// surface is packages that others may import, by path.
type surface map[string]*types.Package

// loadVersion loads packages of modules, as somebody has them who requires these modules.
func loadVersion(ctx context.Context, modules []module.Version, patterns ...string) (all surface, err error) {
	dir, err := os.MkdirTemp("", "api-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	mod := "module example.com/user\n\ngo 1.26.0\n"
	for _, m := range modules {
		mod += fmt.Sprintf("\nrequire %s %s\n", m.Path, m.Version)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o644); err != nil {
		return nil, err
	}
	// The go command completes the go.mod file.
	return load(ctx, dir, append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOWORK=off"), patterns...)
}

// load loads packages but for programs and internal ones. Without env, it is that of the process.
func load(ctx context.Context, dir string, env []string, patterns ...string) (surface, error) {
	config := &packages.Config{Context: ctx, Dir: dir, Env: env, Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps}
	loaded, err := packages.Load(config, patterns...)
	if err != nil {
		return nil, err
	}
	all := surface{}
	for _, pkg := range loaded {
		for _, problem := range pkg.Errors {
			return nil, problem
		}
		if pkg.Name != "main" && !slices.Contains(strings.Split(pkg.PkgPath, "/"), "internal") {
			all[pkg.PkgPath] = pkg.Types
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no packages %s", dir, strings.Join(patterns, " "))
	}
	return all, nil
}

// difference is what has changed in a package.
type difference struct {
	Package                  string
	Incompatible, Compatible []string
}

// compare returns the packages in which something has changed, in the order of their paths.
func compare(before, now surface) (differences []difference) {
	paths := maps.Clone(before)
	maps.Copy(paths, now)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if d := compareOne(path, before[path], now[path]); len(d.Incompatible)+len(d.Compatible) > 0 {
			differences = append(differences, d)
		}
	}
	return differences
}

func compareOne(path string, before, now *types.Package) difference {
	switch {
	case now == nil:
		return difference{Package: path, Incompatible: []string{"the package is gone"}}
	case before == nil:
		return difference{Package: path, Compatible: []string{"the package is new"}}
	}
	d := difference{Package: path}
	for _, change := range apidiff.Changes(before, now).Changes {
		if change.Compatible {
			d.Compatible = append(d.Compatible, change.Message)
		} else {
			d.Incompatible = append(d.Incompatible, change.Message)
		}
	}
	return d
}

// report prints differences, and returns how many of them are incompatible.
func report(out io.Writer, differences []difference) (incompatible int) {
	for _, d := range differences {
		incompatible += len(d.Incompatible)
		fmt.Fprintln(out, d.Package)
		for _, change := range d.Incompatible {
			fmt.Fprintln(out, "  incompatible:", change)
		}
		for _, change := range d.Compatible {
			fmt.Fprintln(out, "  compatible:", change)
		}
	}
	return incompatible
}
