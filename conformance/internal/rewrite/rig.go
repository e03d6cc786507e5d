// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package rewrite

import "go/ast"

// Rig renames the functions and the type by which test code makes a reflector.
type Rig struct {
	// Constructors maps each constructor to the rig's.
	Constructors map[string]string
	// Type is the type that the constructors return, RigType what stands in for it. A type's name
	// is only changed in declarations that make one: elsewhere (an error handler's parameter) it
	// still is the interface's type.
	Type, RigType string
}

// file changes the declarations that make a reflector and returns the names of the functions among
// them.
func (r *Rig) file(tree *ast.File, e *editor) []string {
	var changed []string
	for _, decl := range tree.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || !r.makesOne(fn) {
			continue
		}
		r.rename(fn, e)
		changed = append(changed, fn.Name.Name)
	}
	return changed
}

func (r *Rig) makesOne(fn *ast.FuncDecl) bool {
	found := false
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			id, ok := n.Fun.(*ast.Ident)
			found = found || ok && r.Constructors[id.Name] != ""
		case *ast.CompositeLit:
			id, ok := n.Type.(*ast.Ident)
			found = found || ok && id.Name == r.Type
		}
		return !found
	})
	return found
}

// rename changes every identifier that names a constructor or the type. A selected name and the key
// of a literal are other names with the same letters.
func (r *Rig) rename(fn *ast.FuncDecl, e *editor) {
	other := map[ast.Node]bool{}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			other[n.Sel] = true
		case *ast.KeyValueExpr:
			other[n.Key] = true
		case *ast.Ident:
			if to := r.nameFor(n.Name); to != "" && !other[n] {
				e.replace(n, to)
			}
		}
		return true
	})
}

func (r *Rig) nameFor(name string) string {
	if name == r.Type {
		return r.RigType
	}
	return r.Constructors[name]
}

// Reaching lists the functions of the files that are in from or that mention, directly or through
// others, one that is. It serves to find the tests whose outcome a rig can change.
func Reaching(trees []*ast.File, from []string) map[string]bool {
	reached := map[string]bool{}
	for _, name := range from {
		reached[name] = true
	}
	for changed := true; changed; {
		changed = false
		for _, tree := range trees {
			for _, decl := range tree.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if ok && fn.Recv == nil && !reached[fn.Name.Name] && mentions(fn, reached) {
					reached[fn.Name.Name], changed = true, true
				}
			}
		}
	}
	return reached
}

func mentions(fn *ast.FuncDecl, names map[string]bool) bool {
	found := false
	ast.Inspect(fn, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && names[id.Name]
		return !found
	})
	return found
}
