// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"

	"github.com/kinformer/cache/conformance/internal/prune"
	"github.com/kinformer/cache/conformance/internal/rewrite"
)

// Suite is the part of one package's tests that runs in one mode.
type Suite struct {
	// Package is the path below client-go's root, Mode what stands for its Reflector.
	Package string
	Mode    Mode
	// Total is how many tests upstream has; in the rig mode, how many of them make a Reflector.
	Total int
	// Tests are those that are kept, Dropped the others, and Helpers what went with them.
	Tests   []string
	Dropped []prune.Drop
	Helpers []prune.Drop
	// Floor is how many tests must be kept at the least.
	Floor int

	// dir is the package's folder in the workspace.
	dir string
}

// generator makes suites in a workspace, for one target.
type generator struct {
	w      *workspace
	target Target
}

// suite rewrites and prunes the tests of s, and writes what is left into the workspace.
func (g generator) suite(ctx context.Context, s source, mode Mode) (*Suite, error) {
	original, err := g.w.testFiles(s)
	if err != nil {
		return nil, err
	}
	files, rigged, err := rewriteAll(g.target.rules(s, mode), original)
	if err != nil {
		return nil, err
	}
	trees, err := parseAll(original)
	if err != nil {
		return nil, err
	}
	suite := &Suite{Package: s.path, Mode: mode, Floor: s.floor[mode], dir: path.Join(s.path, string(mode))}
	wanted, err := wantedTests(mode, original, trees, rigged)
	if err != nil {
		return nil, err
	}
	suite.Total = len(wanted)
	kept, err := g.prune(ctx, s, suite, files)
	if err != nil {
		return nil, err
	}
	for _, f := range kept.Files {
		if err := g.w.write(path.Join(suite.dir, f.Name), f.Src); err != nil {
			return nil, err
		}
	}
	suite.split(kept, wanted)
	return suite, nil
}

// prune takes out what cannot compile, file group by file group: tests inside the package see one
// another, and those of the external test package are a package of their own.
func (g generator) prune(ctx context.Context, s source, suite *Suite, files []prune.File) (prune.Result, error) {
	groups, err := byPackage(files)
	if err != nil {
		return prune.Result{}, err
	}
	var all prune.Result
	for _, group := range groups {
		var shims []prune.File
		if !rewrite.IsExternal(group.name) {
			if shims, err = g.target.shimsFor(s, suite.Mode, group.name); err != nil {
				return prune.Result{}, err
			}
		}
		one, err := g.pruneGroup(ctx, path.Join(runModule, suite.dir), group, shims)
		if err != nil {
			return prune.Result{}, err
		}
		all.Files = append(append(all.Files, one.Files...), shims...)
		all.Tests = append(all.Tests, one.Tests...)
		all.Drops = append(all.Drops, one.Drops...)
	}
	return all, nil
}

func (g generator) pruneGroup(ctx context.Context, pkgPath string, group fileGroup, shims []prune.File) (prune.Result, error) {
	imports, err := importsOf(append(slices.Clone(group.files), shims...))
	if err != nil {
		return prune.Result{}, err
	}
	imp, err := g.w.importerFor(ctx, imports)
	if err != nil {
		return prune.Result{}, fmt.Errorf("compiling what the tests of %s import: %w", pkgPath, err)
	}
	var without []string
	if shims != nil {
		without = shimmed
	}
	return prune.Prune(pkgPath, group.files, shims, without, imp)
}

// split sorts what pruning left and took out by the tests that the suite is to have.
func (s *Suite) split(r prune.Result, wanted map[string]bool) {
	for _, name := range r.Tests {
		if wanted[name] {
			s.Tests = append(s.Tests, name)
		}
	}
	for _, d := range r.Drops {
		switch {
		case !d.Test:
			s.Helpers = append(s.Helpers, d)
		case wanted[d.Name]:
			s.Dropped = append(s.Dropped, d)
		}
	}
	slices.SortFunc(s.Dropped, func(a, b prune.Drop) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}

func rewriteAll(rules rewrite.Rules, files []prune.File) (out []prune.File, rigged []string, err error) {
	for _, f := range files {
		g, names, err := rules.File(f)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, g)
		rigged = append(rigged, names...)
	}
	return out, rigged, nil
}

// wantedTests are all tests, or in the rig mode those that reach a function which the rig changed.
func wantedTests(mode Mode, files []prune.File, trees []*ast.File, rigged []string) (map[string]bool, error) {
	names, err := prune.TestsIn(files)
	if err != nil {
		return nil, err
	}
	reached := rewrite.Reaching(trees, rigged)
	wanted := map[string]bool{}
	for _, n := range names {
		if mode != Rig || reached[n] {
			wanted[n] = true
		}
	}
	return wanted, nil
}

// fileGroup is the files of one package clause.
type fileGroup struct {
	name  string
	files []prune.File
}

// byPackage groups files by their package clause, in the order of first appearance.
func byPackage(files []prune.File) ([]fileGroup, error) {
	var out []fileGroup
	trees, err := parseAll(files)
	if err != nil {
		return nil, err
	}
	for i, tree := range trees {
		at := slices.IndexFunc(out, func(g fileGroup) bool { return g.name == tree.Name.Name })
		if at < 0 {
			at = len(out)
			out = append(out, fileGroup{name: tree.Name.Name})
		}
		out[at].files = append(out[at].files, files[i])
	}
	return out, nil
}

// importsOf lists what the files import, each path once.
func importsOf(files []prune.File) ([]string, error) {
	trees, err := parseAll(files)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, tree := range trees {
		for _, spec := range tree.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return nil, fmt.Errorf("reading an import path: %w", err)
			}
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func parseAll(files []prune.File) ([]*ast.File, error) {
	out := make([]*ast.File, 0, len(files))
	for _, f := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Src, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parsing %s: %w", f.Name, err)
		}
		out = append(out, tree)
	}
	return out, nil
}
