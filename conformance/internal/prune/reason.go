// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// complaint is one error of the type checker, with the identifier at its place when there is one.
type complaint struct {
	pos     token.Pos
	name    string
	message string
}

// check type-checks the files as one package and returns every error in the order of the text.
func check(path string, fset *token.FileSet, files []parsed, imp types.Importer) []complaint {
	var out []complaint
	trees := make([]*ast.File, 0, len(files))
	for _, f := range files {
		trees = append(trees, f.tree)
	}
	conf := types.Config{
		Importer: imp,
		Error: func(err error) {
			if te, ok := err.(types.Error); ok {
				out = append(out, complaint{pos: te.Pos, message: te.Msg})
			}
		},
	}
	// Every error goes to conf.Error; what Check returns is the first of them once more.
	_, _ = conf.Check(path, fset, trees, nil)
	slices.SortStableFunc(out, func(a, b complaint) int { return int(a.pos - b.pos) })
	for i := range out {
		out[i].name = identAt(trees, out[i].pos)
	}
	return out
}

// identAt is the identifier that the type checker points at: the one at pos, or the selected name
// of a selector that begins there.
func identAt(trees []*ast.File, pos token.Pos) string {
	for _, tree := range trees {
		if pos < tree.FileStart || tree.FileEnd < pos {
			continue
		}
		name := ""
		ast.Inspect(tree, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Pos() == pos {
				name = id.Name
			}
			return n != nil && n.Pos() <= pos && pos <= n.End()
		})
		return name
	}
	return ""
}

// faultyUnit is a unit with its complaints, in the order of the text.
type faultyUnit struct {
	*unit
	complaints []complaint
}

// faultyUnits gives each complaint to the unit that it stands in. Units of imports are kept apart:
// an import is only known to be unused once no other declaration has an error.
func faultyUnits(units []*unit, complaints []complaint) (faulty []faultyUnit, imports []*unit) {
	for _, u := range units {
		var own []complaint
		for _, c := range complaints {
			if u.covers(c.pos) {
				own = append(own, c)
			}
		}
		switch {
		case len(own) == 0:
		case u.isImport:
			imports = append(imports, u)
		default:
			faulty = append(faulty, faultyUnit{unit: u, complaints: own})
		}
	}
	return faulty, imports
}

// reason finds the first name that a unit may not use: an unexported one if there is one, and if
// that names a declaration taken out before, then the name that the other fell over.
func (p *pruner) reason(fset *token.FileSet, f faultyUnit) Drop {
	at := fset.Position(f.node.Pos())
	d := Drop{Name: f.title(), File: at.Filename, Line: at.Line, Test: f.isTest}
	c := f.complaints[0]
	for _, other := range f.complaints {
		if other.name != "" && !token.IsExported(other.name) {
			c = other
			break
		}
	}
	d.Message, d.Cause = c.message, c.name
	if d.Cause == "" {
		d.Cause = c.message
	}
	if earlier, ok := p.causes[d.Cause]; ok {
		d.Via = append([]string{d.Cause}, earlier.Via...)
		d.Cause = earlier.Cause
	}
	return d
}
