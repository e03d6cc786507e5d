// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package surface compares the exported names of packages, by golang.org/x/exp/apidiff.
package surface

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
	"golang.org/x/tools/go/packages"
)

// Surface is packages that others may import, by path.
type Surface map[string]*types.Package

// Module is a module at a version.
type Module struct{ Path, Version string }

// LoadVersion loads packages of modules, as somebody has them who requires these modules.
func LoadVersion(ctx context.Context, modules []Module, patterns ...string) (all Surface, err error) {
	err = Require(ctx, modules, func(dir string, env []string) error {
		all, err = Load(ctx, dir, env, patterns...)
		return err
	})
	return all, err
}

// Require calls use with the folder of a module that requires others, and the environment in which
// the go command may complete its go.mod file. The folder is gone afterwards.
func Require(ctx context.Context, modules []Module, use func(dir string, env []string) error) (err error) {
	dir, err := os.MkdirTemp("", "surface-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var mod strings.Builder
	mod.WriteString("module example.com/user\n\ngo 1.26.0\n")
	for _, m := range modules {
		fmt.Fprintf(&mod, "\nrequire %s %s\n", m.Path, m.Version)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod.String()), 0o644); err != nil {
		return err
	}
	return use(dir, append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOWORK=off"))
}

// Load loads packages but for programs and internal ones. Without env, it is that of the process.
func Load(ctx context.Context, dir string, env []string, patterns ...string) (Surface, error) {
	config := &packages.Config{Context: ctx, Dir: dir, Env: env, Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps}
	loaded, err := packages.Load(config, patterns...)
	if err != nil {
		return nil, err
	}
	all := Surface{}
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

// Difference is what has changed in a package.
type Difference struct {
	Package                  string
	Incompatible, Compatible []string
}

// Compare returns the packages in which something has changed, in the order of their paths.
func Compare(before, now Surface) (differences []Difference) {
	paths := maps.Clone(before)
	maps.Copy(paths, now)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if d := compareOne(path, before[path], now[path]); len(d.Incompatible)+len(d.Compatible) > 0 {
			differences = append(differences, d)
		}
	}
	return differences
}

func compareOne(path string, before, now *types.Package) Difference {
	switch {
	case now == nil:
		return Difference{Package: path, Incompatible: []string{"the package is gone"}}
	case before == nil:
		return Difference{Package: path, Compatible: []string{"the package is new"}}
	}
	d := Difference{Package: path}
	for _, change := range apidiff.Changes(before, now).Changes {
		if change.Compatible {
			d.Compatible = append(d.Compatible, change.Message)
		} else {
			d.Incompatible = append(d.Incompatible, change.Message)
		}
	}
	return d
}

// Report prints differences, and returns how many of them are incompatible.
func Report(out io.Writer, differences []Difference) (incompatible int) {
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
