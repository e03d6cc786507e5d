// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"slices"
)

// Drop is one declaration that was taken out.
type Drop struct {
	// Name is the declaration's name, "Type.Method" for a method.
	Name string
	// File and Line say where it stood.
	File string
	Line int
	// Test says that go test would have run it.
	Test bool
	// Cause is the first name that the declaration may not use; Via lists the declarations between
	// it and that name, nearest first, when it does not use the name itself.
	Cause string
	Via   []string
	// Message is the type checker's first complaint.
	Message string
}

// Result is what Prune leaves and what it took out.
type Result struct {
	// Files compile. They have the names and the order of the input; a file may be left without
	// declarations.
	Files []File
	// Tests are the names of the tests left, in order.
	Tests []string
	// Drops are in the order in which they were taken out. Imports that became unused are not among
	// them.
	Drops []Drop
}

// errNoProgress means that the type checker complains about something that belongs to no
// declaration.
var errNoProgress = errors.New("an error stands outside of every declaration")

// Prune takes declarations out of the package at path until the rest type-checks. What it imports
// comes from imp. Extra files, such as shims, take part in the check; they are never pruned and an
// error in one fails the call. The names in without are taken out first and are no Drops: the
// caller offers another declaration for each.
func Prune(path string, files, extra []File, without []string, imp types.Importer) (Result, error) {
	p := &pruner{path: path, files: slices.Clone(files), extra: extra, imp: imp, causes: map[string]Drop{}}
	if err := p.takeOutNamed(without); err != nil {
		return Result{}, err
	}
	for {
		done, err := p.round()
		if err != nil {
			return Result{}, fmt.Errorf("pruning %s: %w", path, err)
		}
		if done {
			break
		}
	}
	tests, err := TestsIn(p.files)
	if err != nil {
		return Result{}, err
	}
	return Result{Files: p.files, Tests: tests, Drops: p.drops}, nil
}

type pruner struct {
	path   string
	files  []File
	extra  []File
	imp    types.Importer
	drops  []Drop
	causes map[string]Drop // by the name of a declaration taken out
}

// takeOutNamed blanks the declarations that the caller replaces.
func (p *pruner) takeOutNamed(names []string) error {
	trees, err := parse(token.NewFileSet(), p.files)
	if err != nil {
		return err
	}
	var out []*unit
	for _, u := range unitsOf(trees) {
		if !u.isImport && slices.ContainsFunc(u.names, func(n string) bool { return slices.Contains(names, n) }) {
			out = append(out, u)
		}
	}
	p.blank(trees, out)
	return nil
}

// round checks once and takes out what has an error. It reports whether there was none.
func (p *pruner) round() (bool, error) {
	fset := token.NewFileSet()
	all, err := parse(fset, append(slices.Clone(p.files), p.extra...))
	if err != nil {
		return false, err
	}
	complaints := check(p.path, fset, all, p.imp)
	if len(complaints) == 0 {
		return true, nil
	}
	own := all[:len(p.files)]
	units := unitsOf(own)
	faulty, imports := faultyUnits(units, complaints)
	switch {
	case len(faulty) > 0:
		p.drop(fset, own, faulty)
	case len(imports) > 0:
		p.blank(own, imports)
	default:
		return false, fmt.Errorf("%w: %s", errNoProgress, complaints[0].message)
	}
	return false, nil
}

// blank takes the units' text out of the files.
func (p *pruner) blank(trees []parsed, units []*unit) {
	edits := make([][]Edit, len(p.files))
	for _, u := range units {
		base := trees[u.file].tree.FileStart
		edits[u.file] = append(edits[u.file], Edit{Start: int(u.node.Pos() - base), End: int(u.node.End() - base)})
	}
	for i, e := range edits {
		if len(e) > 0 {
			p.files[i].Src = Apply(p.files[i].Src, e)
		}
	}
}

// drop records why each unit goes and takes it out. All reasons are found before the first unit
// counts as gone.
func (p *pruner) drop(fset *token.FileSet, trees []parsed, faulty []faultyUnit) {
	units := make([]*unit, 0, len(faulty))
	var drops []Drop
	for _, f := range faulty {
		drops = append(drops, p.reason(fset, f))
		units = append(units, f.unit)
	}
	for i, d := range drops {
		for _, name := range units[i].names {
			p.causes[name] = d
		}
	}
	p.drops = append(p.drops, drops...)
	p.blank(trees, units)
}
